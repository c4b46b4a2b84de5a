"""Which sentences to annotate next: those that a model would learn most from, for what they cost.

A sentence is worth the errors that the model expects to make on it.  Errors on a word count the less, the more chosen
sentences have the same word after the same other: half in a second one, a third in a third.  So near-copies of one
sentence do not stand together at the top.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latree.errors import LatreeError
from latree.experiments.doubts import Doubts, doubts_of_all
from latree.experiments.tasks import Ledger
from latree.kinds.model import Model
from latree.kinds.sentences import Sentence
from latree.text.tokenize import offsets

if TYPE_CHECKING:
    from latree.parallel import Jobs

OVERHEAD = 5.0  # what a sentence costs beside its words, in words

Pair = tuple[str, str]  # a word, and the one before it
Watch = Callable[[Iterable[Doubts], int], Iterable[Doubts]]


@dataclass(frozen=True)
class Ranked:
    """A sentence in its place."""

    rank: int  # from 1, the one to annotate first
    number: int  # from 1, as the sentences were given
    score: float  # what it adds to those before it, by what it costs
    errors: float  # that the model expects to make on it
    tokens: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; tokens of running text have their places with them."""
        places = offsets(self.tokens)
        return asdict(self) | ({"offsets": places} if places else {})


def rank_sentences(
    model: Model,
    sentences: str | Iterable[Sentence],
    most: int | None = None,
    *,
    overhead: float = OVERHEAD,
    jobs: Jobs = 1,
    resume: Path | None = None,
    watch: Watch = lambda doubts, total: doubts,
) -> list[Ranked]:
    """Sentences in the order in which annotating them teaches the model most, by its own doubts; or the first of them.

    A sentence costs its words and an `overhead`; with a large one, every sentence costs the same.  Left out are those
    without words, and those that are too long for the model.
    """
    given = model.tokenize(sentences) if isinstance(sentences, str) else sentences
    words = [model.words_of(sentence) for sentence in given]
    return ranked_by_doubts(
        words, watch(doubts_of_all(model, words, jobs, Ledger(resume)), len(words)), most, overhead=overhead
    )


def ranked_by_doubts(
    words: Sequence[tuple[str, ...]], doubts: Iterable[Doubts], most: int | None = None, *, overhead: float = OVERHEAD
) -> list[Ranked]:
    """The same for sentences of which a model's doubts are known, or are found as they are asked for."""
    if overhead < 0:
        raise LatreeError(f"a sentence cannot cost less than its words: overhead {overhead}")
    found = list(doubts)
    worth = {
        number: _by_pair(tokens, one.errors)
        for number, (tokens, one) in enumerate(zip(words, found, strict=True))
        if one.status not in ("empty", "failed")
    }
    costs = {number: len(words[number]) + overhead for number in worth}
    return [
        Ranked(rank, number + 1, score, sum(found[number].errors), words[number])
        for rank, (number, score) in enumerate(greedy(worth, costs, most), start=1)
    ]


def _by_pair(tokens: Sequence[str], errors: Sequence[float]) -> dict[Pair, float]:
    """The errors on each word of a sentence with the word before it, whichever case they are in."""
    words = [token.lower() for token in tokens]
    sums: dict[Pair, float] = defaultdict(float)
    for before, word, error in zip(["", *words], words, errors, strict=False):
        sums[before, word] += error
    return dict(sums)


def greedy(
    worth: Mapping[int, Mapping[Pair, float]], costs: Mapping[int, float], most: int | None = None
) -> Iterator[tuple[int, float]]:
    """Choose again and again what adds most for its cost; with what it adds.

    What something adds only falls as others are chosen.  So a gain that was worked out earlier bounds the gain now, and
    only what is first by such bounds is worked out again (Minoux 1978).
    """
    seen = Counter[Pair]()

    def gain(number: int) -> float:
        return sum(errors / (1 + seen[pair]) for pair, errors in worth[number].items()) / costs[number]

    bounds = [(-gain(number), number) for number in worth]
    heapq.heapify(bounds)
    wanted = len(bounds) if most is None else min(most, len(bounds))
    while wanted:
        number = heapq.heappop(bounds)[1]
        now = (-gain(number), number)
        if bounds and now > bounds[0]:
            heapq.heappush(bounds, now)
            continue
        seen.update(worth[number].keys())
        wanted -= 1
        yield number, -now[0]
