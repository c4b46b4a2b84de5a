"""How long a training still takes: a guess from what its steps, and the stages within them, took so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import takewhile

from latree.learning.loop import Progress

MOST_GROWTH = 2.0  # of a step over the one before


class TimeLeft:
    """Sees every progress of a training, and guesses."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock, self.latest = clock, Progress("", 0, 0, 0.0)
        self.begin()

    def begin(self) -> None:
        """Begin with the steps of a model, or of its pruner; what was before is no part of them."""
        self.took: list[float] = []  # by each step
        self.stages: dict[str, float] = {}  # what each took in this step
        self.stages_before: dict[str, float] = {}  # and in the one before
        self.started = self.seen = self.clock()

    def see(self, progress: Progress) -> None:
        """Take in a progress."""
        now = self.clock()
        self.stages[progress.stage] = self.stages.get(progress.stage, 0.0) + now - self.seen
        self.seen, self.latest = now, progress
        if progress.model is not None:
            self.took.append(now - self.started)
            self.started, self.stages_before, self.stages = now, self.stages, {}

    def leave_out(self, seconds: float) -> None:
        """Leave out a time that was spent on something else."""
        self.started += seconds
        self.seen += seconds

    def seconds(self) -> float | None:
        """Guess the rest of this step by the part of it that is done, and the steps to come by how steps grow.

        None where there is nothing to go by; another thread may ask at any moment.
        """
        latest, took, growth, done = self.latest, self.took, self._growth(), self._share_done()
        if not took and (done == 0 or latest.model is not None):
            return None
        if latest.model is not None:
            step, rest = took[-1], 0.0
        else:
            # What was expected counts for less and less, what is seen for more and more.
            spent = self.clock() - self.started
            step = (1 - done) * took[-1] * growth + spent if took else spent / done
            rest = (1 - done) * step
        return rest + sum(step * growth**k for k in range(1, latest.steps - latest.step + 1))

    def _growth(self) -> float:
        """How much longer a step takes than the one before: as seen, else as the kind of model expects."""
        took = self.took
        return min(max(took[-1] / max(took[-2], 1e-9), 1.0), MOST_GROWTH) if len(took) > 1 else self.latest.growth

    def _share_done(self) -> float:
        """The share of this step that is done, stages weighed by what they took in the one before."""
        stage, share = self.latest.stage, self.latest.done / max(self.latest.parts, 1)
        before = self.stages_before
        if stage in before:
            earlier = sum(before[name] for name in takewhile(lambda name: name != stage, before))
            share = (earlier + share * before[stage]) / max(sum(before.values()), 1e-9)
        return share
