"""What a kind of model says for itself: all that is here may be overridden, and what has no default must be.

`Parser` and `Tagger` define what is abstract here, so that a kind need say no more than how it learns; the defaults are
those of a grammar with one number a rule.  They are called by `kinds/model.py` (to train, save and load), by
`kinds/analyses.py` (from a sentence to its analyses) and by `kinds/search.py` (what is asked of a forest).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from latree import files
from latree.arrays import Floats, Longs
from latree.checks import numbers, positive
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile
from latree.inference import decode
from latree.inference.derivations import Derivation
from latree.inference.forest import Forest, Piece
from latree.inference.forms.sparse import no_statistics, sparse, with_words
from latree.inference.grammar import Grammar
from latree.inference.pooled import Posteriors
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.inference.reading import Emissions, Reading
from latree.inference.results import Analysis
from latree.inference.sampling import Drawer, sample_derivation
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer, inside_only
from latree.kinds.options import ModelOptions
from latree.kinds.registry import kind_named
from latree.kinds.search import Attempt, Coarse, Search, Trouble
from latree.kinds.sentences import Sentence
from latree.learning.loop import Training
from latree.lexicon.words import Lexicon

if TYPE_CHECKING:
    from latree.kinds.model import Model

Result = TypeVar("Result", bound=Analysis)
UNLISTED = "no tree has only constituents that are listed; this one is of all constituents"


class ModelHooks(ABC, Generic[Result]):
    """What `ForestModel` asks of a kind.  A `reading` is of the type that the kind's own `read` gives."""

    kind: ClassVar[str]
    # Set by the user of a model, not by training; in this order, since a cascade sets a threshold too.
    run_options: ClassVar[tuple[str, ...]] = ("threshold", "max_length")
    continues: ClassVar[str | None] = None  # the option that a training cut short may be given more of
    certifies: ClassVar[bool] = True  # the coarse pass is the model itself, and exact k-best lists can be told from it
    threshold: float = 5e-3  # posterior below which the coarse pass drops what it found
    max_length: int = 400  # longer sentences are not tried
    temperature: float = 1.0  # probabilities are taken to the power of 1 / temperature, and normalised
    options: Any  # how it is trained, of the class that its kind has for them
    training: Header  # how it came about: command, data, scores
    grammar: Grammar
    lexicon: Lexicon
    theta: Floats  # weights of the rules, tensors laid end to end
    tensors: Any  # the rules' weights, in the model's form
    _drawer: Drawer | None = None

    # -- training

    @classmethod
    def default_options(cls) -> ModelOptions:
        """The options of a model about which nothing is said."""
        return kind_named(cls.kind).trained_options()

    @abstractmethod
    def read_treebank(self, path: str | Path) -> Iterable[Any]:
        """Read what `fit` learns from."""

    @abstractmethod
    def prepare_data(self, data: Iterable[Any]) -> Iterable[Any]:
        """Bring a treebank into the form that `learn` takes, which a pruner of this kind shares with its model."""

    def learn(self, data: Any, training: Training) -> None:
        """Learn from what `prepare_data` made: set `grammar`, `theta` and `lexicon`, and call `prepare`."""
        raise LatreeError(f"a {self.kind} is not trained: it is made of models that are")

    def identity(self) -> Header:
        """Describe what makes a training what it is, as JSON."""
        options = self.options.to_json()
        if self.continues is not None:
            del options[self.continues]
        return {"kind": self.kind, "options": options}

    # -- tables, made when the weights are there

    def prepare(self) -> None:
        """Make what inference needs from grammar and weights; models add the tables of their coarse pass."""
        self.tensors, self._drawer = self.form(), None

    def form(self) -> Any:
        """The rules' weights as inference takes them."""
        return sparse(Layout(self.grammar, self.widths()), self.theta)

    def coarse_theta(self) -> Floats:
        """One number a rule for the coarse pass."""
        return self.theta

    # -- words

    def read(self, tokens: Sequence[str]) -> Reading:
        """What is made of the words of a sentence."""
        emissions = self.lexicon.emissions(tokens)
        return Emissions(emissions, emissions)

    def read_all(self, sentences: Sequence[Sequence[str]]) -> Any:
        """What is made of the words of some sentences laid end to end."""
        readings = [self.read(tokens) for tokens in sentences]
        return type(readings[0]).joined(readings)

    def unit_emissions(self, units: Sequence[tuple[str | None, str | None]]) -> Floats:
        """P(w | tag) [units, tags] of known words, or of unknown words of given classes (`Lexicon.unit_row`)."""
        return np.stack([self.lexicon.unit_row(*unit) for unit in units])

    def likeliest_tag(self, word: str, first: bool) -> str:
        """The likeliest tag of a word by itself."""
        return self.grammar.tags[int(np.argmax(self.lexicon.tag_given_word(word, first)))].label

    # -- from a sentence to its forest

    @abstractmethod
    def attempt(self, sentence: Sentence) -> Attempt | Trouble:
        """The coarse pass of a sentence, or why there is none."""

    @abstractmethod
    def coarse(self, reading: Any) -> Coarse:
        """The coarse pass over one sentence."""

    @abstractmethod
    def prune(self, coarse: Any, threshold: float) -> Piece:
        """The forest of what has a posterior of at least the threshold."""

    def refine(self, forest: Forest, reading: Any, looseness: float, gold: tuple[Longs, int] | None = None) -> Forest:
        """A further pruning of what the coarse pass left, all thresholds times `looseness`.

        Where the `anchors` of gold analyses are given, with the size that these have, none of their edges is dropped.
        """
        return forest

    @property
    @abstractmethod
    def searcher(self) -> Model:
        """Who goes through all that the words allow: the model itself, or one whose lists it takes."""

    # -- weights: with more than one subtype a symbol, kinds have their own

    def widths(self) -> Longs:
        """[symbols] how many numbers the message of each has."""
        return np.ones(len(self.grammar.symbols), np.int64)

    def weights(self, reading: Any) -> Any:
        """The weights of the grammar's rules and of these words, in the model's form."""
        return with_words(self.tensors, Layout(self.grammar, self.widths()), reading.subtypes)

    def no_statistics(self, weights: Any) -> Any:
        """What inference that is after posteriors alone adds expectations to."""
        return no_statistics(weights)

    def cells(self, reading: Any) -> Any:
        """The weights in a form that lets one go through subtypes one by one."""
        return self.weights(reading)

    def potentials(self, forest: Forest, reading: Any) -> Potentials:
        """What parts of a forest weigh beside the rules: the place for scores of a sentence in context."""
        return NO_POTENTIALS

    # -- inference over a forest

    def infer(self, forest: Forest, reading: Any) -> Any:
        """Posteriors of a forest of these words."""
        weights = self.weights(reading)
        return infer(forest, weights, self.no_statistics(weights), self.widths(), self.potentials(forest, reading))

    def opinions(self, forest: Forest, reading: Any) -> Sequence[Posteriors]:
        """Posteriors of a forest by each of the distributions that together choose a derivation: here its own."""
        return [self.infer(forest, reading)]

    def anchored(self, forest: Forest, posterior: Floats) -> Floats:
        """[edges] the posterior of each edge's rule at its place, whichever edges have it there."""
        return decode.anchored(forest, posterior)

    def log_inside(self, forest: Forest, reading: Any) -> Floats:
        """log of the sum over the derivations of each sentence."""
        return inside_only(forest, self.weights(reading), self.widths(), self.potentials(forest, reading))[0]

    def viterbi_scores(self, forest: Forest, reading: Any) -> Floats:
        """log weight of each edge's rule."""
        # Numbered as the edges' rules are: rules, lexical entries, and at the end, for PASS = -1, nothing to pay.
        theta = np.concatenate([self.theta, reading.subtypes.ravel(), [1.0]])
        with np.errstate(divide="ignore"):
            log_theta: Floats = np.log(theta)
        return log_theta[forest.rule]

    # -- drawing at random

    def draw_edges(self, forest: Forest, reading: Any, rng: np.random.Generator) -> list[int]:
        """The edges of a derivation of the forest's only sentence, drawn from its probability."""
        weights, potentials = self.cells(reading), self.potentials(forest, reading)
        return sample_derivation(forest, weights, self.infer(forest, reading).inside, rng, potentials=potentials)

    @property
    def drawer(self) -> Drawer:
        """Draws sentences of the model's own."""
        if self._drawer is None:
            self._drawer = Drawer(Layout(self.grammar, self.widths()), self.tensors, self.lexicon)
        return self._drawer

    # -- analyses

    @abstractmethod
    def analysis_of(self, tokens: tuple[str, ...], search: Search, derivation: Derivation, which: int) -> Result:
        """The analysis that a derivation stands for; `which` is its sentence's place in the search."""

    @abstractmethod
    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Result:
        """What is given where there is no derivation."""

    def unmet(self, sentence: Sentence) -> str:
        """Why limits leave no analysis of a sentence."""
        return UNLISTED

    # -- size

    def size_told(self) -> str:
        """Tell how many symbols, rules and words there are."""
        words = len(self.lexicon.vocabulary)
        return f"{len(self.grammar.symbols):,} symbols, {len(self.grammar.rules):,} rules, {words:,} words"

    def subtype_counts(self) -> Longs | None:
        """[symbols] how many subtypes each has: one without latent subtypes, None of a space of them."""
        return self.widths()

    def complexity(self) -> Longs:
        """[symbols] weights other than zero of the productions with that parent; words are not counted."""
        rule, *_ = Layout(self.grammar, self.widths()).coordinates(np.flatnonzero(self.theta))
        return np.bincount(self.grammar.rules[rule, 0], minlength=len(self.grammar.symbols))

    # -- files

    def state(self) -> ModelFile:
        """The whole model as a JSON header and arrays."""
        lexicon = {f"lexicon.{name}": array for name, array in self.lexicon.to_arrays().items()}
        header = {
            "options": self.options.to_json(),
            "symbols": [symbol.to_json() for symbol in self.grammar.symbols],
            "unary_steps": self.grammar.unary_steps,
            "lexicon": self.lexicon.header(),
            "training": self.training,
            **self.calibration(),
        }
        return ModelFile(header, {"rules": self.grammar.rules, "theta": self.theta, **lexicon})

    def calibration(self) -> Header:
        """What a file says of the temperature: nothing where probabilities are taken as they are."""
        return {} if self.temperature == 1.0 else {"temperature": self.temperature}

    def take_calibration(self, header: Header) -> None:
        """Take over the temperature that a file tells."""
        self.temperature = positive("temperature", header, 1.0)

    def restore(self, header: Header, arrays: Arrays) -> None:
        """Take over from a model file what was learned; tables are made of it by `prepare`."""
        self.grammar = Grammar.of_file(header, arrays)
        rules = (len(self.grammar.rules),)
        # Models with subtypes keep it in a form of their own.
        self.theta = numbers("theta", arrays, rules) if "theta" in arrays else np.zeros(0)
        self.lexicon = Lexicon.from_arrays(files.part_of("lexicon.", arrays), header["lexicon"])

    def check_lexicon(self) -> None:
        """That words have as many columns as tags have subtypes."""
        columns = int(self.widths()[self.grammar.first_tag :].sum())
        if self.lexicon.tags != columns:
            raise ValueError(f"the lexicon has {self.lexicon.tags} tags with their subtypes, the grammar {columns}")
