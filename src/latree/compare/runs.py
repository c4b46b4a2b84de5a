"""Run several models over the same sentences: the best trees of each, how long they took, and the next best."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from latree.errors import LatreeError
from latree.kinds.jobs import Parcel
from latree.kinds.parser import Parser
from latree.parallel import Jobs, Pool
from latree.text.labels import LabelRules
from latree.text.tree import Tree

_WARM = 4  # sentences that are parsed before the clock starts: kernels are compiled, projections made


def common_labels(models: Mapping[str, Parser]) -> LabelRules:
    """The rules that clean the gold trees; models that do not share them cannot be right on the same trees."""
    (first, rules), *others = ((name, model.labels.for_scoring()) for name, model in models.items())
    for name, other in others:
        if other != rules:
            raise LatreeError(
                f"{first} and {name} were trained with different label rules; no gold tree is right for both"
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


def run_all(models: Sequence[Parser], sentences: Sequence[Sequence[str]], k: int, jobs: Jobs = 1) -> Iterator[Run]:
    """A run a model, in order; with several jobs so many models at once, each in a process of its own."""
    with Pool(jobs, _keep, sentences, k, most=len(models)) as pool:
        yield from pool.stream(_run_parcel, map(Parcel, models))


def _keep(sentences: Sequence[Sequence[str]], k: int) -> tuple[Sequence[Sequence[str]], int]:
    return sentences, k


def _run_parcel(kept: tuple[Sequence[Sequence[str]], int], parcel: Parcel) -> Run:
    """A run in a process of its own, to which models come as data."""
    return run(parcel.model, *kept)
