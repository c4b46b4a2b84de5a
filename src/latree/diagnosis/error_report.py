"""The report on parse errors: kinds, confused tags, and the worst parses beside their gold trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from latree.report.value import Block, Cell, Column, Picture, Pictures, Section, Table, legible
from latree.scoring.evalb import percent
from latree.scoring.parse_errors import ParseError, ParseErrors, SentenceErrors
from latree.text.draw import svg
from latree.text.tree import Tree

TAGS = 20  # pairs of tags that are shown
LONGEST = 5  # words of a phrase that is the same on both sides, beyond which the middle is left out
SENTENCE = 160  # letters of a sentence's heading
SPACE = "\u00a0"  # between the words of a phrase that is drawn as one
WRONG = "*"  # after the label of what the other tree does not have


def error_sections(errors: ParseErrors, worst: int) -> Iterator[Section]:
    """All sections, with so many of the worst sentences."""
    about = "by what has to be done to make the gold tree of a parse; brackets are those that are wrong by it"
    yield Section("Parse errors", "errors", about, (_kinds(errors),))
    if errors.tags:
        yield Section("Confused tags", "tags", "of words whose tag is not the gold one", (_tags(errors),))
    listed = errors.worst(worst)
    if listed:
        about = "the most wrong brackets; what only one tree has is marked, what both have is drawn as one"
        yield Section("Worst sentences", "worst", about, tuple(block for one in listed for block in _sentence(one)))


def _kinds(errors: ParseErrors) -> Table:
    columns = (
        Column("kind"),
        Column("times", "{:,}", "figure"),
        Column("brackets", "{:,}", "figure"),
        Column("%", "{:.1f}", "figure"),
        Column(" ", kind="bar"),
    )
    rows: list[tuple[Cell, ...]] = [
        (kind, errors.times[kind], errors.brackets[kind], errors.share(kind), errors.share(kind))
        for kind in errors.kinds()
    ]
    total = f"{errors.times.total():,} errors, {errors.brackets.total():,} wrong brackets: missed or too many"
    return Table(columns, tuple(rows), caption=total)


def _tags(errors: ParseErrors) -> Table:
    columns = (
        Column("gold"),
        Column("parse"),
        Column("words", "{:,}", "figure"),
        Column("%", "{:.1f}", "figure"),
    )
    total = errors.tags.total()
    rows = tuple((*pair, count, percent(count, total)) for pair, count in errors.tags.most_common(TAGS))
    rest = len(errors.tags) - len(rows)
    return Table(columns, rows, caption=f"{total:,} words in all" + (f", {rest} more pairs" if rest else ""))


# -- sentences


def _sentence(one: SentenceErrors) -> Iterator[Block]:
    """The errors of a sentence, and both its trees."""
    words = "" if one.gold is None else " ".join(one.gold.words())
    title = legible(f"sentence {one.number}, wrong brackets {one.brackets}: {words}", SENTENCE)
    if one.gold is not None and one.parse is not None:
        pairs = (("gold", one.gold, one.parse), ("parse", one.parse, one.gold))
        yield Pictures(tuple(_picture(name, tree, other) for name, tree, other in pairs), title)
    rows = tuple(_row(error) for error in one.errors)
    yield Table((Column(), Column(kind="figure"), Column()), rows, "" if one.parse is not None else title)


def _row(error: ParseError) -> tuple[Cell, ...]:
    return error.kind, error.brackets, legible(error.told, SENTENCE)


def _picture(caption: str, tree: Tree, other: Tree) -> Picture:
    condensed, wrong = differences(tree, other)
    return Picture(caption, svg(condensed, marked=wrong), _line(condensed, wrong))


def differences(tree: Tree, other: Tree) -> tuple[Tree, set[int]]:
    """The tree with every phrase that the other has too, all below it the same, as one word; and the places in
    `subtrees()` of the nodes that the other does not have."""
    common = set(_placed(other))
    extra = Counter(tree.spans()) - Counter(other.spans())
    tags = other.tags()
    starts = [start for _, start in _placed(tree)]
    ends = iter(reversed(starts))  # a fold takes nodes from the last to the first

    def combine(node: Tree, below: list[tuple[Tree, list[bool]]]) -> tuple[Tree, list[bool]]:
        start = next(ends)
        if node.is_leaf:
            return node, [node.label != tags[start]]
        words = node.words()
        if (node, start) in common:
            return Tree(node.label, word=SPACE.join(_shortened(words))), [False]
        marks = [(node.label, start, start + len(words)) in extra]
        return Tree(node.label, [child for child, _ in below]), marks + [mark for _, part in below for mark in part]

    condensed, marks = tree.fold(combine)
    return condensed, {place for place, is_wrong in enumerate(marks) if is_wrong}


def _placed(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """All nodes, each with the number of its first word."""
    words = 0
    for node in tree.subtrees():
        yield node, words
        words += node.is_leaf


def _shortened(words: list[str]) -> list[str]:
    return words if len(words) <= LONGEST else [*words[: LONGEST - 2], "…", words[-1]]


def _line(tree: Tree, wrong: set[int]) -> str:
    """The tree in brackets, what is wrong marked."""
    places = iter(range(len(tree.subtrees()) - 1, -1, -1))

    def combine(node: Tree, below: list[Tree]) -> Tree:
        return Tree(node.label + WRONG * (next(places) in wrong), below, node.word)

    return str(tree.fold(combine))
