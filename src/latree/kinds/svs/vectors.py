"""The vectors of a tree's constituents, and how alike two vectors are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats
from latree.inference.grammar import Grammar
from latree.inference.sweep import Inference
from latree.kinds.svs.counts import normalised
from latree.kinds.svs.derivations import TreeForest
from latree.kinds.svs.relations import is_head
from latree.text.tree import Tree


class ConstituentVector(NamedTuple):
    """What is known of a constituent's concepts: by what is under it, and by all of the sentence."""

    label: str
    start: int
    end: int
    inside: Floats  # e of eqn 10, to a sum of one
    posterior: Floats


Vector = ConstituentVector | Sequence[float] | Floats


class Neighbour(NamedTuple):
    """A constituent that was compared with another."""

    text: str
    vector: ConstituentVector
    similarity: float


def read_vectors(grammar: Grammar, derivations: TreeForest, inference: Inference) -> list[ConstituentVector]:
    """Read the vector of every constituent, the largest first; items that are one are weighed by posteriors."""
    forest = derivations.forest
    by_node: dict[int, tuple[int, Floats, Floats]] = {}
    for item in reversed(range(len(forest.symbol))):
        number = int(derivations.node[item])
        if number == NONE or derivations.places[number].tree.is_leaf:
            continue
        inside, posterior = _messages(inference, item)
        _, *before = by_node.get(number, (item, 0.0, 0.0))
        by_node[number] = (item, before[0] + posterior.sum() * inside, before[1] + posterior)
    vectors = []
    for item, inside, posterior in by_node.values():
        start, end = forest.span[item].tolist()
        label = grammar.symbols[forest.symbol[item]].label
        vectors.append(ConstituentVector(label, start, end, normalised(inside), normalised(posterior)))
    return vectors


def annotated_tree(grammar: Grammar, derivations: TreeForest, inference: Inference, names: Sequence[str]) -> Tree:
    """Write the likeliest relation and concept into every label, as figure 1 of the paper has them: MOD:NP{concept}."""
    forest, places = derivations.forest, derivations.places
    head, modifier = (np.zeros((len(places), len(names))) for _ in range(2))
    for item in np.flatnonzero(derivations.node != NONE).tolist():
        table = head if is_head(grammar.symbols[forest.symbol[item]]) else modifier
        table[derivations.node[item]] += _messages(inference, item)[1]
    trees: dict[int, Tree] = {}
    for number in reversed(range(len(places))):
        node, label = places[number].tree, places[number].tree.label
        if number > 0:
            relation = "ID" if head[number].sum() >= modifier[number].sum() else "MOD"
            label = f"{relation}:{label}{{{names[int(np.argmax(head[number] + modifier[number]))]}}}"
        trees[number] = Tree(label, [trees[child] for child in places[number].children], word=node.word)
    return trees[0]


def _messages(inference: Inference, item: int) -> tuple[Floats, Floats]:
    """The inside vector of an item, to a sum of one, and the probabilities of its concepts given the sentence."""
    inside, outside = inference.inside, inference.outside
    at = slice(inside.start[item], inside.start[item + 1])
    scale = min(inside.scale[item] + outside.scale[item], 700.0)  # so that exp does not overflow
    joint = inside.row[at] * outside.row[at] * np.exp(scale)
    return normalised(inside.row[at]), joint


# -- likeness


def similarity(a: Vector, b: Vector) -> float:
    """From 0, no concept in common, to 1, the same distribution: the cosine of the square roots of the two posteriors,
    which for distributions is their Bhattacharyya coefficient."""
    roots = [np.sqrt(_posterior(one)) for one in (a, b)]
    lengths = [float(np.linalg.norm(root)) for root in roots]
    return min(float(roots[0] @ roots[1]) / max(lengths[0] * lengths[1], 1e-300), 1.0)


def _posterior(one: Vector) -> Floats:
    return one.posterior if isinstance(one, ConstituentVector) else np.asarray(one, np.float64)
