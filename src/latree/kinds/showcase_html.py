"""A model as one page for a browser: an index of its categories, and a section on each with all its subtypes.

The page needs nothing but itself, runs no script and asks no network; every text from the model is escaped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from latree.kinds.showcase import GROUPS, Child, Rule, Showcase, SplitNode, Subtype, Use, Word, facts, legible

if TYPE_CHECKING:
    from latree.kinds.model import ForestModel

_STYLE = """
:root { color-scheme: light dark; --ink: #22252a; --soft: #667; --line: #d9d9d2; --page: #fbfaf7; --card: #fff;
  --accent: #8a3b12; --bar: #d9a441; --sans: system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e2dc; --soft: #9a9aa2; --line: #3a3b40; --page: #191a1d;
  --card: #212226; --accent: #f0a878; --bar: #a9772a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 1rem/1.5 Charter, "Iowan Old Style", "Palatino Linotype", Georgia, "Noto Serif", serif; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.frame { display: grid; grid-template-columns: 16rem minmax(0, 1fr); max-width: 90rem; margin: auto; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; font: .85rem/1.35 var(--sans);
  border-right: 1px solid var(--line); }
nav h2 { font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft);
  margin: 1.2rem 0 .3rem; }
nav ol { list-style: none; margin: 0; padding: 0; }
nav a { display: grid; grid-template-columns: 6.5rem 1.6rem 1fr; gap: .4rem; align-items: center; color: inherit; }
nav a span:first-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav a span:nth-child(2), .number { text-align: right; font-variant-numeric: tabular-nums; color: var(--soft); }
.bar { display: block; height: .55rem; background: var(--bar); border-radius: 1px; min-width: 1px; }
main { padding: 1.5rem 2rem 4rem; min-width: 0; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .8rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; margin: 0; font-size: .9rem; }
dt { color: var(--soft); font-family: var(--sans); } dd { margin: 0; overflow-wrap: anywhere; }
section { margin-top: 3rem; border-top: 2px solid var(--line); padding-top: .8rem; }
section > h2 { font: 600 1.6rem/1.2 var(--sans); margin: 0; overflow-wrap: anywhere; }
.about { color: var(--soft); margin: .1rem 0 .9rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem;
  min-width: 0; }
article:target { outline: 2px solid var(--accent); }
article h3 { font: 600 1.05rem/1.3 var(--sans); margin: 0; display: flex; justify-content: space-between; gap: 1rem;
  overflow-wrap: anywhere; }
article h3 small { font-weight: 400; color: var(--soft); white-space: nowrap; }
article > .bar { height: 3px; margin: .3rem 0 .6rem; }
article h4 { font: .75rem/1.3 var(--sans); color: var(--soft); margin: .7rem 0 .1rem; }
table { border-collapse: collapse; width: 100%; font: .88rem/1.45 var(--sans); }
td { padding: 0; vertical-align: baseline; overflow-wrap: anywhere; } .number { width: 4rem; font-size: .8rem; }
.words { margin: .2rem 0 0; overflow-wrap: anywhere; }
.words span { white-space: nowrap; margin-right: .8em; } .words small { color: var(--soft); font: .72rem var(--sans); }
.words .long { white-space: normal; }
.samples { margin: .1rem 0 0; padding: 0; list-style: none; font-style: italic; overflow-wrap: anywhere; }
.tree { overflow-x: auto; margin: 0 0 1rem; } .tree svg { display: block; font: 13px var(--sans); fill: var(--ink); }
.tree path { stroke: var(--soft); fill: none; } .tree a { fill: var(--accent); font-weight: 600; }
.tree .faint { fill: var(--soft); font-size: 11px; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 50rem) { .frame { display: block; } nav { position: static; height: auto; border: 0;
  border-bottom: 1px solid var(--line); } nav ol { columns: 14rem; } main { padding: 1rem; } }
@media print { :root { --ink: #000; --page: #fff; --card: #fff; --accent: #000; --line: #bbb; --soft: #444; }
  body { font-size: 9.5pt; } .frame { display: block; } nav { position: static; height: auto; border: 0; padding: 0; }
  nav ol { columns: 3; } main { padding: 0; } .cards { display: block; columns: 2; }
  article, .tree { break-inside: avoid; } article { margin-bottom: .6rem; } section > h2, .about { break-after: avoid; }
  .bar { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LONGEST_NAME = 40  # letters of a category's name
_ROW, _STEP, _MARGIN, _LETTER = 20, 26, 10, 7.5  # pixels of a split tree: a subtype, a round, its left, a letter


def page(model: ForestModel[Any], title: str, top: int = 8, summed: bool = False) -> str:
    """The whole page; `top` rules and words a subtype, `summed` over the subtypes of a rule's children."""
    return "\n".join(_SubtypesPage(Showcase(model), top, summed).lines(title))


class Page(ABC):
    """What all pages about a model have: an index of its categories, facts, and a section a category."""

    style = ""  # beyond what all have

    def __init__(self, showcase: Any, top: int) -> None:
        self.showcase, self.top = showcase, top
        self.groups = [
            (heading, [s for s in showcase.by_size if showcase.grammar.symbols[s].kind in kinds])
            for kinds, heading in GROUPS
        ]

    def facts(self) -> Iterable[tuple[str, str]]:
        """Of the model as a whole."""
        found: Iterable[tuple[str, str]] = self.showcase.facts()
        return found

    @abstractmethod
    def section(self, symbol: int) -> Iterator[str]:
        """What there is to say of a category."""

    @abstractmethod
    def footer(self) -> str: ...

    def lines(self, title: str) -> Iterator[str]:
        name = escaped(title, 200)
        yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
        yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f'<title>{name}</title>\n<style>{_STYLE}{self.style}</style>\n</head>\n<body>\n<div class="frame">'
        yield from self._index()
        yield f'<main>\n<h1>{name}</h1>\n<dl class="facts">'
        for term, value in self.facts():
            yield f"<dt>{escaped(term)}</dt><dd>{escaped(value, 2000)}</dd>"
        yield "</dl>"
        for _, symbols in self.groups:
            for symbol in symbols:
                yield from self.section(symbol)
        if self.footer():
            yield f"<footer>{self.footer()}</footer>"
        yield "</main>\n</div>\n</body>\n</html>\n"

    def _index(self) -> Iterator[str]:
        most = max(map(self.showcase.size, self.showcase.by_size))
        yield '<nav aria-label="Categories">'
        for heading, symbols in self.groups:
            if not symbols:
                continue
            yield f"<h2>{heading}</h2>\n<ol>"
            for symbol in symbols:
                size, name = self.showcase.size(symbol), escaped(self.showcase.name(symbol), LONGEST_NAME)
                cells = f"<span><bdi>{name}</bdi></span><span>{size}</span>{share_bar(size / most)}"
                yield f'<li><a href="#c{symbol}">{cells}</a></li>'
            yield "</ol>"
        yield "</nav>"


class _SubtypesPage(Page):
    """Of discrete subtypes."""

    def __init__(self, showcase: Showcase, top: int, summed: bool) -> None:
        super().__init__(showcase, top)
        self.summed = summed

    def facts(self) -> Iterable[tuple[str, str]]:
        return facts(self.showcase.model)

    def footer(self) -> str:
        about = "Phrases in italics are drawn from the model at random: grammar, not sense."
        return "" if self.showcase.is_tagger else about

    def section(self, symbol: int) -> Iterator[str]:
        size, count = self.showcase.size(symbol), self.showcase.count(symbol)
        about = [self.showcase.grammar.symbols[symbol].kind, f"{size} subtypes" if size > 1 else "one subtype"]
        about += [how_often(count)] if count is not None else []
        yield f'<section id="c{symbol}">\n<h2><bdi>{self._name(symbol)}</bdi></h2>'
        yield f'<p class="about">{", ".join(about)}</p>'
        if size > 1:
            yield self._tree(symbol)
        yield '<div class="cards">'
        for subtype in self.showcase.subtypes(symbol, self.top, self.summed):
            yield from self._card(symbol, subtype)
        yield "</div>\n</section>"

    def _card(self, symbol: int, subtype: Subtype) -> Iterator[str]:
        often = [f"{subtype.share:.1%}"] if self.showcase.size(symbol) > 1 else []
        often += [how_often(subtype.count)] if subtype.count is not None else []
        heading = f"<span>{self._name(symbol, subtype.number)}</span><small>{', '.join(often)}</small>"
        yield f'<article id="c{symbol}-{subtype.number}">\n<h3>{heading}</h3>{share_bar(subtype.share)}'
        if subtype.words:
            yield f'<p class="words">{" ".join(map(_word, subtype.words))}</p>'
        if subtype.rules:
            follows = self.showcase.is_tagger
            yield "<h4>comes before</h4>" if follows and self.showcase.is_tag(symbol) else "<h4>becomes</h4>"
            yield weight_table((self._rule(rule), rule.weight) for rule in subtype.rules)
        if subtype.uses:
            yield "<h4>comes after</h4>" if self.showcase.is_tagger else "<h4>stands in</h4>"
            yield weight_table((self._use(use), use.share) for use in subtype.uses)
        if subtype.samples:
            items = "".join(f'<li dir="auto">{escaped(phrase, 200)}</li>' for phrase in subtype.samples)
            yield f'<h4>for example</h4>\n<ul class="samples">{items}</ul>'
        yield "</article>"

    # -- rules

    def _name(self, symbol: int, subtype: int | None = None) -> str:
        return escaped(self.showcase.name(symbol, subtype), LONGEST_NAME)

    def _link(self, child: Child) -> str:
        place = f"c{child.symbol}" if child.subtype is None else f"c{child.symbol}-{child.subtype}"
        return f'<a href="#{place}">{self._name(*child)}</a>'

    def _rule(self, rule: Rule) -> str:
        return " ".join(map(self._link, rule.children)) or "(end)"

    def _use(self, use: Use) -> str:
        """The rule with its own child in bold; of a tagger's, the tag before alone."""
        parent, *children = (s for s in self.showcase.grammar.rules[use.rule].tolist() if s >= 0)
        above = self._link(Child(parent, None))
        if self.showcase.is_tagger:
            return above
        named = [self._link(Child(s, None)) for s in children]
        named[use.place] = f"<b>{self._name(children[use.place])}</b>"
        return f"{above} → {' '.join(named)}"

    # -- descent

    def _tree(self, symbol: int) -> str:
        """The split tree, its root at the left; forks are numbered by their round."""
        tree, size = self.showcase.split_tree(symbol), self.showcase.size(symbol)
        right = _MARGIN + (_depth(tree) + 1) * _STEP
        glosses = [legible(self.showcase.gloss(symbol, k), 70) for k in range(size)]
        names = max(len(self.showcase.name(symbol, k)) for k in range(size))
        columns = (
            right + 8,
            right + 16 + min(names, LONGEST_NAME) * _LETTER + 10,
            right + 90 + min(names, LONGEST_NAME) * _LETTER,
        )
        width = int(columns[2] + max(map(len, glosses)) * _LETTER)
        parts = list(_forks(tree, _MARGIN, right))
        for k, share in enumerate(self.showcase.shares(symbol).tolist()):
            y = k * _ROW + 14
            parts.append(f'<a href="#c{symbol}-{k}"><text x="{columns[0]}" y="{y}">{self._name(symbol, k)}</text></a>')
            parts.append(f'<text class="faint" x="{columns[1]:.0f}" y="{y}">{share:.1%}</text>')
            parts.append(f'<text x="{columns[2]:.0f}" y="{y}">{escaped(glosses[k], 70)}</text>')
        shape = f'width="{width}" height="{size * _ROW}" viewBox="0 0 {width} {size * _ROW}"'
        label = f"How the subtypes of {self._name(symbol)} were split"
        return f'<div class="tree"><svg {shape} role="group" aria-label="{label}">{"".join(parts)}</svg></div>'


def _depth(node: SplitNode) -> int:
    return 1 + max(map(_depth, node.children)) if node.children else 0


def _middle(node: SplitNode) -> float:
    """The height of a node: between its outermost children."""
    if not node.children:
        return node.members[0] * _ROW + _ROW / 2
    return (_middle(node.children[0]) + _middle(node.children[-1])) / 2


def _forks(node: SplitNode, x: int, right: int) -> Iterator[str]:
    """The lines from a node to its children, and all below; leaves reach out to the names at the right."""
    for child in node.children:
        end = x + _STEP if child.children else right
        yield f'<path d="M{x} {_middle(node)}V{_middle(child)}H{end}"/>'
        yield from _forks(child, x + _STEP, right)
    if node.children and node.round is not None:
        yield f'<text class="faint" x="{x - _MARGIN}" y="{_middle(node) - 3}">{node.round}</text>'


# -- pieces


def escaped(text: str, most: int = 80) -> str:
    return escape(legible(text, most))


def how_often(count: float) -> str:
    return f"{count:,.0f}×" if count >= 10 else f"{count:.2g}×"


def share_bar(share: float) -> str:
    return f'<span class="bar" style="width:{100 * share:.1f}%"></span>'


def _word(word: Word) -> str:
    kind = ' class="long"' if len(word.word) > 25 else ""
    share = f"{word.share:.1%}" if word.share >= 0.001 else "&lt;0.1%"
    return f"<span{kind}><bdi>{escaped(word.word)}</bdi> <small>{share}</small></span>"


def weight_table(rows: Iterable[tuple[str, float]]) -> str:
    cells = "".join(f'<tr><td>{text}</td><td class="number">{weight:.3f}</td></tr>' for text, weight in rows)
    return f"<table>{cells}</table>"
