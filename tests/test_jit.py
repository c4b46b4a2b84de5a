"""Kernels where nothing can be kept on disk."""

from __future__ import annotations

import os
import subprocess
import sys

from latree.jit import IN_MEMORY

_PRODUCT = """
import numpy as np
from latree.inference.subtypes import ColumnMap
print((np.ones((1, 2)) @ ColumnMap.of([np.eye(2)])).tolist())
"""


def test_without_a_place_to_keep_them_kernels_are_compiled_in_memory_and_that_is_told_once() -> None:
    """As numba sees it: of all the places where it may keep kernels, none is left."""
    environment = os.environ | {"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}
    command = [sys.executable, "-c", _PRODUCT]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "[[1.0, 1.0]]\n"
    assert ran.stderr.count(IN_MEMORY) == 1
