"""What a server counts of itself, in the text format of Prometheus."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from threading import Lock

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # of requests, the edges of a histogram


class Metrics:
    """Counts that only grow; their number is fixed by routes, models and tasks, whatever is asked."""

    def __init__(self) -> None:
        self._lock, self._begun = Lock(), time.time()
        self._requests: Counter[tuple[str, int]] = Counter()  # by path and status
        self._within = [0] * (len(_SECONDS) + 1)
        self._total_seconds = 0.0
        self._sentences: Counter[tuple[str, str]] = Counter()  # by model and task
        self._batches: Counter[tuple[str, str]] = Counter()

    def count_request(self, path: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[path, status] += 1
            self._within[bisect_left(_SECONDS, seconds)] += 1
            self._total_seconds += seconds

    def count_batch(self, model: str, task: str, sentences: int) -> None:
        with self._lock:
            self._batches[model, task] += 1
            self._sentences[model, task] += sentences

    def text(self, waiting: Mapping[str, int]) -> str:
        """All counts; `waiting` has the sentences that each model has yet to take."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines(waiting))

    def _lines(self, waiting: Mapping[str, int]) -> Iterator[str]:
        yield from _head("latree_requests_total", "counter", "Requests answered.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'latree_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from self._histogram()
        for name, told, counts in (
            ("latree_sentences_total", "Sentences done.", self._sentences),
            ("latree_batches_total", "Batches that sentences were done in.", self._batches),
        ):
            yield from _head(name, "counter", told)
            for (model, task), count in sorted(counts.items()):
                yield f'{name}{{model="{_escaped(model)}",task="{task}"}} {count}'
        yield from _head("latree_sentences_waiting", "gauge", "Sentences that nobody is at yet.")
        for model, count in sorted(waiting.items()):
            yield f'latree_sentences_waiting{{model="{_escaped(model)}"}} {count}'
        yield from _head("latree_start_time_seconds", "gauge", "When the server began, in seconds since 1970.")
        yield f"latree_start_time_seconds {self._begun:.3f}"

    def _histogram(self) -> Iterator[str]:
        yield from _head("latree_request_seconds", "histogram", "Seconds from a request to its answer.")
        edges = [*(f"{edge:g}" for edge in _SECONDS), "+Inf"]
        for edge, count in zip(edges, accumulate(self._within), strict=True):
            yield f'latree_request_seconds_bucket{{le="{edge}"}} {count}'
        yield f"latree_request_seconds_sum {self._total_seconds:.6f}"
        yield f"latree_request_seconds_count {sum(self._within)}"


def _head(name: str, kind: str, told: str) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
