"""Sentences with the lists of trees whose constituents are to be considered, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from latree.errors import InputError, LatreeError
from latree.inference.constituents import Listed
from latree.text.formats import read_tree_lists
from latree.text.labels import LabelRules
from latree.text.tree import TreeAt


def with_lists(sentences: Iterable[Sequence[str]], path: str, labels: LabelRules) -> Iterator[Sequence[str] | Listed]:
    """Give each sentence its list of trees in the file, as they are written; a sentence without words has none."""
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
        for one in listed:
            _check_words(one, sentence, number, path, labels)
        yield Listed(tuple(sentence), tuple(one.tree for one in listed))
    for left in lists:
        raise InputError(path, left[0].line, f"trees beyond those of the {number} sentences")


def _check_words(one: TreeAt, sentence: Sequence[str], number: int, path: str, labels: LabelRules) -> None:
    """Check that a tree, without what the label rules drop, is one of these words."""
    if one.tree.words() == list(sentence):
        return
    tree = labels.clean(one.tree)
    words = [] if tree is None else tree.words()
    if words == list(sentence):
        return
    what = f"{len(words)} words, not {len(sentence)}"
    for place, (here, there) in enumerate(zip(words, sentence, strict=False), start=1):
        if here != there:
            what = f"word {place} is {here!r}, not {there!r}"
            break
    raise InputError(path, one.line, f"not a tree of sentence {number}: {what}; an empty line ends each list of trees")
