"""The report on a parser's probabilities: what they say, and what is so."""

from __future__ import annotations

from collections.abc import Iterator

from latree.diagnosis.calibration import Calibration
from latree.diagnosis.temperature import Learned
from latree.report.value import Block, Column, Lines, Report, Section, Table
from latree.scoring.reliability import Bin, Reliability


def calibration_section(found: Calibration) -> Section:
    """A summary, and for each sort of claim a table and a plot."""
    about = "what is said with a probability of 0.8 should be right in 80 %"
    return Section("Calibration", "calibration", about, (_summary(found), *_details(found)))


def _families(found: Calibration) -> dict[str, Reliability]:
    return {
        "constituents of the best trees": found.best,
        f"all constituents of {found.least:g} or more": found.likely,
        "whole trees": found.tree,
    }


def _summary(found: Calibration) -> Table:
    heads = ("claims", "said %", "right %", "expected calibration error %", "squared error")
    patterns = ("{:,}", "{:.1f}", "{:.1f}", "{:.2f}", "{:.4f}")
    figures = (Column(head, pattern, "figure") for head, pattern in zip(heads, patterns, strict=True))
    rows = tuple(
        (name, one.count, 100 * one.said, 100 * one.right, 100 * one.error, one.squared_error)
        for name, one in _families(found).items()
    )
    caption = f"temperature {found.temperature:.3g}"
    if found.left_out:
        caption += f"; {found.left_out} sentences without probabilities are left out, the model derives nothing of them"
    return Table((Column("probabilities of"), *figures), rows, caption=caption)


def _details(found: Calibration) -> Iterator[Block]:
    for name, one in _families(found).items():
        if one.bins:
            yield _table(name, one)
            yield _plot(name, one)


def learned_report(learned: Learned) -> Report:
    """What a temperature brings."""
    one, two = learned.halves
    facts = (("temperature", f"{learned.temperature:.3f} (the halves ask for {one:.3f} and {two:.3f})"),)
    columns = (
        Column("expected calibration error %"),
        Column("before", "{:.2f}", "figure"),
        Column("after", "{:.2f}", "figure"),
    )
    pairs = zip(_families(learned.before).items(), _families(learned.after).values(), strict=True)
    rows = tuple((name, 100 * before.error, 100 * after.error) for (name, before), after in pairs)
    caption = "after: each half of the sentences with the temperature that the other half asks for"
    return Report(facts=facts, blocks=(Table(columns, rows, caption=caption),))


def _range(one: Bin) -> str:
    return f"{one.low:.1f} to {one.high:.1f}"


def _table(name: str, found: Reliability) -> Table:
    columns = (
        Column("probability"),
        Column("claims", "{:,}", "figure"),
        Column("said %", "{:.1f}", "figure"),
        Column("right %", "{:.1f}", "figure"),
        Column("said", kind="bar"),
        Column("right", kind="bar"),
    )
    rows = tuple((_range(one), one.count, 100 * one.said, 100 * one.right, one.said, one.right) for one in found.bins)
    return Table(columns, rows, name)


def _plot(name: str, found: Reliability) -> Lines:
    said = tuple((100 * one.said,) for one in found.bins)
    right = tuple((100 * one.right,) for one in found.bins)
    names = tuple(f"{one.low:.1f}-{one.high:.1f}" for one in found.bins)
    return Lines(f"Reliability: {name}", "probability", "%", names, ((0, "said", said), (1, "right", right)))
