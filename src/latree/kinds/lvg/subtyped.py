"""What models with learned subtypes share, whether they parse or tag: training in rounds, projections, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from latree.arrays import Floats, Longs
from latree.files import pack_sparse, unpack_sparse
from latree.inference.decode import only
from latree.inference.forest import Forest
from latree.inference.forms.sparse import Sparse, sparse
from latree.inference.reading import Emissions
from latree.inference.subtypes import History, Layout, averaging, regroup
from latree.inference.viterbi import viterbi_edges
from latree.kinds.lvg.options import LvgOptions
from latree.kinds.lvg.smoothing import word_smoothing
from latree.kinds.lvg.split_merge import (
    Refined,
)
from latree.kinds.model import ForestModel


class Level(NamedTuple):
    """The grammar as it was after some rounds: subtypes put together again, by how often each occurs."""

    layout: Layout
    theta: Floats
    tensors: Sparse
    columns: Floats  # [fine columns, columns of this level]: P(w | tag subtype) is averaged


class Levels(dict[int, Level]):
    """The projections by rounds, each made when it is first asked for."""

    def __init__(self, make: Callable[[int], Level]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, rounds: int) -> Level:
        self[rounds] = self.make(rounds)
        return self[rounds]


class Subtyped(ForestModel[Any]):
    """Mixed into a parser or a tagger.  Subtypes are found by split and merge or a prior, or their number is fixed."""

    certifies = False  # the best derivation over subtypes comes alone: no score an edge ranks the others
    options: LvgOptions
    continues = "rounds"
    size: Longs  # [symbols] subtypes of each
    frequency: Floats  # expected number of each subtype in the treebank, all laid end to end
    history: History
    layout: Layout
    given_smoothing: Sequence[Floats] | None = None  # of an imported lexicon: how each tag's P(w | t_x) are mixed

    # -- training

    def snapshot(self) -> Self:
        """The model as it is now, whatever further training makes of this one."""
        found = copy(self)
        found.prepare()  # what is made when asked for is made by the copy, not by this
        return found

    def smoothed_rules(self, state: Refined, counts: Floats) -> Floats:
        """The rules' weights for sentences not seen in training."""
        return state.theta

    # -- tables

    def prepare(self) -> None:
        """Make what parsing needs from grammar and weights."""
        self.layout = Layout(self.grammar, self.size)
        self.levels = Levels(self._level)
        own = self.given_smoothing or word_smoothing(self.layout, self.history, self.options.word_smoothing)
        self.smoothing = _columns(list(own))
        super().prepare()

    def _level(self, level: int) -> Level:
        """The projection of the grammar on the subtypes that there were after `level` rounds."""
        symbols, offset = range(len(self.size)), self.layout.offset
        kinds = [self.history.ancestors(s, level) for s in symbols]
        size = np.array([int(kind.max()) + 1 for kind in kinds])
        layout = Layout(self.grammar, size)
        mean = [averaging(kinds[s], self.frequency[offset[s] : offset[s + 1]], int(size[s])) for s in symbols]
        theta = regroup(self.layout, self.theta, layout, kinds, mean)
        return Level(layout, theta, sparse(layout, theta), _columns(mean[self.grammar.first_tag :]))

    def coarse_theta(self) -> Floats:
        return self.levels[0].theta

    # -- search

    def widths(self) -> Longs:
        return self.size

    def read(self, tokens: Sequence[str]) -> Emissions:
        """P(word | tag's subtype), smoothed; for the coarse pass the subtypes of a tag are averaged."""
        subtypes: Floats = self.lexicon.emissions(tokens) @ self.smoothing
        return Emissions(subtypes @ self.levels[0].columns, subtypes)

    def unit_emissions(self, units: Sequence[tuple[str | None, str | None]]) -> Floats:
        table: Floats = super().unit_emissions(units) @ self.smoothing @ self.levels[0].columns
        return table

    def viterbi_scores(self, forest: Forest, reading: Emissions) -> Floats:
        """Zero on the best derivation over subtypes, which is no sum of one score an edge."""
        return only(forest, viterbi_edges(forest, self.weights(reading), self.size))

    def likeliest_tag(self, word: str, first: bool) -> str:
        """The likeliest tag of a word by itself, its subtypes taken together."""
        by_tag = np.add.reduceat(self.lexicon.tag_given_word(word, first), self.layout.tag_columns[:-1])
        return self.grammar.tags[int(np.argmax(by_tag))].label

    # -- files

    def header(self) -> dict[str, Any]:
        return super().header() | {"rounds": self.history.rounds}

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super().state()
        arrays |= pack_sparse("theta", arrays.pop("theta"))
        if self.given_smoothing is not None:
            arrays["smoothing"] = np.concatenate([block.ravel() for block in self.given_smoothing])
        return header, arrays | self.history.to_arrays() | {"size": self.size, "frequency": self.frequency}

    def restore(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super().restore(header, arrays)
        self.size, self.frequency = arrays["size"], arrays["frequency"]
        self.history = History.from_arrays(arrays, int(header["rounds"]))
        self.theta = unpack_sparse("theta", arrays, int(Layout(self.grammar, self.size).start[-1]))
        if "smoothing" in arrays:
            self.given_smoothing = _square_blocks(arrays["smoothing"], self.size[self.grammar.first_tag :])


def _square_blocks(flat: Floats, size: Longs) -> list[Floats]:
    """The matrices [n, n] that were laid end to end."""
    return [block.reshape(n, n) for block, n in zip(np.split(flat, np.cumsum(size**2)[:-1]), size, strict=True)]


def _columns(blocks: list[Floats]) -> Floats:
    """One matrix over all tags' columns from a matrix [new, old] for each tag: rows times it are mapped rows."""
    return np.ascontiguousarray(np.asarray(block_diag(*blocks), np.float64).T)
