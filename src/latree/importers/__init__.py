"""Grammars of other programs, made into models of latree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.kinds.lvg.model import Lvg


def import_grammar(path: str | Path) -> Lvg:
    """The model of a Berkeley grammar: a `.gr` file, or the text files `X.grammar`, `X.lexicon`, `X.words`, `X.splits`.

    Text files are named by their common prefix or by one of them.  They hold less than a `.gr` file, and a model made
    from them is not quite the same: `latree.importers.berkeley_text` says what is lost.
    """
    from latree.importers.berkeley_gr import GZIP, JAVA, read_gr
    from latree.importers.berkeley_text import SUFFIXES, read_text

    prefix = str(path)
    if prefix.endswith(SUFFIXES) or (not Path(path).exists() and Path(f"{prefix}.grammar").exists()):
        model = read_text(path)
    elif not Path(path).is_file():
        raise LatreeError(f"{path}: there is no such file, nor text grammar {prefix}.grammar")
    else:
        with open(path, "rb") as file:
            if not file.read(2).startswith((GZIP, JAVA)):
                raise LatreeError(f"{path}: neither a .gr file nor one of {', '.join(f'X{s}' for s in SUFFIXES)}")
        model = read_gr(path)
    model.training = {"imported": Path(path).name}
    return model
