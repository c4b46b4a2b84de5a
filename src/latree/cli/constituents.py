"""Sentences with the lists of trees whose constituents are to be considered, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from latree.errors import InputError, LatreeError
from latree.inference.constituents import Listed
from latree.text.formats import read_tree_lists
from latree.text.labels import LabelRules
from latree.text.tree import Tree, TreeAt


def with_lists(sentences: Iterable[Sequence[str]], path: str, labels: LabelRules) -> Iterator[Sequence[str] | Listed]:
    """Give each sentence the list of trees that is its in the file; a sentence without words has none."""
    lists, number = read_tree_lists(path), 0
    for number, sentence in enumerate(sentences, start=1):
        if not sentence:
            yield sentence
            continue
        listed = next(lists, None)
        if listed is None:
            raise LatreeError(
                f"{path}: no trees for sentence {number}; each sentence needs a list, with an empty line after it"
            )
        yield Listed(tuple(sentence), tuple(_checked(one, sentence, number, path, labels) for one in listed))
    for left in lists:
        raise InputError(path, left[0].line, f"trees beyond those of the {number} sentences")


def _checked(one: TreeAt, sentence: Sequence[str], number: int, path: str, labels: LabelRules) -> Tree:
    """Check that a tree is one of these words."""
    tree = labels.clean(one.tree)
    words = [] if tree is None else tree.words()
    if tree is not None and words == list(sentence):
        return tree
    differing = (k for k, (here, there) in enumerate(zip(words, sentence, strict=False)) if here != there)
    place = next(differing, None)
    what = f"{len(words)} words, not {len(sentence)}"
    if place is not None:
        what = f"word {place + 1} is {words[place]!r}, not {sentence[place]!r}"
    raise InputError(path, one.line, f"not a tree of sentence {number}: {what}; an empty line ends each list of trees")
