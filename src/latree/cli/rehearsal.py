"""Kernels compiled by two processes: while a command compiles the coarse pass, a second one compiles what comes after.

The second process loads the same models and goes through the rest of a search over one word.  Both keep kernels in the
same folder, where neither compiles what the other is at (`latree.jit`).
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from latree.inference.forest import Piece
from latree.inference.kbest import k_best
from latree.inference.results import Objective
from latree.inference.sweep import sweep_outside
from latree.jit import is_kept, place_of
from latree.kinds.model import Model
from latree.kinds.product.model import together
from latree.kinds.registry import load
from latree.kinds.search import Attempt, Search
from latree.kinds.tagger import Tagger
from latree.parallel import cores, interrupts_held

WORD = "the"


class _NoChart(NamedTuple):
    """Stands for the coarse pass of a sentence."""

    log_z: float = 0.0


class _Rehearsal(Search):
    """A search that skips the coarse pass: one word and its likeliest tag are the whole forest."""

    def _pruned(self, attempt: Attempt) -> Piece:
        grammar = self.model.grammar
        tag = [symbol.label for symbol in grammar.tags].index(self.model.likeliest_tag(WORD, True))
        symbol = np.array([grammar.first_tag + tag], np.int32)
        rule, ends = np.array([len(grammar.rules) + tag], np.int32), np.array([[0, -1, -1]], np.int32)
        return Piece(rule, ends, symbol, np.array([[0, 1]], np.int32), len(grammar.tags))


def rehearse(model: Model, kbest: int, objective: Objective) -> None:
    """Have everything compiled that a search needs after the coarse pass.

    A tagger that tags as usual compiles a few short kernels, and searches no forest.
    """
    model = model.searcher
    if isinstance(model, Tagger) and objective == "max-rule" and not kbest:
        return
    search = _Rehearsal(model, [Attempt(_NoChart(), model.read((WORD,)))], model.threshold)
    best = search.best(objective)[0].edges
    if kbest:
        search.weighed([edges for _, edges in k_best(search.forest, search.scores(objective), kbest)])
        search.same_edges(search, best)


@contextmanager
def compiled_beside(names: Sequence[Path | None], kbest: int, objective: Objective) -> Iterator[None]:
    """Where nothing is compiled yet, have a second process compile while the work in here goes on; it ends with it."""
    if not _is_of_use():
        yield
        return
    arguments = (tuple(names), kbest, objective)
    helper = multiprocessing.get_context("spawn").Process(target=_rehearse_named, args=arguments, daemon=True)
    with interrupts_held():
        helper.start()
    try:
        yield
    finally:
        helper.kill()
        helper.join()


def _is_of_use() -> bool:
    """Whether kernels are to be compiled, can be handed over, and there is a second processor."""
    return cores() > 1 and place_of(sweep_outside) is not None and not is_kept(sweep_outside)


def _rehearse_named(names: Sequence[Path | None], kbest: int, objective: Objective) -> None:
    """Compile, in the second process; what goes wrong there goes wrong in the first one too, which tells it."""
    with suppress(Exception):
        models = [load(name) for name in names]
        rehearse(models[0] if len(models) == 1 else together(models), kbest, objective)
