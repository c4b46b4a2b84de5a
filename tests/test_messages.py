"""Messages name only options that there are.  `tests.command.latree` checks the same of whatever a command says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import latree
from latree.cli import COMMANDS
from tests.command import OPTION, assert_options_exist, options_of

SOURCES = Path(latree.__file__).parent
OF_MODULES = {command.module: name for name, command in COMMANDS.items()} | {"training": "train"}


def texts(path: Path) -> Iterator[str]:
    """All strings of a module, docstrings too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("module", sorted(OF_MODULES))
def test_a_command_speaks_of_its_own_options(module: str) -> None:
    for text in texts(SOURCES / "cli" / f"{module}.py"):
        assert_options_exist(text, OF_MODULES[module])


def test_all_else_speaks_of_options_that_some_command_has() -> None:
    every = options_of("")
    for path in SOURCES.rglob("*.py"):
        for text in texts(path):
            assert set(OPTION.findall(text)) <= every, (path, text)
