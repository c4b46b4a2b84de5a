"""The latent variable grammar: a treebank's categories with learned subtypes (Petrov et al. 2006; Petrov 2009, 2.1)."""

from __future__ import annotations

from typing import Any

from latree.arrays import Longs
from latree.inference.forest import Forest, thin
from latree.inference.forms.sparse import no_statistics, with_words
from latree.inference.grammar import count_rules
from latree.inference.prune import Cascade
from latree.inference.reading import Emissions
from latree.inference.sweep import infer
from latree.kinds.lvg.options import LvgOptions
from latree.kinds.lvg.subtyped import Subtyped
from latree.kinds.lvg.training import Rounds
from latree.kinds.parser import Parser, tagged_sentences
from latree.learning.latent_treebank import LatentTreebank
from latree.learning.loop import Training, train
from latree.lexicon.words import Lexicon
from latree.text.binary import Node

FAST = Cascade(1e-3, ((2, 1e-3),))
ACCURATE = Cascade(1e-5, ((1, 1e-6), (2, 1e-6), (3, 1e-6)))


class Lvg(Subtyped, Parser):
    """`Lvg(rounds=4).fit(trees).parse(tokens)`; `Lvg(subtypes=2)` gives every symbol two and merges none.

    `Lvg(estimator="variational", prior=VariationalOptions(truncation=16))` lets the prior find how many are of use.
    """

    kind = "lvg"
    run_options = (*Parser.run_options, "cascade")

    def __init__(self, options: LvgOptions | None = None, **changes: Any) -> None:
        super().__init__(options, **changes)
        self.cascade = FAST

    def learn(self, data: list[Node], training: Training) -> None:
        self.grammar, counts = count_rules(data)
        sentences = tagged_sentences(self.grammar, data)
        unsplit = Lexicon.count(sentences, len(self.grammar.tags), self.options.unknown, self.options.lexicon)
        treebank = LatentTreebank.of(self.grammar, data, unsplit)
        train(Rounds(self, treebank, counts, unsplit), training, self.options.seed)

    @property
    def cascade(self) -> Cascade:
        """How much is pruned on the way from the unsplit grammar to the full one."""
        return self._cascade

    @cascade.setter
    def cascade(self, value: Cascade) -> None:
        self._cascade, self.threshold = value, value.chart

    def refine(
        self, forest: Forest, reading: Emissions, looseness: float, gold: tuple[Longs, int] | None = None
    ) -> Forest:
        """Level by level, drop edges of small posterior; a sentence that would lose all its trees keeps them."""
        for rounds, threshold in self.cascade.levels:
            if rounds >= self.history.rounds:
                continue
            level = self.levels[rounds]
            weights = with_words(level.tensors, level.layout, reading.subtypes @ level.columns)
            posterior = infer(forest, weights, no_statistics(weights), level.layout.size).posterior
            forest = thin(forest, posterior >= threshold * looseness, gold)
        return forest
