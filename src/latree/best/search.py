"""Trials, one after the other or side by side, until the time is over; then the product of those that help."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from latree.best.plans import LEAST_GAIN, ParserPlan, Plan, TaggerPlan
from latree.best.trials import Data, Outcome, Task, Trial, earlier, run
from latree.errors import LatreeError
from latree.kinds.product.model import together
from latree.kinds.registry import load
from latree.parallel import Jobs, Pool, how_many

Tell = Callable[[str], None]
LIKELY = 4  # members of a product
GRACE = 0.05  # of all the time, that choosing may take beyond it: what took minutes is not left out for seconds


class BestModelSearch:
    """The search for the best model; `run` gives it."""

    def __init__(self, task: Task, jobs: Jobs, seconds: float, tell: Tell) -> None:
        self.task, self.jobs, self.seconds, self.tell = task, jobs, seconds, tell
        self.workers = how_many(jobs)
        self.started, self.stage = time.monotonic(), "reading the treebank"
        self.data = Data(task)
        self.plan: Plan = ParserPlan(self.data.train, seconds) if task.column is None else TaggerPlan(seconds)
        self.done: dict[str, Outcome] = {}
        self.failed: set[str] = set()
        self.running: dict[Future[Outcome], Trial] = {}

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    @property
    def figure(self) -> str:
        return "strict F1" if self.task.column is None else "tags"

    def line(self) -> str:
        """What goes on, for people who wait."""
        names = ", ".join(trial.name for trial in self.running.values()) or self.stage
        left = max(self.seconds - self.elapsed, 0.0) / 60
        return f"training {names}; {left:.0f} min left" if self.running else names

    # -- trials

    def run(self) -> Any:
        """Train and choose; the model is a product where several are better than one."""
        self.task.folder.mkdir(exist_ok=True)
        with Pool(self.jobs, Data, self.task, apart=True) as pool:
            while self._begin(pool) or self.running:
                self._finish()
        if not self.done:
            raise LatreeError("no trial came to an end; see above")
        self.stage = "choosing"
        return self._compose()

    def _begin(self, pool: Pool) -> bool:
        """Start what there are workers for, or take over what was done before; whether there was anything."""
        begun = False
        while len(self.running) < self.workers and (trial := self._next()) is not None:
            begun = True
            if (known := earlier(trial, self.task)) is not None:
                self.started -= known.seconds / self.workers  # that time is spent
                self._take(known, "done before")
            else:
                self.running[pool.submit(run, trial, self._time_for(trial))] = trial
        return begun

    def _next(self) -> Trial | None:
        """The best trial that is neither done nor running and would end in time; the first one is always tried."""
        names = [trial.name for trial in self.running.values()]
        for trial, share in self.plan.steps(self.done, names):
            if trial.name in self.done or trial.name in names or trial.name in self.failed:
                continue
            if (
                not self.done
                or self.plan.expected(trial, self.done) <= share * self.seconds - self.elapsed - self._rest()
            ):
                return trial
        return None

    def _time_for(self, trial: Trial) -> float:
        share = next(share for one, share in self.plan.steps(self.done, ()) if one.name == trial.name)
        return share * self.seconds - self.elapsed - self._rest()

    def _rest(self) -> float:
        """Seconds that choosing will take, another member included: products of two, three and more are scored, seldom
        of more than LIKELY, in the worst case always with those that take longest."""
        members = self.plan.members(self.done) if self.done else []
        each = sorted((one.scoring for one in members), reverse=True)
        return sum(sum(each[:LIKELY]) for _ in each) / self.workers

    def _finish(self) -> None:
        """Wait until one of the trials ends, and take in what came of it."""
        ended, _ = wait(self.running, return_when=FIRST_COMPLETED)
        for future in ended:
            trial = self.running.pop(future)
            try:
                self._take(future.result(), "")
            except LatreeError as error:
                if not self.done:
                    raise
                self.failed.add(trial.name)
                self.tell(f"{trial.name}: left out: {error}")

    def _take(self, outcome: Outcome, remark: str) -> None:
        trial = outcome.trial
        self.done[trial.name] = outcome
        options = [f"{name.rpartition('.')[2]} {value}" for name, value in trial.changes.items()]
        kept = f", {outcome.steps['unit']} {outcome.steps['kept']} kept" if outcome.steps else ""
        what = ", ".join([trial.kind, *options])
        told = remark or f"{outcome.seconds:.0f} s"
        self.tell(f"{trial.name} ({what}): {self.figure} {outcome.score:.2f}{kept}, {told}")

    # -- the choice

    def _compose(self) -> Any:
        """Multiply the best model with others, one after the other, that make it better on dev.

        The best model was chosen from many by what it has there, which the first product was not: see `first_gain`.
        """
        ranked = self.plan.members(self.done)
        best, needed, members = ranked[0].score, ranked[0].score + self.plan.first_gain, [ranked[0].trial]
        models = [self._model(members[0])]
        for outcome in ranked[1:]:
            if self.elapsed > (1 + GRACE) * self.seconds:
                self.tell("the time is over; other trials are left out of the product")
                break
            models.append(self._model(outcome.trial))
            score = self.data.score(together(models), self.jobs)
            taken = score >= needed
            self.tell(
                f"with {outcome.trial.name}: {self.figure} {score:.2f} ({score - best:+.2f})"
                f"{'' if taken else ', left out'}"
            )
            if taken:
                best, needed = score, score + LEAST_GAIN
                members.append(outcome.trial)
            else:
                models.pop()
        model = together(models) if len(models) > 1 else models[0]
        trials = {name: {"score": one.score, "seconds": round(one.seconds)} for name, one in self.done.items()}
        model.training |= {"members": [trial.name for trial in members], "trials": trials, "score": best}
        return model

    def _model(self, trial: Trial) -> Any:
        """The model of a trial, without what only the trial needs to know."""
        model = load(trial.file(self.task.folder))
        model.training.pop("trial")
        return model

    def forget(self) -> None:
        """Remove the models of the trials."""
        shutil.rmtree(self.task.folder, ignore_errors=True)
