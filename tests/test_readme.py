"""The commands and the Python of the README and of the tutorials, run as they stand there, each page in a folder of its
own; what they print is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
COMMANDS = {"docs/first-grammar.md": 6, "docs/parse-english.md": 6, "docs/surprisal.md": 5}  # how many, at least
PYTHON = ("README.md", "docs/parse-english.md", "docs/python.md", "docs/surprisal.md")
TREEBANK_PAGE = "docs/build-a-treebank.md"


class Step(NamedTuple):
    """A command, and what the page says that it prints."""

    command: str
    lines: list[str]


def blocks(page: str) -> list[tuple[str, str]]:
    """What a page has as code: the language, and the text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def steps(page: str) -> list[Step]:
    """The commands after a `$`, each with the lines up to the next; one that goes on ends in a backslash."""
    listed: list[Step] = []
    for language, block in blocks(page):
        if language or not block.startswith("$ "):
            continue
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            listed.append(Step(command, lines))
    return listed


NUMBER = re.compile(r"-?\d+\.\d{3,}")


def pattern(line: str) -> str:
    """What a line may look like: times differ, and `...` stands for anything."""
    line = re.escape(line.rstrip()).replace(r"\.\.\.", ".*")
    return re.sub(r"\d+\\\.\d+\\ CPU\\ seconds", r"\\d+\\.\\d+ CPU seconds", line)


def agrees(shown: str, line: str) -> bool:
    """Whether a line is as expected; long numbers to three digits, since processors round otherwise."""
    numbers, wanted = NUMBER.findall(shown), NUMBER.findall(line)
    close = len(numbers) == len(wanted) and np.allclose([*map(float, numbers)], [*map(float, wanted)], rtol=1e-3)
    return close and re.fullmatch(pattern(NUMBER.sub("#", line)), NUMBER.sub("#", shown.rstrip())) is not None


def matches(printed: list[str], expected: list[str]) -> bool:
    """Whether lines are as expected; `...` at the beginning of the last one lets others follow."""
    if expected and expected[-1].startswith("... "):
        expected = expected[:-1]
        printed = printed[: len(expected)]
    return len(printed) == len(expected) and all(
        agrees(shown, line) for shown, line in zip(printed, expected, strict=True)
    )


def roughly_matches(printed: list[str], expected: list[str]) -> bool:
    """Whether what has no digits, titles and heads of tables, is printed in this order; `...` lets lines be left out.

    Figures, and what they put first, are of the processor on which a grammar was trained.
    """
    left = iter(" ".join(line.split()) for line in printed)
    wanted = (" ".join(line.split()) for line in expected if not re.search(r"\d|\.\.\.|─", line))
    return all(line in left for line in wanted)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


def run(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120"} | variables
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def printed_by(command: str, folder: Path, **variables: str) -> list[str]:
    """The lines that a command prints, empty ones left out, those of standard error last; it must go well."""
    ran = run(command, folder, **variables)
    assert ran.returncode == 0, f"{command}\n{ran.stderr}"
    told = [line for line in ran.stderr.splitlines() if "compil" not in line]
    return [line for line in ran.stdout.splitlines() + told if line]


@pytest.mark.parametrize("page", COMMANDS)
def test_the_commands_print_what_is_said(page: str, folder: Path) -> None:
    listed = steps(page)
    assert len(listed) >= COMMANDS[page]
    for command, expected in listed:
        printed = printed_by(command, folder)
        assert matches(printed, expected), "\n".join([command, *printed])


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


def test_a_treebank_is_built_as_the_page_says(folder: Path, shared: Path) -> None:
    listed = steps(TREEBANK_PAGE)
    assert len(listed) >= 15
    for command, expected in listed:
        printed = printed_by(command, folder, DATA=str(shared / "data"))
        assert roughly_matches(printed, [line for line in expected if line]), "\n".join([command, *printed])


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
