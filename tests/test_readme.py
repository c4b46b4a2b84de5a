"""The commands and the Python of the README and of the tutorials, run as they stand there, each page in a folder of its
own; what they print is compared."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT, blocks, matches, pattern, printed_by, run, steps

COMMANDS = {"docs/first-grammar.md": 6, "docs/parse-english.md": 6, "docs/surprisal.md": 5}  # how many, at least
TOUR = "README.md"  # its commands stand without what they print
INSTALLS = "pip install ."  # what the tests run in has done it
PYTHON = (TOUR, "docs/parse-english.md", "docs/python.md", "docs/surprisal.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


@pytest.mark.parametrize("page", COMMANDS)
def test_the_commands_print_what_is_said(page: str, folder: Path) -> None:
    listed = steps(page)
    assert len(listed) >= COMMANDS[page]
    for command, expected in listed:
        printed = printed_by(command, folder)
        assert matches(printed, expected), "\n".join([command, *printed])


def test_the_commands_of_the_readme_draw_a_tree(folder: Path) -> None:
    shells = [block for language, block in blocks(TOUR) if not language]
    assert len(shells) + sum(language == "python" for language, _ in blocks(TOUR)) == len(blocks(TOUR))  # all are run
    (first, *commands) = [line for block in shells for line in block.splitlines()]
    assert first == INSTALLS
    printed = [line for command in commands for line in printed_by(command, folder)]
    assert any(line.split() == ["The", "cat", "sat", "on", "the", "mat", "."] for line in printed), printed


@pytest.mark.parametrize("page", PYTHON)
def test_the_python_runs_and_prints_what_is_said(page: str, folder: Path) -> None:
    code = "".join(block for language, block in blocks(page) if language == "python")
    assert code
    ran = run(f"{sys.executable} - <<'END'\n{code}\nEND", folder)
    assert ran.returncode == 0, ran.stderr
    expected = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    printed = ran.stdout.splitlines()
    assert len(printed) >= len(expected)
    for comment in (comment.partition("  (")[0] for comment in expected):
        assert any(re.match(pattern(comment), line) for line in printed), f"{comment!r} not among {printed}"


def test_figures_stand_beside_a_command() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    table = page[page.index("| data | model | figure | command |") :]
    letters = set(re.findall(r"\| ([A-Z]) \|$", table, re.MULTILINE))
    assert letters
    for letter in letters:
        assert re.search(rf"^{letter}  \S", page, re.MULTILINE), letter


def test_the_readme_names_the_test_command() -> None:
    (command,) = (line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith("make "))
    assert f"`{command}`" in (ROOT / "README.md").read_text(encoding="utf-8")
