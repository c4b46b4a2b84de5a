"""What a reader is told of the nodes of a tree: the likeliest subtype of each, and what is typical of that subtype."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from latree.kinds.lvg.subtypes_in_trees import Posterior, posteriors_in_tree
from latree.kinds.report import Figures, Subtypes, place_of

if TYPE_CHECKING:
    from latree.kinds.lvg.model import Lvg
    from latree.text.tree import Tree

SHOWN = 5  # words or rules
Spot = tuple[int, int, str]  # of a node: first word, word after its last, label; of a tag no label, a word has but one


@dataclass(frozen=True)
class Likeliest:
    """The likeliest subtype of a node."""

    name: str
    place: str  # of its card on the page about the model
    probability: float  # given the words and the tree
    subtypes: int  # that its category has
    words: Figures[str]  # commonest ones; of a phrase none
    rules: Figures[str]  # likeliest ones, whatever the subtypes of the children; of a tag none


class Typical:
    """Knows what is typical of every subtype of a grammar, and which of them the nodes of a tree have."""

    def __init__(self, model: Lvg) -> None:
        self.model, self.about = model, Subtypes(model)
        self._known: dict[tuple[int, int], tuple[Figures[str], Figures[str]]] = {}

    def of(self, tree: Tree) -> list[Likeliest | None]:
        """What is likeliest at every node of a tree, a parent before its children.

        Nothing at the root, and nothing at all in a tree that the grammar does not derive.
        """
        chains = self._by_spot(tree)
        return [self._likeliest(chain.pop()) if (chain := chains.get(spot)) else None for spot in _spots(tree)]

    def _by_spot(self, tree: Tree) -> dict[Spot, list[Posterior]]:
        """The posteriors of the nodes at every spot, the lowest first."""
        if self.model.cleaned(tree).words() != tree.words():  # without traces, all words have other places
            return {}
        (binary,) = self.model.prepare_data([tree])
        chains: dict[Spot, list[Posterior]] = {}
        for (label, start, end), chain in posteriors_in_tree(self.model, binary).items():
            for one in chain:
                spot = (start, end, "" if self.about.is_tag(one.symbol) else label)
                chains.setdefault(spot, []).append(one)
        return chains

    def _likeliest(self, node: Posterior) -> Likeliest:
        symbol, subtype = node.symbol, int(node.subtypes.argmax())
        if (symbol, subtype) not in self._known:
            self._known[symbol, subtype] = (
                self.about.words(symbol, subtype, SHOWN),
                [] if self.about.is_tag(symbol) else self._rules(symbol, subtype),
            )
        name, place = self.about.name(symbol, subtype), place_of(symbol, subtype)
        sure, size = float(node.subtypes[subtype]), self.about.subtypes(symbol)
        return Likeliest(name, place, sure, size, *self._known[symbol, subtype])

    def _rules(self, symbol: int, subtype: int) -> Figures[str]:
        rules = self.about.rules(symbol, subtype, SHOWN, summed=True)
        return [(" ".join(self.about.name(*child) for child in children), share) for children, share in rules]


def _spots(tree: Tree) -> Iterator[Spot]:
    """Where the nodes of a tree stand, a parent before its children."""
    phrases, words = tree.spans(), 0
    for node in tree.subtrees():
        if node.is_leaf:
            yield words, words + 1, ""
            words += 1
        else:
            label, start, end = next(phrases)
            yield start, end, label
