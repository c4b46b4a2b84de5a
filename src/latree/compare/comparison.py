"""How grammars for the same task differ: in accuracy, in size, and in the trees themselves (Petrov 2009, section 3).

Two models of the same F1 may agree on few trees, and spend their parameters on different categories.  Everything is
counted strictly (`scoring.score`) where models stand side by side, so that the gold brackets are the same for all;
`docs/compare.md` says what each figure means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from latree.arrays import Floats, Longs
from latree.compare.runs import Contender, Run, run_all
from latree.errors import LatreeError
from latree.inference.grammar import Grammar
from latree.kinds.parser import Parser
from latree.kinds.product.model import Product
from latree.scoring.evalb import COLLINS, flatten
from latree.scoring.score import Scores, score_trees
from latree.text.tree import Tree

PRODUCT = "product"  # what all models together are called


class Category(NamedTuple):
    """A label of the treebank.  A phrase takes in its parts and contexts: NP, @NP and NP^S are one category."""

    label: str
    is_tag: bool


@dataclass(frozen=True)
class Complexity:
    """What a model spends, as a whole and on each category; subtypes are None where it has a space of them."""

    subtypes: dict[Category, int] | None  # of the phrases and tags themselves, without parts
    parameters: dict[Category, int]  # weights that are not zero of productions with that parent; parts count in
    all_subtypes: int | None  # parts too
    all_parameters: int  # of all phrases; words are not counted


@dataclass(frozen=True)
class ModelFigures:
    """All about one model."""

    name: str
    kind: str
    scores: Scores
    oracle_f1: float  # of the best choice from its lists
    speed: float  # sentences a CPU second
    stand_ins: int
    complexity: Complexity

    def to_json(self) -> dict[str, Any]:
        """The keys of `latree eval --json` and those of its own."""
        return {
            "name": self.name,
            "kind": self.kind,
            **self.scores.to_json(),
            "oracle_f1": self.oracle_f1,
            "sentences_per_cpu_second": self.speed,
            "stand_ins": self.stand_ins,
            "subtypes": self.complexity.all_subtypes,
            "parameters": self.complexity.all_parameters,
        }


@dataclass(frozen=True)
class GrammarComparison:
    """Figures of several models on the same sentences; the product of all, where there is one, comes last."""

    models: list[ModelFigures]
    has_product: bool
    no_product: str  # why there is none
    sentences: int
    k: int  # trees of a list at most
    same_best: Floats  # [models, models] share of sentences with the same best tree
    shared_lists: Floats  # [models, models] mean share of a list that is in the other too

    @property
    def names(self) -> list[str]:
        return [model.name for model in self.models]

    @property
    def grammars(self) -> list[ModelFigures]:
        """The models that were given, without their product."""
        return self.models[:-1] if self.has_product else self.models

    def labels(self) -> dict[str, int]:
        """Gold brackets of each label that any tree has, the most frequent first."""
        counts = [model.scores.labels for model in self.models]
        gold = counts[0].gold
        found = {label for one in counts for label in one.gold | one.test}
        return {label: gold[label] for label in sorted(found, key=lambda label: (-gold[label], label))}

    def categories(self, *, tags: bool) -> list[Category]:
        """Those of any model, the most complex first."""
        found: Counter[Category] = Counter()
        for model in self.grammars:
            for numbers in (model.complexity.parameters, model.complexity.subtypes or {}):
                found.update({one: number for one, number in numbers.items() if one.is_tag == tags})
        return sorted(found, key=lambda one: (-found[one], one))

    def to_json(self) -> dict[str, Any]:
        """The figures by fixed names; lists and matrices are in the order of `models`."""
        return {
            "sentences": self.sentences,
            "kbest": self.k,
            "models": [model.to_json() for model in self.models],
            "no_product": self.no_product or None,
            "same_best": self.same_best.tolist(),
            "shared_lists": self.shared_lists.tolist(),
            "complexity": {
                name: {one.label: self._spent(one) for one in self.categories(tags=tags)}
                for name, tags in (("phrases", False), ("tags", True))
            },
        }

    def _spent(self, category: Category) -> dict[str, Any]:
        spent = [model.complexity for model in self.grammars]
        return {
            "subtypes": [None if one.subtypes is None else one.subtypes.get(category, 0) for one in spent],
            "parameters": [one.parameters.get(category, 0) for one in spent],
        }


Watch = Callable[[Iterable[Run], int], Iterable[Run]]


def compare_grammars(
    contenders: Sequence[Contender],
    gold: Sequence[Tree],
    k: int = 50,
    jobs: int = 1,
    watch: Watch = lambda runs, total: runs,
) -> GrammarComparison:
    """Parse the gold trees' words with every model and with the product of all, and compare what they say.

    `gold` is cleaned by the label rules that the models share (`common_labels`); `watch` sees the runs, one a model.
    """
    if len(contenders) < 2 or not gold:
        raise LatreeError("a comparison takes two models or more, and a gold tree or more")
    entries, no_product = _with_product(contenders)
    sentences = [tree.words() for tree in gold]
    runs = list(watch(run_all([one.model for one in entries], sentences, k, jobs), len(entries)))
    return GrammarComparison(
        models=[_figures(entry, own, gold) for entry, own in zip(entries, runs, strict=True)],
        has_product=not no_product,
        no_product=no_product,
        sentences=len(gold),
        k=k,
        same_best=overlap_matrix(runs, same_best),
        shared_lists=overlap_matrix(runs, shared_lists),
    )


def _with_product(contenders: Sequence[Contender]) -> tuple[list[Contender], str]:
    """The models and, where they can be multiplied, their product; else why they cannot."""
    try:
        return [*contenders, Contender(PRODUCT, Product([one.model for one in contenders]))], ""
    except LatreeError as error:
        return list(contenders), str(error)


def _figures(contender: Contender, own: Run, gold: Sequence[Tree]) -> ModelFigures:
    model, root = contender.model, contender.model.labels.root
    return ModelFigures(
        name=contender.name,
        kind=model.kind,
        scores=score_trees(gold, own.best, wrapper=root),
        oracle_f1=oracle_f1(gold, own, root),
        speed=len(gold) / max(own.cpu_seconds, 1e-9),
        stand_ins=own.stand_ins,
        complexity=complexity_of(model),
    )


# -- overlap


def same_best(first: Run, second: Run) -> float:
    """The share of sentences of which two models give the same best tree."""
    pairs = zip(first.lists, second.lists, strict=True)
    return float(np.mean([next(iter(one)) == next(iter(other)) for one, other in pairs]))


def shared_lists(first: Run, second: Run) -> float:
    """|A and B| / k', where k' is the length of the shorter list: its mean over the sentences."""
    pairs = zip(first.lists, second.lists, strict=True)
    return float(np.mean([len(one.keys() & other.keys()) / min(len(one), len(other)) for one, other in pairs]))


def overlap_matrix(runs: Sequence[Run], overlap: Callable[[Run, Run], float]) -> Floats:
    """[runs, runs] the overlap of all pairs; it is symmetric, and of a run with itself one."""
    table = np.ones((len(runs), len(runs)))
    for i, first in enumerate(runs):
        for j in range(i):
            table[i, j] = table[j, i] = overlap(first, runs[j])
    return table


# -- oracles


def oracle_f1(gold: Sequence[Tree], own: Run, root: str) -> float:
    """The strict F1, in per cent, of the best choice of one tree from each list."""
    parameters = replace(COLLINS, delete=COLLINS.delete | {root})
    choices, total = [], 0
    for tree, trees in zip(gold, own.lists, strict=True):
        keep = [tag not in parameters.delete for tag in tree.tags()]
        right = Counter(flatten(tree, keep, parameters).brackets)
        guesses = [Counter(flatten(one, keep, parameters).brackets) for one in trees.values()]
        choices.append(np.array([((right & guess).total(), guess.total()) for guess in guesses]))
        total += right.total()
    return 100.0 * best_f1(choices, total)


def best_f1(choices: Sequence[Longs], gold: int) -> float:
    """The highest F1 of one (matched, test) from each of `choices`, against so many gold brackets.

    F1 is a quotient of sums, so that the best of each sentence are not always the best together.  Whatever beats F1 = f
    has a higher sum of 2 matched - f test (Dinkelbach 1967): take the highest such sum until it beats nothing.
    """
    f1 = 0.0
    while True:
        taken = [choice[np.argmax(2 * choice[:, 0] - f1 * choice[:, 1])] for choice in choices]
        matched, test = np.sum(taken, axis=0).tolist()
        better = 2 * matched / max(gold + test, 1)
        if better <= f1:
            return f1
        f1 = better


# -- complexity


def complexity_of(model: Parser) -> Complexity:
    """What a model spends, by category and as a whole."""
    grammar, subtypes, parameters = model.grammar, model.subtype_counts(), model.complexity()
    whole = np.array([symbol.kind != "part" for symbol in grammar.symbols])
    return Complexity(
        subtypes=None if subtypes is None else _by_category(grammar, np.where(whole, subtypes, 0)),
        parameters=_by_category(grammar, parameters),
        all_subtypes=None if subtypes is None else int(subtypes.sum()),
        all_parameters=int(parameters[: grammar.first_tag].sum()),
    )


def _by_category(grammar: Grammar, numbers: Longs) -> dict[Category, int]:
    """Numbers of symbols, added up; categories without any are left out."""
    found: Counter[Category] = Counter()
    for symbol, number in zip(grammar.symbols, numbers.tolist(), strict=True):
        found[Category(symbol.label, symbol.kind == "tag")] += number
    return dict(+found)
