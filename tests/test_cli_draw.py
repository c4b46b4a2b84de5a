"""latree draw: trees in brackets to pictures, and what is told where that cannot be done."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from latree.data import toy
from latree.text.draw import draw, svg
from tests.command import SLEEPS_TREE, done, latree, process, toy_trees
from tests.pictures import faults

TREE = toy_trees("dev")[0]


def test_trees_are_drawn_for_the_terminal() -> None:
    assert done("draw", stdin=f"{SLEEPS_TREE}\n").out.splitlines()[-2].split() == ["the", "teacher", "sleeps", "."]
    assert done("draw", toy("dev")).out == "".join(f"{draw(tree)}\n\n" for tree in toy_trees("dev"))


def test_a_given_width_and_plain_characters() -> None:
    drawn = done("draw", "--width", "30", "--ascii", stdin=str(TREE)).out
    assert drawn == f"{draw(TREE, 30, ascii_only=True)}\n\n"
    assert drawn.isascii()


@pytest.mark.parametrize("form", ["svg", "html", "latex"])
def test_formats_by_name_and_by_option(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("trees." + {"latex": "tex"}.get(form, form))
    outcome = latree("draw", toy("dev"), "-o", path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"latree: written to {path}\n")
    assert path.read_text(encoding="utf-8") == done("draw", toy("dev"), "--format", form).out


def test_an_svg_of_one_tree_and_of_all() -> None:
    assert done("draw", "--format", "svg", stdin=str(TREE)).out == f"{svg(TREE)}\n"
    sheet = done("draw", "--format", "svg", toy("dev")).out
    assert len(list(ElementTree.fromstring(sheet))) == len(toy_trees("dev")) + 1  # and the style
    assert faults(svg(TREE)) == {}


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (["draw"], "The cat sat .", 1, "<stdin>:1:1: 'The' outside brackets; expected '('"),
        (["draw"], "", 1, "<stdin>: no trees: the file is empty"),
        (["draw", "nowhere.mrg"], "", 1, "nowhere.mrg: cannot be read: No such file or directory"),
        (["draw", "a.conllu"], "", 1, "latree parse --draw a.conllu"),
        (["draw", "-o", "a.png"], "(A b)", 1, "a.png: no pictures end in '.png'; expected .txt, .svg, .html"),
        (["draw", "--format", "svg", "--width", "9"], "(A b)", 2, "--width and --ascii are for the terminal"),
    ],
)
def test_what_cannot_be_drawn_is_told(arguments: list[str], stdin: str, code: int, message: str) -> None:
    outcome = latree(*arguments, stdin=stdin)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in " ".join(outcome.err.split())


def test_help_has_an_example() -> None:
    assert "Example: latree draw trees.mrg -o trees.svg" in done("draw", "-h").out


def test_a_tree_is_drawn_as_soon_as_it_is_read() -> None:
    with process("draw") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("(A b)\n")
        running.stdin.flush()
        assert [running.stdout.readline() for _ in range(4)] == ["A\n", "│\n", "b\n", "\n"]
        running.stdin.close()
        assert running.wait() == 0
