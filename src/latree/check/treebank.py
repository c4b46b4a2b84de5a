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
from latree.learning.checkpoint import fingerprint
from latree.text.labels import LabelRules
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs

FOLDS = 5
BATCH = 32  # trees that are judged at a time, where one model judges all
VERSION = 1  # of what findings are made; what another one left in a ledger is done again

Watch = Callable[[Iterable[Any], int], Iterable[Any]]  # hands on what is done, and may tell how far it is


class Annotated(NamedTuple):
    """A tree as it stands in a file."""

    tree: Tree
    file: str
    sentence: int  # from 1


@dataclass(frozen=True)
class Checked:
    """What came of a check; all lists have the worst first."""

    doubts: list[Finding]
    rules: list[Finding]
    variations: list[Finding]
    trees: int
    unjudged: tuple[str, ...]  # sentences that the model has no tree for, so that it says nothing of them

    @property
    def findings(self) -> list[Finding]:
        """All of them in one list."""
        return worst_first([*self.doubts, *self.rules, *self.variations])


def _unwatched(done: Iterable[Any], total: int) -> Iterable[Any]:
    return done


def check_treebank(
    trees: Iterable[Tree | Annotated],
    judge: Parser | Recipe,
    *,
    folds: int | None = None,
    trusted: Iterable[Tree | Annotated] = (),
    jobs: Jobs = 1,
    ledger: Ledger | None = None,
    watch: Watch = _unwatched,
) -> Checked:
    """Find the places of a treebank that are likely to be wrong.

    A trained parser judges all trees as it is.  One that is not trained, or a recipe for one, is trained for every fold
    on the others and on what is trusted: five folds, or with trusted trees one, which those alone are learned from.
    """
    right = _numbered(trusted)
    bank = _Bank(_numbered(trees), judge, folds or (1 if right else FOLDS), right)
    found, unjudged = list[Finding](), list[str]()
    for one, findings in zip(bank.trees, bank.judged(jobs, ledger or Ledger(None), watch), strict=True):
        if findings is None:
            unjudged.append(f"{one.file}:{one.sentence}" if one.file else str(one.sentence))
        else:
            found += (Finding.from_json(finding).at(one.file, one.sentence) for finding in findings)
    return Checked(
        worst_first([one for one in found if one.kind != "rule"]),
        worst_first([one for one in found if one.kind == "rule"]),
        worst_first(variations(list(bank.sources()))),
        len(bank.trees),
        tuple(unjudged),
    )


def _numbered(trees: Iterable[Tree | Annotated]) -> list[Annotated]:
    return [one if isinstance(one, Annotated) else Annotated(one, "", number) for number, one in enumerate(trees, 1)]


_Told = list[dict[str, Any]] | None  # the findings of a tree as data; None where the model has no tree for its words


class _Bank:
    """The trees that are checked, and who judges them."""

    def __init__(
        self, trees: Sequence[Annotated], judge: Parser | Recipe, folds: int, trusted: Sequence[Annotated]
    ) -> None:
        self.model = judge if isinstance(judge, Parser) and hasattr(judge, "grammar") else None
        self.recipe = _recipe(judge) if self.model is None else None
        self.labels: LabelRules = (self.model or _recipe(judge).untrained()).labels
        self.trees = [one for one in trees if self.labels.clean(one.tree) is not None]
        self.folds, self.trusted = folds, trusted
        if not self.trees:
            raise LatreeError("there are no trees with words to check")
        if self.model is None and folds == 1 and not trusted:
            raise LatreeError("one fold has nothing to learn from but trusted trees; give some, or more folds")
        if self.model is None and folds > len(self.trees):
            raise LatreeError(f"{len(self.trees)} trees cannot be cut into {folds} folds; give fewer folds")

    def sources(self) -> Iterator[Source]:
        """All trees with clean labels; those that are trusted only say how others do it."""
        for trees, is_checked in ((self.trees, True), (self.trusted, False)):
            for one in trees:
                if (cleaned := self.labels.clean(one.tree)) is not None:
                    yield Source(cleaned, one.file, one.sentence, is_checked)

    def judged(self, jobs: Jobs, ledger: Ledger, watch: Watch) -> list[_Told]:
        """What is found in every tree."""
        alone = self.model is not None or self.folds == 1
        return self._by_one_model(jobs, ledger, watch) if alone else self._by_folds(jobs, ledger, watch)

    def _by_one_model(self, jobs: Jobs, ledger: Ledger, watch: Watch) -> list[_Told]:
        """One model that knows none of the trees judges all, batch by batch."""
        trees, name = [one.tree for one in self.trees], self._judge_key()
        batches = [trees[first : first + BATCH] for first in range(0, len(trees), BATCH)]
        tasks = {key_of(name, number, [*map(str, batch)]): batch for number, batch in enumerate(batches)}
        done = self._judged_batches(tasks, jobs, ledger)
        return [told for batch in watch(done, len(tasks)) for told in batch]

    def _judged_batches(self, tasks: dict[str, list[Tree]], jobs: Jobs, ledger: Ledger) -> Iterator[list[_Told]]:
        """Train the model where there is something left to judge; while somebody watches, since it takes long."""
        model = self.model
        if self.recipe is not None and any(key not in ledger.done for key in tasks):
            model = self.recipe.trained(one.tree for one in self.trusted)
        yield from run_tasks(_judge_all, tasks, jobs, ledger, Parcel.open, Parcel(model))

    def _by_folds(self, jobs: Jobs, ledger: Ledger, watch: Watch) -> list[_Told]:
        """Each fold is judged by a model of its own."""
        assert self.recipe is not None
        trees, trusted = ([one.tree for one in bank] for bank in (self.trees, self.trusted))
        name = key_of(self._judge_key(), [*map(str, trees)], self.folds)
        tasks = {key_of(name, fold): fold for fold in range(self.folds)}
        done = run_tasks(_judge_fold, tasks, jobs, ledger, _Folds, self.recipe, trees, trusted, self.folds)
        results: list[_Told] = [None] * len(trees)
        for fold, told in enumerate(watch(done, self.folds)):
            results[fold :: self.folds] = told
        return results

    def _judge_key(self) -> str:
        """What tells one judge from another."""
        if self.recipe is None:
            assert self.model is not None
            return fingerprint(array.tobytes() for array in self.model.state().arrays.values())
        learned = [str(one.tree) for one in self.trusted]
        return key_of(VERSION, self.recipe.kind, self.recipe.options.to_json(), learned)


def _recipe(judge: Parser | Recipe) -> Recipe:
    return judge if isinstance(judge, Recipe) else Recipe(judge.kind, judge.kind, judge.options)


class _Folds(NamedTuple):
    """What every process keeps to train the models of folds."""

    recipe: Recipe
    trees: Sequence[Tree]
    trusted: Sequence[Tree]
    folds: int


def _judge_fold(bank: _Folds, fold: int) -> list[_Told]:
    """Train on all other folds, and judge this one.

    A fold is every so manieth tree: the model then knows the text that a tree is from, and doubts less that is right.
    """
    others = [tree for number, tree in enumerate(bank.trees) if number % bank.folds != fold]
    return _judge_all(bank.recipe.trained([*bank.trusted, *others]), bank.trees[fold :: bank.folds])


def _judge_all(parser: Parser, trees: Sequence[Tree]) -> list[_Told]:
    return [_judge(parser, tree) for tree in trees]


def _judge(parser: Parser, tree: Tree) -> _Told:
    doubts = Doubts(parser.searcher, tree)
    return [one.to_json() for one in doubts.findings()] if doubts.is_judged else None
