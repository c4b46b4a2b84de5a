"""What one request may ask for, so that none keeps the others waiting for long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Upper bounds; what is beyond them is refused with a message that names them."""

    body: int = 1_000_000  # bytes of a request
    sentences: int = 500  # of a request
    words: int = 150  # of a sentence: a parse takes some 20 ms for 20 words, a second for this many
    surprisal_words: int = 60  # of a sentence: nothing is pruned there, and these take some two seconds
    exact_words: int = 40  # of a sentence whose k best trees are exact: of 80, these may take minutes and gigabytes
    least: float = 1e-4  # probability of what /posteriors lists: a tenth of it takes twice as long
    brackets: int = 300  # known of a sentence
    kbest: int = 50  # trees of a sentence
    head_seconds: float = 10.0  # for the head of a request to come
    seconds: float = 30.0  # until a request is answered, one way or the other
    waiting: int = 5_000  # sentences of all requests to a model
