"""From sentences to their analyses: many at once where all goes well, and one by one where it does not.

`attempt_words` reads a sentence and makes its coarse pass, or says what is the trouble.  Attempts are searched together
(`kinds/search.py`).  A sentence of which pruning leaves nothing is pruned less, step by step; one that has no analysis
within its limits, listed constituents or brackets, is analysed without them, and flagged; for the rest a model has a
stand-in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from latree.inference.derivations import Derivation
from latree.inference.kbest import k_best
from latree.inference.results import Objective
from latree.inference.sampling import sample_edges
from latree.kinds.hooks import Result
from latree.kinds.search import NOTHING, Attempt, Search, Trouble, certified
from latree.kinds.sentences import Sentence

if TYPE_CHECKING:
    from latree.kinds.model import ForestModel, Model

LOOSER = (1e-2, 1e-4, 1e-8, 0.0)  # what thresholds are multiplied by, where pruning leaves nothing of a sentence
MANY_EDGES = 300_000  # of one sentence: after so many nothing is pruned less, which would leave far more


def attempt_words(model: Model, tokens: tuple[str, ...]) -> Attempt | Trouble:
    """Make the coarse pass of a sentence, or say why there is none."""
    if not tokens:
        return Trouble("empty", "no words")
    if len(tokens) > model.max_length:
        return Trouble("failed", f"{len(tokens)} words; the limit is {model.max_length} (--max-length)")
    reading = model.read(tokens)
    coarse = model.coarse(reading)
    return Attempt(coarse, reading) if np.isfinite(coarse.log_z) else NOTHING


# -- the best of each of several sentences


def analyse_batch(model: ForestModel[Result], batch: Sequence[Sentence], objective: Objective) -> list[Result]:
    """Analyse sentences together, those whose constituents are listed apart from the others."""
    words = [model.words_of(sentence) for sentence in batch]
    pairs = zip(batch, words, strict=True)
    attempts = [model.attempt(tokens if isinstance(one, str) else one) for one, tokens in pairs]
    results = {k: model.stand_in(words[k], one) for k, one in enumerate(attempts) if isinstance(one, Trouble)}
    for listed in (False, True):
        good = {k: one for k, one in enumerate(attempts) if isinstance(one, Attempt) and one.is_listed == listed}
        search = Search(model, list(good.values()), model.threshold)
        for which, (k, derivation) in enumerate(zip(good, search.best(objective) if good else (), strict=True)):
            if derivation.edges:
                results[k] = model.analysis_of(words[k], search, derivation, which)
            else:
                results[k] = _analyse_loosely(model, batch[k], good[k], objective)
    return [results[k] for k in range(len(batch))]


def _analyse_loosely(model: ForestModel[Result], sentence: Sentence, attempt: Attempt, objective: Objective) -> Result:
    """Analyse a sentence of which nothing was left: prune less, in the end not at all, then leave its limits out."""
    tokens = model.words_of(sentence)
    if not attempt.is_listed:  # else nothing was pruned
        search, derivation = _best(model, attempt, objective, LOOSER)
        if derivation.edges:
            return model.analysis_of(tokens, search, derivation, 0)
    if attempt.is_limited:
        return _without_limits(model, sentence, model.analyse_batch([tokens], objective))[0]
    return model.stand_in(tokens, NOTHING)


def _without_limits(model: ForestModel[Result], sentence: Sentence, results: Sequence[Result]) -> list[Result]:
    """Tell of analyses that are among all there are, since limits leave none."""
    reason = model.unmet(sentence)
    return [replace(one, status="recovered", reason=reason) if one.status == "ok" else one for one in results]


# -- lists and samples of one sentence


def list_analyses(model: ForestModel[Result], sentence: Sentence, k: int, objective: Objective) -> list[Result]:
    """List the k best analyses, best first; what has no derivation over subtypes is left out."""
    tokens, attempt = model.words_of(sentence), model.attempt(sentence)
    if isinstance(attempt, Trouble):
        return [model.stand_in(tokens, attempt)]
    if objective == "viterbi":
        search, derivations = certified(model, attempt, k, 0.0 if attempt.is_listed else model.threshold)
    else:
        search, derivations = rank(model, attempt, k, objective)
    weighed = search.weighed(derivations) if derivations else []
    possible = [one for one in weighed if one.log_weight > -np.inf]
    if not possible and attempt.is_limited:
        return _without_limits(model, sentence, model.kbest(tokens, k, objective))
    if not possible:
        return [model.stand_in(tokens, NOTHING)]
    return [model.analysis_of(tokens, search, derivation, 0) for derivation in possible]


def rank(model: Model, attempt: Attempt, k: int, objective: Objective) -> tuple[Search, list[list[int]]]:
    """Find the k best by posteriors; a forest with fewer than k derivations is pruned less.

    That moves posteriors, and a pruner that derived nothing before may then rule out what was best.  But the best is
    what it is for one tree: it stays the first, in the loosest forest that still has it.
    """
    search, derivation = _best(model, attempt, objective)
    best = derivation.edges
    while True:
        listed = [edges for _, edges in k_best(search.forest, search.scores(objective), k)]
        found = [best, *(edges for edges in listed if edges != best)][:k] if best else listed
        room = search.threshold >= 1e-12 and len(search.survivors.rule) <= MANY_EDGES
        if attempt.is_listed or len(found) == k or not room:
            return search, found
        looser = Search(model, [attempt], search.threshold * 1e-2)
        same = looser.same_edges(search, best)
        if best and not same:
            return search, found
        search, best = looser, same


def draw_analysis(model: ForestModel[Result], sentence: Sentence, rng: np.random.Generator) -> Result:
    """Draw an analysis from its probability given the words, among those that survive pruning."""
    tokens, attempt = model.words_of(sentence), model.attempt(sentence)
    if isinstance(attempt, Trouble):
        return model.stand_in(tokens, attempt)
    search = search_one(model, attempt, model.threshold)
    if not np.isfinite(search.log_z[0]):
        if attempt.is_limited:
            return _without_limits(model, sentence, [draw_analysis(model, tokens, rng)])[0]
        return model.stand_in(tokens, NOTHING)
    if search.inference is search.untempered:
        edges = model.draw_edges(search.forest, attempt.reading, rng)
    else:
        edges = sample_edges(search.forest, search.posterior, rng)
    return model.analysis_of(tokens, search, search.weighed([edges])[0], 0)


# -- one sentence, with ever less pruning


def search_one(model: Model, attempt: Attempt, threshold: float) -> Search:
    """Search one sentence; where nothing is left by pruning, prune less; the last where there is nothing ever."""
    for search in searches(model, attempt, threshold):
        if np.isfinite(search.log_z[0]):
            break
    return search


def _best(
    model: Model, attempt: Attempt, objective: Objective, loosenesses: Sequence[float] = (1.0, *LOOSER)
) -> tuple[Search, Derivation]:
    """The best derivation of one sentence, where nothing is left by pruning with less of it; else without edges."""
    for search in searches(model, attempt, model.threshold, loosenesses):
        derivation = search.best(objective)[0]
        if derivation.edges:
            break
    return search, derivation


def searches(
    model: Model, attempt: Attempt, threshold: float, loosenesses: Sequence[float] = (1.0, *LOOSER)
) -> Iterator[Search]:
    """Search one sentence, pruning less every time, as long as there is room for it."""
    for looseness in loosenesses:
        search = Search(model, [attempt], threshold * looseness)
        yield search
        if not search.is_listed and len(search.survivors.rule) > MANY_EDGES:
            return
