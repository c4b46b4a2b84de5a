"""Searches over all that a bare grammar derives."""

from __future__ import annotations

from latree.arrays import Floats
from latree.inference.grammar import Grammar
from latree.inference.reading import Emissions
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.search import Attempt, Search


def bare_parser(grammar: Grammar, theta: Floats) -> Pcfg:
    """A parser of given rules, without a lexicon."""
    model = Pcfg()
    model.grammar, model.theta = grammar, theta
    model.prepare()
    return model


def attempt_of(model: Pcfg, emissions: Floats) -> Attempt:
    """Words of given emissions, as they come to a search."""
    reading = Emissions(emissions, emissions)
    return Attempt(model.coarse(reading), reading)


def full_search(grammar: Grammar, theta: Floats, emissions: Floats, threshold: float = 0.0) -> Search:
    """Everything that the grammar derives, ready to be decoded."""
    model = bare_parser(grammar, theta)
    return Search(model, [attempt_of(model, emissions)], threshold)


def shape_of(search: Search, edges: list[int]) -> str:
    words = [f"w{i}" for i in range(int(search.forest.span.max()))]
    return str(search.weighed([edges])[0].tree(search.model.grammar, words))
