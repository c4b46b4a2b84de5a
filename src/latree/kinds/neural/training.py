"""Training an encoder and a grammar together: Adam on log P(T | w).

A step reads a batch of sentences, puts what the network makes of them into the gold forests and into all of what the
pruner leaves, and sums both exactly.  The gradient by every weight is what is expected in the gold trees less what is
expected in all (Zhao, Zhang & Tu 2018, eqns 11 and 25); from there on it goes back through the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.files import Arrays, part_of
from latree.inference.gaussian.mixtures import Mixtures
from latree.inference.gaussian.seen import Seen, infer_seen
from latree.inference.gaussian.slots import slot_forest
from latree.inference.potentials import NO_POTENTIALS
from latree.kinds.examples import Example, by_length, forests_with_gold, lattices_with_gold
from latree.kinds.gradient_trainee import LOG_P, GradientTrainee
from latree.kinds.neural import NeuralOptions
from latree.kinds.neural.anchored import SpanEdges, SpanPlaces, WordRules, span_places, with_prior
from latree.kinds.neural.devices import device_named
from latree.kinds.neural.encoders import kept_arrays, load_arrays, state_arrays
from latree.kinds.neural.network import Context, Network, as_array
from latree.kinds.neural.occurrences import Occurrences
from latree.learning.loop import Progress, Score, Watch

if TYPE_CHECKING:
    from latree.kinds.neural.model import NeuralParser, NeuralTagger
    from latree.parallel import Jobs


AVERAGED_PASSES = 2  # over the treebank, at most, whose weights are averaged


class Side(NamedTuple):
    """The gold analyses of a batch, or all that are left of it."""

    seen: Seen
    spans: SpanEdges | None  # None: spans have no weights


class Batch(NamedTuple):
    """Some sentences of like length, with all that of their forests does not change."""

    sentences: list[tuple[str, ...]]
    gold: Side
    all: Side
    words: WordRules
    prior: Floats  # [words, tags] logs of what words weigh before the network has a say
    spans: Longs  # numbers of the spans that are weighed
    places: SpanPlaces | None


def parser_batch(model: NeuralParser, examples: Sequence[Example]) -> Batch:
    """Make the forests that these sentences are trained on."""
    forests, lengths = forests_with_gold(model, examples, model.options.looseness), [len(one.words) for one in examples]
    entries = [forest.rule[forest.rule >= forest.rules] - forest.rules for forest in forests]
    words = model.word_rules(np.concatenate(entries).astype(np.int64), sum(lengths))
    size = max(lengths) + 1
    edges = [SpanEdges.of(forest, size) if model.options.spans else None for forest in forests]
    spans = np.unique(np.concatenate([np.zeros(0, np.int64), *(one.key for one in edges if one is not None)]))
    seen = (slot_forest(forest, words.numbers, words.components.size) for forest in forests)
    gold, everything = (Side(one, of_spans) for one, of_spans in zip(seen, edges, strict=True))
    places = span_places(spans, size, lengths) if model.options.spans else None
    sentences = [one.words for one in examples]
    return Batch(sentences, gold, everything, words, model.prior_in_training(sentences), spans, places)


def tagger_batch(model: NeuralTagger, examples: Sequence[Example]) -> Batch:
    """Make the lattices that these sentences are trained on."""
    words, tags = sum(len(one.words) for one in examples), len(model.grammar.tags)
    lattices = lattices_with_gold(model, examples, np.ones((words, tags), np.bool_), model.options.looseness)
    rules = model.word_rules(model.entries(lattices[1]), words)
    gold, everything = (Side(model.on_lattice(one, rules), None) for one in lattices)
    sentences = [one.words for one in examples]
    return Batch(sentences, gold, everything, rules, model.prior_in_training(sentences), np.zeros(0, np.int64), None)


class Gradient(NamedTuple):
    """What a batch says of all weights."""

    log_likelihood: float
    rules: Mixtures
    words: Floats  # [words, tags, 1 + dim + 1]
    spans: Floats  # [spans, symbols]

    @property
    def is_finite(self) -> bool:
        parts = (self.log_likelihood, *self.rules, self.words, self.spans)
        return all(bool(np.isfinite(part).all()) for part in parts)


def gradient(batch: Batch, network: Network, words: Floats, spans: Floats) -> Gradient:
    """The sum of log P(T | w), and its gradient by the weights of rules, words and spans."""
    weights = batch.words.join(network.mixtures(), with_prior(words, batch.prior))
    sides = [_inference(side, batch, weights, spans) for side in (batch.gold, batch.all)]
    (gold, gold_spans), (everything, all_spans) = sides
    slope = Mixtures(*(a - b for a, b in zip(gold.gradient, everything.gradient, strict=True)))
    of_rules, of_words = batch.words.part(slope)
    log_likelihood = float((gold.log_z - everything.log_z).sum())
    return Gradient(log_likelihood, of_rules, of_words.reshape(words.shape), gold_spans - all_spans)


def _inference(side: Side, batch: Batch, weights: Mixtures, spans: Floats) -> tuple[Any, Floats]:
    """Sums over the gold analyses, or over all, and how often spans are expected in them."""
    potentials = NO_POTENTIALS if side.spans is None else side.spans.potentials(batch.spans, spans)
    found = infer_seen(side.seen, batch.words.components, weights, potentials=potentials)
    if side.spans is None:
        return found, np.zeros_like(spans)
    return found, side.spans.slope(batch.spans, found.posterior, spans.shape[1])


def backward(batch: Batch, network: Network) -> float:
    """Add to the gradients of all weights those of minus the mean log P(T | w) of a batch; return the sum of it."""
    context = network.read(batch.sentences)
    weights = _weights_of_spans(batch, network, context)
    found = gradient(batch, network, as_array(context.words), as_array(weights))
    if not found.is_finite:
        raise LatreeError("the likelihood or its gradient is no number any more; the last checkpoint is good")
    share = -1.0 / len(batch.sentences)
    for parameter, slope in zip(network.rules, found.rules, strict=True):
        parameter.grad = torch.as_tensor(share * slope).to(parameter)
    outputs = [context.words, weights] if batch.places is not None else [context.words]
    slopes = [torch.as_tensor(share * slope).to(one) for one, slope in zip(outputs, found[2:], strict=False)]
    torch.autograd.backward(outputs, slopes)
    return found.log_likelihood


def _weights_of_spans(batch: Batch, network: Network, context: Context) -> torch.Tensor:
    if batch.places is None:
        return torch.zeros(0, 0)
    return network.weigh(context, batch.places)


class Epochs(GradientTrainee):
    """Passes over the treebank."""

    unit = "epoch"
    model: Any
    threads: int | None = None  # that torch had before
    averages: Averages

    @property
    def steps(self) -> int:
        return int(self.model.options.epochs)

    def start(self, examples: Sequence[Example], rng: np.random.Generator) -> None:
        model = self.model
        model.prepare()
        self.examples = self.usable(examples)
        torch.manual_seed(int(rng.integers(1 << 62)))
        model.network = model.make_network(self.examples, rng)
        self._get_ready()

    def go_on(self, examples: Sequence[Example], state: Arrays) -> None:
        self.examples = self.usable(examples)
        load_arrays(self.model.network, part_of("averaged.", state))
        self._get_ready()
        self._restore_moments(part_of("adam.", state))
        (self.averages.steps,) = state["steps"].tolist()
        for name, array in part_of("now.", state).items():
            self.averages.kept[name].copy_(torch.as_tensor(array))

    def _get_ready(self) -> None:
        """Make what a training needs that has been begun or is taken up."""
        options, network = self.model.options, self.model.network
        network.to(device_named(options.device))
        self.batches = [self.model.batch(group) for group in by_length(self.examples, options.batch)]
        self.optimizer = torch.optim.AdamW(parameter_groups(network, options), weight_decay=0.0)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.averages = Averages(network, max(1, min(options.averaging, AVERAGED_PASSES * len(self.batches))))

    def open(self, jobs: Jobs) -> None:
        self.threads = torch.get_num_threads()
        torch.set_num_threads(jobs if isinstance(jobs, int) else 1)

    def close(self) -> None:
        if self.threads is not None:
            torch.set_num_threads(self.threads)

    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        total, sentences, batches = 0.0, 0, self.batches
        torch.manual_seed(int(rng.integers(1 << 62)))  # so that a training that is taken up draws the same
        if self.averages.steps:
            self.averages.swap()
        self.model.network.train()
        for done, k in enumerate(rng.permutation(len(batches)).tolist(), start=1):
            total += self._move(batches[k], (number - 1 + (done - 0.5) / len(batches)) / self.steps)
            sentences += len(batches[k].sentences)
            watch(Progress("batch", done, len(batches), total / sentences, LOG_P))
        self.averages.swap()
        self.model.network.eval()
        self.model.prepare()
        return Progress(f"{len(self.examples)} sentences", len(batches), len(batches), total / sentences, LOG_P)

    def _move(self, batch: Batch, passed: float) -> float:
        """Take one step, when this share of all is passed; return the sum of log P(T | w) before it."""
        network, options = self.model.network, self.model.options
        self.optimizer.zero_grad()
        log_likelihood = backward(batch, network)
        torch.nn.utils.clip_grad_norm_(network.parameters(), options.clip)
        share = min(passed / options.warm_up, (1.0 - passed) / (1.0 - options.warm_up))
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * max(share, 0.0)
        self.optimizer.step()
        self.averages.add()
        return log_likelihood

    def state(self) -> Arrays:
        """The averaged weights, those that are trained, and Adam's moments."""
        arrays = {f"averaged.{name}": array for name, array in state_arrays(self.model.network).items()}
        arrays |= {f"now.{name}": kept.cpu().numpy() for name, kept in self.averages.kept.items()}
        arrays |= {
            f"adam.{number}.{name}": value.cpu().numpy()
            for number, parts in self.optimizer.state_dict()["state"].items()
            for name, value in parts.items()
        }
        return arrays | {"steps": np.array([self.averages.steps])}

    def _restore_moments(self, arrays: Arrays) -> None:
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, array in arrays.items():
            number, _, name = key.partition(".")
            state.setdefault(int(number), {})[name] = torch.as_tensor(array)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state})

    def learned(self) -> Arrays:
        return state_arrays(self.model.network)

    def adopt(self, learned: Arrays) -> None:
        load_arrays(self.model.network, learned)
        self.model.prepare()

    def finish(self, score: Score | None, best: float) -> None:
        """Round weights as a file keeps them, so that a model is the same before and after."""
        self.adopt(kept_arrays(self.model.network))
        self.choose_joint(score, best)
        self.model.network.to("cpu").eval()
        self.model.occurrences = Occurrences.of(self.model.network, self.examples)


class Averages:
    """The weights of a network, averaged over steps of training, of which later ones have a larger share.

    What jumps from step to step comes to rest in them.  They are what the model is used with, and trained no further:
    `swap` exchanges them for the network's own, and these for them again.
    """

    def __init__(self, network: Network, window: int) -> None:
        """A step has a share of 1 / window; as long as there are fewer steps, all have the same."""
        self.own = dict(network.named_parameters())
        self.window, self.steps = window, 0
        self.kept = {name: one.detach().clone() for name, one in self.own.items()}

    @torch.no_grad()
    def add(self) -> None:
        """Take in the network's weights after a step."""
        self.steps += 1
        share = 1.0 / min(self.steps, self.window)
        for name, one in self.own.items():
            self.kept[name].lerp_(one, share)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the network's weights and those that are kept, in place."""
        for name, one in self.own.items():
            before = one.clone()
            one.copy_(self.kept[name])
            self.kept[name].copy_(before)


def parameter_groups(network: Network, options: NeuralOptions) -> list[dict[str, Any]]:
    """The weights by the lengths of their steps: of the rules, of a transformer's layers, and of the rest."""
    body = getattr(network.encoder, "body", None)
    layers = _layers_of(body) if body is not None else []
    apart = {id(one) for one in [*chain.from_iterable(layers), *network.rules]}
    rest = [one for one in network.parameters() if id(one) not in apart]
    rates = [options.encoder_rate * options.depth_rate**depth for depth in range(len(layers))]
    groups = [(list(network.rules), options.grammar_rate), (rest, options.rate), *zip(layers, rates, strict=True)]
    return [{"params": params, "lr": rate} for params, rate in groups if params]


def _layers_of(body: torch.nn.Module) -> list[list[torch.nn.Parameter]]:
    """The weights of a transformer by its layers, which their names number, from the uppermost down to the pieces'."""
    layers: dict[int, list[torch.nn.Parameter]] = {}
    for name, parameter in body.named_parameters():
        number = next((int(part) for part in name.split(".") if part.isdecimal()), -1)
        layers.setdefault(number, []).append(parameter)
    return [layers[number] for number in sorted(layers, reverse=True)]
