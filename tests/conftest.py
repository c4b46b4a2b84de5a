"""What all tests share: where kernels are kept, and the toy treebank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import kernel_cache

if TYPE_CHECKING:
    from latree.text.tree import Tree

kernel_cache.choose()
settings.register_profile("latree", deadline=None)  # a busy machine is no fault
settings.load_profile("latree")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of treebanks beside the project; tests that read it skip where it is absent."""
    folder = kernel_cache.ROOT.parent / "shared"
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
