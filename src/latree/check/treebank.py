"""A whole treebank checked: every tree is judged by a model that did not learn from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from latree.check.doubts import Doubts
from latree.check.findings import Finding, worst_first
from latree.check.variation import Source, variations
from latree.errors import LatreeError
from latree.experiments.recipes import Recipe
from latree.experiments.tasks import Ledger, key_of, run_tasks
from latree.kinds.jobs import Parcel
from latree.kinds.parser import Parser
from latree.text.labels import LabelRules
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs

FOLDS = 5
BATCH = 32  # trees that are judged at a time, where one model judges all
VERSION = 1  # of what findings are made; results of another are not taken from a ledger

Watch = Callable[[Iterable[Any], int], Iterable[Any]]  # hands on what is done, and may tell how far it is


class Annotated(NamedTuple):
    """A tree as it stands in a file."""

    tree: Tree
    file: str
    sentence: int  # from 1


@dataclass(frozen=True)
class Checked:
    """What came of a check."""

    doubts: list[Finding]  # worst first, as all of these
    rules: list[Finding]
    variations: list[Finding]
    trees: int
    unjudged: tuple[str, ...]  # sentences that the model has no tree for, so that it says nothing of them

    @property
    def findings(self) -> list[Finding]:
        """All of them."""
        return worst_first([*self.doubts, *self.rules, *self.variations])


def _unwatched(done: Iterable[Any], total: int) -> Iterable[Any]:
    return done


@dataclass(frozen=True)
class Judgement:
    """How trees are judged: by a model that there is, or by one for each fold."""

    recipe: Recipe | None = None
    model: Parser | None = None
    folds: int = FOLDS
    trusted: Sequence[Tree] = ()
    jobs: Jobs = 1
    ledger: Ledger | None = None
    watch: Watch = _unwatched

    def __post_init__(self) -> None:
        if (self.recipe is None) == (self.model is None):
            raise LatreeError("trees are judged by a recipe or by a model: give one of the two")
        if self.model is None and self.folds < 2 and not self.trusted:
            raise LatreeError(
                "with one fold there is nothing to learn from but trusted trees; give some, or more folds"
            )


def check_treebank(trees: Sequence[Tree | Annotated], how: Judgement) -> Checked:
    """Find the places of a treebank that are likely to be wrong."""
    annotated = [one if isinstance(one, Annotated) else Annotated(one, "", k) for k, one in enumerate(trees, start=1)]
    kept = [one for one in annotated if _labels(how).clean(one.tree) is not None]
    if how.model is None and how.folds > len(kept):
        raise LatreeError(f"{len(kept)} trees cannot be cut into {how.folds} folds; give fewer folds, or more trees")
    results = _judged(kept, how)
    found, unjudged = list[Finding](), list[str]()
    for one, findings in zip(kept, results, strict=True):
        if findings is None:
            unjudged.append(f"{one.file}:{one.sentence}")
        else:
            found += (Finding.from_json(finding).at(one.file, one.sentence) for finding in findings)
    return Checked(
        worst_first([one for one in found if one.kind != "rule"]),
        worst_first([one for one in found if one.kind == "rule"]),
        worst_first(variations(list(_sources(kept, how)))),
        len(kept),
        tuple(unjudged),
    )


def _labels(how: Judgement) -> LabelRules:
    if how.model is not None:
        return how.model.labels
    assert how.recipe is not None
    labels: LabelRules = how.recipe.untrained().labels
    return labels


def _sources(kept: Sequence[Annotated], how: Judgement) -> Iterator[Source]:
    labels = _labels(how)
    for trees, is_checked in (
        (kept, True),
        ([Annotated(one, "trusted", k) for k, one in enumerate(how.trusted, 1)], False),
    ):
        for one in trees:
            cleaned = labels.clean(one.tree)
            if cleaned is not None:
                yield Source(cleaned, one.file, one.sentence, is_checked)


# -- judging

_Told = list[dict[str, Any]] | None  # the findings of a tree as data; None where the model has no tree for its words


def _judged(kept: Sequence[Annotated], how: Judgement) -> list[_Told]:
    """What is found in every tree."""
    trees = [one.tree for one in kept]
    return _by_one_model(trees, how) if how.model is not None or how.folds == 1 else _by_folds(trees, how)


def _by_one_model(trees: Sequence[Tree], how: Judgement) -> list[_Told]:
    """One model that knows none of the trees judges all."""
    ledger = how.ledger or Ledger(None)
    name = _recipe_key(how) if how.model is None else str(how.model.training)
    batches = [tuple(trees[k : k + BATCH]) for k in range(0, len(trees), BATCH)]
    tasks = {
        key_of(VERSION, name, [str(tree) for tree in batch], number): batch for number, batch in enumerate(batches)
    }
    model = how.model
    if model is None and any(key not in ledger.done for key in tasks):
        assert how.recipe is not None
        model = how.recipe.trained(how.trusted)
    done = run_tasks(_judge_batch, tasks, how.jobs, ledger, Parcel.open, Parcel(model))
    return [told for batch in how.watch(done, len(tasks)) for told in batch]


def _judge_batch(parser: Parser, trees: Sequence[Tree]) -> list[_Told]:
    return [judge(parser, tree) for tree in trees]


def judge(parser: Parser, tree: Tree) -> _Told:
    """Tell what a parser finds in a tree that it did not learn from."""
    doubts = Doubts(parser.searcher, tree)
    return [one.to_json() for one in doubts.findings()] if doubts.is_judged else None


class _Bank(NamedTuple):
    """What every process keeps to train the models of folds."""

    recipe: Recipe
    trees: Sequence[Tree]
    trusted: Sequence[Tree]
    folds: int

    def judged(self, fold: int) -> list[_Told]:
        """Train on all other folds, and judge this one: every so manieth tree, so that its text is known."""
        others = [tree for number, tree in enumerate(self.trees) if number % self.folds != fold]
        parser = self.recipe.trained([*self.trusted, *others])
        return _judge_batch(parser, self.trees[fold :: self.folds])


def _by_folds(trees: Sequence[Tree], how: Judgement) -> list[_Told]:
    """A model for each fold judges its trees."""
    assert how.recipe is not None
    key = key_of(VERSION, _recipe_key(how), [str(tree) for tree in trees])
    tasks = {key_of(key, how.folds, fold): fold for fold in range(how.folds)}
    bank = how.recipe, trees, how.trusted, how.folds
    done = run_tasks(_Bank.judged, tasks, how.jobs, how.ledger or Ledger(None), _Bank, *bank)
    results: list[_Told] = [None] * len(trees)
    for fold, told in enumerate(how.watch(done, how.folds)):
        results[fold :: how.folds] = told
    return results


def _recipe_key(how: Judgement) -> str:
    assert how.recipe is not None
    return key_of(how.recipe.text, [str(tree) for tree in how.trusted])
