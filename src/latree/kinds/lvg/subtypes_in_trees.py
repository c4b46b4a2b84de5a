"""Which subtypes the nodes of a given tree have: posteriors of subtypes, given the words and the tree."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from latree.arrays import Floats
from latree.inference.forest import UnknownRuleError, assemble, from_trees
from latree.inference.forms.sparse import no_statistics
from latree.inference.grammar import tagged_words
from latree.inference.sweep import infer
from latree.text.binary import Node

if TYPE_CHECKING:
    from latree.kinds.lvg.model import Lvg

Place = tuple[str, int, int]  # the label of a phrase or tag, and the words it spans


class Posterior(NamedTuple):
    """A node's symbol, and the probability of each of its subtypes."""

    symbol: int
    subtypes: Floats


def posteriors_in_tree(model: Lvg, tree: Node) -> dict[Place, list[Posterior]]:
    """The posteriors at every phrase and tag of a binary tree, by place; chains of one label from the lowest up.

    The tree must be one that the model derives; where it does not, there is nothing at any place.
    """
    words = [word for word, _ in tagged_words(tree)]
    grammar, tags = model.grammar, len(model.grammar.tags)
    entry = [{grammar.first_tag + t: i * tags + t for t in range(tags)} for i in range(len(words))]
    try:
        piece = from_trees(grammar, [tree], entry, len(words) * tags)
    except UnknownRuleError:
        return {}
    forest = assemble([piece], len(grammar.rules))
    weights = model.weights(model.read(words))
    result = infer(forest, weights, no_statistics(weights), model.widths())
    found: dict[Place, list[Posterior]] = defaultdict(list)
    for item, (symbol, span) in enumerate(zip(forest.symbol.tolist(), forest.span.tolist(), strict=True)):
        about = grammar.symbols[symbol]
        rows = slice(result.inside.start[item], result.inside.start[item + 1])
        mass = result.inside.row[rows] * result.outside.row[rows]
        if about.kind in ("phrase", "tag") and mass.sum() > 0:
            found[about.label, *span].append(Posterior(symbol, mass / mass.sum()))
    return found
