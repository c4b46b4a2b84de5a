"""The report on a Gaussian-mixture model: of each category a map, and what lies in its regions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from latree.arrays import Floats
from latree.inference.forest import L, P
from latree.kinds.gm_lveg.clouds import Component, Figures, Owner, Region, Spaces
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.report import (
    WORD,
    Ask,
    Overview,
    assemble,
    facts,
    figures,
    flow,
    listed,
    place_of,
    refuse_sums,
    spaced,
)
from latree.report.value import Block, Column, Dot, Inline, Mark, Report, Scatter, Section, Table, legible, plain

DRAWN = 250  # components of a map at most
RADIUS = 0.15  # of a standard deviation: circles of a whole one would hide each other
LEGEND = (
    "A circle is a component: a Gaussian of a rule or of a word, in the plane of the two axes along which the means of "
    f"its category differ most. Its radius is {RADIUS} of the standard deviation, and the heavier it is, the darker. "
    "Colours are regions: each component belongs to the nearest of a few that lie far apart. A region lists what is "
    "commoner there than in the category as a whole, with its share there, and what overlaps most with the component "
    "in its middle: 1 would be the same Gaussian."
)


def report(model: GaussianModel, ask: Ask) -> Report:
    """The report on a Gaussian-mixture model."""
    refuse_sums(ask, "latent vectors")
    spaces = Spaces(model)
    overview = Overview(
        spaces.names, spaces.size, "components", (Column("likeliest"),), lambda s: (_heaviest(spaces, s, ask.top),)
    )
    return assemble(ask, overview, lambda s: _section(spaces, s, ask.top), lambda: _facts(spaces), LEGEND)


def _facts(spaces: Spaces) -> Any:
    model, size, rules = spaces.model, spaces.model.components.size, len(spaces.grammar.rules)
    count = f"{size[:rules].sum()} of {rules} rules, {size[rules:].sum()} of {len(size) - rules} lexical rules"
    own = [
        ("dimension", str(spaces.dimension)),
        ("covariance", model.options.covariance),
        ("components", count),
        ("pruner", model.pruner.kind),
    ]
    return facts(model, own)


def _heaviest(spaces: Spaces, symbol: int, top: int) -> str:
    clouds = (cloud.heaviest(top) for cloud in (spaces.words(symbol), spaces.rules(symbol)) if len(cloud))
    return " | ".join(listed(((spaces.right_side(owner), share) for owner, share in one), 60) for one in clouds)


# -- a category


def _section(spaces: Spaces, symbol: int, top: int) -> Section:
    names, regions = spaces.names, spaces.regions(symbol, top)
    nowhere = "" if spaces.has_vector(symbol) else "no latent vector"
    return Section(
        names.name(symbol),
        place_of(symbol),
        names.about(symbol, f"{spaces.size(symbol)} components", nowhere),
        (
            *flow(_named(spaces, spaces.words(symbol).heaviest(top)), "words"),
            *flow(_named(spaces, spaces.rules(symbol).heaviest(top)), "rules"),
            *([] if nowhere else _components(spaces, symbol, top)),
            *([_map(spaces, symbol)] if regions else []),
        ),
        tuple(_card(spaces, symbol, region) for region in regions),
    )


def _components(spaces: Spaces, symbol: int, top: int) -> list[Block]:
    rows = [
        ((*owner_name(spaces, one.owner),), one.share, at(one))
        for cloud in (spaces.rules(symbol), spaces.words(symbol))
        for one in (cloud[k] for k in np.argsort(-cloud.weight, kind="stable")[:top].tolist())
    ]
    columns = (Column(), Column(pattern="{:.1%}", kind="figure"), Column())
    return [Table(columns, tuple(rows), "heaviest components")] if rows else []


def _card(spaces: Spaces, symbol: int, region: Region) -> Section:
    follows = spaces.names.is_tagger and bool(region.words)
    headings = ("comes before", "comes after") if follows else ("becomes", "stands in")
    return Section(
        f"region {region.number + 1}, around {plain(owner_name(spaces, region.anchor.owner))}",
        place_of(symbol, region.number),
        f"{region.share:.1%}, {at(region.anchor)}",
        (
            *flow(_named(spaces, region.words), "words"),
            *figures(headings[0], _named(spaces, region.rules)),
            *figures(headings[1], _named(spaces, region.contexts)),
            *figures("nearest by overlap", _named(spaces, region.nearest)),
        ),
        share=region.share,
        colour=region.number,
    )


def _map(spaces: Spaces, symbol: int) -> Scatter:
    plan, size = spaces.plan(symbol, DRAWN), spaces.size(symbol)
    drawn = len(plan.components)
    which = f"The heaviest {drawn} of {size} components" if drawn < size else f"All {size} components"
    across, up = (f"{share:.0%}" for share in plan.explained)
    dots = (
        Dot(
            float(plan.place[k, 0]),
            float(plan.place[k, 1]),
            plan.region[k],
            f"{legible(plain(owner_name(spaces, one.owner)), 60)}, {one.share:.2%}, {at(one)}",
            spaces.right_side(one.owner),
            RADIUS * float(plan.spread[k]),
            one.share,
        )
        for k, one in enumerate(plan.components)
    )
    return Scatter(
        f"Where the components of {spaces.names.name(symbol)} lie",
        tuple(dots),
        tuple(Mark(x, y, f"{k + 1}", place_of(symbol, k)) for k, (x, y) in enumerate(plan.anchors.tolist())),
        caption=f"{which}; across: {across} of the variance of the means, upwards: {up}",
    )


# -- names


def _named(spaces: Spaces, owners: Figures) -> Iterable[tuple[Inline, float]]:
    return ((owner_name(spaces, owner), figure) for owner, figure in owners)


def owner_name(spaces: Spaces, owner: Owner) -> Inline:
    """The word, or the rule, in which the category is strong where it is a child."""
    word = spaces.word(owner)
    if word is not None:
        return legible(word, WORD)
    if owner.port != P:
        return spaces.names.rule(owner.rule, owner.port - L)
    right = spaced([spaces.names.link(child) for child in spaces.children(owner)])
    return ("-> ", *(right or ["(end)"]))


def at(component: Component) -> str:
    """Where a component lies, and how wide it is: one number where it is as wide in all directions."""
    sd = component.sd[:1] if np.ptp(component.sd) == 0 else component.sd
    return f"at {_numbers(component.mean)}, sd {_numbers(sd)}"


def _numbers(values: Floats) -> str:
    written = ", ".join(f"{value:.2f}" for value in values.tolist())
    return written if len(values) == 1 else f"({written})"
