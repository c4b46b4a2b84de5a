"""Drawings of trees: exact pictures of small trees, widths, and text that must be escaped."""

from __future__ import annotations

import unicodedata
from xml.etree import ElementTree

import pytest

from latree.data import toy
from latree.text.draw import draw, latex, svg
from latree.text.tree import Tree

CAT = Tree.read("(S (NP (DT the) (JJ old) (NN cat)) (VP (VB sees) (NP (PRP us))) (. .))")
SVG = "{http://www.w3.org/2000/svg}"


def columns(line: str) -> int:
    """Columns of a line on a terminal, for text without other invisible characters than combining marks."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line
    )


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


def test_svg_text_stays_inside_the_picture_and_words_share_a_line() -> None:
    root = ElementTree.fromstring(svg(CAT))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    places = {element.text: element.attrib for element in root.iter(f"{SVG}text")}
    assert all(0 < float(at["x"]) < width and 0 < float(at["y"]) < height for at in places.values())
    assert len({places[word]["y"] for word in ("the", "cat", "sees", "us")}) == 1
    assert float(places["the"]["x"]) < float(places["cat"]["x"]) < float(places["us"]["x"])


def test_a_notebook_shows_the_svg() -> None:
    assert CAT._repr_svg_() == svg(CAT)


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
