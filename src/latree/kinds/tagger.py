"""Taggers: models whose derivations are tag sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latree.arrays import NONE
from latree.errors import LatreeError
from latree.files import Arrays, Header
from latree.inference.derivations import Derivation
from latree.inference.forest import P, Piece, assemble
from latree.inference.results import Objective, Tagging
from latree.inference.trellis import Chain, ChainRules, Trellis, chain, chain_rules, fill_trellis, gold_chain, lattice
from latree.kinds.model import ForestModel, Sentence, Trouble, checked_words, clipped
from latree.kinds.options import ModelOptions
from latree.kinds.registry import kind_named
from latree.kinds.search import Search
from latree.text.formats import TaggedSentence, read_tagged
from latree.text.labels import LabelRules
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs


class Tagger(ForestModel[Tagging]):
    """Sentences in, tags out.  A subclass says how its weights come from tagged sentences."""

    for_people = (*ForestModel.for_people, "column")
    threshold = 1e-4
    max_length = 20_000  # the trellis grows with the words, not with their square
    column: str = "upos"  # which column of CoNLL-U it was trained on
    chain: Chain  # the coarse model
    rules: ChainRules

    @classmethod
    def _default_options(cls) -> ModelOptions:
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

    # -- for people

    def tag(self, sentence: Sentence, objective: Objective = "max-rule") -> list[str]:
        return list(next(self.analyse([sentence], objective)).tags)

    def tag_all(
        self, sentences: str | Iterable[Sentence], jobs: Jobs = 1, objective: Objective = "max-rule"
    ) -> Iterator[Tagging]:
        from latree.kinds.jobs import analyse_all

        return analyse_all(self, sentences, jobs, objective)

    def posteriors(self, sentence: Sentence, least: float = 1e-3) -> list[dict[str, float]]:
        """For each word the tags of at least the given probability, the likeliest first."""
        tokens, attempt = self.words_of(sentence), self._attempt(sentence)
        if isinstance(attempt, Trouble):
            return []
        search = self._search(attempt, min(least, self.threshold) * 1e-2)
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
            return self._sample_given(sentence, rng)
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

    def coarse(self, reading: Any) -> Trellis:
        return fill_trellis(self.chain, reading.tags)

    def prune(self, coarse: Any, threshold: float) -> Piece:
        return lattice(coarse, self.rules, threshold)

    # -- results

    def _names(self, tags: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.grammar.tags[tag].label for tag in tags)

    def _result(self, tokens: tuple[str, ...], search: Search, derivation: Derivation, which: int) -> Tagging:
        forest = search.forest
        lexical = [
            edge for edge in derivation.edges if forest.rule[edge] >= self.rules.rules
        ]  # from the first word to the last
        tags = [int(forest.symbol[forest.ends[edge, P]]) - 1 for edge in lexical]
        confidences = tuple(search.posterior[lexical].tolist())
        log_marginal = float(search.log_z[which])
        return Tagging(tokens, derivation.log_weight, log_marginal, tags=self._names(tags), confidences=confidences)

    def _stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Tagging:
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
