"""Searches over all that a bare grammar derives."""

from __future__ import annotations

from latree.arrays import Floats
from latree.inference.grammar import Grammar
from latree.inference.search import Search
from latree.kinds.pcfg.model import Pcfg


def bare_parser(grammar: Grammar, theta: Floats) -> Pcfg:
    """A parser of given rules, without a lexicon."""
    model = Pcfg()
    model.grammar, model.theta = grammar, theta
    model.prepare()
    return model


def full_search(grammar: Grammar, theta: Floats, emissions: Floats, threshold: float = 0.0) -> Search:
    """Everything that the grammar derives, ready to be decoded."""
    model = bare_parser(grammar, theta)
    return Search(model, [model.coarse(emissions)], [emissions], threshold)


def shape_of(search: Search, edges: list[int]) -> str:
    words = [f"w{i}" for i in range(len(search.emissions[0]))]
    return str(search.weighed([edges])[0].tree(search.model.grammar, words))
