"""What a model of structured vectorial semantics has learned: its concepts, which all categories share.

A concept is told by its headwords, as in table 1 of the paper; a category by how much of it each concept makes, and by
the rules that one concept likes better than another.  Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from scipy.special import rel_entr

from latree.arrays import NONE, Floats, Longs
from latree.kinds.showcase import Showcase, Word, facts, legible
from latree.kinds.svs.counts import normalised

if TYPE_CHECKING:
    from latree.kinds.svs.model import Svs

Item = TypeVar("Item")

MOST = 50  # concepts that are listed
LEAST = 0.001  # share in a category of a concept whose rules are worth comparing
_NAME, _WORD = 30, 30  # letters of a category's name, and of a word


class Contrast(NamedTuple):
    """A rule of a category, its parent's relation left aside, and how likely it is for each concept."""

    children: tuple[int, ...]
    weight: float  # whatever the concept
    by_concept: Floats


class SvsShowcase:
    """The facts of one model."""

    def __init__(self, model: Svs) -> None:
        self.model, self.grammar, self.plain = model, model.grammar, Showcase(model)

    def facts(self) -> list[tuple[str, str]]:
        """What is known of the model as a whole, by name."""
        model, words = self.model, f"{len(self.model.headwords.words)} headwords"
        each = f"{model.concepts}, one for each of {words} and one for all other words"
        told = each if model.options.clusters == 0 else f"{model.concepts}, of {words} and all others as one"
        own = [("concepts", told), ("relations", f"{len(model.relation)}"), ("heads", model.binarization.heads.name)]  # type: ignore[attr-defined]
        whole = [fact for fact in facts(model) if fact[0] != "subtypes"]
        return [*whole[:3], *own, *whole[3:]]

    # -- concepts

    @cached_property
    def mass(self) -> Floats:
        """[headwords and all others, concepts] tokens: how often each word stands for each concept."""
        lexicon = self.model.lexicon
        heads = self.model.headwords.numbers(lexicon.vocabulary)
        tokens = np.bincount(heads, lexicon.word_count, minlength=len(self.model.concept_of))
        return np.asarray(tokens[:, None] * self.model.concept_of, np.float64)

    @cached_property
    def share(self) -> Floats:
        """[concepts] P(i) among the words of the treebank."""
        return normalised(self.mass.sum(0))

    def by_share(self, most: int = MOST) -> list[int]:
        """The commonest concepts."""
        return [concept for concept, _ in _best(range(self.model.concepts), self.share, most)]

    def headwords(self, concept: int, top: int) -> list[Word]:
        """The words that P(h | i) is largest for, by Bayes' rule from P(i | h) and the words' frequencies."""
        return [Word(*one) for one in _best(self.model.headwords.words, self._word_shares(concept)[:-1], top)]

    def others(self, concept: int) -> float:
        """P(h | i) of all words that are not told apart."""
        return float(self._word_shares(concept)[-1])

    def _word_shares(self, concept: int) -> Floats:
        return normalised(self.mass[:, concept])

    # -- categories

    def count(self, symbols: list[int]) -> float:
        """How often the categories occur; the root is not counted."""
        return float(self.model.prior[symbols].sum())

    def shares(self, symbols: list[int]) -> Floats:
        """[concepts] P(i) within categories."""
        return normalised(self._weights(0).sum(0) if symbols == [0] else self.model.prior[symbols].sum(0))

    def words(self, symbols: list[int], concept: int, top: int) -> list[Word]:
        """The commonest words of tags under a concept; phrases have none."""
        lexicon, concepts = self.model.lexicon, self.model.concepts
        columns = (np.array(symbols) - self.grammar.first_tag) * concepts + concept
        pairs = np.flatnonzero(np.isin(lexicon.pair_tag, columns[np.array(symbols) >= self.grammar.first_tag]))
        owner = np.searchsorted(lexicon.word_ptr, pairs, side="right") - 1
        tokens = np.bincount(owner, lexicon.pair_count[pairs], len(lexicon.vocabulary)).astype(np.float64)
        return [Word(*one) for one in _best(lexicon.vocabulary, normalised(tokens), top)]

    def contrasts(self, symbols: list[int], top: int) -> list[Contrast]:
        """The rules of which the concept tells most: by the mutual information of the concept and whether a rule is
        used, so that neither rare rules nor rare concepts come first."""
        rules, joint = self._joint(symbols)
        share, each = self.shares(symbols), normalised(joint.T).T
        mean, found = each @ share, share > 0  # others would be infinities times zero
        told = np.zeros(len(rules))
        for used in (each[:, found], np.clip(1 - each[:, found], 0.0, 1.0)):  # or not
            told += rel_entr(used, (used @ share[found])[:, None]) @ share[found]
        best = _best(range(len(rules)), told, top)
        return [Contrast(rules[k], float(mean[k]), each[k]) for k, _ in best]

    def _joint(self, symbols: list[int]) -> tuple[list[tuple[int, ...]], Floats]:
        """Right sides, and [right sides, concepts] how often each occurs, whatever the parent's relation."""
        rows: dict[tuple[int, ...], Floats] = {}
        for symbol in symbols:
            for rule, weights in zip(self._own(symbol).tolist(), self._weights(symbol), strict=True):
                children = tuple(child for child in self.grammar.rules[rule, 1:].tolist() if child != NONE)
                rows[children] = rows.get(children, 0.0) + weights
        return list(rows), np.array(list(rows.values())).reshape(-1, self.model.concepts)

    def _weights(self, symbol: int) -> Floats:
        """[rules of a category, concepts] how often; of the root, whose rules have a prior of concepts, how likely."""
        own = self.model.rule[self._own(symbol)]
        return own if symbol == 0 else own * self.model.prior[symbol]

    def _own(self, symbol: int) -> Longs:
        return np.flatnonzero(self.grammar.rules[:, 0] == symbol)


def _best(items: Sequence[Item], values: Floats, top: int) -> list[tuple[Item, float]]:
    """The items of the largest positive values, the first of equals first."""
    order = np.argsort(-values, kind="stable")[:top]
    return [(items[k], float(values[k])) for k in order.tolist() if values[k] > 0]


# -- text


def category_lines(showcase: SvsShowcase, symbols: list[int], top: int) -> Iterator[str]:
    """All that there is to say of the categories of one name: relations together, parts and tags apart."""
    groups: dict[str, list[int]] = {}
    for symbol in symbols:
        groups.setdefault(showcase.grammar.symbols[symbol].kind, []).append(symbol)
    for place, group in enumerate(groups.values()):
        if place:
            yield ""
        yield from _group_lines(showcase, group, top)


def _group_lines(showcase: SvsShowcase, symbols: list[int], top: int) -> Iterator[str]:
    first = showcase.grammar.symbols[symbols[0]]
    label = showcase.plain.name(symbols[0]) if len(symbols) == 1 else f"{'@' * (first.kind == 'part')}{first.label}"
    name, count = legible(label, _NAME), showcase.count(symbols)
    yield f"{name}: {first.kind}" + (f", {count:,.0f} times" if count else "")
    yield from _share_lines(showcase, symbols, top)
    if contrasts := showcase.contrasts(symbols, top):
        yield ""
        yield "rules that vary most with the concept: overall, where likeliest, where least likely"
        yield from _contrast_lines(showcase, symbols, name, contrasts)


def _share_lines(showcase: SvsShowcase, symbols: list[int], top: int) -> Iterator[str]:
    """A line a concept: its share, and a tag's words under it, or the concept's headwords."""
    for concept, share in _best(range(showcase.model.concepts), showcase.shares(symbols), MOST):
        own = showcase.words(symbols, concept, top)
        told = own or showcase.headwords(concept, top)
        words = ", ".join(f"{legible(one.word, _WORD)} {one.share:.3f}" if own else one.word for one in told)
        yield f"  {concept:>3}  {share:6.1%}  {words}"


def _contrast_lines(showcase: SvsShowcase, symbols: list[int], name: str, contrasts: list[Contrast]) -> Iterator[str]:
    rights = [" ".join(legible(showcase.plain.name(child), _NAME) for child in one.children) for one in contrasts]
    width = max(map(len, rights))
    compared = np.flatnonzero(showcase.shares(symbols) >= LEAST)
    for right, one in zip(rights, contrasts, strict=True):
        order = compared[np.argsort(-one.by_concept[compared], kind="stable")].tolist()
        most, least = (
            ", ".join(f"{concept}: {one.by_concept[concept]:.3f}" for concept in some)
            for some in (order[:3], order[3:][-1:])
        )
        yield f"  {name} -> {right:<{width}}  {one.weight:.3f}  {most}" + (f" … {least}" if least else "")
