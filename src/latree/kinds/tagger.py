"""Taggers: models whose derivations are tag sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs, starts
from latree.errors import LatreeError
from latree.files import Arrays, Header
from latree.inference.constituents import Listed
from latree.inference.derivations import Derivation
from latree.inference.forest import P, Piece, assemble
from latree.inference.results import Objective, Tagging
from latree.inference.sequences import (
    Lattice,
    SubtypeChain,
    Sums,
    best_nodes,
    likely_tags,
    log_z_of,
    only,
    pool,
    subtype_chain,
    sum_sequences,
)
from latree.inference.subtypes import Layout
from latree.inference.trellis import (
    Chain,
    ChainRules,
    Trellis,
    chain,
    chain_rules,
    fill_trellis,
    fill_trellises,
    gold_chain,
    lattice,
)
from latree.kinds.analyses import attempt_words, draw_analysis, search_one
from latree.kinds.model import ForestModel
from latree.kinds.options import ModelOptions
from latree.kinds.registry import kind_named
from latree.kinds.search import Attempt, Search, Trouble
from latree.kinds.sentences import Sentence, checked_words, clipped
from latree.text.formats import TaggedSentence, read_tagged
from latree.text.labels import LabelRules
from latree.text.partial_trees import PartialTree
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs


class Told(NamedTuple):
    """What is told of some sentences."""

    chosen: Longs  # [words] the nodes of the best sequences, NONE where there is none
    node: Floats  # [nodes] the probability of each
    log_z: Floats  # [sentences] log P(w)
    log_weight: Floats  # [sentences] log P(T, w) of the best sequences


class Tagger(ForestModel[Tagging]):
    """Sentences in, tags out.  A subclass says how its weights come from tagged sentences."""

    for_people = (*ForestModel.for_people, "column")
    threshold = 1e-4
    max_length = 20_000  # the trellis grows with the words, not with their square
    column: str = "upos"  # which column of CoNLL-U it was trained on
    chain: Chain  # the coarse model
    rules: ChainRules
    subtype_chain: SubtypeChain  # the model itself

    @classmethod
    def default_options(cls) -> ModelOptions:
        return kind_named(cls.kind).trained_options.for_tagger()

    def __init__(self, options: Any = None, **changes: Any) -> None:
        super().__init__(options, **changes)
        self.column = self.options.column

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        rules = self.grammar.rules
        if self.grammar.first_tag != 1 or (rules[:, 2] != NONE).any() or (rules[rules[:, 0] == 0, 1] == NONE).any():
            raise ValueError("its rules are not those of sequences")

    def prepare(self) -> None:
        """Add the tables of the coarse pass."""
        super().prepare()
        self.rules = chain_rules(self.grammar)
        self.chain = chain(self.rules, self.coarse_theta())
        self.subtype_chain = subtype_chain(Layout(self.grammar, self.widths()), self.tensors)

    # -- for people

    def tag(self, sentence: Sentence, objective: Objective = "max-rule") -> list[str]:
        """The best tags of a sentence: running text, or a list of words."""
        return list(next(self.analyse([sentence], objective)).tags)

    def tag_all(
        self, sentences: str | Iterable[Sentence], jobs: Jobs = 1, objective: Objective = "max-rule"
    ) -> Iterator[Tagging]:
        """The best tags of every sentence of a text or a list, in order; the same whatever the number of jobs."""
        from latree.kinds.jobs import analyse_all

        return analyse_all(self, sentences, jobs, objective)

    def posteriors(self, sentence: Sentence, least: float = 1e-3) -> list[dict[str, float]]:
        """For each word the tags of at least the given probability, the likeliest first."""
        tokens, attempt = self.words_of(sentence), self.attempt(sentence)
        if isinstance(attempt, Trouble):
            return []
        search = search_one(self, attempt, min(least * 1e-2, self.threshold))
        lexical = np.flatnonzero(search.forest.rule >= self.rules.rules)
        items = search.forest.ends[lexical, P]
        table = np.zeros((len(tokens), len(self.grammar.tags)))
        table[search.forest.span[items, 0], search.forest.symbol[items] - 1] = search.posterior[lexical]
        names = [symbol.label for symbol in self.grammar.tags]
        likely = [sorted(zip(row.tolist(), names, strict=True), reverse=True) for row in table]
        return [{name: p for p, name in row if p >= least} for row in likely]

    def sample(self, sentence: Sentence | None = None, seed: int | None = None) -> Tagging:
        """Tags drawn from the model: given words, tags for them; without, a sentence of the model's own."""
        rng = np.random.default_rng(seed)
        if sentence is not None:
            return draw_analysis(self, sentence, rng)
        tagged = self.drawer.sequence(rng)
        words, tags = tuple(word for word, _ in tagged), [tag for _, tag in tagged]
        return Tagging(words, self.log_prob_tags(words, tags), self.log_prob(words), tags=self._names(tags))

    def log_prob_tags(self, words: Sequence[str], tags: Sequence[int]) -> float:
        """log P(T, w) of given tag numbers, summed over their subtypes."""
        places = [i * len(self.grammar.tags) + tag for i, tag in enumerate(tags)]
        forest = assemble([gold_chain(self.rules, tags, places)], len(self.grammar.rules))
        return float(self.log_inside(forest, self.read(words))[0])

    def read_treebank(self, path: str | Path) -> Iterator[Any]:
        return read_tagged(path, self.options.column)

    def prepare_data(self, data: Iterable[tuple[Sequence[str], Sequence[str]] | Tree]) -> list[Any]:
        """Take the leaves of trees, and leave out sentences without words."""
        kept = [pair for pair in map(_words_and_tags, data) if pair[0]]
        if not kept:
            raise LatreeError("there are no sentences with words to train on")
        return kept

    # -- the coarse pass

    @property
    def searcher(self) -> Tagger:
        return self

    def attempt(self, sentence: Sentence) -> Attempt | Trouble:
        if isinstance(sentence, PartialTree):
            raise LatreeError(f"brackets are for parsers; a {self.kind} takes words")
        return attempt_words(self, self.words_of(sentence))

    def coarse(self, reading: Any) -> Trellis:
        return fill_trellis(self.chain, reading.tags)

    def prune(self, coarse: Any, threshold: float) -> Piece:
        return lattice(coarse, self.rules, threshold)

    # -- many sentences at once, without forests

    @property
    def needs_forests(self) -> bool:
        """Whether the model does something that is done on forests alone."""
        return False

    def analyse_batch(self, batch: Sequence[Sentence], objective: Objective) -> list[Tagging]:
        """Tag sentences all at once; what is out of the ordinary goes the way of forests."""
        if objective != "max-rule" or self.needs_forests:
            return super().analyse_batch(batch, objective)
        words = [self.words_of(sentence) for sentence in batch]
        plain = (not isinstance(sentence, Listed | PartialTree) for sentence in batch)
        sizes = ((k, is_plain, len(words[k])) for k, is_plain in enumerate(plain))
        usual = [k for k, is_plain, size in sizes if is_plain and 0 < size <= self.max_length]
        found = dict(zip(usual, self._tag_at_once([words[k] for k in usual]) if usual else (), strict=True))
        rest = [k for k in range(len(batch)) if found.get(k) is None]
        found |= zip(rest, super().analyse_batch([batch[k] for k in rest], objective), strict=True)
        return [one for k in range(len(batch)) if (one := found[k]) is not None]

    def _tag_at_once(self, sentences: Sequence[tuple[str, ...]]) -> list[Tagging | None]:
        """The tags of sentences, None where pruning leaves none or some number is out of range."""
        reading, first = self.read_all(sentences), starts([len(words) for words in sentences])
        log_z, posterior = self.coarse_all(reading, first)
        lattice = self.narrow(likely_tags(first, posterior, self.threshold), reading)
        if not len(lattice.tag):
            return [None] * len(sentences)
        told = self.tell(lattice, reading)
        log_marginal = log_z if self.certifies else told.log_z
        node = np.maximum(told.chosen, 0)
        names = self._names(lattice.tag[node].tolist())
        confidences = np.minimum(told.node[node], 1.0).tolist()
        usual = np.isfinite(log_marginal) & np.isfinite(told.log_weight)
        rows = zip(sentences, told.log_weight.tolist(), log_marginal.tolist(), pairwise(first.tolist()), strict=True)
        return [
            Tagging(words, weight, marginal, tags=names[a:b], confidences=tuple(confidences[a:b])) if is_usual else None
            for is_usual, (words, weight, marginal, (a, b)) in zip(usual.tolist(), rows, strict=True)
        ]

    def coarse_all(self, reading: Any, first: Longs) -> tuple[Floats, Floats]:
        """The coarse pass over sentences that begin at these words: log Z of each, posteriors [words, tags]."""
        return fill_trellises(self.chain, np.ascontiguousarray(reading.tags), first)

    def narrow(self, lattice: Lattice, reading: Any) -> Lattice:
        """What `refine` is to forests: prune further what the coarse pass left."""
        return lattice

    def tell(self, lattice: Lattice, reading: Any) -> Told:
        """The best sequences of a lattice, and their probabilities."""
        opinions = self.sequence_opinions(lattice, reading)
        chosen = best_nodes(lattice, opinions)
        if len(opinions) == 1:
            (sums,) = opinions
            return Told(chosen, sums.node, sums.log_z, self.log_weights(only(lattice, chosen), reading))
        together = pool(lattice, opinions)
        sums = together.sums
        return Told(chosen, sums.node, sums.log_z, together.log_weights(lattice, chosen))

    def sequence_opinions(self, lattice: Lattice, reading: Any) -> Sequence[Sums]:
        """What `opinions` are to forests: sums by each of the distributions that together choose a sequence."""
        return [self.sum_sequences(lattice, reading)]

    def sum_sequences(self, lattice: Lattice, reading: Any) -> Sums:
        """Sums over all sequences of a lattice."""
        return sum_sequences(self.subtype_chain, lattice, reading.subtypes)

    def log_weights(self, lattice: Lattice, reading: Any) -> Floats:
        """[sentences] log of the sum over all sequences of a lattice."""
        return log_z_of(self.subtype_chain, lattice, reading.subtypes)

    # -- results

    def _names(self, tags: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.grammar.tags[tag].label for tag in tags)

    def analysis_of(self, tokens: tuple[str, ...], search: Search, derivation: Derivation, which: int) -> Tagging:
        forest = search.forest
        lexical = [
            edge for edge in derivation.edges if forest.rule[edge] >= self.rules.rules
        ]  # from the first word to the last
        tags = [int(forest.symbol[forest.ends[edge, P]]) - 1 for edge in lexical]
        confidences = tuple(search.posterior[lexical].tolist())
        log_marginal = float(search.log_z[which])
        return Tagging(tokens, derivation.log_weight, log_marginal, tags=self._names(tags), confidences=confidences)

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Tagging:
        """Each word's likeliest tag by itself."""
        tags = tuple(self.likeliest_tag(word, first=i == 0) for i, word in enumerate(tokens))
        return Tagging(tokens, -np.inf, -np.inf, *trouble, tags=tags)


def _words_and_tags(sentence: Any) -> tuple[tuple[str, ...], Sequence[str]]:
    """A sentence to learn from as its words and their tags."""
    if isinstance(sentence, Tree):
        cleaned = LabelRules().clean(sentence)
        return ((), ()) if cleaned is None else TaggedSentence.of_tree(cleaned)
    if isinstance(sentence, str) or not isinstance(sentence, Sequence) or len(sentence) != 2:
        raise LatreeError(f"a tagger learns from sentences as (words, tags), or trees, not from {clipped(sentence)}")
    words, tags = checked_words(sentence[0]), checked_words(sentence[1])
    if isinstance(sentence[0], str) or len(words) != len(tags):
        raise LatreeError(f"a sentence to learn from needs a list of words and a tag for each, not {clipped(sentence)}")
    return words, tags
