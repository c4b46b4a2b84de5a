"""The trees of a spaCy document: what is kept of a parse, and the attributes `span._.labels` and so on that tell of it.

Of each sentence plain values are kept, among the document's user data, so that documents with trees can be written to
bytes and sent between processes.  Words of a tree are the tokens that are no white space; every token that is a word is
a constituent, and so is every span of words that a phrase has.  Phrases on the same span, a unary chain, are one
constituent with several labels, as with benepar.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from latree.errors import LatreeError
from latree.inference.results import Parse
from latree.integrations.benepar_names import escaped
from latree.integrations.common import missing
from latree.text.tree import Tree

try:
    from spacy.tokens import Span, Token
except ImportError:
    raise missing("spaCy", "spacy") from None

_KEPT = "latree_parse"  # the attribute of a sentence that its parse is kept in
Record = dict[str, Any]
Words = tuple[int, int]  # the first word of a constituent, and the one after its last, in its sentence


class NotAConstituentError(LatreeError):
    """A span was asked for what only constituents of its sentence's tree have."""


class RankedTree(NamedTuple):
    """One of the best trees of a sentence."""

    parse_string: str
    probability: float


class Placed(NamedTuple):
    """A constituent: the nodes on its span, the topmost first, and the span of the constituent above it."""

    nodes: list[Tree]
    parent: Words | None
    probability: float  # that the topmost phrase is there


# -- keeping


def words_of(sentence: Any) -> list[Any]:
    """The tokens of a sentence that are words."""
    return [token for token in sentence if not token.is_space]


def keep(sentence: Any, parses: Sequence[Parse], root: str) -> None:
    """Keep the best parses of a sentence, the best first; a root with one child is left out, as benepar has it."""
    best = parses[0]
    trees = [without_root(parse.tree, root) for parse in parses if parse.tree is not None]
    probabilities = [one.probability for one in best.constituents]
    if trees and trees[0] is not best.tree:
        del probabilities[:1]
    record: Record = {
        "tokens": len(sentence),
        "places": [token.i - sentence.start for token in words_of(sentence)],
        "status": best.status,
        "trees": [escaped(str(tree)) for tree in trees],
        "probabilities": [parse.probability for parse in parses],
        "phrases": probabilities,
    }
    sentence._.set(_KEPT, record)


def without_root(tree: Tree, root: str) -> Tree:
    """A tree without the node that stands on top of every tree."""
    return tree[0] if tree.label == root and len(tree) == 1 else tree


# -- reading


class SentenceTree:
    """The tree of the sentence that a span is in."""

    def __init__(self, span: Any) -> None:
        self.sentence = span.sent
        self.record = record_of(self.sentence)
        self.places: list[int] = self.record["places"]
        trees = self.record["trees"]
        self.constituents = constituents_of(Tree.read(trees[0]), self.record["phrases"]) if trees else {}

    def words(self, span: Any) -> Words:
        """The words that a span has; white space at its edges does not count."""
        first = self.sentence.start
        return bisect_left(self.places, span.start - first), bisect_left(self.places, span.end - first)

    def span(self, words: Words) -> Any:
        """The span of some words."""
        first, (start, end) = self.sentence.start, words
        return self.sentence.doc[first + self.places[start] : first + self.places[end - 1] + 1]

    def at(self, span: Any) -> Placed:
        """The constituent that a span is."""
        placed = self.constituents.get(self.words(span))
        if placed is None or span.end > self.sentence.end:
            raise NotAConstituentError(f"no constituent of its sentence's tree: {span.text!r}")
        return placed


def record_of(sentence: Any) -> Record:
    """What is kept of a sentence."""
    record: Record | None = sentence._.get(_KEPT)
    if record is None:
        raise LatreeError(
            'this sentence has no parse; nlp.add_pipe("latree") makes one, after the pipes that set sentence boundaries'
        )
    if record["tokens"] != len(sentence):
        raise LatreeError("the tokens of this sentence have changed since it was parsed; parse after what changes them")
    return record


def constituents_of(tree: Tree, probabilities: Sequence[float]) -> dict[Words, Placed]:
    """The constituents of a tree by their words, a parent before its children; phrases with their probabilities."""
    constituents: dict[Words, Placed] = {}
    likely, above = iter(probabilities), list[Words]()
    for node, (start, end) in _spanned(tree):
        probability = math.nan if node.is_leaf else next(likely, math.nan)
        if (start, end) in constituents:
            constituents[start, end].nodes.append(node)
            continue
        while above and above[-1][1] < end:
            above.pop()
        constituents[start, end] = Placed([node], above[-1] if above else None, probability)
        above.append((start, end))
    return constituents


def _spanned(tree: Tree) -> Iterator[tuple[Tree, Words]]:
    """All nodes with their words, a parent before its children."""
    phrases, word = tree.spans(), 0
    for node in tree.subtrees():
        if node.is_leaf:
            yield node, (word, word + 1)
            word += 1
        else:
            _, start, end = next(phrases)
            yield node, (start, end)


# -- the attributes of spans


def parse_string(span: Any) -> str:
    """The tree of a constituent in brackets; nothing for a span without words."""
    tree = SentenceTree(span)
    start, end = tree.words(span)
    return "" if start == end else str(tree.at(span).nodes[0])


def labels(span: Any) -> tuple[str, ...]:
    """The labels of the phrases on a span, the topmost first; tags are no labels."""
    return tuple(node.label for node in SentenceTree(span).at(span).nodes if not node.is_leaf)


def parent(span: Any) -> Any:
    """The constituent above; None for that of a whole sentence."""
    tree = SentenceTree(span)
    above = tree.at(span).parent
    return None if above is None else tree.span(above)


def children(span: Any) -> Iterator[Any]:
    """The constituents right below one."""
    tree = SentenceTree(span)
    tree.at(span)
    words = tree.words(span)
    return (tree.span(place) for place, placed in tree.constituents.items() if placed.parent == words)


def constituents(span: Any) -> Iterator[Any]:
    """A constituent and all below it, a parent before its children."""
    tree = SentenceTree(span)
    start, end = tree.words(span)
    if start == end:
        return iter(())
    tree.at(span)
    return (tree.span(place) for place in tree.constituents if start <= place[0] and place[1] <= end)


def probability(span: Any) -> float:
    """The probability that the topmost phrase of a span is there, over all trees; NaN for what has a tag alone."""
    return SentenceTree(span).at(span).probability


def parse_probability(span: Any) -> float:
    """P(tree | words) of the sentence that a span is in; NaN where its tree is a stand-in."""
    return float(record_of(span.sent)["probabilities"][0])


def parse_status(span: Any) -> str:
    """Whether the tree is the model's own: ok, recovered, failed or empty."""
    return str(record_of(span.sent)["status"])


def kbest(span: Any) -> list[RankedTree]:
    """The best trees of the sentence that a span is in, as many as the pipe was told to keep."""
    record = record_of(span.sent)
    return [RankedTree(*pair) for pair in zip(record["trees"], record["probabilities"], strict=False)]


_OF_SPANS = (parse_string, labels, parent, children, constituents, probability, parse_probability, parse_status, kbest)


def _labels_of_token(token: Any) -> tuple[str, ...]:
    return labels(_as_span(token))


def _string_of_token(token: Any) -> str:
    return parse_string(_as_span(token))


def _parent_of_token(token: Any) -> Any:
    return parent(_as_span(token))


def _as_span(token: Any) -> Any:
    return token.doc[token.i : token.i + 1]


_OF_TOKENS = {"labels": _labels_of_token, "parse_string": _string_of_token, "parent": _parent_of_token}


def register_attributes() -> None:
    """Make spaCy know the attributes, as the pipe does; for documents that are read without it."""
    if not Span.has_extension(_KEPT):
        Span.set_extension(_KEPT, default=None)
    for getter in _OF_SPANS:
        _register(Span, getter.__name__, getter)
    for name, of_token in _OF_TOKENS.items():
        _register(Token, name, of_token)


def _register(owner: Any, name: str, getter: Any) -> None:
    if not owner.has_extension(name):
        owner.set_extension(name, getter=getter)
    elif owner.get_extension(name)[2] is not getter:
        raise LatreeError(
            f"{owner.__name__.lower()}._.{name} is taken by something else in this process, benepar perhaps; "
            "use latree in a process of its own"
        )
