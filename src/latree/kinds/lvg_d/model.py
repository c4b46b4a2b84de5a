"""Log-linear latent variable grammars and taggers: conditional random fields with subtypes (Petrov 2009, section 2.2).

A generative grammar of the same subtypes is the pruner, and where training begins: LVG-D is LVG-G with its weights
moved so that the correct tree, rather than tree and words, becomes likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.checks import integers, numbers
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile, part_of
from latree.inference.decode import only
from latree.inference.forest import Forest
from latree.inference.forms.multiscale import MultiScale, expanded
from latree.inference.forms.sparse import Sparse, no_statistics, with_words
from latree.inference.sequences import subtype_chain
from latree.inference.subtypes import MOST_SUBTYPES, Layout
from latree.inference.viterbi import viterbi_edges
from latree.kinds.examples import Example, forests_with_gold, lattices_with_gold
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg, LvgTagger, Subtyped
from latree.kinds.lvg_d import LvgDOptions
from latree.kinds.lvg_d.lattice_batch import LatticeBatch
from latree.kinds.lvg_d.loglinear import Batch, LogLinear, Weights, many_scales, one_scale
from latree.kinds.lvg_d.refinement import Refinement
from latree.kinds.lvg_d.start import log_rules, log_words
from latree.kinds.lvg_d.training import Legs
from latree.kinds.pruned import PrunedParser, PrunedTagger
from latree.kinds.span_features import PhraseFeatures, SpanModel, SpanReading, WordFeatures, places
from latree.learning.loop import Training, train
from latree.lexicon.kept_rows import KeptRows
from latree.lexicon.lexical_rules import UNSEEN


@dataclass(frozen=True, eq=False)
class LoglinearReading(SpanReading):
    """Weights of words."""

    subtypes: Floats  # [words, tags' subtypes laid end to end] weights


class LoglinearModel(SpanModel):
    """Mixed into a parser or a tagger."""

    own_name = "weights"
    pruner: Subtyped
    options: LvgDOptions
    size: Longs  # [symbols] subtypes of each
    _word_rows: KeptRows  # what is made of single words
    tree: Refinement | None = None  # at several scales: how fine each production is
    node_start: Floats  # where the parameters of its nodes begin: what the generative grammar's splits changed
    delta: Floats  # what was learned: of productions, then of spans

    # -- training

    def identity(self) -> Header:
        """Describe the training; at several scales the epochs say when subtypes are split, and none can follow."""
        return super().identity() | ({"epochs": self.options.epochs} if self.options.scales else {})

    def learn(self, data: list[Any], training: Training) -> None:
        """Legs of L-BFGS or OWL-QN on log P(T | w)."""
        train(Legs(self, data), training, self.options.seed)

    def productions(self) -> int:
        """How many of the parameters are theirs."""
        return len(self.delta) - (len(self.spans.key) if self.spans is not None else 0)

    def structure(self, size: Longs) -> LogLinear:
        """How parameters make weights, for so many subtypes and the scales as they are."""
        layout = Layout(self.grammar, size)
        if self.tree is not None:
            model = many_scales(layout, self.lexical.tag, *self._base(0), self.tree).moved(self.node_start)
        else:
            model = one_scale(layout, self.lexical.tag, *self._base(self.pruner.history.rounds))
        return model if self.spans is None else model.with_spans(len(self.spans.key))

    def _base(self, level: int) -> tuple[Floats, Floats]:
        """Log weights of rules and words where nothing is learned yet, with the subtypes after so many rounds."""
        if self.options.start == "generative":
            return log_rules(self.pruner, level, self.options.floor), log_words(self.pruner, self.lexical, level)
        layout = self.pruner.level(level).layout
        rules = -np.log(layout.dims[:, 1] * layout.dims[:, 2])
        words = np.where(self.lexical.is_unseen, np.log(UNSEEN), 0.0)
        width = layout.size[self.grammar.first_tag + self.lexical.tag]
        return np.repeat(rules, np.diff(layout.start)), np.repeat(words, width)

    def batch(self, examples: Sequence[Example]) -> Any:
        """Make the forests, or lattices, that these sentences are trained on."""
        gold, everything = forests_with_gold(self, examples)
        own = [self.lexical.rules_of(one.words, seen=True).ravel() for one in examples]
        joined = [self.lexical.joined_rules_of(one.words).ravel() for one in examples]
        letters = self.letters_of_all(examples)
        batch = Batch.of(gold, everything, np.concatenate(own), np.concatenate(joined), letters)
        return batch if self.spans is None else batch.with_spans(self.spans, self.words_of_all(examples))

    @property
    def edge_threshold(self) -> float:
        return self.options.threshold

    # -- search

    def prepare(self) -> None:
        """The weights, from what was learned."""
        self.learned: Weights = self.model.weights(self.delta)
        self._word_rows = KeptRows(self._read_word)

    def widths(self) -> Longs:
        return self.size

    def read(self, tokens: Sequence[str]) -> LoglinearReading:
        return self.read_all([tokens])

    def read_all(self, sentences: Sequence[Sequence[str]]) -> LoglinearReading:
        (logs, units), place = self._word_rows.of(sentences), places(sentences)
        unit = units.ravel()
        around = self.around_words(unit, place)
        logs += around[:, self._column_tag] if around.shape[1] > 1 else around
        return LoglinearReading(self.pruner.read_all(sentences), unit, place, np.exp(logs))

    @property
    def _column_tag(self) -> Longs:
        """[tags' subtypes laid end to end] the tag of each."""
        width = self.size[self.grammar.first_tag :]
        return np.repeat(np.arange(len(width)), width)

    def _read_word(self, word: str, first: bool) -> tuple[Floats, Longs]:
        """Log weights of a word by itself, -inf under a tag that it cannot have, and its unit."""
        tag, start = self._column_tag, self.model.lexical_start
        own, joined = self.lexical.rules_of_word(word, first)[tag], self.lexical.joined_rules_of_word(word, first)[tag]
        subtype = np.arange(len(tag)) - self.model.layout.tag_columns[tag]
        lexical, change = np.append(self.learned.lexical, -np.inf), np.append(self.learned.change, 0.0)
        logs = lexical[np.where(own == NONE, NONE, start[own] + subtype)]
        logs += change[np.where(joined == NONE, NONE, start[joined] + subtype)]
        return logs + self.letters_of_word(word, first)[tag], np.array([self.lexical.unit_of_word(word, first)])

    def weights(self, reading: LoglinearReading) -> Any:
        return self.model.as_form(with_words(self.learned.cells, self.model.layout, reading.subtypes))

    def no_statistics(self, weights: Any) -> Any:
        return self.model.as_form(no_statistics(weights.blocks if self.model.in_blocks else weights))

    @property
    def span_weights(self) -> Floats:
        return self.learned.spans

    def cells(self, reading: LoglinearReading) -> Sparse:
        weights = self.weights(reading)
        return expanded(self.model.layout, weights) if self.model.in_blocks else weights

    def viterbi_scores(self, forest: Forest, reading: LoglinearReading) -> Floats:
        """Zero on the best derivation over subtypes."""
        if isinstance(self.spans, PhraseFeatures):
            raise LatreeError("with features of spans there is no single best derivation; use another objective")
        return only(forest, viterbi_edges(forest, self.cells(reading), self.size))

    def complexity(self) -> Longs:
        """[symbols] parameters of the grammar's rules, by their parents: at several scales those that are not zero."""
        rules = len(self.grammar.rules)
        if self.tree is None:
            count = np.diff(self.model.layout.start)
        else:
            top = self.tree.parent == NONE
            weighs = self.node_start + self.delta[: self.productions()] != 0
            own = (self.tree.production < rules) & (top | weighs)
            count = np.bincount(self.tree.production[own], minlength=rules)
        return np.bincount(self.grammar.rules[:, 0], count, len(self.grammar.symbols)).astype(np.int64)

    # -- files

    def state(self) -> ModelFile:
        header, parts = super().state()
        if self.tree is not None:
            parts |= {f"tree.{name}": array for name, array in self.tree.to_arrays().items()}
            parts["tree.start"] = self.node_start.astype(np.float32)
        return ModelFile(header, parts | {"size": self.size, "delta": self.delta.astype(np.float32)})

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        self.size = integers("size", arrays, (len(self.grammar.symbols),), 1, MOST_SUBTYPES + 1)
        self.delta = numbers("delta", arrays, (None,))
        if self.options.scales:
            self.tree = Refinement.from_arrays(
                part_of("tree.", arrays), len(self.grammar.rules) + len(self.lexical.tag)
            )
            self.node_start = numbers("tree.start", arrays, (self.tree.nodes,))
        self.model = self.structure(self.size)
        if len(self.delta) != self.model.parameters:
            raise ValueError(f"delta has {len(self.delta)} parameters, not {self.model.parameters}")


class LvgD(LoglinearModel, PrunedParser):
    """`LvgD(pruner=Lvg(rounds=2)).fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is
    already."""

    kind = "lvg-d"
    pruner: Lvg

    def make_pruner(self) -> Lvg:
        """Make the generative grammar; at several scales nothing is merged, for what is not needed is not divided."""
        options, subtypes = self.options, self.options.subtypes
        if options.scales and subtypes is None:
            subtypes = 2**options.rounds
        return Lvg(LvgOptions(**options.shared("rounds"), subtypes=subtypes))


class LvgDTagger(LoglinearModel, PrunedTagger):
    """`LvgDTagger(pruner=LvgTagger(subtypes=4)).fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "lvg-d-tagger"
    span_features = WordFeatures
    spans: WordFeatures | None = None
    pruner: LvgTagger

    def prepare(self) -> None:
        super().prepare()
        blocks = self.learned.cells
        cells = expanded(self.model.layout, MultiScale(blocks)) if self.model.in_blocks else blocks
        self.subtype_chain = subtype_chain(self.model.layout, cells)

    def batch(self, examples: Sequence[Example]) -> Any:
        """Lattices; at several scales, forests."""
        if self.model.in_blocks:
            return super().batch(examples)
        own = np.concatenate([self.lexical.rules_of(one.words, seen=True) for one in examples])
        gold, everything = lattices_with_gold(self, examples, own != NONE)
        node = everything.word_of_node, everything.tag
        tags = np.concatenate([one.tags for one in examples])
        joined = np.concatenate([self.lexical.joined_rules_of(one.words) for one in examples])
        letters = np.concatenate([self.letters(one.words) for one in examples])
        is_gold = (everything.tag == tags[node[0]]).astype(np.float64)
        batch = LatticeBatch(gold, everything, is_gold, own[node], joined[node], letters[node])
        if self.spans is None:
            return batch
        return batch._replace(spans=self.spans.on_nodes(everything, self.words_of_all(examples)))

    def make_pruner(self) -> LvgTagger:
        return LvgTagger(LvgOptions.for_tagger(**self.options.shared("subtypes")))
