"""The tagger of Gaussian-mixture latent vector grammars: an HMM whose states are tags with a vector each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from latree.arrays import Longs
from latree.checkpoint import fingerprint
from latree.lveg_training import LvegOptions
from latree.models.gaussian import Example, GaussianModel, GradientTraining
from latree.models.hmm import Hmm
from latree.models.tagger import Tagger
from latree.trellis import chain_rules, gold_chain


class GmLvegTagger(GaussianModel, Tagger):
    """`GmLvegTagger().fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "gm-lveg-tagger"

    def __init__(
        self,
        *,
        options: LvegOptions | None = None,
        pruner: Tagger | None = None,
        seed: int = 0,
        column: str = "upos",
        unknown: str = "neutral",
    ) -> None:
        self.options, self.seed, self.column = options or LvegOptions(), seed, column
        self.pruner = pruner if pruner is not None else Hmm(column=column, unknown=unknown)
        self.training = {}

    def fit(
        self, sentences: Iterable[tuple[Sequence[str], Sequence[str]]], how: GradientTraining | None = None
    ) -> Self:
        """Train the pruner where need be, then the mixtures."""
        kept, how = [(tuple(words), tags) for words, tags in sentences if words], how or GradientTraining()
        lines = ("\t".join([*words, *tags]) + "\n" for words, tags in kept)
        treebank = fingerprint(line.encode("utf-8", "surrogatepass") for line in lines)
        standing = how.standing(treebank)
        if standing is None:
            if not hasattr(self.pruner, "grammar"):
                self.pruner.fit(kept)
            self.adopt(self.pruner)
        else:
            self.take_over(standing.header, standing.model)
        number = {symbol.label: k for k, symbol in enumerate(self.grammar.tags)}
        examples = [self._example(words, [number[tag] for tag in tags]) for words, tags in kept]
        self.train_epochs(examples, treebank, how, standing)
        return self

    def _example(self, words: tuple[str, ...], tags: list[int]) -> Example:
        entries = [i * len(self.grammar.tags) + tag for i, tag in enumerate(tags)]
        gold = gold_chain(self.rules, tags, entries)
        return Example(words, tags, gold._replace(entries=len(words) * len(self.grammar.tags)))

    def meetings(self) -> Longs:
        """On the vector of every tag, three slots meet: the transition's into it, the word's, and that out of it."""
        return np.append(np.zeros(len(self.grammar.rules), np.int64), np.full(len(self.lexical.tag), 3))

    def adopt(self, pruner: Any) -> None:
        super().adopt(pruner)
        self.pruner, self.rules, self.column = pruner, chain_rules(pruner.grammar), pruner.column
