"""How the house stands: lines, files, functions, and how many of them a command walks through.

    python -m bench.house [--source src/latree] [--walks]

A walk runs a command on the toy treebank and counts the files and functions of latree that it calls, those that only an
import runs left out.  Kernels count where Python calls them.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple
from unittest.mock import patch

FIRST_ROW = {"__init__", "__main__", "errors", "arrays", "checks", "jit", "options", "files", "cluster", "parallel"}


class Function(NamedTuple):
    """Where a function stands, and how long it is, its docstring counted."""

    place: str
    lines: int


def functions(path: Path, source: Path) -> Iterator[Function]:
    """Every function of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield Function(f"{path.relative_to(source)}:{node.name}", (node.end_lineno or 0) - node.lineno + 1)


def docstrings(path: Path) -> Iterator[str]:
    """Every docstring of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def any_count(path: Path) -> int:
    """How often `Any` stands in a file, its import left out."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(path.read_text())))


def print_size(source: Path) -> None:
    """Print lines, files and functions."""
    paths = sorted(source.rglob("*.py"))
    every = [function for path in paths for function in functions(path, source)]
    lengths = [function.lines for function in every]
    told = [text for path in paths for text in docstrings(path)]
    flat = [path.stem for path in source.glob("*.py") if path.stem not in FIRST_ROW]
    print(f"files {len(paths)}, flat beyond the first row {len(flat)}")
    print(f"lines {sum(len(path.read_text().splitlines()) for path in paths)}")
    print(f"functions {len(every)}: median {statistics.median(lengths):.0f}, p90 {_share(lengths, 0.9)} lines")
    print("longest: " + ", ".join(f"{one.place} {one.lines}" for one in sorted(every, key=lambda f: -f.lines)[:5]))
    print(f"functions over 60 lines: {sum(length > 60 for length in lengths)}")
    print(f"Any: {sum(map(any_count, paths))}")
    for start in ("Of ", "The same"):
        print(f"docstrings that begin with {start!r}: {sum(text.startswith(start) for text in told)}")


def _share(lengths: Sequence[int], share: float) -> int:
    return sorted(lengths)[int(share * (len(lengths) - 1))]


class Walk:
    """Counts what is called while it watches."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.called: set[CodeType] = set()
        self.importing = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            self.importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self.importing and code.co_filename.startswith(self.source):
            self.called.add(code)

    def __str__(self) -> str:
        named = [code for code in self.called if not code.co_name.startswith("<")]
        return f"{len({code.co_filename for code in named})} files, {len(named)} functions"


def walk(source: Path, arguments: Sequence[str]) -> Walk:
    """Run one command in this process, watching."""
    from latree.cli import main

    watcher = Walk(f"{source}/")
    with patch.object(sys, "argv", ["latree", *arguments]):
        sys.setprofile(watcher)
        threading.setprofile(watcher)
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.setprofile(None)
    return watcher


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src" / "latree")
    parser.add_argument("--walks", action="store_true", help="also run three commands and count what they call")
    given = parser.parse_args()
    print_size(given.source)
    if given.walks:
        print_walks()


def print_walks() -> None:
    """Print what `parse`, `train lvg` and `train gm-lveg` walk through, each run twice: the first may compile."""
    import latree
    from latree.data import toy

    source = Path(latree.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder, "text"), Path(folder, "model")
        text.write_text("the teacher sleeps .\n")
        trees = [str(toy("train")), "-o", str(model), "--quiet"]
        walks = {
            "parse": ["parse", str(text)],
            "train lvg": ["train", "lvg", *trees, "--rounds", "2"],
            "train gm-lveg": ["train", "gm-lveg", *trees, "--rounds", "2", "--epochs", "2"],
        }
        for name, arguments in walks.items():
            walk(source, arguments)
            print(f"latree {name}: {walk(source, arguments)}")


if __name__ == "__main__":
    main()
