"""How grammars for the same task differ: in accuracy, in size, and in the trees themselves (Petrov 2009, section 3).

Two models of the same F1 may agree on few trees, and spend their parameters on different categories.  Everything is
counted strictly (`scoring.score`) where models stand side by side, so that the gold brackets are the same for all;
`docs/compare.md` says what each figure means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from latree.arrays import Longs
from latree.compare.runs import Run, run_all
from latree.errors import LatreeError
from latree.kinds.parser import Parser
from latree.kinds.product.model import Product
from latree.scoring.evalb import COLLINS, flatten
from latree.scoring.score import score_trees
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs

PRODUCT = "product"  # what all models together are called
Watch = Callable[[Iterable[Run], int], Iterable[Run]]
Matrix = list[list[float]]


class Spent(TypedDict):
    """What models spend on the symbols of a label, in the order of the models."""

    subtypes: list[int | None]  # of the phrases and tags themselves, without parts; None of a space of them
    parameters: list[int]  # weights that are not zero of productions with that parent; parts count in


class Comparison(TypedDict):
    """Figures of several models on the same sentences, by the names that `latree compare --json` has for them."""

    sentences: int
    kbest: int  # trees of a list at most
    models: list[dict[str, Any]]  # all about each model; the product of all, where there is one, comes last
    no_product: str | None  # why there is none
    same_best: Matrix  # [models, models] share of sentences with the same best tree
    shared_lists: Matrix  # [models, models] mean share of a list that is in the other too
    complexity: dict[str, dict[str, Spent]]  # of phrases and of tags; the product is left out


def compare_grammars(
    models: Mapping[str, Parser],
    gold: Sequence[Tree],
    k: int = 50,
    jobs: Jobs = 1,
    watch: Watch = lambda runs, total: runs,
) -> Comparison:
    """Parse the gold trees' words with every model and with the product of all, and compare what they say.

    `gold` is cleaned by the label rules that the models share (`common_labels`); `watch` sees the runs, one a model.
    """
    if len(models) < 2 or not gold:
        raise LatreeError("a comparison takes two models or more, and a gold tree or more")
    product, no_product = _product(list(models.values()))
    entries = [*models.items(), *((PRODUCT, one) for one in product)]
    sentences = [tree.words() for tree in gold]
    runs = list(watch(run_all([model for _, model in entries], sentences, k, jobs), len(entries)))
    return Comparison(
        sentences=len(gold),
        kbest=k,
        models=[_figures(*entry, own, gold) for entry, own in zip(entries, runs, strict=True)],
        no_product=no_product,
        same_best=overlap_matrix(runs, same_best),
        shared_lists=overlap_matrix(runs, shared_lists),
        complexity=complexity_of(list(models.values())),
    )


def _product(models: Sequence[Parser]) -> tuple[list[Parser], str | None]:
    """The product of the models; or none, and why they cannot be multiplied."""
    try:
        return [Product(models)], None
    except LatreeError as error:
        return [], str(error)


def _figures(name: str, model: Parser, own: Run, gold: Sequence[Tree]) -> dict[str, Any]:
    """All about one model: the keys of `latree eval --json`, and its own."""
    subtypes, parameters = model.subtype_counts(), model.complexity()
    return {
        "name": name,
        "kind": model.kind,
        **score_trees(gold, own.best, wrapper=model.labels.root).to_json(),
        "oracle_f1": oracle_f1(gold, own, model.labels.root),  # of the best choice from its lists
        "sentences_per_cpu_second": len(gold) / max(own.cpu_seconds, 1e-9),
        "stand_ins": own.stand_ins,
        "subtypes": None if subtypes is None else int(subtypes.sum()),  # parts too
        "parameters": int(parameters[: model.grammar.first_tag].sum()),  # of all phrases; words are not counted
    }


# -- overlap


def same_best(first: Run, second: Run) -> float:
    """The share of sentences of which two models give the same best tree."""
    pairs = zip(first.lists, second.lists, strict=True)
    return float(np.mean([next(iter(one)) == next(iter(other)) for one, other in pairs]))


def shared_lists(first: Run, second: Run) -> float:
    """|A and B| / k', where k' is the length of the shorter list: its mean over the sentences."""
    pairs = zip(first.lists, second.lists, strict=True)
    return float(np.mean([len(one.keys() & other.keys()) / min(len(one), len(other)) for one, other in pairs]))


def overlap_matrix(runs: Sequence[Run], overlap: Callable[[Run, Run], float]) -> Matrix:
    """[runs, runs] the overlap of all pairs."""
    return [[overlap(first, second) for second in runs] for first in runs]


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


def complexity_of(models: Sequence[Parser]) -> dict[str, dict[str, Spent]]:
    """What models spend on phrases and on tags, by label, the most complex first.

    A phrase takes in its parts and contexts: NP, @NP and NP^S are one.
    """
    parameters = [_by_label(model, model.complexity()) for model in models]
    subtypes = [None if model.subtype_counts() is None else _by_label(model, _whole(model)) for model in models]
    total: Counter[tuple[bool, str]] = sum((one for one in (*parameters, *subtypes) if one is not None), Counter())
    spent = {
        one: Spent(
            subtypes=[None if numbers is None else numbers[one] for numbers in subtypes],
            parameters=[numbers[one] for numbers in parameters],
        )
        for one in sorted(total, key=lambda one: (-total[one], one))
    }
    kinds = (("phrases", False), ("tags", True))
    return {name: {label: spent[is_tag, label] for is_tag, label in spent if is_tag == tags} for name, tags in kinds}


def _whole(model: Parser) -> Longs:
    """[symbols] subtypes, without those of parts."""
    return np.array([symbol.kind != "part" for symbol in model.grammar.symbols]) * model.subtype_counts()


def _by_label(model: Parser, numbers: Longs) -> Counter[tuple[bool, str]]:
    """Numbers of symbols, added up for tags and others of each label."""
    totals: Counter[tuple[bool, str]] = Counter()
    for symbol, number in zip(model.grammar.symbols, numbers.tolist(), strict=True):
        totals[symbol.kind == "tag", symbol.label] += number
    return totals
