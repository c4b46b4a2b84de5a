"""The latent variable grammar: a treebank's categories with learned subtypes (Petrov et al. 2006; Petrov 2009, 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.binary import Binarization
from latree.cky import Chart, chart_grammar, fill_chart
from latree.errors import LatreeError
from latree.forest import PASS, Forest, restrict
from latree.forms.dense import dense, no_statistics
from latree.grammar import count_rules
from latree.infer import infer
from latree.labels import LabelRules
from latree.latent_treebank import LatentTreebank
from latree.models.parser import Parser, tagged_sentences
from latree.prune import rule_finder
from latree.search import Search
from latree.split_merge import (
    Expectation,
    Progress,
    Refined,
    Smoother,
    SplitMergeOptions,
    first_grammar,
    fit,
    merge,
    split,
    subtype_counts,
    word_smoothing,
)
from latree.subtypes import History, Layout, averaging, membership, transform
from latree.tree import Tree
from latree.words import Lexicon, LexiconOptions


class Level(NamedTuple):
    """The grammar as it was after some rounds: subtypes put together again, by how often each occurs."""

    layout: Layout
    theta: Floats
    columns: Floats  # [fine columns, columns of this level]: P(w | tag subtype) is averaged


@dataclass(frozen=True)
class Cascade:
    """Thresholds of coarse-to-fine parsing: of the chart, and of each level after it (rounds -> posterior)."""

    chart: float
    levels: tuple[tuple[int, float], ...]


FAST = Cascade(2e-3, ((1, 1e-3), (3, 1e-3)))
ACCURATE = Cascade(1e-5, ((1, 1e-6), (2, 1e-6), (3, 1e-6)))


class Lvg(Parser):
    """`Lvg(rounds=4).fit(trees).parse(tokens)`."""

    kind = "lvg"

    def __init__(
        self,
        *,
        rounds: int = 4,
        seed: int = 0,
        labels: LabelRules | None = None,
        binarization: Binarization | None = None,
        unknown: str = "neutral",
        lexicon: LexiconOptions | None = None,
        options: SplitMergeOptions | None = None,
    ) -> None:
        self.rounds, self.seed = rounds, seed
        self.labels = labels or LabelRules()
        self.binarization = binarization or Binarization()
        self.unknown, self.lexicon_options = unknown, lexicon or LexiconOptions()
        self.options = options or SplitMergeOptions()
        self.training = {}
        self.cascade = FAST

    def fit(
        self,
        trees: Iterable[Tree],
        after_round: Callable[[Lvg, int], None] | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Self:
        """Rounds of split, EM, merge, EM and smoothing."""
        nodes = self.binarise(trees)
        if not nodes:
            raise LatreeError("the treebank has no trees with words")
        self.grammar, counts = count_rules(nodes)
        sentences = tagged_sentences(self.grammar, nodes)
        unsplit = Lexicon.count(sentences, len(self.grammar.tags), self.unknown, self.lexicon_options)
        treebank = LatentTreebank.of(self.grammar, nodes, unsplit)
        rng = np.random.default_rng(self.seed)
        state = first_grammar(treebank, counts, self.options, rng)
        for number in range(1, self.rounds + 1):
            state = self._round(treebank, state, rng, watch or (lambda _: None))
            if after_round is not None or number == self.rounds:
                self._adopt(treebank, state, unsplit)
            if after_round is not None:
                after_round(self, number)
        return self

    def _round(
        self, treebank: LatentTreebank, state: Refined, rng: np.random.Generator, watch: Callable[[Progress], None]
    ) -> Refined:
        options = self.options
        state = split(state, options, rng)
        state = fit(treebank, state, options.split_iterations, "split", watch, options.tolerance)
        state = merge(treebank, state, options.merge_fraction)
        state = fit(treebank, state, options.merge_iterations, "merge", watch, options.tolerance)
        smoother = Smoother(treebank.lexical(state.layout), state.history, options)
        return fit(treebank, state, options.smooth_iterations, "smooth", watch, smoother=smoother)

    def _adopt(self, treebank: LatentTreebank, state: Refined, unsplit: Lexicon) -> None:
        """Make the trained grammar this model's own."""
        lexical = treebank.lexical(state.layout)
        step = Expectation(treebank.shared, lexical, state)
        step.run()
        self.size, self.theta, self.history = state.layout.size, state.theta, state.history
        self.frequency = subtype_counts(lexical, step.counts)
        self.lexicon = lexical.lexicon(step.counts.words, unsplit)
        self.prepare()

    # -- tables

    def prepare(self) -> None:
        self.layout = Layout(self.grammar, self.size)
        self.levels = {level: self._level(level) for level in range(self.history.rounds)}
        self.smoothing = _block_diagonal(word_smoothing(self.layout, self.history, self.options.word_smoothing)).T
        self.chart = chart_grammar(self.grammar, self.levels[0].theta)
        self.find = rule_finder(self.grammar)

    def _level(self, level: int) -> Level:
        """The projection of the grammar on the subtypes that there were after `level` rounds."""
        symbols = range(len(self.size))
        kinds = [self.history.ancestors(s, level) for s in symbols]
        size = np.array([int(kind.max()) + 1 for kind in kinds])
        layout = Layout(self.grammar, size)
        offset = self.layout.offset
        mean = [averaging(kinds[s], self.frequency[offset[s] : offset[s + 1]], int(size[s])) for s in symbols]
        total = [membership(kinds[s], int(size[s])) for s in symbols]
        theta = transform(self.layout, self.theta, layout, mean, total)
        return Level(layout, theta, _block_diagonal(mean[self.grammar.first_tag :]).T.copy())

    def coarse_theta(self) -> Floats:
        return self.levels[0].theta

    # -- search

    @property
    def threshold(self) -> float:  # type: ignore[override]
        return self.cascade.chart

    def widths(self) -> Longs:
        return self.size

    def emissions(self, tokens: Any) -> Floats:
        smoothed: Floats = self.lexicon.emissions(tokens) @ self.smoothing
        return smoothed

    def coarse(self, emissions: Floats) -> Chart:
        return fill_chart(self.chart, emissions @ self.levels[0].columns)

    def refine(self, forest: Forest, emissions: Floats, looseness: float) -> Forest:
        """Level by level, drop edges of small posterior; a sentence that would lose all its trees keeps them."""
        for rounds, threshold in self.cascade.levels:
            if rounds >= self.history.rounds:
                continue
            level = self.levels[rounds]
            weights = dense(self.grammar, level.theta, emissions @ level.columns, level.layout.size)
            posterior = infer(forest, weights, no_statistics(weights), level.layout.size).posterior
            keep = (posterior >= threshold * looseness) | (forest.rule == PASS)
            smaller = restrict(forest, keep)
            lost = smaller.root < 0
            if lost.any():
                smaller = restrict(forest, keep | lost[forest.sentence[forest.ends[:, 0]]])
            forest = smaller
        return forest

    def log_z(self, search: Search) -> Floats:
        """Over what survives pruning: a lower bound, close when little was pruned."""
        return search.inference.log_z

    def likeliest_tag(self, word: str, first: bool) -> str:
        columns = self.layout.tag_columns
        by_tag = np.add.reduceat(self.lexicon.tag_given_word(word, first), columns[:-1])
        return self.grammar.tags[int(np.argmax(by_tag))].label

    # -- files

    def header(self) -> dict[str, Any]:
        return super().header() | {"rounds": self.history.rounds, "split_merge": self.options.to_json()}

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super().state()
        for k, parents in enumerate(self.history.parents):
            arrays[f"history.{k}"] = np.concatenate(parents)
            arrays[f"history.{k}.size"] = np.array([len(parent) for parent in parents])
        return header, arrays | {"size": self.size, "frequency": self.frequency}

    def restore(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.options = SplitMergeOptions(**header["split_merge"])
        self.size, self.frequency = arrays["size"], arrays["frequency"]
        rounds = []
        for k in range(int(header["rounds"])):
            cuts = np.cumsum(arrays[f"history.{k}.size"])[:-1]
            rounds.append(tuple(np.split(arrays[f"history.{k}"], cuts)))
        self.history = History(tuple(rounds))
        super().restore(header, arrays)


def _block_diagonal(blocks: list[Floats]) -> Floats:
    from scipy.linalg import block_diag

    return np.asarray(block_diag(*blocks), np.float64)
