"""The report as a value and its renderers: what a terminal, a page and JSON get, of anything that a report may hold."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest

from latree.report.html import TEMPLATES, page
from latree.report.plots import HEIGHT, MAP_HEIGHT, WIDTH, Box, Drawing, decimal_steps, draw, place_label, round_numbers
from latree.report.text import print_report
from latree.report.value import (
    ARROW,
    Bars,
    Branch,
    Column,
    Dot,
    Examples,
    Flow,
    Inline,
    Lines,
    Link,
    Mark,
    Outline,
    Paragraph,
    Report,
    Scatter,
    Section,
    Strong,
    Table,
    Trend,
    Trends,
    legible,
    plain,
    prefixed,
    to_json,
)
from tests.pages import EVIL, Reader

RULE: Inline = (Link("S", "s"), ARROW, Strong("NP"), " ", Link("VP", "s-0"))
FIGURES = (Column(), Column(pattern="{:.3f}", kind="figure"))
MAP = Scatter(
    "a map",
    (Dot(0.0, 0.0, 0, "tip", "far", 0.1, 2.0), Dot(9.0, -3.0, 1, "other tip", "near", 0.1)),
    (Mark(9.0, -3.0, "1", "s-0"),),
    caption="caption of the map",
)
CHART = Scatter(
    "a chart", (Dot(20, 90.0, 0, "a: 90"), Dot(3000, 95.5, 1, "b")), measures=("size", "F1"), key=((0, "a"),)
)
LINES = Lines("some lines", "size", "F1", ("1", "all"), ((0, "a", ((60.0, 62.0), (64.0,))), (1, "b", ((1.0,), (2.0,)))))
TRENDS = Trends(
    "some trends",
    "size",
    "F1",
    (
        Trend(0, "a", ((100.0, (60.0, 64.0)), (1000.0, (70.0,)))),
        Trend(
            1,
            "b",
            ((100.0, (50.0,)),),
            ((100.0, 50.0), (1000.0, 60.0), (9000.0, 65.0)),
            ((100.0, 49, 51), (9000.0, 60, 70)),
        ),
    ),
)
BARS = Bars("some bars", "%", ("NP", "VP"), ((0, "a", (60.0, 40.0)), (1, "b", (10.0, 0.0))))


def _all_blocks(text: str) -> Report:
    """Everything that a report may hold, with this text wherever there is one."""
    heads = (Column(text), Column("share", "{:.1%}", "figure"), Column(kind="bar"), Column("never used"))
    blocks = (
        Paragraph(text),
        Table(heads, ((text, 0.5, 0.5, ""), ((Link(text, "s"),), None, 1.0, "")), text, text),
        Table(FIGURES, ((RULE, 0.25), ((Strong(text),), 1.0)), text),
        Flow(((text, 0.5), ("b", 0.25)), text),
        Examples(text, (text, "b")),
        Outline(Branch(text, (Branch("left", (Branch(RULE),)), Branch(text))), text),
        replace(MAP, title=text, dots=(*MAP.dots, Dot(1.0, 1.0, 2, text, text))),
        replace(CHART, key=((0, text),)),
        replace(BARS, names=(text, "VP")),
        replace(LINES, names=(text, "all"), across=text),
        replace(TRENDS, across=text, series=(replace(TRENDS.series[0], name=text), TRENDS.series[1])),
    )
    card = Section(text, "s-0", text, blocks, share=0.5, colour=1)
    section = Section(text, "s", text, blocks, (card,), text, 3)
    return Report(text, ((text, text), ("name", "value")), (blocks[1],), (section,), text)


# --- values


def test_legible_text() -> None:
    assert legible("a\x1b[1m\ud800") == "a\ufffd[1m\ufffd"
    assert legible("x" * 50, 10) == "x" * 9 + "…"


def test_plain_text() -> None:
    assert plain(RULE) == "S -> [NP] VP"
    assert plain("as it is") == "as it is"


def test_a_prefix_keeps_links_within_their_report() -> None:
    report = Report(
        sections=(Section("S", "s", blocks=(Table(FIGURES, ((RULE, 1.0),)),), cards=(Section("0", "s-0"),)),)
    )
    changed = prefixed(report, "m1-")
    assert (changed.sections[0].id, changed.sections[0].cards[0].id) == ("m1-s", "m1-s-0")
    (section,) = changed.sections
    assert isinstance(section.blocks[0], Table)
    assert section.blocks[0].rows == (((Link("S", "m1-s"), ARROW, Strong("NP"), " ", Link("VP", "m1-s-0")), 1.0),)
    assert prefixed(report, "") == report


def test_json_has_plain_texts_and_numbers() -> None:
    told = json.loads(json.dumps(to_json(_all_blocks("x"))))
    assert told["facts"] == [["x", "x"], ["name", "value"]]
    kinds = [block["block"] for block in told["sections"][0]["blocks"]]
    assert kinds == [
        "paragraph",
        "table",
        "table",
        "flow",
        "examples",
        "outline",
        "scatter",
        "scatter",
        "bars",
        "lines",
        "trends",
    ]
    assert told["sections"][0]["blocks"][2]["rows"] == [["S -> [NP] VP", 0.25], ["[x]", 1.0]]


# --- the terminal


def test_everything_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(_all_blocks("word"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["word: word", "name: value"]
    assert {"  S -> [NP] VP  0.250", "  [word]        1.000", "word: word 0.500, b 0.250"} <= set(lines)
    start = lines.index("├─ left")
    assert lines[start - 1 : start + 3] == ["word", "├─ left", "│  └─ S -> [NP] VP", "└─ word"]
    rows = [line.split() for line in lines if "━" in line]
    assert rows[:2] == [["word", "50.0%", "━" * 6], ["word", "-", "━" * 12]]
    assert not any("never used" in line for line in lines)


def test_tables_are_cut_on_a_terminal_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ", ".join(f"word{number}" for number in range(60))
    columns = (Column("name"), Column("how often it was seen", kind="figure"), Column("likeliest"))
    report = Report(blocks=(Table(columns, ((words[:30], 123456.789, words), ("b", 1.0, "c"))),))
    print_report(report)
    assert words in capsys.readouterr().out
    monkeypatch.setattr("latree.report.text.UNCUT", 60)  # as wide as a terminal
    print_report(report)
    lines = capsys.readouterr().out.rstrip().splitlines()
    rows = [line for line in lines if "word0" in line or line.split()[:1] == ["b"]]
    assert max(map(len, lines)) <= 60
    assert lines[-2:] == rows  # one line each
    assert ("123456.789" in rows[0], rows[0].rstrip()[-1]) == (True, "…")


def test_a_card_of_its_sections_name_has_no_heading(capsys: pytest.CaptureFixture[str]) -> None:
    card = Section("NP", "c-0", "100%", (Paragraph("text"),))
    print_report(Report(sections=(Section("NP", "c", "phrase", cards=(card,)), Section("VP", "d", cards=(card,)))))
    assert capsys.readouterr().out.splitlines() == ["NP: phrase", "  text", "", "VP", "", "NP: 100%", "  text"]


def test_what_is_printed_is_neither_markup_nor_control(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(_all_blocks("[bold]\x1b[2J:smile:"))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "[bold]\ufffd[2J:smile:" in shown


# --- the page


def test_everything_is_on_the_page() -> None:
    read = Reader(page(_all_blocks("word")))
    assert (read.tags["table"], read.tags["svg"], read.tags["article"]) == (5, 10, 1)
    assert {"word", "share", "50.0%", "-", "0.250", "tip", "caption of the map", "a: 90"} <= set(read.texts)
    assert "never used" not in read.texts
    assert read.ids == ["s", "s-0"]


def test_the_page_escapes_every_text() -> None:
    for text in (EVIL, f'"{EVIL}', f"'>{EVIL}&amp;", "\x00\x1b\ud800"):
        written = page(_all_blocks(text))
        assert "<script" not in written
        read = Reader(written)
        assert legible(text) in read.texts


def test_the_page_needs_nothing_but_itself() -> None:
    written = page(Report("empty"))
    assert "default-src 'none'" in written
    assert "prefers-color-scheme: dark" in written
    assert Reader(written).links == set()
    assert {path.suffix for path in TEMPLATES.iterdir()} == {".css", ".html", ".svg"}


# --- plots


def test_all_dots_are_within_the_picture() -> None:
    for plot, height in ((MAP, MAP_HEIGHT), (CHART, HEIGHT)):
        circles = [shape.attributes for shape in draw(plot).shapes if shape.tag == "circle"]
        assert len(circles) == len(plot.dots)
        assert all(0 <= float(one["cx"]) <= WIDTH and 0 <= float(one["cy"]) <= height for one in circles)
    alone = Scatter("one", (Dot(1.0, 1.0, 0, "", radius=1.0),))
    (circle,) = (shape.attributes for shape in draw(alone).shapes if shape.tag == "circle")
    assert (float(circle["cx"]), float(circle["cy"])) == pytest.approx((WIDTH / 2, MAP_HEIGHT / 2))


def test_a_map_has_one_scale() -> None:
    dots = tuple(Dot(float(x), float(y), 0, "") for x, y in ((0, 0), (3, 0), (0, 1)))
    circles = [shape.attributes for shape in draw(Scatter("", dots)).shapes if shape.tag == "circle"]
    (a, b, c) = sorted((float(one["cx"]), float(one["cy"])) for one in circles)
    sides = sorted([math.dist(a, b), math.dist(a, c), math.dist(b, c)])
    assert sides[1] / sides[0] == pytest.approx(3, rel=1e-2)


def test_labels_leave_each_other_room() -> None:
    taken: list[Box] = []
    placed = [box for box in (place_label("word", 300.0, 200.0, taken) for _ in range(6)) if box is not None]
    assert 2 <= len(placed) < 6
    assert not any(one.meets(other) for k, one in enumerate(placed) for other in placed[:k])
    beside = place_label("word", WIDTH - 5.0, 200.0, [])  # at the right edge it stands to the left
    assert beside is not None
    assert beside.right <= WIDTH - 5.0
    names = [shape.text for shape in draw(MAP).shapes if shape.tag == "text"]
    assert names == ["1", "far"]  # the mark leaves no room for the other


def test_bars_are_as_high_as_their_values() -> None:
    heights = [float(shape.attributes["height"]) for shape in draw(BARS).shapes if shape.tag == "rect"]
    assert heights[1] == pytest.approx(heights[0] / 6, abs=0.1)
    assert heights[2] == pytest.approx(heights[0] * 4 / 6, abs=0.1)
    assert heights[3] == 0


def test_round_numbers() -> None:
    assert round_numbers(0.0, 63.0) == [0, 20, 40, 60]
    assert round_numbers(95.1, 98.0) == [95.5, 96, 96.5, 97, 97.5, 98]
    assert decimal_steps(1.5, 3.2) == [50, 100, 200, 500, 1000]


def test_lines_go_through_the_means_of_their_dots() -> None:
    lines = draw(Lines("", "size", "F1", ("1", "2"), ((0, "a", ((60.0, 64.0), (62.0,))),)))
    (path,) = (shape.attributes["d"] for shape in lines.shapes if shape.tag == "path" and "class" in shape.attributes)
    points = [tuple(map(float, point.split())) for point in path[1:].split("L")]
    dots = [(float(s.attributes["cx"]), float(s.attributes["cy"])) for s in lines.shapes if s.tag == "circle"]
    assert len(dots) == 3
    assert points[0] == pytest.approx([(a + b) / 2 for a, b in zip(*dots[:2], strict=True)], abs=0.1)
    assert points[1] == pytest.approx(dots[2], abs=0.1)
    assert points[0][1] == pytest.approx(points[1][1], abs=0.1)


def test_trends_go_by_logarithms_and_are_broken_beyond_the_last_measurement() -> None:
    drawing = draw(TRENDS)
    assert drawing.key == ((0, "a"), (1, "b"))
    dots = [(float(s.attributes["cx"]), float(s.attributes["cy"])) for s in drawing.shapes if s.tag == "circle"]
    assert len(dots) == 3  # means
    lines = (s.attributes for s in drawing.shapes if s.tag == "path")
    paths = {one["class"]: one["d"] for one in lines if "class" in one}
    assert set(paths) == {"g0 line", "g1 line broken", "g1 band"}  # the line of b begins where it is broken
    points = [tuple(map(float, point.split())) for point in paths["g1 line broken"][1:].split("L")]
    assert points[0] == pytest.approx(dots[2])
    assert points[1][0] == pytest.approx(dots[1][0], abs=0.1)
    per_decade = dots[1][0] - dots[0][0]
    assert points[2][0] - points[1][0] == pytest.approx(per_decade * math.log10(9), abs=0.2)
    assert points[0][1] - points[1][1] == pytest.approx(2 * (points[1][1] - points[2][1]), abs=0.2)
    assert paths["g1 band"].endswith("Z")


def test_bars_tell_the_spread_of_a_trend() -> None:
    bars = [s.attributes["d"] for s in draw(TRENDS).shapes if s.tag == "path" and "V" in s.attributes["d"]]
    y = {s.text: float(s.attributes["y"]) - 4 for s in draw(TRENDS).shapes if s.text in ("50", "60")}
    (bar,) = bars  # one measurement has no spread
    top, bottom = map(float, re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)", bar)[0])
    assert bottom - top == pytest.approx(2 * math.sqrt(8) * (y["50"] - y["60"]) / 10, abs=0.3)


def test_a_wide_band_does_not_dwarf_the_dots() -> None:
    (trend,) = TRENDS.series[1:]
    wild = replace(trend, band=((100.0, -1e6, 1e6), (9000.0, -1e6, 1e6)))
    dots = [s for s in draw(replace(TRENDS, series=(TRENDS.series[0], wild))).shapes if s.tag == "circle"]
    heights = [float(dot.attributes["cy"]) for dot in dots]
    assert max(heights) - min(heights) > 100


def test_keys_leave_each_other_room() -> None:
    drawing = Drawing(10, [], ((0, "short"), (1, "x" * 100), (2, "last")))
    first, second, third = drawing.placed_key()
    assert first == (0.0, 0, "short")
    assert second[0] - first[0] > 5 * 7
    assert len(second[2]) < 100
    assert third[0] - second[0] > len(second[2]) * 7


@pytest.mark.parametrize("runs", [((5.0,), (5.0,)), ((math.nan,), (1.0,)), ((math.nan,), (math.nan,))])
def test_lines_of_equal_and_of_no_values(runs: tuple[tuple[float, ...], ...]) -> None:
    shapes = draw(Lines("", "size", "F1", ("1", "2"), ((0, "a", runs),))).shapes
    assert not any("nan" in value for shape in shapes for value in shape.attributes.values())
