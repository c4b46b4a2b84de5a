"""The report on function labels, such as SBJ in NP-SBJ."""

from __future__ import annotations

from collections.abc import Mapping

from latree.report.value import Cell, Column, Section, Table
from latree.scoring.functions import FunctionScores

COUNTS = {"gold": "gold", "test": "parsed", "matched": "right"}
RATES = {"precision": "prec", "recall": "rec", "f1": "F1"}
THERE = {"found": "phrase found", "f1_found": "F1 there"}


def function_section(scores: FunctionScores) -> Section:
    """A row a function, those of all together first; at the end of those whose phrase was found."""
    figures = scores.to_json()
    rows = {"all": figures["all"], **figures["by_function"]}
    columns = [Column("function"), *(Column(head, "{:,}", "figure") for head in COUNTS.values())]
    columns += [Column(head, "{:.2f}", "figure") for head in RATES.values()]
    columns += [Column(THERE["found"], "{:,}", "figure"), Column(THERE["f1_found"], "{:.2f}", "figure")]
    about = "right where the phrase is; the last columns are of phrases that were found"
    return Section("Functions", "functions", about, (Table(tuple(columns), tuple(map(_row, rows, rows.values()))),))


def _row(name: str, figures: Mapping[str, float]) -> tuple[Cell, ...]:
    return (name, *(figures[key] for key in (*COUNTS, *RATES, *THERE)))
