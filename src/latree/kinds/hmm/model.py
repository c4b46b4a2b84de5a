"""The hidden Markov tagger: tag bigrams and P(word | tag), as a right-linear grammar over a tag lattice."""

from __future__ import annotations

from collections.abc import Sequence

from latree.kinds.tagger import Tagger
from latree.learning.loop import Training
from latree.learning.tag_bigrams import bigram_grammar, code_tags, count_bigrams
from latree.lexicon.words import Lexicon


class Hmm(Tagger):
    """`Hmm().fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "hmm"

    def learn(self, data: list[tuple[Sequence[str], Sequence[str]]], training: Training) -> None:
        """Count tag bigrams and words."""
        names, coded = code_tags(data)
        self.grammar, self.theta = bigram_grammar(names, count_bigrams(coded, len(names)))
        self.lexicon = Lexicon.count(coded, len(names), self.options.unknown, self.options.lexicon)
        self.prepare()
