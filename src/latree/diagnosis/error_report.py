"""The report on parse errors: kinds, confused tags, and the worst parses beside their gold trees."""

from __future__ import annotations

from collections.abc import Iterator

from latree.report.value import Block, Cell, Column, Picture, Pictures, Section, Table, legible
from latree.scoring.evalb import percent
from latree.scoring.parse_errors import ParseError, ParseErrors, SentenceErrors
from latree.text.differences import difference
from latree.text.tree import Tree

TAGS = 20  # pairs of tags that are shown
SENTENCE = 160  # letters of a sentence's heading


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
    drawn = difference(tree, other)
    return Picture(caption, drawn.svg(), str(drawn))
