"""Many sentences through one model: memory does not grow, and threads and forks get what one thread gets.

    python -m bench.faults.leaks [--kinds lvg hmm] [--count 20000] [--seed 0]

Short sentences, hostile ones among them, one by one; the resident memory after a tenth of them is compared with that at
the end.  Then eight threads, and as many forked processes, analyse the same sentences at once.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.frame import Campaign, Trial, options, run_inside, see, write_log
from bench.faults.sentences import known_words, plain, spoilt, unknown
from latree.cli.warm import small_model
from latree.errors import LatreeError

MAKERS = (plain, plain, known_words, unknown, spoilt)
AT_ONCE = 8  # threads, or processes
SHARED = 100  # sentences that each of these analyses
MOST_GROWTH = 10.0  # MB: what memory may grow by after the first tenth, whatever the count
ROUNDS = 10
LISTED = 3
RARELY = 10  # one in so many sentences has a list too


def sentences(seed: int) -> Iterator[list[str]]:
    """Endlessly many."""
    rng = np.random.default_rng(seed)
    while True:
        yield MAKERS[int(rng.integers(len(MAKERS)))](rng)


def answer(model: Any, words: list[str], listed: int = LISTED) -> str:
    """What a model says of a sentence: its analysis and a list, if one is wanted; a refusal is an answer too."""
    try:
        (best,) = model.analyse([words])
        others = model.kbest(words, listed) if listed else ()
        return "\n".join([f"{best.status} {best.log_joint!r} {best}", *map(str, others)])
    except LatreeError as error:
        return str(error)


def resident() -> float:
    """MB that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def stay_small(model: Any, count: int, seed: int, told: list[str]) -> None:
    """Analyse so many sentences, a tenth of them again and again, so that what is remembered of words is complete after
    the first round; compare memory then with that at the end."""
    given = list(islice(sentences(seed), count // ROUNDS))
    sizes = []
    for _ in range(ROUNDS):
        for number, words in enumerate(given):
            answer(model, words, 0 if number % RARELY else LISTED)
        sizes.append(resident())
    told.append(f"{sizes[0]:.1f} MB after {len(given)}, {sizes[-1]:.1f} after {ROUNDS * len(given)}")
    see(sizes[-1] <= sizes[0] + MOST_GROWTH, told[-1])


def by_threads(model: Any, seed: int) -> None:
    """Threads that share a model do not disturb each other."""
    given = list(islice(sentences(seed), SHARED))
    alone = [answer(model, words) for words in given]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for found in threads.map(lambda _: [answer(model, words) for words in given], range(AT_ONCE)):
            see(found == alone, "a thread among others has another answer")


def by_forks(model: Any, seed: int) -> None:
    """Processes that begin as this one do as it does."""
    given = list(islice(sentences(seed), SHARED))
    alone = [answer(model, words) for words in given]
    pipes = [_forked(model, given) for _ in range(AT_ONCE)]
    for process, read in pipes:
        with open(read, "rb") as file:
            found = pickle.load(file)  # what this program wrote itself
        os.waitpid(process, 0)
        see(found == alone, "a forked process has another answer")


def _forked(model: Any, given: list[list[str]]) -> tuple[int, int]:
    """Analyse in a process of its own: its number, and where its answers come from."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            with open(write, "wb") as file:
                pickle.dump([answer(model, words) for words in given], file)
        finally:
            os._exit(0)
    os.close(write)
    return process, read


def trials(names: Sequence[str], count: int, seed: int) -> Iterator[Trial]:
    for name in names:
        model, told = small_model(name), list[str]()
        yield Trial(name, f"{AT_ONCE} threads", partial(by_threads, model, seed))
        yield Trial(name, f"{AT_ONCE} forks", partial(by_forks, model, seed))
        yield Trial(name, f"{count} sentences", partial(stay_small, model, count, seed, told))
        print(f"{name}: {'; '.join(told)}", flush=True)


def run(names: Sequence[str], count: int, seed: int) -> Campaign:
    """The campaign in a process of its own."""
    return run_inside("bench.faults.leaks", "--count", count, "--seed", seed, "--kinds", *names)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options("Analyse very many sentences.", 20_000)
    parser.add_argument("--kinds", nargs="+", default=["lvg", "hmm"])
    given = parser.parse_args(arguments)
    if given.inside is not None:
        write_log(trials(given.kinds, given.count, given.seed), given.inside)
        return
    print(f"leaks: {run(given.kinds, given.count, given.seed).told()}")


if __name__ == "__main__":
    main()
