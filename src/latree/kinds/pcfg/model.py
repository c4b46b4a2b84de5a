"""The treebank PCFG: rules with their relative frequencies.  Every other parser here is a refinement of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from latree.errors import LatreeError
from latree.inference.grammar import count_rules, normalise
from latree.kinds.parser import Parser, tagged_sentences
from latree.lexicon.words import Lexicon
from latree.text.tree import Tree


class Pcfg(Parser):
    """`Pcfg().fit(trees).parse(tokens)`."""

    kind = "pcfg"

    def fit(self, trees: Iterable[Tree]) -> Self:
        """Count the treebank and normalise (Petrov 2009, eqn 3, with nothing hidden)."""
        nodes = self.binarise(trees)
        if not nodes:
            raise LatreeError("the treebank has no trees with words")
        self.grammar, counts = count_rules(nodes)
        self.theta = normalise(self.grammar.rules, counts, len(self.grammar.symbols))
        sentences = tagged_sentences(self.grammar, nodes)
        self.lexicon = Lexicon.count(sentences, len(self.grammar.tags), self.options.unknown, self.options.lexicon)
        self.prepare()
        return self
