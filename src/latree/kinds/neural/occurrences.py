"""Where words lie in the spaces of their tags: some of the treebank's, as the encoder reads them in their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Longs
from latree.checks import integers, numbers
from latree.files import Arrays, pack_strings, unpack_strings
from latree.kinds.examples import Example
from latree.kinds.neural.network import Network, as_array

SENTENCES, OF_A_TAG = 400, 60  # how many are read, and how many words under each tag are kept


class Occurrences(NamedTuple):
    """Words of some sentences, under their gold tags."""

    word: tuple[str, ...]
    around: tuple[str, ...]  # each with its neighbours, the word itself in brackets
    tag: Longs  # [words]
    mean: Floats  # [words, dim] of the Gaussian that it is, under its tag

    @classmethod
    def of(cls, network: Network, examples: Sequence[Example]) -> Occurrences:
        """Words of sentences from all over the treebank."""
        chosen = examples[:: -(-len(examples) // SENTENCES)]
        words = [word for one in chosen for word in one.words]
        around = [_with_neighbours(one.words, i) for one in chosen for i in range(len(one.words))]
        tag = np.concatenate([one.tags for one in chosen]).astype(np.int64)
        means = as_array(network.context([one.words for one in chosen]).words)[np.arange(len(tag)), tag, 1:-1]
        kept = np.sort(np.concatenate([_some(np.flatnonzero(tag == k)) for k in np.unique(tag)]))
        word, beside = (tuple(strings[k] for k in kept.tolist()) for strings in (words, around))
        return cls(word, beside, tag[kept], means[kept].astype(np.float32).astype(np.float64))

    def to_arrays(self) -> Arrays:
        strings = {"word": pack_strings(self.word), "around": pack_strings(self.around)}
        return {**strings, "tag": self.tag, "mean": self.mean.astype(np.float32)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, tags: int, dim: int) -> Occurrences:
        word, around = (unpack_strings(arrays[name]) for name in ("word", "around"))
        if len(word) != len(around):
            raise ValueError(f"there are {len(word)} words, and {len(around)} with their neighbours")
        tag = integers("tag", arrays, (len(word),), 0, tags)
        return cls(word, around, tag, numbers("mean", arrays, (len(word), dim)))


def _some(places: Longs) -> Longs:
    """So many of some places, evenly."""
    return places[:: -(-len(places) // OF_A_TAG)]


def _with_neighbours(words: Sequence[str], i: int) -> str:
    return " ".join([*words[max(i - 2, 0) : i], f"[{words[i]}]", *words[i + 1 : i + 3]])
