"""Gaussian-mixture latent vector grammars and taggers: every category has a space of subtypes (Zhao, Zhang & Tu 2018).

Another model, the pruner, says which constituents a sentence may have; on the forest that it leaves, everything is
exact, unless the options limit the components of messages.  The pruner is a grammar with subtypes, or with none: the
paper's two techniques are of this kind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.checks import integers, numbers
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile, part_of
from latree.inference.forest import Forest, restrict
from latree.inference.gaussian.drawing import MixtureDrawer
from latree.inference.gaussian.mixtures import Components, Mixtures, no_statistics
from latree.inference.gaussian.seen import SeenLattice, infer_seen, log_z_seen, see
from latree.inference.gaussian.sequences import (
    GaussianChain,
    Joints,
    find_joints,
    gaussian_chain,
    log_z_of_mixtures,
    no_moments,
    sum_mixtures,
)
from latree.inference.gaussian.slots import ABSENT, SlotForest, global_rules
from latree.inference.gaussian.sweeps import GaussianInference
from latree.inference.gaussian.unmerged import UnmergedForest
from latree.inference.potentials import Potentials
from latree.inference.sequences import Lattice, Sums
from latree.kinds.continuous import ContinuousModel
from latree.kinds.examples import Example, forests_with_gold, lattices_with_gold
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.epochs import Epochs
from latree.kinds.gm_lveg.generative import Normaliser
from latree.kinds.gm_lveg.start import Cube, Start, from_subtypes, from_treebank, make_components
from latree.kinds.gm_lveg.training import Batch, component_limit
from latree.kinds.hmm.model import Hmm
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg, LvgTagger
from latree.kinds.options import TreeOptions
from latree.kinds.parser import Parser
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.pruned import PrunedParser, PrunedTagger
from latree.kinds.sentences import Sentence
from latree.kinds.span_features import SpanModel, SpanReading, WordFeatures, places
from latree.learning.loop import Progress, Training, train
from latree.lexicon.kept_rows import KeptRows
from latree.lexicon.lexical_rules import UNSEEN
from latree.text.binary import Node


@dataclass(frozen=True, eq=False)
class GaussianReading(SpanReading):
    """Lexical rules have numbers; which components they have is for inference to look up."""

    rule: Longs  # [words, tags] the lexical rule of each, numbered after the grammar's rules; NONE where there is none
    factors: Floats  # [words, tags] logs of what words weigh beside these rules


class GaussianModel(SpanModel, ContinuousModel):
    """Mixed into a parser or a tagger."""

    own_name = "mixtures"
    options: GmLvegOptions
    components: Components
    mixtures: Mixtures
    normaliser: Normaliser | None = None  # sums over all sentences, where P(T, w) sums to one
    _word_rows: KeptRows  # what is made of single words
    span_weights: Floats = np.zeros(0)

    def __init__(self, options: GmLvegOptions | None = None, **more: Any) -> None:
        super().__init__(options, **more)
        if self.options.alone:
            self.joint = False

    def adopt(self, pruner: Any) -> None:
        """Take over the pruner's model of the treebank, and have it prune by the threshold of the options."""
        super().adopt(pruner)
        if self.options.p_min is not None:
            mine: Any = copy(self.pruner)  # another model may have the same one
            if getattr(mine, "cascade", None) is not None:
                mine.cascade = replace(mine.cascade, chart=self.options.p_min)
            mine.threshold = self.threshold = self.options.p_min
            self.pruner = mine

    # -- training

    def learn(self, data: list[Any], training: Training) -> None:
        """Adam on log P(T | w)."""
        train(Epochs(self, data), training, self.options.seed)

    def start(self, rng: np.random.Generator) -> Start:
        """The grammar to begin with: the treebank's."""
        options, rules = self.options, len(self.grammar.rules)
        size = np.repeat([options.components, options.word_components], [rules, len(self.lexical.tag)])
        components = make_components(self.grammar, self.lexical, size.astype(np.int64))
        mixtures = from_treebank(
            components,
            self._probabilities(),
            self.meetings(),
            options.dim,
            options.wide,
            options.alpha,
            options.spread,
            rng,
        )
        return Start(components, mixtures)

    def _probabilities(self) -> Floats:
        """P(r) of all rules: the pruner's, with one subtype a symbol; lexical ones as its lexicon smooths them."""
        lexical = self.lexical
        words = self.pruner.unit_emissions(lexical.named_units())[lexical.unit, lexical.tag]
        words[lexical.is_unseen] *= UNSEEN
        return np.append(self.pruner.coarse_theta(), np.maximum(words, 1e-12))

    @abstractmethod
    def meetings(self) -> Longs:
        """For every rule: how many Gaussians meet on its parent's latent vector, 0 where another rule sees to that."""

    def batch(self, examples: Sequence[Example]) -> Batch:
        """Make the forests that these sentences are trained on."""
        gold, forest = forests_with_gold(self, examples, self.options.looseness)
        entry_rule = np.concatenate(
            [self._rule_numbers(self.lexical.rules_of(one.words, seen=True)).ravel() for one in examples]
        )
        if self.options.p_min is not None:  # low thresholds leave many dead ends: tags without a rule for their word
            forest = restrict(forest, global_rules(forest, entry_rule) != ABSENT)
        seen = [see(one, entry_rule, self.components.size, self.options.apart) for one in (gold, forest)]
        letters = self.letters_of_all(examples)
        factors = letters.on_edges(gold), letters.on_edges(forest)
        batch = Batch(seen[0], seen[1], len(examples), letters=factors)
        if self.spans is None:
            return batch
        words = self.words_of_all(examples)
        return batch._replace(spans=(self.spans.on(gold, words), self.spans.on(forest, words)))

    def _rule_numbers(self, rules: Longs) -> Longs:
        """Number lexical rules, or NONE, after the grammar's rules."""
        return np.where(rules == NONE, NONE, rules + len(self.grammar.rules))

    # -- search

    def read(self, tokens: Sequence[str]) -> GaussianReading:
        return self.read_all([tokens])

    def read_all(self, sentences: Sequence[Sequence[str]]) -> GaussianReading:
        (rules, letters, units), place = self._word_rows.of(sentences), places(sentences)
        unit = units.ravel()
        factors = letters + self.around_words(unit, place)
        return GaussianReading(self.pruner.read_all(sentences), unit, place, rules, factors)

    def prepare(self) -> None:
        super().prepare()
        self._word_rows = KeptRows(self._read_word)

    def _read_word(self, word: str, first: bool) -> tuple[Longs, Floats, Longs]:
        rules_of = self.lexical.rules_of_word if self.normaliser is None else self.lexical.rules_of_outcome
        rules, unit = self._rule_numbers(rules_of(word, first)), self.lexical.unit_of_word(word, first)
        return rules, self.letters_of_word(word, first), np.array([unit])

    def potentials(self, forest: Forest, reading: GaussianReading) -> Potentials:
        """What spans weigh, and words."""
        spans = super().potentials(forest, reading)
        return spans._replace(entry=reading.factors.ravel()) if reading.factors.any() else spans

    def _seen(self, forest: Forest, reading: GaussianReading) -> SlotForest | UnmergedForest:
        return see(forest, reading.rule.ravel(), self.components.size, self.options.apart)

    def infer(self, forest: Forest, reading: GaussianReading) -> GaussianInference:
        seen, nothing = self._seen(forest, reading), no_statistics(self.mixtures)
        limit = component_limit(self.options, parsing=True)
        potentials = self.potentials(forest, reading).on_edges(forest)
        return infer_seen(seen, self.components, self.mixtures, nothing, limit, potentials)

    def log_inside(self, forest: Forest, reading: GaussianReading) -> Floats:
        """Of single trees: where these are exact (`component_limit`) it may be above log Z of all."""
        limit = component_limit(self.options, parsing=True, gold=True)
        potentials = self.potentials(forest, reading).on_edges(forest)
        return log_z_seen(self._seen(forest, reading), self.components, self.mixtures, limit, potentials)

    # -- size

    def complexity(self) -> Longs:
        """[symbols] all numbers of the rules' components: a weight, and at each port with a vector the mean and the
        deviation in every dimension; not the pruner's."""
        rules = self.grammar.rules
        ports: Longs = (rules > 0).sum(1)  # the root, symbol 0, has no vector
        a_component = 1 + ports * (self.mixtures.mean.shape[1] + self.mixtures.log_sd.shape[1])
        numbers = self.components.size[: len(rules)] * a_component
        return np.bincount(rules[:, 0], numbers, len(self.grammar.symbols)).astype(np.int64)

    # -- files

    def state(self) -> ModelFile:
        header, arrays = super().state()
        mixtures = {f"mixtures.{name}": part.astype(np.float32) for name, part in self.mixtures._asdict().items()}
        if self.spans is not None:
            arrays |= {"span_weights": self.span_weights.astype(np.float32)}
        return ModelFile(header, arrays | {"components": self.components.size} | mixtures)

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        rules, found = len(self.grammar.rules) + len(self.lexical.tag), part_of("mixtures.", arrays)
        total = len(found["log_rho"])
        size = integers("components", arrays, (rules,), 1, total + 1)
        log_rho = numbers("log_rho", found, (int(size.sum()),))
        self.components = make_components(self.grammar, self.lexical, size)
        mean, log_sd = (numbers(name, found, (self.components.slots, None)) for name in ("mean", "log_sd"))
        if mean.shape[1] == 0 or log_sd.shape[1] not in (1, mean.shape[1]):
            raise ValueError(f"there are {mean.shape[1]} dimensions of means, and {log_sd.shape[1]} of deviations")
        self.mixtures = Mixtures(log_rho, mean, log_sd)
        if self.spans is not None:
            self.span_weights = numbers("span_weights", arrays, self.spans.key.shape)


class GmLveg(GaussianModel, PrunedParser):
    """`GmLveg().fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is already."""

    kind = "gm-lveg"
    joint = True  # the two families make different mistakes
    _mixture_drawer: tuple[Mixtures, MixtureDrawer] | None = None

    def __init__(
        self,
        options: GmLvegOptions | None = None,
        *,
        pruner: Parser | None = None,
        source: Lvg | None = None,
        **changes: Any,
    ) -> None:
        """`source` is a trained grammar with subtypes to start from, where the options say so and there is one."""
        super().__init__(options, pruner=pruner, **changes)
        self.source = source

    @property
    def parsing_looseness(self) -> float:
        """Parsing considers what training did, unless a threshold is given or the pruner has no subtypes."""
        return 1.0 if self.options.p_min is not None or self.cascade is None else self.options.looseness

    def make_pruner(self) -> Parser:
        if self.options.pruner == "lvg":
            return Lvg(LvgOptions(**self.options.shared("rounds")))
        shared = self.options.shared()
        return Pcfg(**{one.name: shared[one.name] for one in fields(TreeOptions)})

    def fit_pruner(self, data: list[Node], training: Training) -> None:
        """Train the pruner; what it is on the way, after so many rounds, serves as the source."""
        rounds, fresh = self.options.start_rounds, not hasattr(self.pruner, "grammar")

        def watch(progress: Progress) -> None:
            if isinstance(progress.model, Lvg) and progress.step == rounds:
                self.source = progress.model.snapshot()
            training.watch(progress)

        super().fit_pruner(data, replace(training, watch=watch))
        if self.options.start == "subtypes" and self.source is None:
            # The pruner was trained already, or has fewer rounds, or its training was taken up after that round.
            as_pruner = fresh and isinstance(self.pruner, Lvg)
            self.source = (
                Lvg(replace(self.pruner.options, rounds=rounds, subtypes=None))
                if as_pruner
                else self._default_source(rounds)
            )
            self.source.learn(data, Training(training.watch))

    def _default_source(self, rounds: int) -> Lvg:
        labels, binarization = self.pruner.labels, self.pruner.binarization
        return Lvg(rounds=rounds, seed=self.options.seed, labels=labels, binarization=binarization)

    def start(self, rng: np.random.Generator) -> Start:
        if self.options.start == "treebank":
            return super().start(rng)
        assert self.source is not None  # `fit_pruner` has seen to it
        return from_subtypes(self.source, self.lexical, self.options.wide, Cube())

    def prepare(self) -> None:
        super().prepare()
        self.normaliser = Normaliser(self.grammar, self.lexical) if self.options.generative else None

    def _probabilities(self) -> Floats:
        """Of a generative grammar those of a tag's words, each as often as it stands for one, sum to one."""
        probability, rules, lexical = super()._probabilities(), len(self.grammar.rules), self.lexical
        if self.normaliser is not None:
            total = np.bincount(lexical.tag, probability[rules:] * lexical.outcomes)
            probability[rules:] /= total[lexical.tag]
        return probability

    def log_prob(self, sentence: Sentence) -> float:
        """log P(w); of a generative grammar its own, whether or not it chooses trees together with the pruner."""
        if self.normaliser is None or not self.joint:
            return super().log_prob(sentence)
        alone = copy(self)
        alone.joint = False
        return alone.log_prob(sentence)

    def _drawn_tree(self, rng: np.random.Generator) -> Node:
        if self.normaliser is None:
            raise LatreeError("sentences can be drawn only from mixtures that were trained with --generative")
        if self._mixture_drawer is None or self._mixture_drawer[0] is not self.mixtures:
            mass = self.normaliser.settle(self.components, self.mixtures)
            drawer = MixtureDrawer(self.grammar, self.components, mass, self.lexical.spell)
            self._mixture_drawer = self.mixtures, drawer
        return self._mixture_drawer[1].tree(rng)

    def meetings(self) -> Longs:
        """On the vector of every phrase and tag, the slot of the rule above meets that of the rule below."""
        parents = np.append(self.grammar.rules[:, 0], self.lexical.tag + self.grammar.first_tag)
        return np.where(parents == 0, 0, 2)


class GmLvegTagger(GaussianModel, PrunedTagger):
    """`GmLvegTagger().fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "gm-lveg-tagger"
    span_features = WordFeatures
    spans: WordFeatures | None = None
    joint_by_score = True  # a pruner without subtypes helps with some treebanks and hurts with others
    _chain: tuple[Mixtures, GaussianChain] | None = None

    def make_pruner(self) -> Hmm | LvgTagger:
        options = self.options
        if options.subtypes > 1:
            return LvgTagger(LvgOptions.for_tagger(**options.shared("subtypes")))
        return Hmm(seed=options.seed, unknown=options.unknown, lexicon=options.lexicon, column=options.column)

    def meetings(self) -> Longs:
        """On the vector of every tag, three slots meet: the transition's into it, the word's, and that out of it."""
        return np.append(np.zeros(len(self.grammar.rules), np.int64), np.full(len(self.lexical.tag), 3))

    # -- training

    def batch(self, examples: Sequence[Example]) -> Batch:
        """Lattices, where they will do."""
        if self.needs_forests:
            return super().batch(examples)
        rule = self._rule_numbers(np.concatenate([self.lexical.rules_of(one.words, seen=True) for one in examples]))
        lattices = lattices_with_gold(self, examples, rule != NONE, self.options.looseness)
        nodes = [(one.word_of_node, one.tag) for one in lattices]
        pairs = zip(lattices, nodes, strict=True)
        seen = [SeenLattice.of(one, self.rules, rule[node], self.components) for one, node in pairs]
        letters = np.concatenate([self.letters(one.words) for one in examples])
        factors = Potentials(edge=letters[nodes[0]]), Potentials(edge=letters[nodes[1]])
        batch = Batch(seen[0], seen[1], len(examples), letters=factors)
        if self.spans is None:
            return batch
        words = self.words_of_all(examples)
        return batch._replace(spans=(self.spans.on_nodes(lattices[0], words), self.spans.on_nodes(lattices[1], words)))

    # -- search

    @property
    def edge_threshold(self) -> float:
        return self.threshold

    @property
    def needs_forests(self) -> bool:
        """Where the components of messages are limited."""
        return self.options.k_max > 0 or self.options.apart is not None

    @property
    def gaussian_chain(self) -> GaussianChain:
        """The tables of the mixtures as they are now, made once."""
        if self._chain is None or self._chain[0] is not self.mixtures:
            self._chain = self.mixtures, gaussian_chain(self.rules, self.components, self.mixtures)
        return self._chain[1]

    def sum_sequences(self, lattice: Lattice, reading: GaussianReading) -> Sums:
        chain = self.gaussian_chain
        return sum_mixtures(chain, lattice, *self._meet(lattice, reading), no_moments(chain))

    def log_weights(self, lattice: Lattice, reading: GaussianReading) -> Floats:
        return log_z_of_mixtures(self.gaussian_chain, lattice, *self._meet(lattice, reading))

    def _meet(self, lattice: Lattice, reading: GaussianReading) -> tuple[Joints, Floats]:
        """What meets in a lattice, and the factors of its nodes."""
        node = lattice.word_of_node, lattice.tag
        joints = find_joints(self.rules, self.components.first, lattice, reading.rule[node])
        return joints, reading.factors[node]
