"""Model files made wrong: none may crash a program that reads them, and none may get a traceback.

    python -m bench.faults.models [--kinds KIND ...] [--count 1000] [--seed 0] [--bounds]

A small model of every kind is trained; then, again and again, one thing in its file is changed: an entry of an array,
its length, shape or type, or a value in the header.  What comes of it is loaded and parses or tags a few sentences, in
a process of its own for each kind.  Prints how many files were refused, how many worked, and what else happened.  What
compiled code reads or writes beyond the end of an array mostly goes unseen; with --bounds it is told, by code that is
compiled for that alone.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.faults.frame import Campaign, Trial, options, run_inside, some, write_log
from latree.cli.warm import TRAINED, small_model
from latree.data import toy
from latree.files import Arrays, Header
from latree.kinds.model import Model
from latree.kinds.parser import Parser
from latree.kinds.registry import from_state
from latree.text.formats import read_trees

EXTREMES = (-(2**31), -2, -1, 0, 1, 7, 1_000_000, 2**31 - 1)
REAL_EXTREMES = (float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1e300, 1e-320)
HEADER_VALUES: tuple[Any, ...] = (None, -1, 0, 1, 10**9, 1e400, 0.5, "", "x", [], {}, True)

Mutation = Callable[[Header, Arrays, np.random.Generator], str]


def change_entry(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Set one entry of one array to an extreme."""
    name = some(list(arrays), rng)
    array = arrays[name] = arrays[name].copy()
    if array.size == 0:
        return f"{name} is empty"
    place, value = int(rng.integers(array.size)), some(REAL_EXTREMES if array.dtype.kind == "f" else EXTREMES, rng)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        array.ravel()[place] = np.array(value).astype(array.dtype)
    return f"{name}[{place}] = {value}"


def change_length(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Cut one array, or repeat some of it."""
    name, by = some(list(arrays), rng), some((-100, -1, 1, 100), rng)
    array = arrays[name]
    if array.ndim == 0 or array.size == 0:
        return f"{name} is empty"
    size = len(array)
    arrays[name] = array[: max(0, size + by)] if by < 0 else np.concatenate([array, np.repeat(array[-1:], by, 0)])
    return f"{name}: {size} long, then {len(arrays[name])}"


def change_shape(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Give one array another shape of the same size."""
    name = some(list(arrays), rng)
    array = arrays[name]
    shapes = [(-1,), (1, -1), (-1, 1), *([array.shape[::-1]] if array.ndim > 1 else [])]
    arrays[name] = array.reshape(some(shapes, rng))
    return f"{name}: {array.shape}, then {arrays[name].shape}"


def change_type(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Give one array another type."""
    name, kind = some(list(arrays), rng), some((np.uint8, np.int32, np.int64, np.float32, np.float64, np.bool_), rng)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arrays[name] = arrays[name].astype(kind)
    return f"{name} of {kind.__name__}"


def drop_array(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    name = some(list(arrays), rng)
    del arrays[name]
    return f"no {name}"


def change_header(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Replace one value somewhere in the header."""
    places = list(_places(header, ()))
    *path, last = some(places, rng)
    inside: Any = header
    for step in path:
        inside = inside[step]
    value = some(HEADER_VALUES, rng)
    inside[last] = value
    return f"header {'.'.join(map(str, [*path, last]))} = {value!r}"


MUTATIONS: tuple[Mutation, ...] = (
    *(change_entry,) * 4,  # the likeliest to go unseen
    change_length,
    change_shape,
    change_type,
    drop_array,
    *(change_header,) * 2,
)


def _places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a header."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*path, key)
        yield from _places(one, (*path, key))


# -- what comes of them


@cache
def sentences() -> list[list[str]]:
    words = next(iter(read_trees(toy("dev")))).words()
    return [words, [words[0], "Unheardly", *words[2:5]]]


def use(model: Model) -> None:
    """Everything that reads what was learned."""
    for words in sentences():
        model.log_prob(words)
        if isinstance(model, Parser):
            model.parse(words)
            model.kbest(words, 3)
        else:
            model.tag(words)


def _load_and_use(name: str, header: Header, arrays: Arrays) -> None:
    use(from_state(name, header, arrays))


def trials(names: Sequence[str], count: int, seed: int) -> Iterator[Trial]:
    """Mutate models of some kinds, each so often."""
    for name in names:
        state, rng = small_model(name).state(), np.random.default_rng(seed)
        kept = json.dumps(state.header)
        for _ in range(count):
            header, arrays = json.loads(kept), copy.copy(state.arrays)
            done = some(MUTATIONS, rng)(header, arrays, rng)
            yield Trial(name, done, partial(_load_and_use, name, header, arrays))


def run(names: Sequence[str], count: int, seed: int, more: Mapping[str, str] = {}) -> Campaign:
    """The campaign of some kinds in a process of its own, with `more` in its environment."""
    return run_inside("bench.faults.models", "--count", count, "--seed", seed, "--kinds", *names, more=more)


@contextmanager
def environment(*, bounds: bool) -> Iterator[dict[str, str]]:
    """What has a process compile code that minds the bounds of arrays, kept apart from what others use."""
    with TemporaryDirectory() as folder:
        yield {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": folder} if bounds else {}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options("Load model files that are made wrong.", 1000)
    parser.add_argument("--kinds", nargs="+", default=TRAINED)
    parser.add_argument("--bounds", action="store_true", help="mind the bounds of arrays")
    given = parser.parse_args(arguments)
    if given.inside is not None:
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            write_log(trials(given.kinds, given.count, given.seed), given.inside)
        return
    with environment(bounds=given.bounds) as more:
        for name in given.kinds:
            print(f"{name}: {run([name], given.count, given.seed, more).told()}", flush=True)


if __name__ == "__main__":
    main()
