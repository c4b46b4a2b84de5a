"""The report on a model of structured vectorial semantics: its concepts, and how categories share in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from latree.kinds.report import GROUPS, WORD, Ask, Facts, facts, listed, place_of, refuse_sums, spaced
from latree.kinds.svs.concepts import MOST, Concepts, Contrast
from latree.report.value import ARROW, Block, Cell, Column, Link, Report, Section, Table, legible

if TYPE_CHECKING:
    from latree.kinds.svs.model import Svs

LEAST = 0.001  # share in a category of a concept whose rules are worth comparing
LEGEND = (
    "Beside a concept stand its share and its likeliest headwords; with a tag, the words that it has there. Of a "
    "rule stand its probability, those by the concepts that like it best, and by the one that likes it least."
)


def report(model: Svs, ask: Ask) -> Report:
    """The report on a model of concepts that all categories share."""
    refuse_sums(ask, "concepts that all categories share")
    concepts = Concepts(model)
    if ask.symbol is not None:
        symbols = set(concepts.names.find(ask.symbol))
        chosen = [[s for s in group if s in symbols] for group in concepts.groups]
        return Report(sections=tuple(_section(concepts, group, ask.top) for group in chosen if group))
    groups = concepts.groups if ask.every else []
    sections = tuple(_section(concepts, group, ask.top) for group in groups)
    return Report(facts=_facts(concepts), blocks=(_table(concepts, ask.top),), sections=sections, footer=LEGEND)


def _facts(concepts: Concepts) -> Facts:
    model, words = concepts.model, f"{len(concepts.model.headwords.words)} headwords"
    each = f"{model.concepts}, one for each of {words} and one for all other words"
    told = each if model.options.clusters == 0 else f"{model.concepts}, of {words} and all others as one"
    heads = model.binarization.heads.name  # type: ignore[attr-defined]
    own = [("concepts", told), ("relations", f"{len(model.relation)}"), ("heads", heads)]
    return tuple(fact for fact in facts(model, own) if fact[0] != "subtypes")


def _table(concepts: Concepts, top: int) -> Table:
    """Concepts by their shares, with the headwords that P(h | i) is largest for, as in the paper's table 1."""
    columns = (
        Column("concept", "{}", "figure"),
        Column("share", "{:.1%}", "figure"),
        Column(kind="bar"),
        Column("headwords"),
        Column("others", "{:.3f}", "figure"),
    )
    commonest = concepts.by_share()
    shares = ((concept, float(concepts.share[concept])) for concept in commonest)
    rows = tuple(
        (concept, share, share, listed(concepts.headwords(concept, top)), concepts.others(concept))
        for concept, share in shares
    )
    others = concepts.model.concepts - len(commonest)
    return Table(columns, rows, caption=f"and {others} more" if others else "")


# -- categories


def _section(concepts: Concepts, symbols: list[int], top: int) -> Section:
    first, names = concepts.grammar.symbols[symbols[0]], concepts.names
    label = f"{'@' * (first.kind == 'part')}{first.label}" if len(symbols) > 1 else names.name(symbols[0])
    count = concepts.count(symbols)
    columns = (Column(kind="figure"), Column(pattern="{:.1%}", kind="figure"), Column())
    shares = Table(columns, tuple(_share_rows(concepts, symbols, top)), "concepts")
    return Section(
        legible(label, 30),
        place_of(symbols[0]),
        first.kind + (f", {count:,.0f} times" if count else ""),
        (shares, *_contrast_table(concepts, symbols, label, top)),
        group=next(title for kinds, title in GROUPS if first.kind in kinds),
        size=round(count),
    )


def _share_rows(concepts: Concepts, symbols: list[int], top: int) -> Iterator[tuple[Cell, ...]]:
    """A row a concept: its share, and a tag's words under it, or the concept's headwords."""
    shares = concepts.shares(symbols)
    for concept in np.argsort(-shares, kind="stable")[:MOST].tolist():
        if shares[concept] > 0:
            words = listed(concepts.words(symbols, concept, top))
            headwords = (legible(word, WORD) for word, _ in concepts.headwords(concept, top))
            yield concept, float(shares[concept]), words or ", ".join(headwords)


def _contrast_table(concepts: Concepts, symbols: list[int], label: str, top: int) -> list[Block]:
    """The rules of which the concept tells most: overall, where likeliest, where least likely."""
    compared = np.flatnonzero(concepts.shares(symbols) >= LEAST)
    rows = tuple(_contrast(concepts, label, one, compared.tolist()) for one in concepts.contrasts(symbols, top))
    title = "rules that vary most with the concept: overall, where likeliest, where least likely"
    columns = (Column(), Column(pattern="{:.3f}", kind="figure"), Column(), Column())
    return [Table(columns, rows, title)] if rows else []


def _contrast(concepts: Concepts, label: str, rule: Contrast, compared: list[int]) -> tuple[Cell, ...]:
    order = sorted(compared, key=lambda concept: -rule.by_concept[concept])
    likes = [f"{concept}: {rule.by_concept[concept]:.3f}" for concept in order]
    right = spaced([_link(concepts, child) for child in rule.children])
    return (legible(label, 30), ARROW, *right), rule.weight, ", ".join(likes[:3]), ", ".join(likes[3:][-1:])


def _link(concepts: Concepts, symbol: int) -> Link:
    """To the section of the categories of that label."""
    target = next(group[0] for group in concepts.groups if symbol in group)
    return Link(concepts.names.name(symbol), place_of(target))
