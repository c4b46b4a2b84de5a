"""Grammars of other programs, made into models of latree."""

from __future__ import annotations

from pathlib import Path

from latree.models.lvg import Lvg


def import_grammar(path: str | Path) -> Lvg:
    from latree.importers.berkeley_gr import read_gr

    return read_gr(path)
