"""The temperature at which a parser's probabilities are nearest to what is so.

It is learned from gold trees that the parser did not learn from: the one of some temperatures with the smallest squared
error over all constituents of the forests, then between its neighbours by the parabola through them.  The squared error
(Brier's score) is least where every probability is what it should be, and no single constituent that was held
impossible outweighs all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from latree.arrays import Floats
from latree.diagnosis.calibration import Calibration, Judged, calibration, judge
from latree.errors import LatreeError
from latree.inference.pooled import tempered
from latree.kinds.jobs import Parcel
from latree.kinds.parser import Parser
from latree.kinds.search import Attempt, Search
from latree.kinds.sentences import batches
from latree.parallel import Pool
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs

TEMPERATURES: Floats = 2.0 ** (np.arange(-8, 17) / 8)  # from 1/2 to 4


def squared_errors(model: Parser, gold: Iterable[Tree], jobs: Jobs = 1) -> Iterator[Floats]:
    """[temperatures] the squared error of each sentence's constituents, but for what no temperature changes; NaN where
    the model derives nothing."""
    with Pool(jobs, Parcel.open, Parcel(model)) as pool:
        yield from chain.from_iterable(pool.stream(_errors_of_batch, batches(gold)))


def _errors_of_batch(model: Parser, batch: Sequence[Tree]) -> list[Floats]:
    attempts = [model.attempt(tree.words()) for tree in batch]
    good = [k for k, one in enumerate(attempts) if isinstance(one, Attempt)]
    errors = np.full((len(batch), len(TEMPERATURES)), np.nan)
    if good:
        search = Search(model, [one for one in attempts if isinstance(one, Attempt)], model.threshold)
        errors[good] = np.column_stack([_errors_at(search, [batch[k] for k in good], t) for t in TEMPERATURES])
        errors[np.array(good)[~np.isfinite(search.log_z)]] = np.nan
    return list(errors)


def _errors_at(search: Search, gold: Sequence[Tree], temperature: float) -> Floats:
    """[sentences] the sum of (p - 1 if right)^2 over all phrases of the forest, less the number of right ones."""
    grammar, forest, log_z = search.model.grammar, search.forest, search.log_z
    posterior = tempered(grammar, forest, search.untempered.posterior, log_z, temperature).posterior
    phrases = search.phrases_by(posterior)
    squares = phrases.sums_of_squares(len(gold))
    known = set(phrases.labels)
    rights = [
        sum(one.probability for one in phrases.look_up(k, {span for span in tree.spans() if span[0] in known}))
        for k, tree in enumerate(gold)
    ]
    return np.asarray(squares - 2 * np.array(rights), np.float64)


def best_temperature(errors: Floats) -> float:
    """The temperature of the least error, of errors [sentences, temperatures]."""
    sums = np.nansum(errors, axis=0)
    if not np.isfinite(errors).any():
        raise LatreeError("the model derives none of these sentences: there is nothing to learn a temperature from")
    place = int(np.argmin(sums))
    if not 0 < place < len(sums) - 1:
        return float(TEMPERATURES[place])
    before, at, after = sums[place - 1 : place + 2]
    step = float(np.log(TEMPERATURES[1] / TEMPERATURES[0]))
    bend = before - 2 * at + after
    return float(TEMPERATURES[place] * np.exp(step * (before - after) / (2 * bend) if bend > 0 else 0.0))


@dataclass(frozen=True)
class Learned:
    """A temperature, and what it brings: each half of the sentences by the temperature that the other half asks for."""

    temperature: float
    halves: tuple[float, float]
    before: Calibration
    after: Calibration

    def to_json(self) -> dict[str, Any]:
        ends = {"before": self.before.to_json(), "after": self.after.to_json()}
        return {"temperature": self.temperature, "halves": list(self.halves), **ends}


def _unwatched(items: Iterable[Any], title: str) -> Iterable[Any]:
    return items


def at_temperature(model: Parser, temperature: float) -> Parser:
    """The model with another temperature; both share all else."""
    if not model.tempers:
        raise LatreeError(
            f"a {model.kind} has no temperature: a tree has several derivations there, each of its own weight"
        )
    warmer = copy(model)
    warmer.temperature = temperature
    return warmer


def learn_temperature(
    model: Parser,
    gold: Sequence[Tree],
    jobs: Jobs = 1,
    watch: Callable[[Iterable[Any], str], Iterable[Any]] = _unwatched,
) -> Learned:
    """Learn a temperature from gold trees, cleaned by the model's rules, and measure what it brings."""
    if len(gold) < 2:
        raise LatreeError("a temperature is learned on one half and measured on the other: two sentences or more")
    plain = at_temperature(model, 1.0)
    errors = np.array(list(watch(squared_errors(plain, gold, jobs), "learning")))
    halves = best_temperature(errors[1::2]), best_temperature(errors[::2])
    before = list(watch(judge(plain, gold, jobs), "measuring"))
    after: list[Judged] = []
    for first, temperature in enumerate(halves):
        after += watch(judge(at_temperature(model, temperature), gold[first::2], jobs), "measuring again")
    whole = best_temperature(errors)
    return Learned(whole, halves, calibration(before, 1.0), calibration(after, whole))
