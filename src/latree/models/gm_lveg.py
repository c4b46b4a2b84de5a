"""The parser of Gaussian-mixture latent vector grammars: every category has a space of subtypes."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np

from latree.arrays import Longs
from latree.checkpoint import fingerprint
from latree.errors import LatreeError
from latree.forest import UnknownRuleError, from_trees
from latree.grammar import tagged_words
from latree.lveg_start import Cube, Start, from_subtypes
from latree.lveg_training import LvegOptions
from latree.models.gaussian import Example, GaussianModel, GradientTraining
from latree.models.lvg import Cascade, Lvg
from latree.models.parser import Parser
from latree.models.subtyped import Training
from latree.tree import Tree


class GmLveg(GaussianModel, Parser):
    """`GmLveg().fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is already."""

    kind = "gm-lveg"
    run_options = (*Parser.run_options, "cascade", "joint")
    joint = True  # the two families make different mistakes

    def __init__(
        self,
        *,
        options: LvegOptions | None = None,
        pruner: Parser | None = None,
        source: Lvg | None = None,
        seed: int = 0,
    ) -> None:
        """`source` is a trained grammar with subtypes to start from, where the options say so and there is one."""
        self.options, self.seed, self.source = options or LvegOptions(), seed, source
        self.pruner = pruner if pruner is not None else Lvg(rounds=4, seed=seed)
        self.training = {}

    def fit(self, trees: Iterable[Tree], how: GradientTraining | None = None) -> Self:
        """Train the pruner where need be, then the mixtures."""
        trees, how = list(trees), how or GradientTraining()
        treebank = fingerprint(f"{tree}\n".encode("utf-8", "surrogatepass") for tree in trees)
        standing = how.standing(treebank)
        if standing is None:
            self._fit_pruner(trees)
            self.adopt(self.pruner)
        else:
            self.take_over(standing.header, standing.model)
        self.train_epochs(self.examples(trees), treebank, how, standing)
        return self

    def examples(self, trees: list[Tree]) -> list[Example]:
        """The gold trees as forests."""
        nodes = self.binarise(trees)
        grammar = self.grammar
        tags, number, examples = len(grammar.tags), grammar.tag_index, []
        for node in nodes:
            words, symbols = zip(*tagged_words(node), strict=True)
            entry = [{grammar.first_tag + t: i * tags + t for t in range(tags)} for i in range(len(words))]
            try:
                gold = from_trees(grammar, [node], entry, len(words) * tags)
            except UnknownRuleError as error:
                raise LatreeError(f"the pruner was trained on another treebank: {error}") from None
            examples.append(Example(words, [number[symbol] for symbol in symbols], gold))
        return examples

    def _fit_pruner(self, trees: list[Tree]) -> None:
        """Unless it is trained already.  What it is on the way, after so many rounds, serves as the source."""

        def keep(model: Lvg, number: int) -> None:
            if number == self.options.start_rounds:
                self.source = copy(model)

        if hasattr(self.pruner, "grammar"):
            pass
        elif isinstance(self.pruner, Lvg):
            self.pruner.fit(trees, Training(after_round=keep))
        else:
            self.pruner.fit(trees)
        if self.options.start == "subtypes" and self.source is None:
            labels, binarization = self.pruner.labels, self.pruner.binarization
            rounds = self.options.start_rounds
            self.source = Lvg(rounds=rounds, seed=self.seed, labels=labels, binarization=binarization).fit(trees)

    def start(self, rng: np.random.Generator) -> Start:
        if self.options.start == "treebank":
            return super().start(rng)
        return from_subtypes(self.source, self.lexical, self.options.wide, Cube())

    def meetings(self) -> Longs:
        """On the vector of every phrase and tag, the slot of the rule above meets that of the rule below."""
        parents = np.append(self.grammar.rules[:, 0], self.lexical.tag + self.grammar.first_tag)
        return np.where(parents == 0, 0, 2)

    def adopt(self, pruner: Any) -> None:
        super().adopt(pruner)
        self.pruner, self.labels, self.binarization = pruner, pruner.labels, pruner.binarization
        self.threshold = pruner.threshold

    @property
    def cascade(self) -> Cascade | None:
        """How much the pruner prunes; None where it is no grammar with subtypes."""
        return getattr(self.pruner, "cascade", None)

    @cascade.setter
    def cascade(self, value: Cascade | None) -> None:
        if value is None:
            return
        if self.cascade is None:
            raise LatreeError(f"the pruner has no subtypes, it is a {self.pruner.kind}: there is one threshold")
        self.pruner.cascade, self.threshold = value, value.chart
