"""What models that are trained by gradient on pruned forests share, whether they parse or tag.

Another model, the pruner, says which constituents a sentence may have, in training (`kinds/examples.py`) and in parsing
alike.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile, part_of
from latree.inference.forest import Forest, Piece, UnknownRuleError, thin
from latree.inference.grammar import inner_nodes, tagged_words
from latree.inference.pooled import Posteriors
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.inference.prune import Cascade
from latree.inference.reading import Reading
from latree.inference.sampling import Drawer
from latree.inference.sequences import Lattice, Sums, narrowed
from latree.inference.trellis import chain_rules, gold_chain
from latree.kinds.examples import Example
from latree.kinds.fine_tags import FineTagger
from latree.kinds.model import ForestModel, Model
from latree.kinds.parser import Parser
from latree.kinds.registry import from_state
from latree.kinds.search import Trouble
from latree.kinds.tagger import Tagger
from latree.learning.coded_trees import CodedTrees
from latree.learning.loop import Training
from latree.lexicon.lexical_rules import LexicalRules
from latree.text.binary import Node


@dataclass(frozen=True, eq=False)
class PrunedReading(Reading):
    """What the pruner makes of words; a kind adds what it makes of them itself."""

    pruner: Reading

    @property
    def bottom(self) -> Any:
        """What the model at the bottom makes of them, which no other prunes for."""
        return self.pruner.bottom if isinstance(self.pruner, PrunedReading) else self.pruner


def _itself(piece: Piece) -> Piece:
    return piece


class PrunedModel(ForestModel[Any]):
    """Mixed into a parser or a tagger, by way of `PrunedParser` or `PrunedTagger`."""

    pruner: Model  # of the same grammar
    lexical: LexicalRules
    joint: bool = False  # decode by the product with the pruner's posteriors
    has_lexical_rules: ClassVar[bool] = True  # whether words have weights of their own, wherever they stand
    heeds_letters: ClassVar[bool] = False  # whether words of a class are told apart by their letters
    certifies = False
    own_name: ClassVar[str]  # of what is not the pruner, for messages
    continues: ClassVar[str | None] = "epochs"

    def __init__(self, options: Any = None, *, pruner: Model | None = None, **changes: Any) -> None:
        """`pruner` is a model of the same treebank, trained or not; else the options say what it is."""
        super().__init__(options, **changes)
        self.pruner = self.make_pruner() if pruner is None else pruner

    @property
    def bottom(self) -> Model:
        """The pruner or, where that has one itself, the pruner's: the model with numbers for rules and words."""
        return self.pruner.bottom if isinstance(self.pruner, PrunedModel) else self.pruner

    @abstractmethod
    def make_pruner(self) -> Model:
        """Make the pruner that the options describe."""

    def letters(self, words: Sequence[str]) -> Floats:
        """[words, tags] what the letters of words that go by their class say of their tags beyond it, as logs."""
        return np.stack([self.letters_of_word(word, i == 0) for i, word in enumerate(words)])

    def letters_of_word(self, word: str, first: bool) -> Floats:
        """The same of one word, [tags]; `first` says that it opens its sentence."""
        row = np.zeros(len(self.grammar.tags))
        if self.heeds_letters and self.lexical.by_class_alone(word):
            row += self.pruner.lexicon.beyond_class(word, first)
        return row

    def letters_of_all(self, examples: Sequence[Example]) -> Potentials:
        """The same of some sentences laid end to end, as factors of their lexical entries."""
        if not self.heeds_letters:
            return NO_POTENTIALS
        return Potentials(entry=np.concatenate([self.letters(one.words).ravel() for one in examples]))

    # -- training

    def prepare_data(self, data: Iterable[Any]) -> list[Any]:
        return list(self.pruner.prepare_data(data))

    def fit_pruner(self, data: list[Any], training: Training) -> None:
        """Train the pruner, unless it is trained already."""
        if not hasattr(self.pruner, "grammar"):
            self.pruner.learn(data, training)

    @abstractmethod
    def lines(self, data: list[Any]) -> Iterator[str]:
        """The data as text, which tells one treebank from another."""

    @abstractmethod
    def examples(self, data: list[Any]) -> list[Example]:
        """The sentences with their gold analyses as forests."""

    def adopt(self, pruner: Any) -> None:
        """Take over what the pruner's model of the treebank is made of; a parser's is a parser, a tagger's a tagger."""
        self.pruner = pruner
        self.grammar, self.lexicon, self.theta = pruner.grammar, pruner.lexicon, pruner.theta

    def identity(self) -> Header:
        """Describe this training and that of the pruner, of which all rounds count."""
        return super().identity() | {"pruner": {"kind": self.pruner.kind, "options": self.pruner.options.to_json()}}

    def prune_further(
        self, forest: Forest, reading: Reading, looseness: float, gold: tuple[Longs, int] | None
    ) -> Forest:
        """What is pruned after the coarse pass, in training and in parsing alike; the reading is the pruner's.

        After its own cascade, edges of small posterior under its full grammar go.
        """
        forest = self.pruner.refine(forest, reading, looseness, gold)
        if self.edge_threshold == 0.0:
            return forest
        posterior = self.pruner.infer(forest, reading).posterior
        return thin(forest, posterior >= self.edge_threshold * looseness, gold)

    @property
    def edge_threshold(self) -> float:
        """The posterior under the pruner below which edges are dropped; 0: none is."""
        return 0.0

    @property
    def parsing_looseness(self) -> float:
        """What the pruner's own thresholds are multiplied by in parsing: less than one leaves more to consider."""
        return 1.0

    # -- search

    def prepare(self) -> None:
        """Make no tables: those of the coarse pass are the pruner's."""

    @abstractmethod
    def read(self, tokens: Sequence[str]) -> PrunedReading:
        """What is made of the words of a sentence, by the pruner and by the model."""

    def coarse(self, reading: PrunedReading) -> Any:
        return self.pruner.coarse(reading.pruner)

    def prune(self, coarse: Any, threshold: float) -> Piece:
        return self.pruner.prune(coarse, threshold)

    def refine(
        self, forest: Forest, reading: PrunedReading, looseness: float, gold: tuple[Longs, int] | None = None
    ) -> Forest:
        return self.prune_further(forest, reading.pruner, looseness * self.parsing_looseness, gold)

    def opinions(self, forest: Forest, reading: PrunedReading) -> Sequence[Posteriors]:
        """The model's, and jointly also the pruner's."""
        alone = super().opinions(forest, reading)
        return [*alone, *self.pruner.opinions(forest, reading.pruner)] if self.joint else alone

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Any:
        """What the pruner says, where the model has nothing to say."""
        if trouble.status != "recovered":
            return self.pruner.stand_in(tokens, trouble)
        found = next(self.pruner.analyse([tokens]))
        if found.status != "ok":
            return found
        reason = f"the {self.own_name} derive nothing for these words; this is the pruner's analysis"
        return found.as_stand_in(reason)

    @property
    def drawer(self) -> Drawer:
        raise LatreeError(f"the weights of a {self.kind} are no probabilities: no sentence can be drawn by them")

    # -- files

    def state(self) -> ModelFile:
        """The pruner, which has grammar and lexicon, and the lexical rules; kinds add what they learned."""
        pruner, arrays = self.pruner.state()
        header = {
            "pruner": {"kind": self.pruner.kind, **pruner},
            "options": self.options.to_json(),
            "training": self.training,
            **self.calibration(),
        }
        named = {f"pruner.{name}": array for name, array in arrays.items()}
        if self.has_lexical_rules:
            header["scheme"] = self.lexical.scheme.header()
            named |= {f"lexical.{name}": array for name, array in self.lexical.to_arrays().items()}
        return ModelFile(header, named)

    def restore(self, header: Header, arrays: Arrays) -> None:
        """Take over the pruner, and from it grammar and lexicon, and the lexical rules."""
        pruner = header["pruner"]
        self.adopt(from_state(pruner["kind"], pruner, part_of("pruner.", arrays)))
        if self.has_lexical_rules:
            tags = len(self.grammar.tags)
            self.lexical = LexicalRules.from_arrays(part_of("lexical.", arrays), tags, header["scheme"])

    def check_lexicon(self) -> None:
        """The pruner's was looked at with the pruner."""


class PrunedParser(PrunedModel, Parser):
    """Learns from trees."""

    for_people = (*Parser.for_people, "pruner")
    pruner: Parser
    run_options = ("cascade", *Parser.run_options, "joint")

    @property
    def fine(self) -> FineTagger | None:
        return self.pruner.fine

    def lines(self, data: list[Node]) -> Iterator[str]:
        for tree in data:
            yield "\n".join([*map(repr, inner_nodes(tree)), *(word for word, _ in tagged_words(tree)), ""])

    def examples(self, data: list[Node]) -> list[Example]:
        trees, tags = CodedTrees.of(data), len(self.grammar.tags)
        first = trees.token_tree
        place = np.arange(first[-1]) - np.repeat(first[:-1], np.diff(first))
        try:
            pieces = list(trees.pieces(self.grammar, place * tags + trees.tags(self.grammar)))
        except UnknownRuleError as error:
            raise LatreeError(f"the pruner was trained on another treebank: {error}") from None
        examples = []
        for sentence, piece in zip(trees.tagged(self.grammar), pieces, strict=True):
            words, numbers = zip(*sentence, strict=True)
            gold = piece._replace(entries=len(words) * tags)
            examples.append(Example(words, list(numbers), partial(_itself, gold)))
        return examples

    def adopt(self, pruner: Parser) -> None:
        super().adopt(pruner.as_pruner())
        self.labels, self.binarization = pruner.labels, pruner.binarization
        self.threshold = self.pruner.threshold * self.parsing_looseness

    @property
    def cascade(self) -> Cascade | None:
        """How much the pruner prunes; None where it is no grammar with subtypes."""
        return self.pruner.cascade

    @cascade.setter
    def cascade(self, value: Cascade | None) -> None:
        if value is None:
            return
        if self.cascade is None:
            raise LatreeError(f"the pruner has no subtypes, it is a {self.pruner.kind}: there is one threshold")
        self.pruner = copy(self.pruner)  # another model may have the same one
        self.pruner.cascade, self.threshold = value, value.chart * self.parsing_looseness


class PrunedTagger(PrunedModel, Tagger):
    """Learns from tagged sentences, (words, tags)."""

    for_people = (*Tagger.for_people, "pruner")
    heeds_letters = True  # parsers do no better for it
    pruner: Tagger
    run_options = (*Tagger.run_options, "joint")

    def lines(self, data: list[Any]) -> Iterator[str]:
        return ("\t".join([*words, *tags]) + "\n" for words, tags in data)

    def examples(self, data: list[Any]) -> list[Example]:
        number = {symbol.label: k for k, symbol in enumerate(self.grammar.tags)}
        coded = ((words, [number[name] for name in names]) for words, names in data)
        return [Example(words, tags, partial(self._gold, tags)) for words, tags in coded]

    def _gold(self, tags: list[int]) -> Piece:
        entries = [i * len(self.grammar.tags) + tag for i, tag in enumerate(tags)]
        return gold_chain(self.rules, tags, entries)._replace(entries=len(tags) * len(self.grammar.tags))

    def coarse_all(self, reading: PrunedReading, first: Longs) -> tuple[Floats, Floats]:
        return self.pruner.coarse_all(reading.pruner, first)

    def narrow(self, lattice: Lattice, reading: PrunedReading) -> Lattice:
        """As `prune_further` does."""
        if self.edge_threshold == 0.0:
            return lattice
        return narrowed(lattice, self.pruner.sum_sequences(lattice, reading.pruner), self.edge_threshold)

    def sequence_opinions(self, lattice: Lattice, reading: PrunedReading) -> Sequence[Sums]:
        """The model's, and jointly also the pruner's."""
        alone = super().sequence_opinions(lattice, reading)
        return [*alone, *self.pruner.sequence_opinions(lattice, reading.pruner)] if self.joint else alone

    def adopt(self, pruner: Tagger) -> None:
        super().adopt(pruner)
        self.rules, self.column = chain_rules(pruner.grammar), pruner.column
