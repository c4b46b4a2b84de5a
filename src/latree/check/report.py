"""The report on a check: places, rules and variations in tables; on a page a section a place, with both trees drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from latree.check.drawings import both_drawn
from latree.check.findings import Finding
from latree.check.treebank import Checked
from latree.report.value import Block, Column, Inline, Picture, Pictures, Report, Section, Strong, Table, legible
from latree.text.tree import Tree

CONTEXT, LONGEST = 3, 12  # words on each side of a place, and of the place itself
SCORE = Column("log odds", "{:.1f}", "figure")
ELSEWHERE = Column("in all")
DOUBTS = "Places that the model doubts"
RULES = "Rules not known elsewhere"
VARIATIONS = "The same words, annotated unlike"
FOOTER = "docs/check.md says what the odds are, and how each list is made."


def check_report(checked: Checked, name: str, most: int) -> Report:
    """Tell of up to so many of each kind of findings, in tables."""
    checked = _of_one_file(checked)
    return Report(f"Check of {name}", _facts(checked), sections=tuple(_tables(checked, most)), footer=FOOTER)


def check_page(checked: Checked, name: str, most: int) -> Report:
    """The same for a browser, with a section for every tree that would mend places which the model doubts."""
    tables = check_report(checked, name, most)
    alike: dict[tuple[str, int, str], list[Finding]] = {}
    for one in _of_one_file(checked).doubts[:most]:
        alike.setdefault((one.file, one.sentence, one.suggestion), []).append(one)
    drawn = (_drawn(number, findings) for number, findings in enumerate(alike.values(), start=1))
    return replace(tables, sections=(*tables.sections, *drawn))


def _facts(checked: Checked) -> tuple[tuple[str, str], ...]:
    counts = [
        ("trees", f"{checked.trees:,}"),
        ("doubted places", f"{len(checked.doubts):,}"),
        ("unknown rules", f"{len(checked.rules):,}"),
        ("variations", f"{len(checked.variations):,}"),
    ]
    shown = ", ".join(checked.unjudged[:10]) + (" ..." if len(checked.unjudged) > 10 else "")
    return (*counts, *([("not judged, since the model has no tree for them", shown)] if shown else []))


# -- tables


def _tables(checked: Checked, most: int) -> Iterator[Section]:
    if checked.doubts:
        heads = SCORE, Column("sentence"), Column("words"), Column("annotated"), Column("expected")
        rows = [(one.score, _place(one), _in_context(one), one.gold, _expected(one)) for one in checked.doubts[:most]]
        yield _section(DOUBTS, "doubts", heads, rows, len(checked.doubts))
    if checked.rules:
        heads = SCORE, Column("sentence"), Column("words"), Column("rule"), Column("not known")
        rows = [(one.score, _place(one), _in_context(one), one.gold, one.note) for one in checked.rules[:most]]
        yield _section(RULES, "rules", heads, rows, len(checked.rules))
    if checked.variations:
        heads = Column("score", "{:.1f}", "figure"), Column("sentence"), Column("words"), Column("annotated"), ELSEWHERE
        rows = [
            (one.score, _place(one), _in_context(one), one.gold, f"{one.note} ({', '.join(one.elsewhere)})")
            for one in checked.variations[:most]
        ]
        yield _section(VARIATIONS, "variations", heads, rows, len(checked.variations))


def _section(
    title: str, name: str, columns: Sequence[Column], rows: Sequence[tuple[object, ...]], all_of: int
) -> Section:
    more = f"the first {len(rows)} of {all_of:,}, worst first" if all_of > len(rows) else "worst first"
    table = Table(tuple(columns), tuple(rows))  # type: ignore[arg-type]
    return Section(title, name, more, (table,), group="Lists")


def _place(one: Finding) -> str:
    return f"{one.file}:{one.sentence}" if one.file else str(one.sentence)


def _of_one_file(checked: Checked) -> Checked:
    """Leave out the name of the only file."""
    lists = (checked.doubts, checked.rules, checked.variations)
    if len({one.file for findings in lists for one in findings}) > 1:
        return checked
    doubts, rules, variations = ([one.at("", one.sentence) for one in findings] for findings in lists)
    return replace(checked, doubts=doubts, rules=rules, variations=variations)


def _expected(one: Finding) -> str:
    """The label, and where that is not over the same words, over which."""
    if one.expected_span is None:
        return one.expected
    words, (start, end) = _words(one), one.expected_span
    first = f" from {words[start]!r}" if start != one.start else ""
    last = f" to {words[end - 1]!r}" if end != one.end else ""
    return one.expected + first + last


def _words(one: Finding) -> list[str]:
    return Tree.read(one.tree).words()


def _clipped(words: Sequence[str]) -> str:
    """A sequence of words, of a long one the beginning and the end."""
    half = LONGEST // 2
    return " ".join(words if len(words) <= LONGEST else [*words[:half], "...", *words[-half:]])


def _in_context(one: Finding) -> Inline:
    words = _words(one)
    before, after = words[max(0, one.start - CONTEXT) : one.start], words[one.end : one.end + CONTEXT]
    parts: list[str | Strong] = [
        " ".join([*before, ""]),
        Strong(_clipped(words[one.start : one.end])),
        " ".join(["", *after]),
    ]
    return tuple(part for part in parts if part)


# -- pictures


ODDS = tuple(Column(head, "{:.1f}", "figure") for head in ("by the words", "given the rest"))


def _drawn(number: int, findings: Sequence[Finding]) -> Section:
    """Places of one sentence that one tree would mend."""
    worst = findings[0]
    rows = [(one.gold, _expected(one), _in_context(one), one.given_words, one.given_rest) for one in findings]
    table = Table((Column("annotated"), Column("expected"), Column("words"), *ODDS), tuple(rows))
    blocks: tuple[Block, ...] = (table, _trees(worst))
    title, sentence = legible(f"{number}. sentence {_place(worst)}", 60), " ".join(_words(worst))
    return Section(title, f"finding-{number}", sentence, blocks, group=DOUBTS)


def _trees(one: Finding) -> Pictures:
    drawn = zip(("annotated", "expected"), both_drawn(Tree.read(one.tree), Tree.read(one.suggestion)), strict=True)
    return Pictures(tuple(Picture(caption, part.svg(), str(part)) for caption, part in drawn))
