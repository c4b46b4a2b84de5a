"""Compiled kernels are cached by the sources they were made from, so that a test never runs a stale one.

Numba looks only at the file of the outermost kernel; a form compiled into a sweep lies in another file.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "latree").rglob("*.py")):
        if b"latree.jit" in path.read_bytes() or b"numba" in path.read_bytes():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def choose() -> Path:
    """Tell numba where to keep kernels, unless the caller has; to be called before anything imports numba."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return Path(os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache" / _source_hash())))
