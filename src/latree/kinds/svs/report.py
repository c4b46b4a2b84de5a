"""The report on a model of structured vectorial semantics: its concepts, and how categories share in them.

A concept is told by its headwords, as in table 1 of the paper; a category by how much of it each concept makes, and by
the rules that one concept likes better than another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr

from latree.arrays import Floats, Longs
from latree.kinds.report import (
    FIGURES,
    GROUPS,
    WORD,
    Ask,
    Categories,
    Facts,
    Figures,
    best,
    commonest_words,
    listed,
    place_of,
    spaced,
)
from latree.kinds.svs.counts import normalised
from latree.report.value import ARROW, Block, Cell, Column, Link, Report, Section, Table, legible

if TYPE_CHECKING:
    from latree.kinds.svs.model import Svs

MOST = 50  # concepts that are listed
LEAST = 0.001  # share in a category of a concept whose rules are worth comparing


class Concepts(Categories["Svs"]):
    """The report on one model; a section has all categories of one label, whatever their relations."""

    no_sums = "concepts that all categories share"
    footer = (
        "Beside a concept stand its share and its likeliest headwords; with a tag, the words that it has there. Of a "
        "rule stand its probability, those by the concepts that like it best, and by the one that likes it least."
    )

    def report(self) -> Report:
        """Build what was asked for."""
        if self.ask.symbol is not None:
            symbols = set(self.find(self.ask.symbol))
            chosen = ([s for s in group if s in symbols] for group in self.labels)
            return Report(sections=tuple(self._label(group) for group in chosen if group))
        sections = tuple(map(self._label, self.labels)) if self.ask.every else ()
        facts = tuple(fact for fact in self.facts() if fact[0] != "subtypes")
        return Report(facts=facts, blocks=(self._table(),), sections=sections, footer=self.footer)

    def own_facts(self) -> Facts:
        """Count concepts and relations, and name the head rules."""
        model, words = self.model, f"{len(self.model.headwords.words)} headwords"
        each = f"{model.concepts}, one for each of {words} and one for all other words"
        yield "concepts", each if model.options.clusters == 0 else f"{model.concepts}, of {words} and all others as one"
        yield "relations", f"{len(model.relation)}"
        yield "heads", model.binarization.heads.name  # type: ignore[attr-defined]

    # -- concepts

    @cached_property
    def mass(self) -> Floats:
        """[headwords and all others, concepts] tokens: how often each word stands for each concept."""
        heads = self.model.headwords.numbers(self.lexicon.vocabulary)
        tokens = np.bincount(heads, self.lexicon.word_count, minlength=len(self.model.concept_of))
        return np.asarray(tokens[:, None] * self.model.concept_of, np.float64)

    @cached_property
    def share(self) -> Floats:
        """[concepts] P(i) among the words of the treebank."""
        return normalised(self.mass.sum(0))

    def headwords(self, concept: int, top: int) -> Figures[str]:
        """The words that P(h | i) is largest for, by Bayes' rule from P(i | h) and the words' frequencies."""
        return best(self.model.headwords.words, normalised(self.mass[:, concept])[:-1], top)

    def others(self, concept: int) -> float:
        """P(h | i) of all words that are not told apart."""
        return float(normalised(self.mass[:, concept])[-1])

    def _table(self) -> Table:
        """Concepts by their shares, with the headwords that P(h | i) is largest for, as in the paper's table 1."""
        columns = (
            Column("concept", "{}", "figure"),
            Column("share", "{:.1%}", "figure"),
            Column(kind="bar"),
            Column("headwords"),
            Column("others", "{:.3f}", "figure"),
        )
        rows = tuple(
            (concept, share, share, listed(self.headwords(concept, self.ask.top)), self.others(concept))
            for concept, share in best(range(self.model.concepts), self.share, MOST)
        )
        others = self.model.concepts - len(rows)
        return Table(columns, rows, caption=f"and {others} more" if others else "")

    # -- categories

    @cached_property
    def labels(self) -> list[list[int]]:
        """Categories of one label: relations together, parts and tags apart; of each kind the commonest first."""
        groups: dict[tuple[int, str], list[int]] = {}
        for symbol, named in enumerate(self.grammar.symbols):
            order = next(k for k, (kinds, _) in enumerate(GROUPS) if named.kind in kinds)
            groups.setdefault((order, named.label), []).append(symbol)
        return [groups[key] for key in sorted(groups, key=lambda key: (key[0], -self.total(groups[key]), key[1]))]

    def total(self, symbols: list[int]) -> float:
        """How often the categories occur; the root is not counted."""
        return float(self.model.prior[symbols].sum())

    def shares(self, symbols: list[int]) -> Floats:
        """[concepts] P(i) within categories."""
        return normalised(self._weights(0).sum(0) if symbols == [0] else self.model.prior[symbols].sum(0))

    def words(self, symbols: list[int], concept: int, top: int) -> Figures[str]:
        """The commonest words of tags under a concept; phrases have none."""
        tags = np.array([symbol - self.grammar.first_tag for symbol in symbols if self.is_tag(symbol)], np.int64)
        return commonest_words(self.lexicon, tags * self.model.concepts + concept, top)

    def _label(self, symbols: list[int]) -> Section:
        """Tell of the categories of one label: their concepts, and the rules that vary with these."""
        first, count = self.grammar.symbols[symbols[0]], self.total(symbols)
        label = f"{'@' * (first.kind == 'part')}{first.label}" if len(symbols) > 1 else self.name(symbols[0])
        columns = (Column(kind="figure"), Column(pattern="{:.1%}", kind="figure"), Column())
        return Section(
            legible(label, 30),
            place_of(symbols[0]),
            first.kind + (f", {count:,.0f} times" if count else ""),
            (Table(columns, tuple(self._share_rows(symbols)), "concepts"), *self._contrasts(symbols, label)),
            group=next(title for kinds, title in GROUPS if first.kind in kinds),
            size=round(count),
        )

    def _share_rows(self, symbols: list[int]) -> Iterator[tuple[Cell, ...]]:
        """A row a concept: its share, and a tag's words under it, or the concept's headwords."""
        for concept, share in best(range(self.model.concepts), self.shares(symbols), MOST):
            words = listed(self.words(symbols, concept, self.ask.top))
            headwords = (legible(word, WORD) for word, _ in self.headwords(concept, self.ask.top))
            yield concept, share, words or ", ".join(headwords)

    # -- rules

    def _contrasts(self, symbols: list[int], label: str) -> list[Block]:
        """The rules of which the concept tells most: overall, where likeliest, where least likely."""
        share = self.shares(symbols)
        compared = np.flatnonzero(share >= LEAST)
        rows = []
        for children, by_concept in self.contrasts(symbols, self.ask.top):
            order = compared[np.argsort(-by_concept[compared], kind="stable")].tolist()
            likes = [f"{concept}: {by_concept[concept]:.3f}" for concept in order]
            rule = (legible(label, 30), ARROW, *spaced([self._label_link(child) for child in children]))
            rows.append((rule, float(by_concept @ share), ", ".join(likes[:3]), ", ".join(likes[3:][-1:])))
        title = "rules that vary most with the concept: overall, where likeliest, where least likely"
        return [Table((*FIGURES, Column(), Column()), tuple(rows), title)] if rows else []

    def _label_link(self, symbol: int) -> Link:
        """To the section of the categories of that label."""
        target = next(group[0] for group in self.labels if symbol in group)
        return Link(self.name(symbol), place_of(target))

    def contrasts(self, symbols: list[int], top: int) -> list[tuple[tuple[int, ...], Floats]]:
        """The right sides of which the concept tells most, and [concepts] how likely each is: by the mutual information
        of the concept and whether a rule is used, so that neither rare rules nor rare concepts come first."""
        rules, joint = self._joint(symbols)
        share, each = self.shares(symbols), normalised(joint.T).T
        occurs = share > 0  # others would be infinities times zero
        told = np.zeros(len(rules))
        for used in (each[:, occurs], np.clip(1 - each[:, occurs], 0.0, 1.0)):  # or not
            told += rel_entr(used, (used @ share[occurs])[:, None]) @ share[occurs]
        return [(rules[k], each[k]) for k, _ in best(range(len(rules)), told, top)]

    def _joint(self, symbols: list[int]) -> tuple[list[tuple[int, ...]], Floats]:
        """Right sides, and [right sides, concepts] how often each occurs, whatever the parent's relation."""
        rows: dict[tuple[int, ...], Floats] = {}
        for symbol in symbols:
            for rule, weights in zip(self._rules(symbol).tolist(), self._weights(symbol), strict=True):
                children = tuple(self.children(rule))
                rows[children] = rows.get(children, 0.0) + weights
        return list(rows), np.array(list(rows.values())).reshape(-1, self.model.concepts)

    def _weights(self, symbol: int) -> Floats:
        """[rules of a category, concepts] how often; of the root, whose rules have a prior of concepts, how likely."""
        weights = self.model.rule[self._rules(symbol)]
        return weights if symbol == 0 else weights * self.model.prior[symbol]

    def _rules(self, symbol: int) -> Longs:
        return np.flatnonzero(self.grammar.rules[:, 0] == symbol)


def report(model: Svs, ask: Ask) -> Report:
    """Build the report on a model of concepts that all categories share."""
    return Concepts(model, ask).report()
