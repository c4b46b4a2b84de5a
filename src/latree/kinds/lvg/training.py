"""How subtypes are learned, round by round: split, EM, merge, EM and smoothing, or under a prior (`variational`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.files import Arrays, compact
from latree.inference.subtypes import History, Layout
from latree.kinds.lvg.smoothing import Smoother
from latree.kinds.lvg.split_merge import Expectation, Refined, first_grammar, fit, merge, split, subtype_counts
from latree.learning.checkpoint import Standing
from latree.learning.latent_treebank import LatentTreebank
from latree.learning.loop import Progress, Score, Trainee, Training, Watch
from latree.lexicon.words import Lexicon

if TYPE_CHECKING:
    from latree.kinds.lvg.model import Subtyped


WORTH = 0.2  # points that pruning less must gain: it takes half as much time again


class Rounds(Trainee):
    """Rounds of split and merge (Petrov 2009, section 2.1)."""

    unit = "round"
    growth = 1.6  # twice the subtypes, half of which are merged, and rules whose weights vanish
    patience = 1  # a round takes longer than all before it
    model: Subtyped

    def __init__(self, model: Subtyped, treebank: LatentTreebank, counts: Floats, unsplit: Lexicon) -> None:
        """`counts` are those of the grammar's rules, `unsplit` is the lexicon of tags without subtypes."""
        self.model, self.treebank, self.rule_counts, self.unsplit = model, treebank, counts, unsplit
        self.keeps_best = model.options.seeks_rounds

    @property
    def steps(self) -> int:
        return self.model.options.planned_rounds

    def fingerprint(self) -> str:
        return self.treebank.fingerprint

    def begin(self, rng: np.random.Generator, training: Training) -> None:
        if self.keeps_best and training.score is None:
            raise LatreeError("--rounds auto needs trees kept apart to choose by; give --dev, or a number of rounds")
        self.treebank = self.treebank.opened(training.jobs)
        self._take(first_grammar(self.treebank, self.rule_counts, self.model.options, rng))

    def resume(self, standing: Standing, training: Training) -> None:
        size = standing.model["size"]
        history = History.from_arrays(standing.model, int(standing.header["rounds"]), size)
        self.treebank = self.treebank.opened(training.jobs)
        self._take(self._grammar(standing.arrays, size, history))

    def _grammar(self, arrays: Arrays, size: Longs, history: History) -> Refined:
        """A grammar whose weights `state` gave."""
        return Refined(Layout(self.treebank.grammar, size), arrays["theta"], arrays["emissions"], history)

    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        latest = Progress("", 0, 0, -np.inf)

        def keep_latest(progress: Progress) -> None:
            nonlocal latest
            latest = progress
            watch(progress)

        self._take(self._round(rng, keep_latest))
        return latest._replace(stage=f"{self.grammar.subtypes} subtypes")

    def _round(self, rng: np.random.Generator, watch: Watch) -> Refined:
        treebank, grammar, options = self.treebank, self.grammar, self.model.options
        if options.estimator == "variational":
            # Not before: scipy is slow to import, and parsing needs none.
            from latree.kinds.lvg.variational import variational_round

            return variational_round(treebank, grammar, options, rng, watch)
        grammar = split(grammar, options, rng)
        grammar = fit(treebank, grammar, options.split_iterations, "split", watch, options.tolerance)
        if options.subtypes is None:
            grammar = merge(treebank, grammar, options.merge_fraction)
            grammar = fit(treebank, grammar, options.merge_iterations, "merge", watch, options.tolerance)
        lexical = treebank.lexical(grammar.layout)
        smoother = Smoother(lexical, grammar.history, options.rule_smoothing, options.word_smoothing)
        return fit(treebank, grammar, options.smooth_iterations, "smooth", watch, smoother=smoother)

    def _take(self, grammar: Refined) -> None:
        """Go on with this grammar, and make it the model's."""
        self.grammar, model = grammar, self.model
        lexical = self.treebank.lexical(grammar.layout)
        step = Expectation(self.treebank.shards, lexical, grammar)
        step.run()
        model.size, model.history = grammar.layout.size, grammar.history
        model.theta = compact(model.smoothed_rules(grammar, step.counts.rules))
        model.frequency = subtype_counts(lexical, step.counts)
        model.lexicon = lexical.lexicon(step.counts.words, self.unsplit)
        model.prepare()

    def state(self) -> Arrays:
        return {"theta": self.grammar.theta, "emissions": self.grammar.emissions}

    def learned(self) -> Arrays:
        history = self.grammar.history
        sizes = {"size": self.grammar.layout.size, "rounds": np.array([history.rounds])}
        return self.state() | history.to_arrays() | sizes

    def adopt(self, learned: Arrays) -> None:
        history = History.from_arrays(learned, int(learned["rounds"][0]), learned["size"])
        self._take(self._grammar(learned, learned["size"], history))

    def finish(self, score: Score | None, best: float) -> None:
        """Try to prune less, where held-out data say how many rounds there are; keep to it where they gain by it."""
        model: Any = self.model  # a parser: taggers take a number of rounds
        if score is None or not self.keeps_best:
            return
        about = dict(model.training)
        model.prune_less(True)
        less = score(model)
        if less < best + WORTH:
            model.prune_less(False)
            model.training = about
        model.training["pruning"] = {"scores": [round(best, 4), round(less, 4)], "less": model.prunes_less}

    def close(self) -> None:
        self.treebank.shards.close()
