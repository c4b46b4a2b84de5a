"""Compositional vector grammars (Socher, Bauer, Manning & Ng 2013).

A grammar with subtypes, the pruner, lists the best trees of a sentence; a recursive network gives every subtree a
vector and a score; the tree with the highest sum of both is the best.  Probabilities are those of the trees of the
list, and of nothing else: exp of the score, over the sum of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.checks import numbers
from latree.files import Arrays, Header, ModelFile, part_of
from latree.inference.constituents import Listed
from latree.inference.decode import best, best_edges
from latree.inference.forest import Forest, P, Piece, anchors
from latree.inference.pooled import Pooled, by_edges
from latree.kinds.analyses import search_one
from latree.kinds.cvg import CvgOptions
from latree.kinds.cvg.lists import TreeList, list_trees
from latree.kinds.cvg.network import Circuit, Network, activity, circuit, compositions
from latree.kinds.cvg.training import Epochs
from latree.kinds.lvg.model import Lvg
from latree.kinds.parser import Parser
from latree.kinds.pruned import PrunedParser, PrunedReading
from latree.kinds.search import Attempt, Trouble
from latree.kinds.sentences import Sentence
from latree.learning.loop import Training, train
from latree.text.binary import Node
from latree.text.partial_trees import PartialTree
from latree.text.tree import Tree


@dataclass(frozen=True, eq=False)
class CvgReading(PrunedReading):
    """The words as the network has vectors for them, and the list."""

    unit: Longs  # [words]
    listed: TreeList


class ListForest(NamedTuple):
    """What the pruner leaves of a sentence: its list as a forest."""

    piece: Piece
    log_z: float  # -inf where nothing was listed, else no matter


class Cvg(PrunedParser):
    """`Cvg().fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is already."""

    kind = "cvg"
    own_name = "lists"
    run_options = ("cascade", *Parser.run_options)
    options: CvgOptions
    network: Network

    def make_pruner(self) -> Lvg:
        return Lvg(**self.options.of_pruner())

    def learn(self, data: list[Node], training: Training) -> None:
        """Max-margin training on lists."""
        train(Epochs(self, data), training, self.options.seed)

    # -- search

    def read(self, tokens: Sequence[str]) -> CvgReading:
        listed = self.list_by(self.pruner, tokens)
        return CvgReading(self.pruner.read(tokens), self.lexical.units_of(tokens), listed)

    @property
    def searcher(self) -> Parser:
        return self.pruner

    def list_by(self, grammar: Parser, tokens: Sequence[str]) -> TreeList:
        """List the best trees of a sentence by the pruner, or by another grammar."""
        reading = grammar.read(tokens)
        return self._listed(grammar, Attempt(grammar.coarse(reading), reading))

    def _listed(self, grammar: Parser, attempt: Attempt) -> TreeList:
        return list_trees(search_one(grammar, attempt, self.threshold), self.options.list_length)

    def attempt(self, sentence: Sentence) -> Attempt | Trouble:
        """The list of a sentence; where constituents are listed or brackets given, of trees that keep to these."""
        attempt = super().attempt(self.words_of(sentence))
        if not isinstance(sentence, Listed | PartialTree) or isinstance(attempt, Trouble):
            return attempt
        limited = self.pruner.attempt(sentence)
        assert isinstance(limited, Attempt) and isinstance(attempt.reading, CvgReading)  # noqa: PT018
        reading = replace(attempt.reading, listed=self._listed(self.pruner, limited))
        return limited._replace(coarse=self.coarse(reading), reading=reading)

    def coarse(self, reading: Any) -> Any:
        """The list of one sentence."""
        piece = reading.listed.piece(len(reading.unit) * len(self.grammar.tags))
        return ListForest(piece, 0.0 if len(piece.symbol) else -np.inf)

    def prune(self, coarse: ListForest, threshold: float) -> Piece:
        """Take the list as it is: the threshold was the pruner's."""
        return coarse.piece

    def refine(self, forest: Forest, reading: Any, looseness: float, gold: tuple[Longs, int] | None = None) -> Forest:
        return forest

    def circuit(self, forest: Forest, unit: Longs) -> Circuit:
        """Lay out the network over a forest of lists, for words of these units."""
        return circuit(forest, compositions(self.grammar), unit, len(self.grammar.tags))

    def viterbi_scores(self, forest: Forest, reading: CvgReading) -> Floats:
        """[edges] what the network says of each subtree, and at the root what the pruner says of each tree."""
        lines = self.circuit(forest, reading.unit)
        scores = activity(self.network, lines).score
        scores[lines.tree] += reading.listed.base
        return scores

    def infer(self, forest: Forest, reading: CvgReading) -> Pooled:
        return by_edges(self.grammar, forest, self.viterbi_scores(forest, reading), np.zeros(len(forest.root)))

    def anchored(self, forest: Forest, posterior: Floats) -> Floats:
        """Add up the posteriors of a rule at a place over all subtrees that it makes there."""
        _, kind = np.unique(anchors(forest, int(forest.span.max(initial=0)) + 1), return_inverse=True)
        return np.asarray(np.bincount(kind, weights=posterior)[kind], np.float64)

    def log_prob_tree(self, tree: Tree) -> float:
        """Tell the score of a tree; -inf where it is not in the list of its words."""
        cleaned = self.cleaned(tree)
        found = (one for one in self.kbest(cleaned.words(), self.options.list_length) if one.status == "ok")
        same = (one.log_joint for one in found if one.tree is not None and self.cleaned(one.tree) == cleaned)
        return next(same, -np.inf)

    def draw_edges(self, forest: Forest, reading: CvgReading, rng: np.random.Generator) -> list[int]:
        """Draw a tree of the list."""
        trees = np.flatnonzero(forest.ends[:, P] == forest.root[0])
        odds = self.infer(forest, reading).posterior[trees]
        scores = np.zeros(len(forest.rule))
        scores[trees] = -np.inf
        scores[rng.choice(trees, p=odds / odds.sum())] = 0.0
        return best_edges(forest, best(forest, scores), 0)

    # -- size

    def subtype_counts(self) -> None:
        """A category has a space of subtypes: there are none to count."""

    def complexity(self) -> Longs:
        """[symbols] the network's numbers for rules, by the first child's category; not the pruner's."""
        _, first = np.unique(compositions(self.grammar), return_index=True)
        rules, dim = self.grammar.rules[first], self.network.dim
        numbers = np.where(rules[:, 2] == NONE, dim + 1, 2 * dim + 1) * dim + dim
        return np.bincount(rules[:, 1], numbers, len(self.grammar.symbols)).astype(np.int64)

    # -- files

    def state(self) -> ModelFile:
        header, arrays = super().state()
        return ModelFile(
            header, arrays | {f"network.{k}": a.astype(np.float32) for k, a in self.network._asdict().items()}
        )

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        found, kinds = part_of("network.", arrays), int(compositions(self.grammar).max()) + 1
        word = numbers("word", found, (len(self.lexical.units), None))
        dim = word.shape[1]
        matrix = numbers("matrix", found, (kinds, dim, 2 * dim + 1))
        self.network = Network(matrix, numbers("score", found, (kinds, dim)), word)
