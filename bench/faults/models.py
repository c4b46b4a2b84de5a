"""Model files made wrong: none may crash a program that reads them, and none may get a traceback.

    python -m bench.faults.models [--kinds KIND ...] [--count 1000] [--seed 0]

A small model of every kind is trained; then, again and again, one thing in its file is changed: an entry of an array,
its length, shape or type, or a value in the header.  What comes of it is loaded and parses or tags a few sentences, in
a process of its own for each kind.  Prints how many files were refused, how many worked, and what else happened.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from latree.cli.warm import TRAINED, small_model
from latree.data import toy
from latree.errors import LatreeError
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
    name = _some(list(arrays), rng)
    array = arrays[name] = arrays[name].copy()
    if array.size == 0:
        return f"{name} is empty"
    place, value = int(rng.integers(array.size)), _some(REAL_EXTREMES if array.dtype.kind == "f" else EXTREMES, rng)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        array.ravel()[place] = np.array(value).astype(array.dtype)
    return f"{name}[{place}] = {value}"


def change_length(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Cut one array, or repeat some of it."""
    name, by = _some(list(arrays), rng), _some((-100, -1, 1, 100), rng)
    array = arrays[name]
    if array.ndim == 0 or array.size == 0:
        return f"{name} is empty"
    size = len(array)
    arrays[name] = array[: max(0, size + by)] if by < 0 else np.concatenate([array, np.repeat(array[-1:], by, 0)])
    return f"{name}: {size} long, then {len(arrays[name])}"


def change_shape(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Give one array another shape of the same size."""
    name = _some(list(arrays), rng)
    array = arrays[name]
    shapes = [(-1,), (1, -1), (-1, 1), *([array.shape[::-1]] if array.ndim > 1 else [])]
    arrays[name] = array.reshape(_some(shapes, rng))
    return f"{name}: {array.shape}, then {arrays[name].shape}"


def change_type(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Give one array another type."""
    name, kind = _some(list(arrays), rng), _some((np.uint8, np.int32, np.int64, np.float32, np.float64, np.bool_), rng)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arrays[name] = arrays[name].astype(kind)
    return f"{name} of {kind.__name__}"


def drop_array(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    name = _some(list(arrays), rng)
    del arrays[name]
    return f"no {name}"


def change_header(header: Header, arrays: Arrays, rng: np.random.Generator) -> str:
    """Replace one value somewhere in the header."""
    places = list(_places(header, ()))
    *path, last = _some(places, rng)
    inside: Any = header
    for step in path:
        inside = inside[step]
    value = _some(HEADER_VALUES, rng)
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


def _some(values: Sequence[Any], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]


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


def outcome(name: str, header: Header, arrays: Arrays) -> str:
    """What loading and using come to."""
    try:
        use(from_state(name, header, arrays))
    except (LatreeError, MemoryError):  # both of which commands tell in a line
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "worked"


def campaign(names: Sequence[str], count: int, seed: int, log: Path) -> None:
    """Mutate models of some kinds, each so often; every line of the log is what was done, and then what came of it."""
    warnings.simplefilter("ignore")
    with log.open("w", encoding="utf-8") as file:
        for name in names:
            state, rng = small_model(name).state(), np.random.default_rng(seed)
            kept = json.dumps(state.header)
            for _ in range(count):
                header, arrays = json.loads(kept), copy.copy(state.arrays)
                done = _some(MUTATIONS, rng)(header, arrays, rng)
                print(name, done, sep="\t", end="\t", file=file, flush=True)
                with np.errstate(all="ignore"):
                    print(outcome(name, header, arrays), file=file, flush=True)


class Campaign(NamedTuple):
    """How often what came of it, and what should not have."""

    results: Counter[str]
    wrong: list[str]


def run(names: Sequence[str], count: int, seed: int) -> Campaign:
    """The campaign of some kinds in a process of its own."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "bench.faults.models", "--inside", str(log), "--kinds", *names]
        ended = subprocess.run([*command, "--count", str(count), "--seed", str(seed)], capture_output=True, text=True)
        rows = [line.split("\t") for line in log.read_text(encoding="utf-8").split("\n") if line]
    results = Counter(what if what in ("refused", "worked") else "wrong" for _, _, what in rows)
    wrong = [f"{name}: {done}: {what}" for name, done, what in rows if what not in ("refused", "worked")]
    if ended.returncode != 0:
        wrong.append(f"the process ended with {ended.returncode}\n{ended.stderr[-2000:]}")
    return Campaign(results, wrong)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Load model files that are made wrong.")
    parser.add_argument("--kinds", nargs="+", default=TRAINED)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.inside is not None:
        campaign(given.kinds, given.count, given.seed, given.inside)
        return
    for name in given.kinds:
        results, wrong = run([name], given.count, given.seed)
        print(f"{name}: {', '.join(f'{n} {what}' for what, n in results.items())}", flush=True)
        for line in wrong[:20]:
            print(f"  {line}")


if __name__ == "__main__":
    main()
