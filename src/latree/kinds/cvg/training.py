"""Max-margin training of the network (Socher et al. 2013, section 3.2).

Of each sentence there is a list of trees, made once.  The best of them, the one nearest to the treebank's tree (which
may not be listed), is to score higher than any other by a margin for each phrase that the other has wrong.  Where it
does not, the scores of the two are moved apart (a subgradient of the structured hinge loss), by AdaGrad.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Longs
from latree.errors import LatreeError
from latree.files import Arrays, part_of
from latree.inference.forest import Forest, P, assemble
from latree.inference.grammar import Grammar, tagged_words
from latree.kinds.cvg import CvgOptions
from latree.kinds.cvg.lists import TreeList, pack_lists, unpack_lists
from latree.kinds.cvg.network import Circuit, Network, activity, first_network, slopes, totals
from latree.kinds.cvg.vectors import GivenVectors, first_words
from latree.kinds.examples import Example
from latree.kinds.gradient_trainee import GradientTrainee
from latree.learning.adagrad import AdaGrad
from latree.learning.checkpoint import Standing
from latree.learning.loop import Progress, Score, Training, Watch
from latree.lexicon.lexical_rules import LexicalRules

if TYPE_CHECKING:
    from latree.kinds.cvg.model import Cvg

LOSS = "hinge loss a sentence"


class Batch(NamedTuple):
    """Some sentences' lists, and how good each tree is."""

    lines: Circuit
    base: Floats  # [trees] what the grammar that listed them says
    wrong: Floats  # [trees] phrases that the treebank's tree does not have
    best: NDArray[np.bool_]  # [trees] those of a sentence's list that are nearest to the treebank's tree

    @property
    def sentences(self) -> int:
        return len(self.lines.first) - 1


def mark_trees(grammar: Grammar, forest: Forest, lines: Circuit, gold: Forest) -> tuple[Floats, NDArray[np.bool_]]:
    """Count the wrong phrases of every tree, and tell the trees of the highest F1 in each list."""
    size = int(forest.span.max(initial=0)) + 1
    right, here = _phrases(grammar, gold, size), _phrases(grammar, forest, size)[forest.ends[:, P]]
    is_phrase, of_gold = here >= 0, np.isin(here, right[right >= 0])
    phrases, matched = (totals(lines, one.astype(np.float64)) for one in (is_phrase, of_gold & is_phrase))
    wanted = np.bincount(gold.sentence[right >= 0], minlength=len(forest.root))
    count = np.diff(lines.first)
    f1 = 2 * matched / (phrases + np.repeat(wanted, count))
    highest = np.maximum.reduceat(f1, lines.first[:-1])
    return phrases - matched, f1 >= np.repeat(highest, count) - 1e-9


def _phrases(grammar: Grammar, forest: Forest, size: int) -> Longs:
    """[items] a number for every phrase that tells its sentence, span and label; NONE of other items."""
    labels = {label: k for k, label in enumerate(sorted({symbol.label for symbol in grammar.symbols}))}
    label = np.array([labels[one.label] if one.kind == "phrase" else NONE for one in grammar.symbols])[forest.symbol]
    place = (forest.sentence.astype(np.int64) * size + forest.span[:, 0]) * size + forest.span[:, 1]
    return np.where(label >= 0, place * len(labels) + label, NONE)


def hinge(batch: Batch, scores: Floats, margin: float) -> tuple[float, Floats]:
    """Sum the structured hinge loss over sentences, and tell its slope by the score of each tree.

    Of several trees that are as near to the treebank's, the one that scores highest is to win.
    """
    loss, slope = 0.0, np.zeros(len(scores))
    for first, end in zip(batch.lines.first[:-1].tolist(), batch.lines.first[1:].tolist(), strict=True):
        score, wrong = scores[first:end], batch.wrong[first:end]
        winner = int(np.argmax(np.where(batch.best[first:end], score, -np.inf)))
        raised = score + margin * (wrong - wrong[winner])
        rival = int(np.argmax(raised))
        if raised[rival] > score[winner]:
            loss += float(raised[rival] - score[winner])
            slope[first + rival] += 1.0
            slope[first + winner] -= 1.0
    return loss, slope


class Learner:
    """A network on its way."""

    def __init__(self, network: Network, start: Network, options: CvgOptions) -> None:
        """`start` is where it began, to which it is drawn back."""
        self.network, self.start, self.options = network, start, options
        self.adagrad = AdaGrad(options.rate)
        self.mean = start  # of the networks after each epoch, the recent ones weighing more

    def average(self) -> Network:
        """Take the network as it is into the running mean."""
        share = self.options.memory
        self.mean = Network(*(share * a + (1 - share) * b for a, b in zip(self.mean, self.network, strict=True)))
        return self.mean

    def epoch(self, batches: Sequence[Batch], rng: np.random.Generator, watch: Watch) -> float:
        """Go through all batches; return the mean loss of a sentence, as its batch found it."""
        total, sentences = 0.0, 0
        for done, k in enumerate(rng.permutation(len(batches)), start=1):
            total += self.step(batches[k])
            sentences += batches[k].sentences
            watch(Progress("batch", done, len(batches), total / sentences, LOSS))
        return total / sentences

    def step(self, batch: Batch) -> float:
        """Take one step down the gradient of a batch; return the sum of the loss before it."""
        loss, gradient = self.gradient(batch)
        if not np.isfinite(loss):
            raise LatreeError("the loss is no number any more; train with a smaller --rate")
        for name, slope in gradient._asdict().items():
            now, start = getattr(self.network, name), getattr(self.start, name)
            rows = np.flatnonzero(slope.reshape(len(slope), -1).any(axis=1))
            drawn = slope[rows] / batch.sentences + self.options.strength * (now[rows] - start[rows])
            self.adagrad.step(name, now, drawn, rows)
        return loss

    def gradient(self, batch: Batch) -> tuple[float, Network]:
        """Sum the loss over a batch, and tell its gradient."""
        active = activity(self.network, batch.lines)
        loss, slope = hinge(batch, batch.base + totals(batch.lines, active.score), self.options.margin)
        gradient = self.network.zeros()
        slopes(self.network, batch.lines, active, slope, gradient)
        return loss, gradient


class Epochs(GradientTrainee):
    """Passes over the lists."""

    unit = "epoch"
    model: Cvg

    @property
    def steps(self) -> int:
        return self.model.options.epochs

    def begin(self, rng: np.random.Generator, training: Training) -> None:
        """Train the pruner where need be, and let grammars that have not seen them list the trees of the treebank."""
        model = self.model
        words = {word for node in self.data for word, _ in tagged_words(node)}
        self.given = GivenVectors.read(model.options.vectors, words)  # a fault there is not to be told after training
        model.fit_pruner(self.data, training.inside("pruner"))
        model.adopt(model.pruner)
        examples = model.examples(self.data)
        self.lists = list(self._list_treebank(training))
        self.start(examples, rng)

    def _list_treebank(self, training: Training) -> Iterator[TreeList]:
        """List the trees of every part of the treebank by a grammar trained on the others."""
        model, folds = self.model, min(self.model.options.folds, len(self.data))
        bounds = np.linspace(0, len(self.data), folds + 1).astype(int).tolist()
        for number, (first, end) in enumerate(pairwise(bounds), start=1):
            grammar, part = model.pruner, f"part {number} of {folds}"
            if folds > 1:
                grammar = type(model.pruner)(model.pruner.options)
                others = replace(training.inside(f"without {part}"), checkpoint=None, resume=False)
                grammar.learn(self.data[:first] + self.data[end:], others)
            training.announce(f"listing trees, {part}")
            for node in self.data[first:end]:
                words = [word for word, _ in tagged_words(node)]
                yield model.list_by(grammar, words).renumbered(grammar.grammar, model.grammar)

    def start(self, examples: Sequence[Example], rng: np.random.Generator) -> None:
        model, options = self.model, self.model.options
        tagged = [list(zip(one.words, one.tags, strict=True)) for one in examples]
        scheme = model.pruner.lexicon.scheme
        model.lexical = LexicalRules.of(tagged, scheme, len(model.grammar.tags), options.rare)
        words = first_words(model.lexical.named_units(), self.given, options, rng)
        model.network = first_network(model.grammar, words, options.noise, rng)
        self._take_up(examples, Network(*(part.copy() for part in model.network)), model.network)

    def resume(self, standing: Standing, training: Training) -> None:
        self.model.restore(standing.header, standing.model)
        self.go_on(self.model.examples(self.data), standing.arrays)

    def go_on(self, examples: Sequence[Example], state: Arrays) -> None:
        self.lists = unpack_lists(part_of("lists.", state))
        now, start, mean = (Network(**part_of(name, state)) for name in ("now.", "start.", "mean."))
        self._take_up(examples, Network(*(part.copy() for part in now)), start)
        self.learner.adagrad.restore(part_of("adagrad.", state))
        self.model.network = self.learner.mean = mean

    def _take_up(self, examples: Sequence[Example], network: Network, start: Network) -> None:
        self.learner = Learner(network, start, self.model.options)
        useful = [
            (one, listed)
            for one, listed in zip(examples, self.lists, strict=True)
            if len(listed.base) > 1 and len(one.words) <= self.model.options.max_length
        ]
        useful.sort(key=lambda pair: len(pair[0].words))
        if not useful:
            raise LatreeError("no sentence has two trees to choose from: there is nothing to learn")
        size = self.model.options.batch
        self.batches = [self._batch(*zip(*useful[k : k + size], strict=True)) for k in range(0, len(useful), size)]

    def _batch(self, examples: Sequence[Example], lists: Sequence[TreeList]) -> Batch:
        model = self.model
        grammar = model.grammar
        pieces = [listed.piece(one.gold.entries) for one, listed in zip(examples, lists, strict=True)]
        forest = assemble(pieces, len(grammar.rules))
        gold = assemble([one.gold for one in examples], len(grammar.rules))
        unit = np.concatenate([model.lexical.units_of(one.words) for one in examples])
        lines = model.circuit(forest, unit)
        base = np.concatenate([listed.base for listed in lists])
        return Batch(lines, base, *mark_trees(grammar, forest, lines, gold))

    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        loss = self.learner.epoch(self.batches, rng, watch)
        self.model.network = self.learner.average()
        sentences = sum(batch.sentences for batch in self.batches)
        return Progress(f"{sentences} sentences", len(self.batches), len(self.batches), loss, LOSS)

    def state(self) -> Arrays:
        parts: dict[str, Arrays] = {
            "now": self.learner.network._asdict(),
            "start": self.learner.start._asdict(),
            "mean": self.learner.mean._asdict(),
            "adagrad": self.learner.adagrad.to_arrays(),
            "lists": pack_lists(self.lists),
        }
        return {f"{name}.{key}": array for name, part in parts.items() for key, array in part.items()}

    def learned(self) -> Arrays:
        """The running mean, which is made anew after every epoch."""
        return self.model.network._asdict()

    def adopt(self, learned: Arrays) -> None:
        self.model.network = Network(**learned)

    def finish(self, score: Score | None, best: float) -> None:
        """Round weights as a file keeps them, so that a model is the same before and after."""
        self.model.network = Network(*(part.astype(np.float32).astype(np.float64) for part in self.model.network))
