"""The same sentences through several models: the best trees of each, how long they took, and lists of the next best."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from latree.errors import LatreeError
from latree.kinds.jobs import interrupts_held
from latree.kinds.parser import Parser
from latree.kinds.registry import from_state
from latree.text.labels import LabelRules
from latree.text.tree import Tree

_WARM = 4  # sentences that are parsed before the clock starts: kernels are compiled, projections made


@dataclass(frozen=True)
class Contender:
    """A model to compare, and what it is called."""

    name: str
    model: Parser


def common_labels(contenders: Sequence[Contender]) -> LabelRules:
    """The rules that clean the gold trees; models that do not share them cannot be right on the same trees."""
    first, *others = contenders
    rules = first.model.labels.for_scoring()
    for other in others:
        if other.model.labels.for_scoring() != rules:
            raise LatreeError(
                f"{first.name} and {other.name} were trained with different label rules; no gold tree is right for both"
            )
    return rules


class Run(NamedTuple):
    """What a model made of the sentences."""

    lists: list[dict[str, Tree]]  # of each sentence the best trees by their brackets, the very best first
    stand_ins: int  # sentences that the model does not derive or did not try
    cpu_seconds: float  # for the very best trees alone

    @property
    def best(self) -> list[Tree]:
        return [next(iter(trees.values())) for trees in self.lists]


def run(model: Parser, sentences: Sequence[Sequence[str]], k: int) -> Run:
    """The best tree of every sentence, timed, and then the k best."""
    list(model.analyse(sorted(sentences, key=len)[:_WARM]))
    start = time.process_time()
    found = [(one.tree, one.status) for one in model.analyse(sentences)]
    took = time.process_time() - start
    lists = [_headed(tree, model, words, k) for (tree, _), words in zip(found, sentences, strict=True)]
    return Run(lists, sum(status != "ok" for _, status in found), took)


def _headed(best: Tree | None, model: Parser, words: Sequence[str], k: int) -> dict[str, Tree]:
    """The k best trees; the best one leads, even where the list, which is pruned less, has it further down."""
    rest = (one.tree for one in model.kbest(words, k)) if k > 1 else ()
    distinct = {str(tree): tree for tree in (best, *rest) if tree is not None}
    return dict(islice(distinct.items(), k))


def run_all(models: Sequence[Parser], sentences: Sequence[Sequence[str]], k: int, jobs: int = 1) -> Iterator[Run]:
    """A run a model, in order; with several jobs so many models at once, each in a process of its own."""
    if jobs > 1:
        yield from _run_apart(models, sentences, k, jobs)
    else:
        yield from (run(model, sentences, k) for model in models)


def _run_apart(models: Sequence[Parser], sentences: Sequence[Sequence[str]], k: int, jobs: int) -> Iterator[Run]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(models)), context)
    try:
        states = ((model.kind, *model.state(), _options(model)) for model in models)
        with interrupts_held():
            futures = [pool.submit(_run_state, *state, sentences, k) for state in states]
        for future in futures:
            yield future.result()
    except BrokenProcessPool:
        raise LatreeError("a worker process died, perhaps for want of memory; try fewer --jobs") from None
    except BaseException:  # an interrupt: nobody waits for what is under way
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _options(model: Parser) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model.run_options}


def _run_state(
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, Any],
    options: Mapping[str, Any],
    sentences: Sequence[Sequence[str]],
    k: int,
) -> Run:
    """A run in a process of its own, to which models come as data."""
    model: Any = from_state(kind, header, arrays)
    for name, value in options.items():
        setattr(model, name, value)
    return run(model, sentences, k)
