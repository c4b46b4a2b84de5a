"""The tutorial on building a treebank, from its first command to its last, on a real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import printed_by, sections, steps

PAGE = "docs/build-a-treebank.md"


def roughly_matches(printed: list[str], expected: list[str]) -> bool:
    """Whether what has no digits, titles and heads of tables, is printed in this order; `...` lets lines be left out.

    Figures, and what they put first, are of the processor on which a grammar was trained.
    """
    left = iter(" ".join(line.split()) for line in printed)
    wanted = (" ".join(line.split()) for line in expected if not re.search(r"\d|\.\.\.|─", line))
    return all(line in left for line in wanted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sections are gone through one after the other: each needs files of those before it."""
    return tmp_path_factory.mktemp("treebank")


@pytest.mark.parametrize("section", sections(PAGE))
def test_a_treebank_is_built_as_the_page_says(section: str, folder: Path, shared: Path) -> None:
    listed = steps(PAGE, section)
    assert listed
    for command, expected in listed:
        printed = printed_by(command, folder, DATA=str(shared / "data"))
        assert roughly_matches(printed, [line for line in expected if line]), "\n".join([command, *printed])
