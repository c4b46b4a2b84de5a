"""Structured vectorial semantics: a vector over concepts for every constituent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from latree.errors import LatreeError
from latree.kinds.options import LabelOptions, seed_option
from latree.kinds.registry import Kind
from latree.options import SET, option
from latree.text.head_table import TABLES
from latree.text.heads import HeadRules

_CLUSTERS = {"clusters": SET}
Choice = Literal["vector", "concept", "maximum"]  # what the best derivation is (`choice`)


def read_head_rules(text: str) -> HeadRules:
    """Find a head table by its name, or read it from a file."""
    names = (*TABLES, "default")
    if text in names:
        return HeadRules.named(text)
    if not Path(text).exists():
        raise LatreeError(f"--heads {text}: no such file, nor one of the head tables {', '.join(names)}")
    return HeadRules.read(text)


@dataclass(frozen=True)
class SvsOptions(LabelOptions):
    """The constants of the model; trees are made binary by their heads."""

    seed: int = seed_option(needs=_CLUSTERS)
    headwords: int = option(
        5000, "How many words, the commonest ones, are told apart as heads of phrases; all others are one.", least=0
    )
    clusters: int = option(
        20, "Concepts that the headwords are clustered into; 0: every headword is a concept by itself.", least=0
    )
    refinements: int = option(
        50,
        "Passes over the trees (EM) that fit the concepts after the clustering; 0: none.",
        name="refine",
        least=0,
        needs=_CLUSTERS,
    )
    heads: HeadRules | None = option(
        None,
        f"Which child of a phrase is its head: {', '.join(TABLES)} or default, or a file with a table.",
        shown="the table that knows the treebank's labels",
        read=read_head_rules,
    )
    head_relation: Literal["context", "one"] = option(
        "context",
        "How a head's concept follows from its phrase's: by the labels of both (context), or for all heads alike (one, "
        "as in the paper); modifiers always have their context.",
    )
    horizontal: int = option(
        0,
        "1: the rest of a long phrase remembers in its label the sister that was split off before it; 0: it does not.",
        least=0,
        most=1,
    )
    rule_smoothing: float = option(
        5.0,
        "How much a concept's rules are drawn to the rules of all concepts: as if that many more examples were seen.",
        least=0.0,
    )
    word_smoothing: float = option(
        0.0, "How much a concept's words are drawn to the words of all concepts, from 0 to 1.", least=0.0, most=1.0
    )
    iterations: int = 100  # of EM over pairs of headwords
    starts: int = 10  # of that EM, of which the likeliest is kept
    least: int = 10  # rarer relations have no context of their own

    @property
    def refines(self) -> bool:
        """Whether EM over the trees follows; where each headword is a concept, trees leave it nothing to expect."""
        return self.clusters > 0 and self.refinements > 0

    def to_json(self) -> dict[str, Any]:
        """Leave out the head table, which the binarisation keeps."""
        return {name: value for name, value in super().to_json().items() if name != "heads"}


KIND = Kind(
    "svs",
    "A vector over concepts for every constituent, by headwords or their clusters.",
    options=SvsOptions,
    parser="latree.kinds.svs.model:Svs",
    report="latree.kinds.svs.report:report",
)
