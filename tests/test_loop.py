"""What the training loop promises, whatever is trained: here a number that is drawn at every step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from latree.errors import LatreeError
from latree.files import Arrays
from latree.learning.checkpoint import Checkpoint, Standing
from latree.learning.loop import Progress, Score, Trainee, Training, Watch, train

DONE = 4  # steps


class Number:
    """A model that is one number."""

    kind = "number"

    def __init__(self) -> None:
        self.value, self.training = 0.0, dict[str, Any]()

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"training": self.training}, {"value": np.array([self.value])}


class Walk(Trainee):
    """Adds something random to the number at every step; the sum of all that was added is its own affair."""

    unit = "walk"
    steps = DONE

    def __init__(self, *, inner: Walk | None = None) -> None:
        self.model, self.inner, self.total = Number(), inner, 0.0
        self.finished: list[float] = []
        self.closed = 0

    def fingerprint(self) -> str:
        return "the treebank"

    def begin(self, rng: np.random.Generator, training: Training) -> None:
        if self.inner is not None:
            train(self.inner, training.inside("pruner"), seed=7)
            self.model.value = self.inner.model.value
        self.total = rng.random()

    def resume(self, standing: Standing, training: Training) -> None:
        self.model.value, self.total = float(standing.model["value"][0]), float(standing.arrays["total"][0])

    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        for part in (1, 2):
            self.total += rng.random()
            watch(Progress("part", part, 2, self.total))
        self.model.value += number * self.total
        return Progress("walked", 2, 2, self.model.value)

    def state(self) -> Arrays:
        return {"total": np.array([self.total])}

    def learned(self) -> Arrays:
        return {"value": np.array([self.model.value])}

    def adopt(self, learned: Arrays) -> None:
        self.model.value = float(learned["value"][0])

    def finish(self, score: Score | None, best: float) -> None:
        self.finished.append(best)

    def close(self) -> None:
        self.closed += 1


class Chooser(Walk):
    keeps_best = True

    def counts(self, number: int) -> bool:
        return number > 1


def walked(trainee: Walk, training: Training | None = None, seed: int = 3) -> float:
    train(trainee, training or Training(), seed)
    assert trainee.closed == len(trainee.finished) == 1
    return float(trainee.model.value)


class Scores:
    """Given scores, one after the other, each noted in the model."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values, self.seen = iter(values), list[float]()

    def __call__(self, model: Number) -> float:
        self.seen.append(model.value)
        model.training["dev"] = next(self.values)
        return float(model.training["dev"])


def test_what_is_no_part_of_a_step_is_announced() -> None:
    told: list[str] = []
    walked(Walk(inner=Walk()), Training(lambda progress: told.append(progress.unit), announce=told.append))
    assert (told[0], told[len(told) // 2], told.count("walk")) == ("pruner: training", "training", len(told) - 2)


def test_progress_comes_in_order() -> None:
    seen: list[Progress] = []
    trainee = Walk(inner=Walk())
    walked(trainee, Training(seen.append))
    pruner = [one for one in seen if one.inside == "pruner"]
    assert pruner == seen[: len(pruner)]
    for part, model in ((pruner, trainee.inner and trainee.inner.model), (seen[len(pruner) :], trainee.model)):
        assert [(one.step, one.stage, one.done) for one in part] == [
            place for k in range(1, DONE + 1) for place in ((k, "part", 1), (k, "part", 2), (k, "walked", 2))
        ]
        assert {(one.unit, one.steps) for one in part} == {("walk", DONE)}
        assert [one.model for one in part] == [None, None, model] * DONE


def test_the_seed_decides() -> None:
    assert walked(Walk()) == walked(Walk()) != walked(Walk(), seed=4)


@pytest.mark.parametrize("scores", [[9.0, 1.0, 3.0, 2.0], [0.0, 1.0, 1.0, 1.0]])
def test_the_best_step_that_counts_is_kept(scores: list[float]) -> None:
    """Of equal ones the first; the model says of its training what it said then."""
    score, trainee = Scores(scores), Chooser()
    best = max(scores[1:])
    assert walked(trainee, Training(score=score)) == score.seen[scores.index(best)]
    assert trainee.finished == [best]
    assert trainee.model.training["dev"] == best
    assert len(score.seen) == DONE


def test_else_the_last_is_kept() -> None:
    score = Scores([4.0, 3.0, 2.0, 1.0])
    assert walked(Walk(), Training(score=score)) == score.seen[-1] == walked(Chooser())


class StopError(Exception):
    pass


def stop_at(step: int, inside: str, done: int | None) -> Watch:
    """Stop within a step, or where `done` is None after it, when its checkpoint is there."""

    def watch(progress: Progress) -> None:
        after = progress.model is not None
        if (progress.step, progress.inside) == (step, inside) and (after if done is None else progress.done == done):
            raise StopError

    return watch


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("inside", ["pruner", ""])
@pytest.mark.parametrize("done", [2, None])
@pytest.mark.parametrize("step", [1, 2, DONE])
def test_what_was_cut_short_ends_where_it_would_have(
    step: int, done: int | None, inside: str, scored: bool, tmp_path: Path
) -> None:
    def score(model: Number) -> float:
        model.training["dev"] = -abs(model.value - 5.0)
        return float(model.training["dev"])

    def trainee() -> Walk:
        return Chooser(inner=Walk())

    plain, checkpoint = Training(score=score if scored else None), Checkpoint(tmp_path / "c", {"seed": 3})
    whole = trainee()
    walked(whole, plain)
    kept = Training(stop_at(step, inside, done), plain.score, checkpoint)
    cut = trainee()
    with pytest.raises(StopError):
        train(cut, kept, 3)
    assert cut.closed == 1
    seen: list[Progress] = []
    again = trainee()
    assert walked(again, Training(seen.append, plain.score, checkpoint, resume=True)) == whole.model.value
    assert again.model.training == whole.model.training
    first = min((one.inside != "pruner", one.step) for one in seen) if seen else None
    steps = step if done is None else step - 1  # that are not done again
    if inside and steps:
        assert first == ((False, steps + 1) if steps < DONE else (True, 1))
    elif not inside and steps < DONE and steps:
        assert first == (True, steps + 1)


def test_a_score_that_was_cut_short_is_made_up_for(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "c", {})

    def interrupted(model: Number) -> float:
        raise StopError

    with pytest.raises(StopError):
        train(Chooser(), Training(score=interrupted, checkpoint=checkpoint), 3)
    score = Scores([1.0, 2.0, 4.0, 3.0])
    train(Chooser(), Training(score=score, checkpoint=checkpoint, resume=True), 3)
    assert len(score.seen) == DONE


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "c", {"seed": 3})
    train(Walk(), Training(checkpoint=checkpoint), 3)
    other = Checkpoint(tmp_path / "c", {"seed": 4})
    with pytest.raises(LatreeError, match="made with other options or another treebank"):
        train(Walk(), Training(checkpoint=other, resume=True), 4)
    train(Walk(), Training(checkpoint=other), 4)  # written anew
