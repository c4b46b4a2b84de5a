"""Pages of the documentation for tests: the code on them, how it is run, whether it prints what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]


class Step(NamedTuple):
    """A command, and what the page says that it prints."""

    command: str
    lines: list[str]


def sections(page: str) -> list[str]:
    """The titles on a page that have code under them, in order."""
    titles = re.findall(r"^## (.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return [title for title in titles if blocks(page, title)]


def blocks(page: str, section: str = "") -> list[tuple[str, str]]:
    """What a page, or the section of a title, has as code: the language, and the text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def steps(page: str, section: str = "") -> list[Step]:
    """The commands after a `$`, each with the lines up to the next; one that goes on ends in a backslash."""
    listed: list[Step] = []
    for language, block in blocks(page, section):
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
