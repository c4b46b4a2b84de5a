"""Latent variable grammars and taggers: categories with learned subtypes (Petrov et al. 2006; Petrov 2009, 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.checks import integers, numbers, truth, whole_number
from latree.files import Arrays, Header, ModelFile, pack_sparse, part_of, unpack_places
from latree.inference.decode import only
from latree.inference.forest import Forest, thin
from latree.inference.forms.sparse import Sparse, no_statistics, of_cells, sparse, with_words
from latree.inference.prune import FAST, WIDE, Cascade
from latree.inference.reading import Emissions
from latree.inference.results import Parse
from latree.inference.subtypes import MOST_SUBTYPES, Cells, ColumnMap, History, Layout, project
from latree.inference.sweep import infer
from latree.inference.viterbi import viterbi_edges
from latree.kinds.fine_tags import NO_PARTS, FineTagger, FineTags
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.smoothing import word_smoothing
from latree.kinds.lvg.split_merge import Refined
from latree.kinds.lvg.training import Rounds
from latree.kinds.model import ForestModel
from latree.kinds.parser import Parser
from latree.kinds.search import NOTHING, Trouble
from latree.kinds.tagger import Tagger
from latree.kinds.unsplit import without_subtypes
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank
from latree.learning.loop import Training, train
from latree.learning.tag_bigrams import bigram_grammar, by_rule, code_tags, count_bigrams
from latree.lexicon.kept_rows import KeptRows
from latree.lexicon.lexical_rules import LexicalRules
from latree.lexicon.words import Lexicon
from latree.text.binary import Node
from latree.text.tree import Tree


class Level(NamedTuple):
    """The grammar as it was after some rounds: subtypes put together again, by how often each occurs."""

    layout: Layout
    theta: Floats
    tensors: Sparse
    columns: ColumnMap  # from fine columns to those of this level: P(w | tag subtype) is averaged


class Subtyped(ForestModel[Any]):
    """Mixed into a parser or a tagger.  Subtypes are found by split and merge or a prior, or their number is fixed."""

    certifies = False  # the best derivation over subtypes comes alone: no score an edge ranks the others
    options: LvgOptions
    continues = "rounds"
    size: Longs  # [symbols] subtypes of each
    frequency: Floats  # expected number of each subtype in the treebank, all laid end to end
    history: History
    layout: Layout
    _word_rows: KeptRows  # what is made of single words
    given_smoothing: Sequence[Floats] | None = None  # of an imported lexicon: how each tag's P(w | t_x) are mixed

    _theta: Floats | None = None

    @property
    def theta(self) -> Floats:
        """The rules' weights as full tensors, nearly all zeros: of a model from a file they are made when asked for."""
        if self._theta is None:
            self._theta = np.zeros(int(self.layout.start[-1]))
            self._theta[self.tensors.place] = self.tensors.value
        return self._theta

    @theta.setter
    def theta(self, value: Floats) -> None:
        self._theta = value

    # -- training

    def snapshot(self) -> Self:
        """The model as it is now, whatever further training makes of this one."""
        found = copy(self)
        found.prepare()  # what is made when asked for is made by the copy, not by this
        return found

    def trimmed(self, words: float = 0.03, rules: float = 1e-5, unsplit: float = 1e-4) -> Self:
        """A smaller model, without expected counts of words and probabilities of rules below these; `unsplit` is for
        rules as they are without subtypes."""
        smaller = copy(self)
        smaller.lexicon = self.lexicon.trimmed(words)
        least = np.where(self.coarse_theta() < unsplit, np.inf, rules)
        smaller.theta = np.where(self.theta < np.repeat(least, np.diff(self.layout.start)), 0.0, self.theta)
        self.layout.normalise(smaller.theta)
        smaller.prepare()
        return smaller

    def smoothed_rules(self, state: Refined, counts: Floats) -> Floats:
        """The rules' weights for sentences not seen in training."""
        return state.theta

    # -- tables

    def prepare(self) -> None:
        """Make what parsing needs from grammar and weights."""
        self.layout = Layout(self.grammar, self.size)
        self._levels: dict[int, Level] = {}
        own = self.given_smoothing or word_smoothing(self.layout, self.history, self.options.word_smoothing)
        self._smoothing = ColumnMap.of(list(own))
        self._word_rows = KeptRows(self._read_word)
        super().prepare()

    def form(self) -> Sparse:
        tensors: Sparse = self.tensors if self._theta is None else super().form()
        return tensors

    def level(self, rounds: int) -> Level:
        """The projection of the grammar on the subtypes that there were after so many rounds; made once."""
        if rounds not in self._levels:
            kinds = [self.history.ancestors(s, rounds) for s in range(len(self.size))]
            cells = Cells(self.tensors.place, self.tensors.value)
            layout, theta, mean = project(self.layout, cells, kinds, self.frequency)
            columns = ColumnMap.of(mean[self.grammar.first_tag :])
            self._levels[rounds] = Level(layout, theta, sparse(layout, theta), columns)
        return self._levels[rounds]

    def coarse_theta(self) -> Floats:
        return self.level(0).theta

    # -- search

    def widths(self) -> Longs:
        return self.size

    def read(self, tokens: Sequence[str]) -> Emissions:
        """P(word | tag's subtype), smoothed; for the coarse pass the subtypes of a tag are averaged."""
        return self.read_all([tokens])

    def read_all(self, sentences: Sequence[Sequence[str]]) -> Emissions:
        return Emissions(*self._word_rows.of(sentences))

    def _read_word(self, word: str, first: bool) -> tuple[Floats, Floats]:
        subtypes = self.lexicon.likelihood_of(word, first)[None] @ self._smoothing
        return (subtypes @ self.level(0).columns)[0], subtypes[0]

    def word_mixing(self) -> Floats:
        return np.eye(self.lexicon.tags) @ self._smoothing

    def unit_emissions(self, units: Sequence[tuple[str | None, str | None]]) -> Floats:
        return super().unit_emissions(units) @ self._smoothing @ self.level(0).columns

    def lexical_emissions(self, lexical: LexicalRules, level: int) -> tuple[Floats, Longs]:
        """P(w | t_x) after `level` rounds, for every lexical rule and subtype of its tag, end to end; and how many
        subtypes each has."""
        layout, _, _, columns = self.level(level)
        table = super().unit_emissions(lexical.named_units()) @ self._smoothing @ columns
        first, last = layout.tag_columns[lexical.tag], layout.tag_columns[lexical.tag + 1]
        parts = [table[unit, a:b] for unit, a, b in zip(lexical.unit, first, last, strict=True)]
        return np.concatenate(parts), last - first

    def viterbi_scores(self, forest: Forest, reading: Emissions) -> Floats:
        """Zero on the best derivation over subtypes, which is no sum of one score an edge."""
        return only(forest, viterbi_edges(forest, self.weights(reading), self.size))

    def likeliest_tag(self, word: str, first: bool) -> str:
        """The likeliest tag of a word by itself, its subtypes taken together."""
        by_tag = np.add.reduceat(self.lexicon.tag_given_word(word, first), self.layout.tag_columns[:-1])
        return self.grammar.tags[int(np.argmax(by_tag))].label

    # -- files

    def state(self) -> ModelFile:
        header, arrays = super().state()
        header["rounds"] = self.history.rounds
        arrays |= pack_sparse("theta", arrays.pop("theta"))
        if self.given_smoothing is not None:
            arrays["smoothing"] = np.concatenate([block.ravel() for block in self.given_smoothing])
        return ModelFile(header, arrays | self.history.to_arrays() | {"size": self.size, "frequency": self.frequency})

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        self.size = integers("size", arrays, (len(self.grammar.symbols),), 1, MOST_SUBTYPES + 1)
        if self.size[0] != 1:
            raise ValueError("the root has several subtypes")
        self.frequency = numbers("frequency", arrays, (int(self.size.sum()),))
        self.history = History.from_arrays(arrays, whole_number("rounds", header, 0, MOST_SUBTYPES), self.size)
        layout = Layout(self.grammar, self.size)
        cells = Cells(*unpack_places("theta", arrays, int(layout.start[-1])))
        self.tensors, self._theta = of_cells(layout, cells), None
        if "smoothing" in arrays:
            size = self.size[self.grammar.first_tag :]
            self.given_smoothing = _square_blocks(numbers("smoothing", arrays, (int((size**2).sum()),)), size)


def _square_blocks(flat: Floats, size: Longs) -> list[Floats]:
    """The matrices [n, n] that were laid end to end."""
    return [block.reshape(n, n) for block, n in zip(np.split(flat, np.cumsum(size**2)[:-1]), size, strict=True)]


class Lvg(Subtyped, Parser):
    """`Lvg(rounds=4).fit(trees).parse(tokens)`; `Lvg(subtypes=2)` gives every symbol two and merges none.

    `Lvg(estimator="variational", prior=VariationalOptions(truncation=16))` lets the prior find how many are of use.
    """

    kind = "lvg"
    for_people = (*Parser.for_people, "trimmed")
    run_options = ("cascade", *Parser.run_options)
    _cascade, threshold = FAST, FAST.chart
    prunes_less = False  # than others of its kind, since held-out data say that this is better

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Parse:
        """What the unsplit grammar derives; else a flat tree."""
        found = without_subtypes(self, tokens) if trouble == NOTHING else None
        return super().stand_in(tokens, trouble) if found is None else found

    def prepare_data(self, data: Iterable[Tree]) -> Iterator[Node]:
        """Clean trees and make them binary, one after the other; tags that have parts are cut, the fine ones kept
        behind them."""
        trees = self._clean(data)
        if not hasattr(self, "grammar"):
            self._fine = None
            if self.options.fine not in NO_PARTS:  # all tags must be seen before the first tree can be given
                every = list(trees)
                tags = FineTags.of(every, self.options.fine)
                self._fine = None if tags is None else FineTagger(tags)
                trees = iter(every)
        if self.fine is None:
            return map(self.binarization.apply, trees)
        return map(partial(self.fine.tags.binary, binarization=self.binarization), trees)

    def learn(self, data: Iterable[Node], training: Training) -> None:
        trees = CodedTrees.of(data)
        self.grammar, counts = trees.rules()
        tagged, tags = trees.tagged(self.grammar), len(self.grammar.tags)
        unsplit = Lexicon.count(tagged, tags, self.options.unknown, self.options.lexicon)
        if self.fine is not None:
            self._fine = self.fine.learned(trees, unsplit)
        numbers = None if self.fine is None else self.fine.tags.number
        treebank = LatentTreebank.of(self.grammar, trees, unsplit, numbers)
        del data, trees, tagged  # EM goes by the treebank
        train(Rounds(self, treebank, counts, unsplit), training, self.options.seed)

    @property
    def cascade(self) -> Cascade:
        """How much is pruned on the way from the unsplit grammar to the full one."""
        return self._cascade

    @cascade.setter
    def cascade(self, value: Cascade) -> None:
        self._cascade, self.threshold = value, value.chart

    def prune_less(self, less: bool) -> None:
        """Consider more of every sentence than others of the kind do, or as much; its file keeps which."""
        self.prunes_less, self.cascade = less, WIDE if less else FAST

    def as_pruner(self) -> Parser:
        """Give the same grammar, pruning as others of the kind do: whoever it prunes for says how much less."""
        if not self.prunes_less:
            return self
        pruner = copy(self)
        pruner.prune_less(False)
        return pruner

    def refine(
        self, forest: Forest, reading: Emissions, looseness: float, gold: tuple[Longs, int] | None = None
    ) -> Forest:
        """Level by level, drop edges of small posterior; a sentence that would lose all its trees keeps them."""
        for rounds, threshold in self.cascade.levels:
            if rounds >= self.history.rounds:
                continue
            level = self.level(rounds)
            weights = with_words(level.tensors, level.layout, reading.subtypes @ level.columns)
            posterior = infer(forest, weights, no_statistics(weights), level.layout.size).posterior
            forest = thin(forest, posterior >= threshold * looseness, gold)
        return forest

    # -- files

    def state(self) -> ModelFile:
        header, arrays = super().state()
        if self.prunes_less:
            header["prunes_less"] = True
        if self.fine is not None:
            header["fine"] = self.fine.header()
            arrays |= {f"fine.{name}": array for name, array in self.fine.to_arrays().items()}
        return ModelFile(header, arrays)

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        self.prune_less(truth("prunes_less", header, False))
        if "fine" in header:
            self._fine = FineTagger.from_file(header["fine"], part_of("fine.", arrays))


class LvgTagger(Subtyped, Tagger):
    """`LvgTagger(subtypes=8).fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "lvg-tagger"

    def learn(self, data: list[tuple[Sequence[str], Sequence[str]]], training: Training) -> None:
        names, coded = code_tags(data)
        bigrams = count_bigrams(coded, len(names))
        self.grammar, _ = bigram_grammar(names, bigrams)
        unsplit = Lexicon.count(coded, len(names), self.options.unknown, self.options.lexicon)
        self.kinds = np.append((bigrams[-1] > 0).sum(), (bigrams[:-1] > 0).sum(1)).astype(np.float64)
        treebank = LatentTreebank.of_tags(self.grammar, coded, unsplit)
        train(Rounds(self, treebank, by_rule(bigrams), unsplit), training, self.options.seed)

    def smoothed_rules(self, state: Refined, counts: Floats) -> Floats:
        """Witten-Bell as in the plain tagger: a tag's subtypes all back off to how often each subtype occurs at all."""
        layout, rules = state.layout, self.grammar.rules
        after = np.zeros(int(layout.offset[-1]) + 1)  # each subtype, and the end of the sentence
        targets = [slice(layout.offset[b], layout.offset[b + 1]) if b != NONE else slice(-1, None) for b in rules[:, 1]]
        for rule, target in enumerate(targets):
            after[target] += layout.tensor(counts, rule).sum(0).ravel()
        after /= after.sum()
        share = layout.parent_counts(counts)
        theta = np.empty_like(counts)
        for rule, (parent, target) in enumerate(zip(rules[:, 0], targets, strict=True)):
            mine = share[layout.offset[parent] : layout.offset[parent + 1]][:, None]
            new = self.kinds[parent] * mine / mine.sum()  # how much the back-off weighs, in counts
            table = layout.tensor(counts, rule)[:, :, 0]
            backed = np.where(parent == 0 and target == slice(-1, None), 0.0, after[target])
            theta[layout.start[rule] : layout.start[rule + 1]] = ((table + new * backed) / (mine + new)).ravel()
        layout.normalise(theta)
        return theta
