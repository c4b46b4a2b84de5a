"""Drawings of trees: exact pictures of small trees, widths, and text that must be escaped."""

from __future__ import annotations

import random
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latree.data import toy
from latree.errors import LatreeError
from latree.inference.results import Constituent, Parse
from latree.text import layout
from latree.text.draw import Picture, draw, latex, render, svg
from latree.text.tree import Tree
from tests.command import toy_trees
from tests.pictures import faults, random_tree

CAT = Tree.read("(S (NP (DT the) (JJ old) (NN cat)) (VP (VB sees) (NP (PRP us))) (. .))")
SVG = "{http://www.w3.org/2000/svg}"


def columns(line: str) -> int:
    """Columns of a line on a terminal, for text without other invisible characters than combining marks."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line
    )


def words_of(drawing: str) -> list[str]:
    """The words in the last line of every part of a drawing."""
    return [word for part in re.split(r"\n\n(?=\[)", drawing) for word in part.splitlines()[-1].split()]


def test_a_horizontal_drawing() -> None:
    picture = """
                S
      ┌─────────┴──┬──────┐
      │            VP     │
      │         ┌──┴──┐   │
      NP        │     NP  │
 ┌────┼────┐    │     │   │
 DT   JJ   NN   VB   PRP  .
 │    │    │    │     │   │
the  old  cat  sees   us  .
"""
    assert draw(CAT) == picture.strip("\n")


def test_a_horizontal_drawing_in_ascii() -> None:
    picture = """
                S
      +---------+--+------+
      |            VP     |
      |         +--+--+   |
      NP        |     NP  |
 +----+----+    |     |   |
 DT   JJ   NN   VB   PRP  .
 |    |    |    |     |   |
the  old  cat  sees   us  .
"""
    assert draw(CAT, ascii_only=True) == picture.strip("\n")


def test_a_label_wider_than_its_children() -> None:
    picture = """
            X
       ┌────┴────┐
ADVERBIALPHRASE  │
       │         │
       A         B
       │         │
       b         c
"""
    assert draw(Tree.read("(X (ADVERBIALPHRASE (A b)) (B c))")) == picture.strip("\n")


def test_a_drawing_that_almost_fits_is_set_closer() -> None:
    wide = max(map(columns, draw(CAT).splitlines()))
    assert draw(CAT, wide) == draw(CAT)
    closer = draw(CAT, wide - 1)
    assert closer.splitlines()[-1] == "the old cat sees  us ."
    assert draw(CAT, max(map(columns, closer.splitlines()))) == closer


def test_a_vertical_drawing() -> None:
    picture = """
S
├─ NP
│  ├─ DT the
│  ├─ JJ old
│  └─ NN cat
├─ VP
│  ├─ VB sees
│  └─ NP
│     └─ PRP us
└─ . .
"""
    assert draw(CAT, 20) == picture.strip("\n")
    plain = picture.replace("├─", "|-").replace("└─", "`-").replace("│", "|")
    assert draw(CAT, 20, ascii_only=True) == plain.strip("\n")


def test_a_narrow_drawing_loses_indentation_before_words() -> None:
    lines = draw(CAT, 8).splitlines()
    assert lines[2] == "… DT the"
    assert lines[6] == "…VB sees"
    assert draw(CAT, 4).splitlines()[6] == "VB …"


@pytest.mark.parametrize("width", [1, 2, 7, 15, 30, 60, 90])
def test_a_drawing_never_exceeds_its_width(width: int) -> None:
    trees = [Tree.read(line) for line in toy("dev").read_text(encoding="utf-8").splitlines()[:20]]
    trees.append(Tree.read("(文 (名詞句 (名詞 猫)) (動詞 食べる))"))
    assert max(columns(line) for tree in trees for line in draw(tree, width).splitlines()) <= width


def test_a_wide_drawing_is_folded() -> None:
    tree = Tree("S", [*CAT, Tree("NP", [Tree("CD", word=str(number)) for number in range(1000, 1006)])])
    picture = """
              S
     ┌────────┴┬─────┬──┐
     │         VP    │  │
     │       ┌─┴──┐  │  │
     NP      │    NP │  │
 ┌───┼───┐   │    │  │  │
 DT  JJ  NN  VB  PRP .  NP
 │   │   │   │    │  │  │
the old cat sees  us . [2]

[2]
             NP
 ┌────┬────┬─┴──┬────┬────┐
 CD   CD   CD   CD   CD   CD
 │    │    │    │    │    │
1000 1001 1002 1003 1004 1005
"""
    assert draw(tree, 40) == picture.strip("\n")


def test_a_flat_tree_goes_on_in_further_parts() -> None:
    tree = Tree("NP", [Tree("CD", word=str(number)) for number in range(100, 140)])
    parts = draw(tree, 41).split("\n\n")
    assert [part.splitlines()[0].strip() for part in parts] == ["NP", *(f"[{k}]" for k in range(2, len(parts) + 1))]
    assert all(part.splitlines()[1].strip() == "NP..." for part in parts[1:])
    assert [word for word in words_of(draw(tree, 41)) if "[" not in word] == [str(n) for n in range(100, 140)]


@given(st.integers(0, 2**32), st.integers(40, 80))
@settings(deadline=None, max_examples=25)
def test_a_folded_drawing_holds_every_word_within_its_width(seed: int, width: int) -> None:
    tree = random_tree(random.Random(seed))
    drawn = draw(tree, width).replace("\u200e", "")
    assert max(map(layout.columns, drawn.splitlines())) <= width
    assert sorted(word for word in words_of(drawn) if word[0] != "[") == sorted(tree.words())


def test_width_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least one column, not 0"):
        draw(CAT, 0)


def test_wide_characters_and_combining_marks() -> None:
    # Three wide characters take six columns, the accent none.
    picture = """
     S
┌───┬┴────┐
N   │     V
│   │     │
N   P     V
│   │     │
猫  e\u0301a  食べる
"""
    drawn = draw(Tree.read("(S (N (N 猫)) (P e\u0301a) (V (V 食べる)))"))
    assert drawn == picture.strip("\n")
    assert columns(drawn.splitlines()[-1]) == 2 + 2 + 2 + 2 + 6


def test_a_subtree_that_stands_twice_is_drawn_twice() -> None:
    leaf = Tree("A", word="b")
    assert draw(Tree("X", [leaf, leaf])).splitlines()[-1] == "b  b"


def test_a_single_tag_and_a_control_character() -> None:
    assert draw(Tree("A", word="b")) == "A\n│\nb"
    assert "\x1b" not in draw(Tree("A", word="\x1b[2J")) + svg(Tree("A", word="\x1b[2J"))


def test_depth_is_no_limit() -> None:
    tree = Tree("A", word="b")
    for _ in range(3000):
        tree = Tree("X", [tree])
    assert draw(tree).count("X") == draw(tree, 2).count("X") == svg(tree).count("X<") == latex(tree).count("X[") == 3000


def test_svg_is_xml_with_every_label_and_word() -> None:
    tree = Tree("S", [Tree("A&B", word="<tag>"), Tree("Q", word='"x"'), Tree("C", word="\x00\uffff")])
    root = ElementTree.fromstring(svg(tree))
    assert root.tag == f"{SVG}svg"
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts == ["S", "A&B", "<tag>", "Q", '"x"', "C", "\ufffd\ufffd"]
    assert len(list(root.iter(f"{SVG}line"))) == 3 + 3


# --- nothing lies on anything else in an SVG


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_no_branch_crosses_another_or_a_label(seed: int) -> None:
    tree = random_tree(random.Random(seed))
    assert faults(svg(tree)) == {}


def test_toy_trees_have_no_crossings() -> None:
    assert [tree for tree in toy_trees("dev")[:25] if faults(svg(tree))] == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<line x1="0" y1="0" x2="9" y2="9"/><line x1="0" y1="9" x2="9" y2="0"/>', "crossings"),
        ('<line x1="0" y1="0" x2="9" y2="9"/><line x1="0" y1="0" x2="4" y2="4"/>', "crossings"),
        ('<text x="50" y="50">abc</text><text x="60" y="55">de</text>', "overlaps"),
        ('<text x="50" y="50">abc</text><line x1="50" y1="10" x2="50" y2="90"/>', "strikes"),
        ('<text x="50" y="50">abc</text><line x1="10" y1="30" x2="90" y2="60"/>', "strikes"),
        ('<text x="5" y="50">abc</text>', "outside"),
    ],
)
def test_faults_of_a_picture_are_seen(body: str, fault: str) -> None:
    assert faults(f'<svg xmlns="{SVG[1:-1]}" width="100" height="100">{body}</svg>') == {fault: 1}


def test_branches_of_one_parent_and_side_by_side_are_no_fault() -> None:
    lines = (
        '<line x1="5" y1="0" x2="0" y2="9"/><line x1="5" y1="0" x2="9" y2="9"/><line x1="20" y1="0" x2="20" y2="9"/>'
    )
    assert faults(f'<svg xmlns="{SVG[1:-1]}" width="100" height="100">{lines}</svg>') == {}


def test_svg_text_stays_inside_the_picture_and_words_share_a_line() -> None:
    root = ElementTree.fromstring(svg(CAT))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    places = {element.text: element.attrib for element in root.iter(f"{SVG}text")}
    assert all(0 < float(at["x"]) < width and 0 < float(at["y"]) < height for at in places.values())
    assert len({places[word]["y"] for word in ("the", "cat", "sees", "us")}) == 1
    assert float(places["the"]["x"]) < float(places["cat"]["x"]) < float(places["us"]["x"])


def test_words_from_right_to_left() -> None:
    tree = Tree.read("(S (NP (NN חתול)) (VB ישב) (. .))")
    root = ElementTree.fromstring(svg(tree))
    places = {element.text: element.attrib for element in root.iter(f"{SVG}text")}
    assert float(places["חתול"]["x"]) > float(places["ישב"]["x"]) > float(places["."]["x"])
    assert places["חתול"]["direction"] == "rtl"
    # A mark on both sides of a word keeps a terminal from turning the line as a whole.
    assert draw(tree).splitlines()[-1] == ".  \u200eישב\u200e  \u200eחתול\u200e"
    assert draw(Tree.read("(S (A a) (B ב))")).splitlines()[-1] == "a  \u200eב\u200e"


def test_an_outer_bracket_without_a_label_is_not_drawn() -> None:
    assert draw(Tree.read(f"( {CAT})")) == draw(CAT)
    assert latex(Tree.read(f"( {CAT})")) == latex(CAT)
    assert draw(Tree.read(f"( {CAT})"), probabilities=(1.0, 0.5)) == draw(CAT, probabilities=(0.5,))


# --- pictures


def test_a_notebook_shows_the_svg_and_scrolls_it() -> None:
    assert CAT._repr_svg_() == svg(CAT) == CAT.draw()._repr_svg_()
    assert CAT._repr_html_() == f'<div style="overflow-x:auto">{svg(CAT)}</div>'


def test_a_picture_is_printed_as_text() -> None:
    assert str(CAT.draw()) == repr(CAT.draw()) == draw(CAT)


def test_probabilities_are_shades() -> None:
    root = ElementTree.fromstring(svg(CAT, (1.0, 0.5, 0.25, 0.0)))
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert titles == [
        f"{label}: probability {p}" for label, p in zip(["S", "NP", "VP", "NP"], [1, 0.5, 0.25, 0], strict=True)
    ]
    shades = [float(rect.attrib["fill-opacity"]) for rect in root.iter(f"{SVG}rect")][:4]
    assert shades == sorted(shades, reverse=True)
    assert faults(svg(CAT, (1.0, 0.5, 0.25, 0.0))) == {}
    assert draw(CAT, 40, probabilities=(1.0, 0.5, 0.25, 0.0)).splitlines()[0].strip() == "S 1.00"


def test_a_parse_shows_itself() -> None:
    likely = [Constituent(*span, 1 / (1 + number)) for number, span in enumerate(CAT.spans())]
    parse = Parse(tuple(CAT.words()), -1.0, -0.5, tree=CAT, look_up=lambda _: likely)
    assert (parse._repr_svg_(), parse._repr_html_()) == (CAT._repr_svg_(), CAT._repr_html_())
    assert parse.draw() == Picture(CAT)
    assert parse.draw(shade=True) == Picture(CAT, tuple(one.probability for one in likely))
    assert "NP: probability 0.5<" in parse.draw(shade=True)._repr_html_()


def test_a_parse_without_words_has_no_picture() -> None:
    parse = Parse((), 0.0, 0.0, status="empty")
    assert parse._repr_svg_() is parse._repr_html_() is None
    with pytest.raises(LatreeError, match="no tree to draw"):
        parse.draw()


def test_pictures_are_saved_as_their_names_say(tmp_path: Path) -> None:
    for ending, start in [("svg", "<svg"), ("html", "<!DOCTYPE html>"), ("tex", "% needs"), ("txt", "    ")]:
        CAT.draw().save(tmp_path / f"cat.{ending}")
        assert (tmp_path / f"cat.{ending}").read_text(encoding="utf-8").startswith(start)
    with pytest.raises(LatreeError, match=r"no pictures end in '.png'; expected .txt, .svg"):
        CAT.draw().save(tmp_path / "cat.png")


def test_several_pictures_in_one() -> None:
    trees = [Picture(CAT), Picture(Tree("A", word="<b>"))]
    sheet = ElementTree.fromstring(render(trees, "svg"))
    single = ElementTree.fromstring(svg(CAT))
    assert float(sheet.attrib["height"]) > float(single.attrib["height"])
    assert sheet.attrib["width"] == single.attrib["width"]
    page = render(trees, "html")
    assert page.count("<svg") == page.count("overflow-x:auto") == 2
    assert "2. <bdi>&lt;b&gt;</bdi>" in page
    assert render(trees, "latex").count("\\begin{forest}") == 2


def test_latex_escapes_what_latex_and_forest_would_read() -> None:
    words = ["cat", "50%", "a_b", "$x^2$", "[x],y=1", "{}", "\\"]
    tree = Tree("NP[sg]", [Tree("T", word=word) for word in words])
    body = "".join(
        f"[T[{node}]]"
        for node in (
            "cat",
            r"{50\%}",
            r"{a\_b}",
            r"{\$x\textasciicircum{}2\$}",
            "{[x],y=1}",
            r"{\{\}}",
            r"{\textbackslash{}}",
        )
    )
    assert latex(tree) == (
        "\\begin{forest}\n  where n children=0{tier=word}{}\n  [{NP[sg]}" + body + "]\n\\end{forest}"
    )
