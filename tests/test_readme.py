"""The commands and the Python of the README and of a tutorial, run as they stand there, each page in a folder of its
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
README = (ROOT / "README.md").read_text()
PAGES = {"README.md": 8, "docs/surprisal.md": 5}  # and how many commands each has, at least


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


@pytest.fixture(scope="module", params=sorted(PAGES))
def page(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp(Path(page).stem)
    (made / "src").symlink_to(ROOT / "src")
    return made


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120"}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_commands_print_what_is_said(page: str, folder: Path) -> None:
    listed = steps(page)
    assert len(listed) >= PAGES[page]
    for command, expected in listed:
        ran = run(command, folder)
        told = [line for line in ran.stderr.splitlines() if "compil" not in line]
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        printed = [line for line in ran.stdout.splitlines() + told if line]
        assert matches(printed, expected), f"{command}\n{ran.stdout}{ran.stderr}"


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
    table = README[README.index("| data | model | figure | command |") :]
    letters = set(re.findall(r"\| ([A-Z]) \|$", table, re.MULTILINE))
    assert letters
    for letter in letters:
        assert re.search(rf"^{letter}  \S", README, re.MULTILINE), letter
