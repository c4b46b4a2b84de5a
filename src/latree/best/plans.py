"""What is worth trying, in which order: for parsers settings first, then members of a product; for taggers kinds, which
are multiplied too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from latree.best.trials import Outcome, Trial
from latree.kinds.fine_tags import FineTags
from latree.kinds.registry import kind_named
from latree.text.tree import Tree

Done = Mapping[str, Outcome]  # by the names of trials

LEAST_GAIN = 0.05  # points by which another member must make a product better: each makes it slower
MARGIN = 0.6  # points by which a setting must be better: less is what the best of several other seeds may give
SETTINGS: dict[str, dict[str, Any]] = {
    "one sister": {"binarization.horizontal": 1},
    "parents": {"binarization.vertical": 2},
    "from the left": {"binarization.direction": "left"},
    "fewer merged": {"merge_fraction": 0.3},
}
FINE = {"parts of tags": {"fine": "auto"}}
MOST_SEEDS = 8  # grammars that differ in nothing else
TIMES = {"gm-lveg": 1.4, "lvg-d": 12.0}  # of a grammar with ROUNDS: what a training should have to be of use
TAGGER_TIMES = {"gm-lveg": 3.0, "lvg-d": 4.0}  # the same, of the slowest grammar that tags
ROUNDS = 4
MOST_EPOCHS = 25
MOST_ENCODERS = 3
CONTEXT_SHARE = 0.35  # of all the time, that an encoder may have
GROWTH = 1.6  # of a round's time over that of the one before
FIRST_SHARE, SETTINGS_SHARE = 0.5, 0.3  # of all the time, by which the first trial and those of settings must be done


class Encoder(NamedTuple):
    """How large a neural encoder is that begins without knowing anything."""

    width: int
    passing: float  # what a pass over the treebank takes, as `TIMES` or `TAGGER_TIMES`
    epochs: int  # with fewer a narrower one is better, or none


@dataclass(frozen=True)
class Encoders:
    """The neural encoders that are worth trying."""

    sizes: tuple[Encoder, ...]
    forests: float  # what those take that an encoder is trained on, as a pass
    dropout: float

    def trials(self, seconds: float, grammar: float, pruner: str) -> list[Trial]:
        """Those for which there is time, given all of it and what a grammar takes; narrow ones where it is short.

        Their steps get shorter over all of their epochs, so that the number of these must be known before the first.
        """
        if not kind_named("neural").is_usable:  # the library for them is missing
            return []
        left = CONTEXT_SHARE * seconds / grammar - self.forests
        encoder = next((one for one in self.sizes if left >= one.epochs * one.passing), None)
        if encoder is None:
            return []
        epochs = min(int(left / encoder.passing), MOST_EPOCHS)
        changes = {"width": encoder.width, "epochs": epochs, "dropout": self.dropout}
        return [Trial(f"context {n}", "neural", changes | {"seed": n}, pruner=pruner) for n in range(MOST_ENCODERS)]

    def expected(self, trial: Trial, grammar: float, done: Done) -> float:
        """The seconds of one, by what another took."""
        taken = max((one.seconds for one in done.values() if one.trial.kind == "neural"), default=0.0)
        encoder = next(one for one in self.sizes if one.width == trial.changes["width"])
        return taken or (self.forests + trial.changes["epochs"] * encoder.passing) * grammar


PARSING = Encoders((Encoder(300, 2.5, 12), Encoder(150, 1.5, 6)), 2.0, 0.33)
TAGGING = Encoders((Encoder(200, 1.5, 12), Encoder(100, 1.1, 6)), 0.5, 0.5)


class Step(NamedTuple):
    """A trial, and the share of all the time by which it must be done."""

    trial: Trial
    share: float = 1.0


class Plan(ABC):
    """What to try next, given what came of the trials before."""

    first_gain = LEAST_GAIN  # points by which the first product must be better than the best model

    @abstractmethod
    def steps(self, done: Done, running: Sequence[str]) -> Iterator[Step]:
        """What could be begun now, the best first; trials that are done or running may be among them."""

    @abstractmethod
    def expected(self, trial: Trial, done: Done) -> float:
        """How many seconds a trial should have, by what others took: all that it takes, or enough to be of use."""

    @abstractmethod
    def members(self, done: Done) -> list[Outcome]:
        """The trials whose models may be used, the best first."""


class ParserPlan(Plan):
    """A grammar with subtypes, as long as rounds help; other settings of it; then, with the best of these, grammars of
    other seeds and kinds, which make other mistakes and can be multiplied."""

    first_gain = -0.2  # what the best model owes to being the best of many epochs and seeds on the same sentences
    first = Trial("first", "lvg", {"rounds": "auto"})

    def __init__(self, trees: Sequence[Tree], seconds: float) -> None:
        self.seconds = seconds
        has_parts = FineTags.of(trees, "auto") is not None
        self.settings = (FINE if has_parts else {}) | SETTINGS

    def steps(self, done: Done, running: Sequence[str]) -> Iterator[Step]:
        yield Step(self.first, FIRST_SHARE)
        if self.first.name not in done:
            return
        settings = [self._with_setting(name, done) for name in self.settings]
        others = self._others(done)
        if not any(trial.name in done or trial.name in running for trial in others):
            yield from (Step(trial, SETTINGS_SHARE) for trial in settings)
            if any(trial.name in running for trial in settings):
                return
        yield from map(Step, others)

    def _rounds(self, done: Done) -> int:
        return int(done[self.first.name].steps["kept"])

    def _with_setting(self, name: str, done: Done) -> Trial:
        return Trial(name, "lvg", self.settings[name] | {"rounds": self._rounds(done)})

    def chosen(self, done: Done) -> Outcome:
        """The setting that all members have."""
        tried = [done[name] for name in self.settings if name in done]
        best, first = max(tried, key=lambda one: one.score, default=None), done[self.first.name]
        return best if best is not None and best.score >= first.score + MARGIN else first

    def _shared(self, done: Done) -> dict[str, Any]:
        return dict(self.settings.get(self.chosen(done).trial.name, {}))

    def _seeds(self, done: Done) -> list[Trial]:
        """Grammars of other seeds, a round more than is best for one alone: a product evens out what is too fine."""
        changes = self._shared(done) | {"rounds": self._rounds(done) + 1}
        return [Trial(f"seed {seed}", "lvg", changes | {"seed": seed}) for seed in range(1, MOST_SEEDS)]

    def _others(self, done: Done) -> list[Trial]:
        """Vectors first, whose pruner has a say in what they choose, and words in context; then pairs of a grammar and
        vectors for it, and the same words in context by another encoder; last what takes longest and helps least."""
        seeds, shared = self._seeds(done), self._shared(done) | {"spans": True}
        shared.pop("merge_fraction", None)  # of the grammar with subtypes alone

        def on(kind: str, name: str, number: int, pruner: str) -> list[Trial]:
            ready = pruner in done
            return [Trial(f"{name} {number}", kind, shared | {"seed": number}, pruner=pruner)] if ready else []

        encoders = PARSING.trials(self.seconds, self._grammar_seconds(ROUNDS, done), self.chosen(done).trial.name)
        others = on("gm-lveg", "vectors", 0, self.chosen(done).trial.name) + encoders[:1]
        for number, seed in enumerate(seeds, start=1):
            others += [seed, *on("gm-lveg", "vectors", number, seed.name), *encoders[number : number + 1]]
        return others + on("lvg-d", "weights", 1, seeds[0].name)

    def expected(self, trial: Trial, done: Done) -> float:
        if self.first.name not in done:
            return 0.0
        if trial.kind == "neural":
            return PARSING.expected(trial, self._grammar_seconds(ROUNDS, done), done)
        if trial.kind in TIMES:  # these have something to show after every step
            return TIMES[trial.kind] * self._grammar_seconds(ROUNDS, done)
        return self._grammar_seconds(trial.changes["rounds"], done)

    def _grammar_seconds(self, rounds: int, done: Done) -> float:
        """What a grammar with so many rounds takes, by what the first one took for all of its rounds."""
        first = done[self.first.name]
        return first.seconds * (GROWTH**rounds - 1) / (GROWTH ** len(first.steps["scores"]) - 1)

    def members(self, done: Done) -> list[Outcome]:
        names = {self.chosen(done).trial.name, *(trial.name for trial in self._others(done))}
        return _ranked(one for name, one in done.items() if name in names)


class TaggerPlan(Plan):
    """Every kind of tagger; of neural ones, which take longest, as many as there is time for."""

    subtypes = (4, 16)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def steps(self, done: Done, running: Sequence[str]) -> Iterator[Step]:
        first = Trial("first", "hmm")
        yield Step(first)
        grammars = [Trial(f"{n} subtypes", "lvg", {"subtypes": n}) for n in self.subtypes]
        yield from map(Step, grammars)
        yield Step(Trial("vectors", "gm-lveg"))
        best = _ranked(done[trial.name] for trial in grammars if trial.name in done)
        if len(best) < len(grammars) or first.name not in done:
            return
        encoders = TAGGING.trials(self.seconds, self._grammar_seconds(done), first.name)
        yield from map(Step, encoders[:1])
        yield Step(Trial("weights", "lvg-d", {}, pruner=best[0].trial.name))
        yield from map(Step, encoders[1:])

    def expected(self, trial: Trial, done: Done) -> float:
        if trial.kind == "neural":
            return TAGGING.expected(trial, self._grammar_seconds(done), done)
        return TAGGER_TIMES.get(trial.kind, 1.0) * self._grammar_seconds(done)

    def _grammar_seconds(self, done: Done) -> float:
        """What the slowest grammar took."""
        return max([one.seconds for one in done.values() if one.trial.kind == "lvg"], default=0.0)

    def members(self, done: Done) -> list[Outcome]:
        """The best one, and where it can be multiplied those that can be too."""
        ranked = _ranked(done.values())
        able = [one for one in ranked if kind_named(one.trial.kind).multiplies]
        return able if ranked[:1] == able[:1] else ranked[:1]


def _ranked(outcomes: Any) -> list[Outcome]:
    return sorted(outcomes, key=lambda one: -one.score)
