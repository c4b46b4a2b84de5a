"""Compiled kernels are cached by the sources they were made from, so that a test never runs a stale one.

Numba looks only at the file of the outermost kernel; a form compiled into a sweep lies in another file.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from latree.text.tree import Tree

ROOT = Path(__file__).parents[1]


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "latree").rglob("*.py")):
        if b"@kernel" in path.read_bytes():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache" / _source_hash()))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of treebanks beside the project; tests that read it skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the treebanks in ../shared, which is not here")
    return folder


@pytest.fixture(scope="session")
def train() -> list[Tree]:
    """Trees of the toy treebank; imported late, since numba must find its folder first."""
    from tests.command import toy_trees

    return toy_trees("train")


@pytest.fixture(scope="session")
def dev() -> list[Tree]:
    from tests.command import toy_trees

    return toy_trees("dev")
