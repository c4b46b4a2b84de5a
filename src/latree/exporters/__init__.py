"""Grammars for other programs: rules and words as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from latree.errors import LatreeError
from latree.files import write_atomically
from latree.kinds.registry import all_kinds, kind_named

Form = Literal["berkeley", "nltk", "tsv"]


def export_grammar(model: Any, prefix: str | Path, form: Form = "tsv") -> list[Path]:
    """Write the rules and words of a model whose weights are probabilities of rules; gives the files.

    berkeley: the Berkeley parser's text format, PREFIX.grammar, .lexicon, .words and .splits, which `latree import`
    reads too.  nltk: PREFIX.pcfg, for `nltk.PCFG.fromstring`.  tsv: PREFIX.rules.tsv and PREFIX.words.tsv.
    """
    texts = grammar_texts(model, form)
    paths = [Path(f"{prefix}{ending}") for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        write_atomically(path, text.encode())
    return paths


def grammar_texts(model: Any, form: Form) -> Mapping[str, str]:
    """What `export_grammar` writes: the files' texts by the endings of their names."""
    if not kind_named(model.kind).generates:
        names = ", ".join(name for name, kind in all_kinds().items() if kind.generates)
        raise LatreeError(f"rules of {names} can be exported, which are probabilities; this is a {model.kind}")
    from latree.exporters import berkeley, nltk_grammar, tables
    from latree.exporters.listing import Listing

    return {"berkeley": berkeley.texts, "nltk": nltk_grammar.texts, "tsv": tables.texts}[form](Listing(model))
