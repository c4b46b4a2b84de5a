"""Parsers and taggers whose words and phrases are weighed by an encoder, in the context of the whole sentence.

Another model, the pruner, says which constituents a sentence may have, as for a gm-lveg; the forests it leaves are
wider here.  On these, inference is exact: log P(T | w), k-best lists and posteriors are those of the grammar with the
weights that the encoder gives to this sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Ints, Longs, starts
from latree.files import Arrays, Header, ModelFile, part_of
from latree.inference.forest import Forest
from latree.inference.gaussian.mixtures import Mixtures, no_statistics
from latree.inference.gaussian.seen import SeenLattice
from latree.inference.gaussian.sequences import (
    GaussianChain,
    Joints,
    gaussian_chain,
    log_z_of_mixtures,
    no_moments,
    sum_mixtures,
)
from latree.inference.gaussian.slots import SlotForest, slot_forest
from latree.inference.gaussian.sweeps import GaussianInference, gaussian_infer, gaussian_log_z
from latree.inference.potentials import Potentials
from latree.inference.sequences import Lattice, Sums
from latree.kinds.continuous import ContinuousModel
from latree.kinds.examples import Example
from latree.kinds.gm_lveg.start import from_treebank
from latree.kinds.hmm.model import Hmm
from latree.kinds.lvg.model import Lvg
from latree.kinds.neural import NeuralOptions
from latree.kinds.neural.anchored import SpanEdges, WordRules, span_places, with_prior
from latree.kinds.neural.devices import device_named
from latree.kinds.neural.encoders import (
    Encoder,
    find_encoder,
    kept_arrays,
    load_arrays,
    make_encoder,
    restore_encoder,
)
from latree.kinds.neural.network import Context, Network, as_array
from latree.kinds.neural.occurrences import Occurrences
from latree.kinds.neural.training import Batch, Epochs, parser_batch, tagger_batch
from latree.kinds.pruned import PrunedParser, PrunedReading, PrunedTagger
from latree.kinds.span_features import places
from latree.learning.loop import Training, train
from latree.lexicon.words import likelihood

LEAST_SHARE = 1e-4  # of what a word weighs under its likeliest tag: a lexicon rules no tag out
ONCE = 1.5  # tokens, that sums of subtypes are rounded to


@dataclass(frozen=True, eq=False)
class ContextReading(PrunedReading):
    """The words themselves: an encoder reads whole sentences, and several at once."""

    word: NDArray[Any]  # [words] strings
    place: Longs  # [words] each word's own in its sentence

    def sentences(self) -> list[list[str]]:
        return [part.tolist() for part in np.split(self.word, np.flatnonzero(self.place == 0)[1:])]


class ContextModel(ContinuousModel):
    """Mixed into a parser or a tagger."""

    own_name = "potentials"
    has_lexical_rules = False
    options: NeuralOptions
    network: Network
    occurrences: Occurrences  # of words of the treebank, for people to look at
    _last: tuple[ContextReading, Context] | None = None  # what was read last
    continues = None  # the rate falls over all epochs: with more of them it is another training

    def __init__(self, options: NeuralOptions | None = None, **more: Any) -> None:
        super().__init__(options, **more)
        self.joint = not (self.options.alone or self.joint_by_score)

    @property
    def device(self) -> str:
        """Where the network reads sentences."""
        return str(self.network.word.weight.device)

    @device.setter
    def device(self, name: str) -> None:
        self.network.to(device_named(name))
        self._last = None

    def learn(self, data: list[Any], training: Training) -> None:
        """Adam on log P(T | w)."""
        find_encoder(self.options)
        device_named(self.options.device)
        train(Epochs(self, data), training, self.options.seed)

    def make_network(self, examples: Sequence[Example], rng: np.random.Generator) -> Network:
        """A network that has learned nothing yet; its rules are the treebank's."""
        encoder = make_encoder(self.options, [one.words for one in examples])
        return self._network_of(encoder, self._treebank_rules(rng))

    def _network_of(self, encoder: Encoder, rules: Mixtures) -> Network:
        return Network(self.options, encoder, len(self.grammar.tags), len(self.grammar.symbols), rules)

    def _treebank_rules(self, rng: np.random.Generator) -> Mixtures:
        """The treebank's probabilities; what Gaussians make of them where they meet is for words to make up for."""
        options, components = self.options, self.word_rules(np.zeros(0, np.int64), 0).components
        meetings = np.zeros(len(self.grammar.rules), np.int64)
        probability = np.maximum(self.bottom.coarse_theta(), 1e-12)
        return from_treebank(components, probability, meetings, options.dim, 1, None, options.spread, rng)

    def word_rules(self, entry: Longs | Ints, words: int) -> WordRules:
        """The lexical rules of these entries of so many words."""
        return WordRules.of(entry, words * len(self.grammar.tags), self.grammar, self.options.components)

    # -- search

    def read(self, tokens: Sequence[str]) -> ContextReading:
        return self.read_all([tokens])

    def read_all(self, sentences: Sequence[Sequence[str]]) -> ContextReading:
        words = np.array([word for tokens in sentences for word in tokens], dtype=object)
        return ContextReading(self.pruner.read_all(sentences), words, places(sentences))

    def context(self, reading: ContextReading) -> Context:
        """What the network makes of sentences; it is asked several times of the same."""
        last = self._last  # another thread may set it meanwhile
        if last is None or last[0] is not reading:
            self._last = last = reading, self.network.context(reading.sentences())
        return last[1]

    def weighed(self, rules: WordRules, reading: ContextReading) -> Mixtures:
        """The weights of all rules, and of these words."""
        words = as_array(self.context(reading).words)
        return rules.join(self.network.mixtures(), with_prior(words, self.prior(reading.bottom.tags)))

    def prior(self, emissions: Floats) -> Floats:
        """[words, tags] logs of what words weigh before the network has a say, given P(word | tag)."""
        if not self.options.informed:
            return np.zeros_like(emissions)
        largest: Floats = np.maximum(emissions.max(1, keepdims=True), np.finfo(np.float64).tiny)
        logs: Floats = np.log(np.maximum(emissions / largest, LEAST_SHARE))
        return logs

    def prior_in_training(self, sentences: Sequence[Sequence[str]]) -> Floats:
        """The same of sentences to learn from: a word that occurs once is as unknown as it would be without them."""
        lexicon, emissions = self.lexicon, self.bottom.read_all(sentences).tags.copy()
        subtypes = starts(self.bottom.widths()[self.grammar.first_tag :])[:-1]
        tag_count = np.add.reduceat(lexicon.tag_count, subtypes)
        words = [word for one in sentences for word in one]
        for k, (word, place) in enumerate(zip(words, places(sentences), strict=True)):
            number = lexicon.number(word)
            if number is not None and lexicon.word_count[number] < ONCE:
                tags = np.add.reduceat(lexicon.by_looks(word, bool(place == 0)), subtypes)
                emissions[k] = likelihood(tags, 1.0, tag_count)
        return self.prior(emissions)

    def _placed(self, forest: Forest, reading: ContextReading) -> tuple[SlotForest, WordRules, Mixtures, Potentials]:
        """A forest with all weights where they belong."""
        rules = self.word_rules(forest.rule[forest.rule >= forest.rules] - forest.rules, len(reading.word))
        seen = slot_forest(forest, rules.numbers, rules.components.size)
        return seen, rules, self.weighed(rules, reading), self.potentials(forest, reading)

    def infer(self, forest: Forest, reading: ContextReading) -> GaussianInference:
        seen, rules, weights, potentials = self._placed(forest, reading)
        return gaussian_infer(seen, rules.components, weights, no_statistics(weights), potentials=potentials)

    def log_inside(self, forest: Forest, reading: ContextReading) -> Floats:
        seen, rules, weights, potentials = self._placed(forest, reading)
        return gaussian_log_z(seen, rules.components, weights, potentials=potentials)

    # -- size

    def complexity(self) -> Longs:
        """[symbols] all numbers of the rules: a weight, and at each port a mean and a deviation; not the encoder's."""
        rules = self.grammar.rules
        numbers = self.options.components * (1 + (rules > 0).sum(1) * (self.options.dim + 1))
        return np.bincount(rules[:, 0], numbers, len(self.grammar.symbols)).astype(np.int64)

    # -- files

    def state(self) -> ModelFile:
        """The pruner, and the network, its encoder in half precision."""
        header, arrays = super().state()
        about, parts = self.network.encoder.parts()
        named = {f"encoder.{name}": part for name, part in parts.items()}
        named |= {f"network.{name}": array for name, array in kept_arrays(self.network).items()}
        if hasattr(self, "occurrences"):  # they are looked up when training is done
            named |= {f"occurrences.{name}": array for name, array in self.occurrences.to_arrays().items()}
        return ModelFile(header | {"encoder": about}, arrays | named)

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        try:
            encoder = restore_encoder(self.options, header["encoder"], part_of("encoder.", arrays))
            self.network = self._network_of(encoder, self._treebank_rules(np.random.default_rng(0)))
        except RuntimeError as error:  # so torch tells of sizes that there is no memory for
            raise ValueError(str(error).splitlines()[0]) from error
        weights = part_of("network.", arrays)
        if bad := [name for name, array in weights.items() if not np.isfinite(array).all()]:
            raise ValueError(f"{bad[0]} has what is no number")
        load_arrays(self.network, weights)
        self.network.eval()
        if kept := part_of("occurrences.", arrays):
            self.occurrences = Occurrences.from_arrays(kept, len(self.grammar.tags), self.options.dim)

    def prepare(self) -> None:
        super().prepare()
        self._last = None


class NeuralParser(ContextModel, PrunedParser):
    """`NeuralParser().fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is already."""

    kind = "neural"
    run_options = (*PrunedParser.run_options, "device")

    def make_pruner(self) -> Lvg:
        return Lvg(**self.options.shared("rounds"))

    @property
    def parsing_looseness(self) -> float:
        return self.options.looseness

    def batch(self, examples: Sequence[Example]) -> Batch:
        return parser_batch(self, examples)

    def potentials(self, forest: Forest, reading: ContextReading) -> Potentials:
        """What phrases weigh."""
        if not self.options.spans:
            return Potentials()
        lengths = [len(words) for words in reading.sentences()]
        edges = SpanEdges.of(forest, size := max(lengths) + 1)
        spans = np.unique(edges.key)
        return edges.potentials(spans, self.network.weights(self.context(reading), span_places(spans, size, lengths)))


class NeuralTagger(ContextModel, PrunedTagger):
    """`NeuralTagger().fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "neural-tagger"
    joint_by_score = True  # beside what a transformer knows, the pruner may hurt
    run_options = (*PrunedTagger.run_options, "device")
    heeds_letters = False

    def make_pruner(self) -> Hmm:
        options = self.options
        return Hmm(seed=options.seed, unknown=options.unknown, lexicon=options.lexicon, column=options.column)

    def adopt(self, pruner: Any) -> None:
        super().adopt(pruner)
        self.threshold = pruner.threshold * self.options.looseness

    def batch(self, examples: Sequence[Example]) -> Batch:
        return tagger_batch(self, examples)

    def entries(self, lattice: Lattice) -> Longs:
        """[nodes] the lexical entry of each."""
        return lattice.word_of_node * len(self.grammar.tags) + lattice.tag

    def on_lattice(self, lattice: Lattice, rules: WordRules) -> SeenLattice:
        """A lattice with the lexical rules of its nodes."""
        return SeenLattice.of(lattice, self.rules, rules.numbers[self.entries(lattice)], rules.components)

    def sum_sequences(self, lattice: Lattice, reading: ContextReading) -> Sums:
        chain, joints, factors = self._meet(lattice, reading)
        return sum_mixtures(chain, lattice, joints, factors, no_moments(chain))

    def log_weights(self, lattice: Lattice, reading: ContextReading) -> Floats:
        chain, joints, factors = self._meet(lattice, reading)
        return log_z_of_mixtures(chain, lattice, joints, factors)

    def _meet(self, lattice: Lattice, reading: ContextReading) -> tuple[GaussianChain, Joints, Floats]:
        """The tables of all weights, what meets in a lattice, and factors of its nodes: none."""
        rules = self.word_rules(self.entries(lattice), len(reading.word))
        chain = gaussian_chain(self.rules, rules.components, self.weighed(rules, reading))
        return chain, self.on_lattice(lattice, rules).joints, np.zeros(len(lattice.tag))
