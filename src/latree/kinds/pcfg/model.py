"""The treebank PCFG: rules with their relative frequencies.  Every other parser here is a refinement of it."""

from __future__ import annotations

from latree.inference.grammar import count_rules, normalise
from latree.kinds.parser import Parser, tagged_sentences
from latree.learning.loop import Training
from latree.lexicon.words import Lexicon
from latree.text.binary import Node


class Pcfg(Parser):
    """`Pcfg().fit(trees).parse(tokens)`."""

    kind = "pcfg"

    def learn(self, data: list[Node], training: Training) -> None:
        """Count the treebank and normalise (Petrov 2009, eqn 3, with nothing hidden)."""
        self.grammar, counts = count_rules(data)
        self.theta = normalise(self.grammar.rules, counts, len(self.grammar.symbols))
        sentences = tagged_sentences(self.grammar, data)
        self.lexicon = Lexicon.count(sentences, len(self.grammar.tags), self.options.unknown, self.options.lexicon)
        self.prepare()
