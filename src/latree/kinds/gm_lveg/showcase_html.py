"""A Gaussian-mixture model as one page for a browser: an index of its categories, and a map of each with its regions.

The page is of the same make as that of a model with subtypes: it needs nothing but itself, runs no script and asks no
network; every text from the model is escaped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.inference.forest import L, P
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.gm_lveg.showcase import Component, Map, Near, Owner, Region, Share, VectorShowcase, at
from latree.kinds.showcase_html import LONGEST_NAME, Page, escaped, how_often, share_bar, weight_table

_MAP_STYLE = """
nav a { grid-template-columns: 6.5rem 2.4rem 1fr; }
.map { overflow-x: auto; margin: 0 0 1rem; } .map svg { display: block; font: 12px var(--sans); }
.map text { fill: var(--ink); paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
.map rect { fill: none; stroke: var(--line); } .map .anchor { font-weight: 700; font-size: 15px; }
.map circle { fill: currentColor; } .r0 { color: #c2553a; } .r1 { color: #3a7ca5; } .r2 { color: #6a9a3b; }
.r3 { color: #8d5fb0; } .r4 { color: #c9962b; } .r5 { color: #2f9a8c; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 50%; background: currentColor;
  margin-right: .35em; vertical-align: -.05em; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.place { color: var(--soft); font: .8rem/1.4 var(--sans); margin: 0; overflow-wrap: anywhere; }
"""
_WIDTH, _HEIGHT, _MARGIN = 760, 460, 40  # pixels of a map
_LETTER, _LINE = 7.0, 14.0  # of a label
_RADIUS = 0.15  # of a standard deviation: circles of a whole one would hide each other
_DRAWN, _LABELS = 250, 16  # components, and labels, of a map at most


def vector_page(model: GaussianModel, title: str, top: int = 8) -> str:
    """The whole page; `top` rules, contexts and words a region."""
    return "\n".join(_VectorPage(VectorShowcase(model), top).lines(title))


class _VectorPage(Page):
    """Writes the parts of one page."""

    style = _MAP_STYLE

    def footer(self) -> str:
        return _LEGEND

    def section(self, symbol: int) -> Iterator[str]:
        showcase, count = self.showcase, self.showcase.plain.count(symbol)
        about = [showcase.grammar.symbols[symbol].kind, f"{showcase.size(symbol)} components"]
        about += [] if showcase.has_vector(symbol) else ["no latent vector"]
        about += [how_often(count)] if count is not None else []
        yield f'<section id="c{symbol}">\n<h2><bdi>{self._name(symbol)}</bdi></h2>'
        yield f'<p class="about">{", ".join(about)}</p>'
        regions = showcase.regions(symbol, self.top)
        if regions:
            yield self._map(symbol)
        else:
            yield from self._lists(showcase.rules(symbol).heaviest(self.top), [], [])
        yield '<div class="cards">'
        for region in regions:
            yield from self._card(symbol, region)
        yield "</div>\n</section>"

    def _card(self, symbol: int, region: Region) -> Iterator[str]:
        key = f'<span class="key r{region.number}"></span>'
        name = f"<span>{key}{region.number + 1} {self._owner(region.anchor.owner)}</span>"
        yield f'<article id="c{symbol}-{region.number}">\n<h3>{name}<small>{region.share:.1%}</small></h3>'
        yield f'{share_bar(region.share)}<p class="place">{escaped(at(region.anchor))}</p>'
        yield from self._lists(region.rules, region.contexts, region.words)
        if region.nearest:
            yield "<h4>nearest by overlap</h4>"
            yield self._table(region.nearest)
        yield "</article>"

    def _lists(self, rules: Sequence[Share], contexts: Sequence[Share], words: Sequence[Share]) -> Iterator[str]:
        if words:
            shown = (f"<span>{self._owner(one.owner)} <small>{one.share:.1%}</small></span>" for one in words)
            yield f'<p class="words">{" ".join(shown)}</p>'
        if rules:
            follows = self.showcase.plain.is_tagger and words
            yield "<h4>comes before</h4>" if follows else "<h4>becomes</h4>"
            yield self._table(rules)
        if contexts:
            yield "<h4>comes after</h4>" if self.showcase.plain.is_tagger else "<h4>stands in</h4>"
            yield self._table(contexts)

    def _table(self, found: Sequence[Share | Near]) -> str:
        return weight_table((self._owner(owner), number) for owner, number in found)

    # -- names

    def _name(self, symbol: int) -> str:
        return escaped(self.showcase.name(symbol), LONGEST_NAME)

    def _link(self, symbol: int) -> str:
        return f'<a href="#c{symbol}">{self._name(symbol)}</a>'

    def _owner(self, owner: Owner) -> str:
        """A word, the right side of a rule, or a rule with its own child in bold."""
        word = self.showcase.word(owner)
        if word is not None:
            return f"<bdi>{escaped(word)}</bdi>"
        children = list(map(self._link, self.showcase.children(owner)))
        if owner.port == P:
            return f"→ {' '.join(children) or '(end)'}"
        own = owner.port - L
        children[own] = f"<b>{self._name(self.showcase.children(owner)[own])}</b>"
        return f"{self._link(int(self.showcase.grammar.rules[owner.rule, P]))} → {' '.join(children)}"

    # -- maps

    def _map(self, symbol: int) -> str:
        """The components as circles, the regions' numbers at their anchors, and the names of the heaviest."""
        plan = self.showcase.plan(symbol, _DRAWN)
        scale = _scale(plan)
        centres, anchors = scale.pixels(plan.place), scale.pixels(plan.anchors)
        parts = [f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}"/>']
        heaviest = max(one.share for one in plan.components)
        for k in reversed(range(len(plan.components))):  # the heaviest on top
            one = plan.components[k]
            look = f'class="r{plan.region[k]}" fill-opacity="{0.08 + 0.62 * (one.share / heaviest) ** 0.5:.2f}"'
            where = f'cx="{centres[k, 0]:.1f}" cy="{centres[k, 1]:.1f}" r="{_radius(plan, k, scale):.1f}"'
            parts.append(f"<circle {look} {where}><title>{self._tooltip(one)}</title></circle>")
        labels = _Labels()
        for number, (x, y) in enumerate(anchors.tolist()):
            labels.claim(_Box(x - 9, y - 9, x + 9, y + 9))
            text = f'<text class="anchor" x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle">{number + 1}</text>'
            parts.append(f'<a href="#c{symbol}-{number}">{text}</a>')
        parts += self._labels(plan, centres, labels)
        shape = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        label = f"Where the components of {self._name(symbol)} lie"
        picture = f'<svg {shape} role="group" aria-label="{label}">{"".join(parts)}</svg>'
        return f'<div class="map">{picture}</div>\n<p class="about">{self._caption(symbol, plan)}</p>'

    def _labels(self, plan: Map, centres: Floats, labels: _Labels) -> Iterator[str]:
        """Names of the heaviest components, each name once, as far as there is room."""
        told: set[Owner] = set()
        for k, one in enumerate(plan.components):
            if len(labels.placed) >= _LABELS + len(plan.anchors):
                return
            text = _shown(self.showcase.right_side(one.owner))
            if one.owner not in told and (box := labels.place(text, *centres[k].tolist())) is not None:
                told.add(one.owner)
                yield f'<text x="{box.left:.1f}" y="{box.bottom - 3:.1f}">{escaped(text)}</text>'

    def _tooltip(self, one: Component) -> str:
        arrow = "" if self.showcase.word(one.owner) is not None else "→ "
        return f"{arrow}{escaped(self.showcase.right_side(one.owner))}, {one.share:.2%}, {escaped(at(one), 400)}"

    def _caption(self, symbol: int, plan: Map) -> str:
        across, up = (f"{share:.0%}" for share in plan.explained)
        size, drawn = self.showcase.size(symbol), len(plan.components)
        which = f"The heaviest {drawn} of {size} components" if drawn < size else f"All {size} components"
        return f"{which}; across: {across} of the variance of the means, upwards: {up}"


_LEGEND = (
    "A circle is a component: a Gaussian of a rule or of a word, in the plane of the two axes along which the means of "
    f"its category differ most. Its radius is {_RADIUS} of the standard deviation, and the heavier it is, the darker. "
    "Colours are regions: each component belongs to the nearest of a few that lie far apart. A region lists what is "
    "commoner there than in the category as a whole, with its share there, and what overlaps most with the component "
    "in its middle: 1 would be the same Gaussian."
)


# -- geometry


class _Scale(NamedTuple):
    """From the plane of a map to pixels, the same in both directions; upwards is up."""

    middle: Floats
    unit: float  # pixels

    def pixels(self, place: Floats) -> Floats:
        return (place - self.middle) * [self.unit, -self.unit] + [_WIDTH / 2, _HEIGHT / 2]


def _scale(plan: Map) -> _Scale:
    """Such that all centres are within the margins."""
    points = np.concatenate([plan.place, plan.anchors])
    least, most = points.min(axis=0), points.max(axis=0)
    room = np.array([_WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN])
    return _Scale((least + most) / 2, float((room / np.maximum(most - least, 1e-6)).min()))


def _radius(plan: Map, k: int, scale: _Scale) -> float:
    return min(_RADIUS * float(plan.spread[k]) * scale.unit, _HEIGHT / 4)


class _Box(NamedTuple):
    """A part of the picture that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    @property
    def is_inside(self) -> bool:
        return self.left >= 2 and self.top >= 2 and self.right <= _WIDTH - 2 and self.bottom <= _HEIGHT - 2


class _Labels:
    """Labels that leave each other room."""

    def __init__(self) -> None:
        self.placed: list[_Box] = []

    def claim(self, box: _Box) -> None:
        self.placed.append(box)

    def place(self, text: str, x: float, y: float) -> _Box | None:
        """A free place beside a point, right or left, above or below; None where there is none."""
        width = _columns(text) * _LETTER + 3
        corners = [(x + 4, y - 7), (x - 4 - width, y - 7), (x - width / 2, y - 18), (x - width / 2, y + 4)]
        for left, top in corners:
            box = _Box(left, top, left + width, top + _LINE)
            if box.is_inside and not any(box.meets(other) for other in self.placed):
                self.claim(box)
                return box
        return None


def _shown(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"


def _columns(text: str) -> int:
    """Letters, of which those of East Asian scripts are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
