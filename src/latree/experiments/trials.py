"""Models that learn from some examples of a treebank and are scored on others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from latree.errors import LatreeError
from latree.experiments.held_out import score
from latree.experiments.recipes import Recipe
from latree.experiments.tasks import Ledger, key_of, run_tasks
from latree.learning.checkpoint import fingerprint
from latree.scoring.score import Scores, TagScores, Triple

if TYPE_CHECKING:
    from latree.parallel import Jobs

# What is told of parsers and of taggers, by the names that `latree eval --json` has: what it is called for people.
PARSER_MEASURES = {"f1": "F1", "exact": "exact", "tag_accuracy": "tags", "f1_strict": "F1 strict"}
TAGGER_MEASURES = {"token": "tags", "sentence": "sentences"}


class Result(TypedDict):
    """How well a model did on held-out examples."""

    figures: dict[str, float]  # by the names of the measures
    counts: list[Triple]  # of each sentence, for comparisons: matched, gold, test


Watch = Callable[[Iterable[Result], int], Iterable[Result]]  # sees results come, and knows how many there will be


def unwatched(results: Iterable[Result], total: int) -> Iterable[Result]:
    """Watch nothing."""
    return results


class Trial(NamedTuple):
    """A training: of what, and on which examples, by their places."""

    recipe: Recipe
    seed: int
    train: Sequence[int]
    held_out: Sequence[int]

    def run(self, examples: Sequence[Any]) -> Result:
        """Train and score."""
        try:
            model = self.recipe.trained([examples[k] for k in self.train], self.seed)
        except LatreeError as error:
            raise LatreeError(f"{self.recipe.text}, of {len(self.train)} examples: {error}") from None
        return _result(score(model, [examples[k] for k in self.held_out]))


def _result(scores: Scores | TagScores) -> Result:
    told = scores.to_json()
    figures = {name: float(told[name]) for name in measures(tags=isinstance(scores, TagScores))}
    counts = scores.bracket_counts() if isinstance(scores, Scores) else scores.tag_counts()
    return {"figures": figures, "counts": counts}


def measures(*, tags: bool) -> dict[str, str]:
    """The measures of taggers, or of parsers; the first is the one that models are judged by."""
    return TAGGER_MEASURES if tags else PARSER_MEASURES


def read_examples(recipe: Recipe, source: Any) -> list[Any]:
    """The examples that a recipe learns from: as they are given, or those of a file; for taggers, words and tags."""
    model = recipe.untrained()
    examples = model.read_treebank(source) if isinstance(source, str | Path) else source
    return list(model.prepare_data(examples) if recipe.tags else examples)


@dataclass(frozen=True)
class Laboratory:
    """Where trials are run: on which examples, by whom, and where results are kept."""

    examples: Sequence[Any]  # trees, or tagged sentences
    jobs: Jobs = 1
    ledger: Path | None = None

    def run(self, trials: Sequence[Trial]) -> Iterator[Result]:
        """Give the result of every trial, in order; of equal ones the work is done once."""
        treebank = fingerprint(f"{one}\n".encode("utf-8", "replace") for one in self.examples)
        listed = [
            (key_of(trial.recipe.identity(trial.seed), treebank, trial.train, trial.held_out), trial)
            for trial in trials
        ]
        return run_tasks(_run, listed, self.jobs, Ledger(self.ledger), _keep, self.examples)


def _keep(examples: Sequence[Any]) -> Sequence[Any]:
    return examples


def _run(examples: Sequence[Any], trial: Trial) -> Result:
    return trial.run(examples)
