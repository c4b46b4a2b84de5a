"""The k-best lists that a compositional vector grammar chooses from, as forests of distinct subtrees.

A list's trees differ in a few nodes each.  Here a subtree that several of them share is one item, and every item but
the root has one edge: so whatever is computed of a whole subtree, as a vector is, is computed once, and what it weighs
is a weight of that edge.  The root has an edge for each tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs
from latree.files import Arrays
from latree.inference.derivations import Derivations
from latree.inference.forest import PASS, Forest, P, Piece, anchors
from latree.inference.grammar import Grammar
from latree.inference.kbest import k_best
from latree.inference.reading import Reading

if TYPE_CHECKING:
    from latree.kinds.search import Search


@dataclass(frozen=True, eq=False)
class TreeList(Reading):
    """The trees of a sentence's list: a piece of a forest, and what the grammar that listed them says of each.

    Of several sentences laid end to end, only the trees' scores are of use.
    """

    rule: Ints
    ends: Ints
    symbol: Ints
    span: Ints
    base: Floats  # [trees] their scores by the grammar that listed them, in the order of the root's edges

    def piece(self, entries: int) -> Piece:
        """Make the forest of the list; `entries` are the lexical entries of its sentence."""
        return Piece(self.rule, self.ends, self.symbol, self.span, entries)

    def renumbered(self, before: Grammar, after: Grammar) -> TreeList:
        """Make it a list of a grammar that has all symbols and rules of the one that it is of, in the same order."""
        symbol = np.array([after.index[one] for one in before.symbols] + [NONE])
        rules = [after.rule_index[p, left, right] for p, left, right in symbol[before.rules].tolist()]
        word, tag = np.divmod(self.rule - len(before.rules), len(before.tags))
        moved = symbol[before.first_tag + tag] - after.first_tag
        lexical = len(after.rules) + word * len(after.tags) + moved
        is_lexical = self.rule >= len(before.rules)
        rule = np.where(is_lexical, lexical, np.array(rules)[np.where(is_lexical, 0, self.rule)]).astype(np.int32)
        return replace(self, rule=rule, symbol=symbol[self.symbol].astype(np.int32))


def list_trees(search: Search, k: int) -> TreeList:
    """List the k best trees of the only sentence of a search, by the product of the posteriors of their rules."""
    forest = search.forest
    listed = k_best(forest, search.scores("max-rule"), k)
    if not listed:
        none = np.zeros(0, np.int32)
        return TreeList(none, np.zeros((0, 3), np.int32), none, np.zeros((0, 2), np.int32), np.zeros(0))
    place = _first_of_its_kind(forest)
    real = forest.rule != PASS
    shared = Derivations.of(forest, [[int(place[edge]) for edge in edges if real[edge]] for _, edges in listed])
    return _with_one_root(shared, np.array([score for score, _ in listed]))


def _first_of_its_kind(forest: Forest) -> Longs:
    """[edges] the first edge of the same rule at the same place, whatever the unary level."""
    size = int(forest.span.max(initial=0)) + 1
    _, first, kind = np.unique(anchors(forest, size), return_index=True, return_inverse=True)
    return first[kind]


def _with_one_root(shared: Derivations, base: Floats) -> TreeList:
    """Number the nodes below the roots children first, then one root for all; its edges go by rule, as in a forest."""
    forest, roots = shared.forest, shared.root
    roots = roots[order := np.argsort(forest.rule[shared.edge[roots]], kind="stable")]
    below = np.setdiff1d(np.arange(len(shared.edge)), roots)
    number = np.full(len(shared.edge) + 1, NONE)
    number[below], number[roots] = np.arange(len(below)), len(below)
    nodes = np.append(below, roots)
    ends = np.column_stack([number[nodes], number[shared.below[nodes]]]).astype(np.int32)
    item = forest.ends[shared.edge[np.append(below, roots[:1])], P]
    return TreeList(forest.rule[shared.edge[nodes]], ends, forest.symbol[item], forest.span[item], base[order])


def pack_lists(lists: Sequence[TreeList]) -> Arrays:
    """Lay lists end to end, for a checkpoint, with the lengths of their arrays."""
    columns = {one.name: [getattr(listed, one.name) for listed in lists] for one in fields(TreeList)}
    sizes = {f"{name}.size": np.array([len(part) for part in column]) for name, column in columns.items()}
    return {name: np.concatenate(column) for name, column in columns.items()} | sizes


def unpack_lists(arrays: Arrays) -> list[TreeList]:
    """Take apart what `pack_lists` laid end to end."""
    names = [one.name for one in fields(TreeList)]
    columns = (np.split(arrays[name], np.cumsum(arrays[f"{name}.size"])[:-1]) for name in names)
    return [TreeList(*parts) for parts in zip(*columns, strict=True)]
