"""One thread a model: it takes what all requests wait for, a batch at a time.

Requests take turns, sentence by sentence, so that a small one does not wait for the end of a large one.  Where a batch
goes wrong, its sentences are done one by one, and only those requests fail that are at fault.

A batch under way is not cut off.  So it is kept small: whoever comes waits for the work of one long sentence at most,
also where that is a sentence that nobody waits for any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, NamedTuple

from latree.kinds.model import Model
from latree.text.partial_trees import PartialTree
from latree.web.metrics import Metrics
from latree.web.refusal import RefusalError
from latree.web.tasks import Json, Task

WORK = 150**2  # of a batch of several sentences, at most: a second or so


def work_of(sentence: Any) -> int:
    """What a sentence takes, in comparison with others: charts have as many cells as the square of its words."""
    return len(sentence.words if isinstance(sentence, PartialTree) else sentence) ** 2


class Job:
    """The sentences of a request; `future` has the answers once all are there."""

    def __init__(self, task: Task, sentences: Sequence[Any]) -> None:
        self.task, self.sentences = task, sentences
        self.taken = 0  # how many sentences are done, or under way
        self.missing = len(sentences)
        self.answers: list[Json] = [{}] * len(sentences)
        self.future: Future[list[Json]] = Future()

    @property
    def is_wanted(self) -> bool:
        """Whether there is something left to take, and somebody waits for it."""
        return self.taken < len(self.sentences) and not self.future.done()

    @property
    def next(self) -> Any:
        """The sentence that is taken next."""
        return self.sentences[self.taken]

    def take(self) -> Place:
        self.taken += 1
        return Place(self, self.taken - 1)

    def answer(self, place: int, answer: Json) -> None:
        self.answers[place] = answer
        self.missing -= 1
        if not self.missing and self.future.set_running_or_notify_cancel():
            self.future.set_result(self.answers)

    def fail(self, error: Exception) -> None:
        """Tell the request what went wrong, the first time that something does."""
        self.taken = len(self.sentences)
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


class Place(NamedTuple):
    """A sentence of a job."""

    job: Job
    number: int

    @property
    def sentence(self) -> Any:
        return self.job.sentences[self.number]


class Worker:
    """Does the jobs of one model."""

    def __init__(self, name: str, model: Model, most: int, metrics: Metrics) -> None:
        self.name, self.model, self.most, self.metrics = name, model, most, metrics
        self._jobs: deque[Job] = deque()
        self._is_closing = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name=f"latree-{name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many sentences nobody is at yet."""
        return sum(len(job.sentences) - job.taken for job in list(self._jobs) if job.is_wanted)

    def submit(self, job: Job) -> Future[list[Json]]:
        """Take a job, unless too many sentences wait already, or the server is about to end."""
        with self._changed:
            if self._is_closing:
                raise RefusalError(503, "the server is stopping")
            if self.waiting + len(job.sentences) > self.most:
                raise RefusalError(503, f"{self.waiting} sentences wait already; try again in a moment")
            if job.sentences:
                self._jobs.append(job)
                self._changed.notify()
            else:
                job.future.set_result([])
        return job.future

    def close(self) -> None:
        """Finish what was taken, and end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._take():
            self._do(batch)

    def _take(self) -> list[Place]:
        """Wait for work; an empty batch is the end."""
        with self._changed:
            while True:
                self._jobs = deque(job for job in self._jobs if job.is_wanted)
                if self._jobs:
                    return self._next_batch()
                if self._is_closing:
                    return []
                self._changed.wait()

    def _next_batch(self) -> list[Place]:
        """Sentences of the first job's task, from all jobs with that task in turns; other tasks come next time."""
        task = self._jobs[0].task
        alike = deque(job for job in self._jobs if job.task == task)
        others = [job for job in self._jobs if job.task != task]
        batch, room = list[Place](), WORK
        while alike and len(batch) < task.at_once and (not batch or work_of(alike[0].next) <= room):
            job = alike.popleft()
            room -= work_of(job.next)
            batch.append(job.take())
            if job.is_wanted:
                alike.append(job)
        self._jobs = deque([*others, *alike])
        return batch

    def _do(self, batch: Sequence[Place]) -> None:
        task = batch[0].job.task
        try:
            answers = task(self.model, [place.sentence for place in batch])
        except Exception as error:  # whatever it is, the other requests must go on
            if len(batch) == 1:
                batch[0].job.fail(error)
                return
            for place in batch:
                if not place.job.future.done():
                    self._do([place])
            return
        self.metrics.count_batch(self.name, task.name, len(batch))
        for place, answer in zip(batch, answers, strict=True):
            place.job.answer(place.number, answer)
