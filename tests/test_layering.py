"""Who may import whom: rooms see only the rooms below them, and a kind sees other kinds only as its pruners."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from latree.kinds.registry import all_kinds

SOURCE = Path(__file__).parents[1] / "src"
FIRST_ROW = {"errors", "arrays", "checks", "jit", "files", "options", "cluster", "parallel"}
LEAVES = FIRST_ROW | {"data"}  # modules that know no room
STOREYS = (
    ("text",),
    ("lexicon",),
    ("inference",),
    ("learning",),
    ("kinds",),
    ("experiments",),
    ("compare", "check", "importers", "exporters", "best", "bulk", "diagnosis", "web"),
    ("integrations",),  # NLTK's grammar is an exporter's
    ("cli",),
)
ASIDE = {"scoring": {"text"}, "report": set[str]()}  # what they see; seen from kinds up
FLAT = {"__init__", "__main__"} | FIRST_ROW


class Import(NamedTuple):
    """One import of a module of latree; modules as paths of names, without the leading `latree`."""

    module: tuple[str, ...]
    imported: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'.'.join(self.module)} imports {'.'.join(self.imported)}"


def imported_names(node: ast.AST) -> Iterator[str]:
    """Full names of what an import statement names; `from a import b` may name a module b or something inside a."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "write imports in full: `from latree.text import tree`"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of(path: Path) -> Iterator[Import]:
    """All imports in a file, those for type checking and those inside functions too."""
    module = path.relative_to(SOURCE / "latree").with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        for name in imported_names(node):
            package, *imported = name.split(".")
            if package == "latree" and not imported[0].startswith("__"):
                yield Import(module, tuple(imported))


def all_imports() -> list[Import]:
    return [one for path in sorted((SOURCE / "latree").rglob("*.py")) for one in imports_of(path)]


def visible(room: str) -> set[str]:
    """The rooms that a room may import from, itself among them."""
    if room in LEAVES:
        return FIRST_ROW
    if room in ASIDE:
        return LEAVES | ASIDE[room] | {room}
    height = next(number for number, rooms in enumerate(STOREYS) if room in rooms)
    below = {name for rooms in STOREYS[:height] for name in rooms}
    return LEAVES | below | {room} | (set(ASIDE) if height >= STOREYS.index(("kinds",)) else set())


def folder(kind: str) -> str:
    return kind.replace("-", "_")


def test_rooms_import_only_from_rooms_below() -> None:
    doors = [one for one in all_imports() if one.module[0] not in ("__init__", "__main__")]
    assert [str(one) for one in doors if one.imported[0] not in visible(one.module[0])] == []


def test_a_kind_imports_no_other_kind_but_its_pruners() -> None:
    pruners = {folder(kind.name): {folder(name) for name in kind.pruners} for kind in all_kinds().values()}
    wrong = []
    for one in all_imports():
        room, *rest = one.module
        other = one.imported[1] if one.imported[0] == "kinds" and len(one.imported) > 1 else None
        if room == "kinds" and other in pruners and other != rest[0] and other not in pruners.get(rest[0], ()):
            wrong.append(str(one))
    assert wrong == []


def test_nothing_lies_flat_beyond_the_first_row() -> None:
    assert {path.stem for path in (SOURCE / "latree").glob("*.py")} <= FLAT


@pytest.mark.parametrize(
    ("room", "other"),
    [("text", "lexicon"), ("inference", "kinds"), ("scoring", "inference"), ("report", "text"), ("files", "text")],
)
def test_the_rule_forbids(room: str, other: str) -> None:
    assert other not in visible(room)
