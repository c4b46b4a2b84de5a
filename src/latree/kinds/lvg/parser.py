"""The latent variable grammar: a treebank's categories with learned subtypes (Petrov et al. 2006; Petrov 2009, 2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.inference.forest import Forest, thin
from latree.inference.forms.sparse import no_statistics, with_words
from latree.inference.grammar import count_rules
from latree.inference.prune import Cascade
from latree.inference.subtypes import doublings
from latree.inference.sweep import infer
from latree.kinds.lvg.split_merge import SplitMergeOptions
from latree.kinds.lvg.subtyped import Subtyped, Training
from latree.kinds.lvg.variational_prior import VariationalOptions
from latree.kinds.parser import Parser, tagged_sentences
from latree.learning.latent_treebank import LatentTreebank
from latree.lexicon.words import Lexicon, LexiconOptions
from latree.text.binary import Binarization
from latree.text.labels import LabelRules
from latree.text.tree import Tree

Estimator = Literal["em", "variational"]

FAST = Cascade(1e-3, ((2, 1e-3),))
ACCURATE = Cascade(1e-5, ((1, 1e-6), (2, 1e-6), (3, 1e-6)))


class Lvg(Subtyped, Parser):
    """`Lvg(rounds=4).fit(trees).parse(tokens)`; `Lvg(subtypes=2)` gives every symbol two and merges none.

    `Lvg(estimator="variational", prior=VariationalOptions(truncation=16))` lets the prior find how many are of use.
    """

    kind = "lvg"
    run_options = (*Parser.run_options, "cascade")

    def __init__(
        self,
        *,
        rounds: int = 4,
        subtypes: int | None = None,
        seed: int = 0,
        labels: LabelRules | None = None,
        binarization: Binarization | None = None,
        unknown: str = "neutral",
        lexicon: LexiconOptions | None = None,
        options: SplitMergeOptions | None = None,
        estimator: Estimator = "em",
        prior: VariationalOptions | None = None,
    ) -> None:
        self.rounds, self.subtypes, self.seed = rounds, subtypes, seed
        self.labels = labels or LabelRules()
        self.binarization = binarization or Binarization()
        self.unknown, self.lexicon_options = unknown, lexicon or LexiconOptions()
        self.options = options or SplitMergeOptions()
        self.training = {}
        self.cascade = FAST
        if estimator == "variational":
            self._use_prior(prior or VariationalOptions())
        elif prior is not None:
            raise LatreeError("a prior is for the variational estimator")

    def _use_prior(self, prior: VariationalOptions) -> None:
        if self.subtypes is not None:
            raise LatreeError("the variational estimator finds the number of subtypes; give it a truncation instead")
        self.prior, self.rounds = prior, doublings(prior.truncation)
        self.training["prior"] = prior.to_json()

    def fit(self, trees: Iterable[Tree], how: Training | None = None) -> Self:
        """Learn the subtypes."""
        nodes = self.binarise(trees)
        if not nodes:
            raise LatreeError("the treebank has no trees with words")
        self.grammar, counts = count_rules(nodes)
        sentences = tagged_sentences(self.grammar, nodes)
        unsplit = Lexicon.count(sentences, len(self.grammar.tags), self.unknown, self.lexicon_options)
        self.train_rounds(LatentTreebank.of(self.grammar, nodes, unsplit), counts, unsplit, how)
        return self

    @property
    def cascade(self) -> Cascade:
        """How much is pruned on the way from the unsplit grammar to the full one."""
        return self._cascade

    @cascade.setter
    def cascade(self, value: Cascade) -> None:
        self._cascade, self.threshold = value, value.chart

    def refine(
        self, forest: Forest, emissions: Floats, looseness: float, gold: tuple[Longs, int] | None = None
    ) -> Forest:
        """Level by level, drop edges of small posterior; a sentence that would lose all its trees keeps them."""
        for rounds, threshold in self.cascade.levels:
            if rounds >= self.history.rounds:
                continue
            level = self.levels[rounds]
            weights = with_words(level.tensors, level.layout, emissions @ level.columns)
            posterior = infer(forest, weights, no_statistics(weights), level.layout.size).posterior
            forest = thin(forest, posterior >= threshold * looseness, gold)
        return forest
