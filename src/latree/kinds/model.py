"""What all models share: sentences in, analyses out, in batches and over several processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, NoReturn, Self, TypeVar

import numpy as np

from latree import files
from latree.arrays import Floats, Longs
from latree.checks import numbers, positive
from latree.errors import LatreeError, NotTrainedError
from latree.files import Arrays, Header, ModelFile
from latree.inference import decode
from latree.inference.constituents import Listed
from latree.inference.derivations import Derivation
from latree.inference.forest import Forest, Piece
from latree.inference.forms.sparse import no_statistics, sparse, with_words
from latree.inference.grammar import Grammar
from latree.inference.kbest import k_best
from latree.inference.pooled import Posteriors
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.inference.reading import Emissions, Reading
from latree.inference.results import Analysis, Objective, Parse, Status, Tagging
from latree.inference.sampling import Drawer, sample_derivation, sample_edges
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer, inside_only
from latree.kinds.options import ModelOptions
from latree.kinds.registry import kind_named
from latree.kinds.search import Attempt, Coarse, Search, certified
from latree.learning.loop import Training
from latree.learning.progress import shown
from latree.lexicon.words import Lexicon
from latree.options import refuse_idle
from latree.text.partial_trees import PartialTree
from latree.text.sentences import tokenize
from latree.text.tokenize import Token

if TYPE_CHECKING:
    from latree.parallel import Jobs

Result = TypeVar("Result", bound=Analysis)

BATCH = 32  # sentences whose forests are laid end to end
LOOSER = (1e-2, 1e-4, 1e-8, 0.0)  # what thresholds are multiplied by, where pruning leaves nothing of a sentence
MANY_EDGES = 300_000  # of one sentence: after so many nothing is pruned less, which would leave far more
_SHOWN = 60  # characters of what a user gave


Item = TypeVar("Item")
# Running text, or the words, or these with trees that list constituents, or with brackets that are known.
Sentence = str | Sequence[str] | Listed | PartialTree


def batches(items: Iterable[Item], more: Callable[[], bool] = lambda: True) -> Iterator[list[Item]]:
    """Items in lists of up to BATCH, shorter where no `more` are at hand.

    When the source fails, what it gave before comes first, then its error.
    """
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == BATCH or not more():
                yield batch
                batch = []
    except LatreeError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class Trouble(NamedTuple):
    """Why a sentence has no derivation."""

    status: Status
    reason: str


NOTHING = Trouble("recovered", "the grammar derives nothing for these words")
UNLISTED = "no tree has only constituents that are listed; this one is of all constituents"


def checked_words(sentence: Any) -> tuple[str, ...]:
    """Check that a sentence is a sequence of words, none of them empty."""
    if not isinstance(sentence, Iterable):
        raise LatreeError(f"a sentence is a string or a list of words, not {sentence!r}")
    words = tuple(sentence)
    for number, word in enumerate(words, start=1):
        if not isinstance(word, str):
            raise LatreeError(f"word {number} of a sentence is no string: {clipped(word)}")
        if not word:
            raise LatreeError(f"word {number} of a sentence is empty; leave it out")
    return words


def clipped(value: object) -> str:
    """Show a value in a message, where it is long only how it begins."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


class ForestModel(ABC, Generic[Result]):
    """A model that prunes by a coarse pass and infers over forests.  `fit` gives it its grammar and lexicon.

    What people call is in `for_people`, which `dir` lists; the rest is what search, training and reports see of it.
    """

    kind: ClassVar[str]
    for_people: ClassVar[tuple[str, ...]] = (
        *("fit", "options", "training", "save", "kind", "grammar", "lexicon"),
        *("parse", "parse_all", "tag", "tag_all", "tokenize", "kbest", "posteriors", "sample", "log_prob", "unknown"),
    )
    run_options: ClassVar[tuple[str, ...]] = ("threshold", "max_length")  # set by the user of a model, not by training
    certifies: ClassVar[bool] = True  # the coarse pass is the model itself, and exact k-best lists can be told from it
    threshold: float = 5e-3  # posterior below which the coarse pass drops what it found
    max_length: int = 400  # longer sentences are not tried
    temperature: float = 1.0  # probabilities are taken to the power of 1 / temperature, and normalised
    training: Header  # how it came about: command, data, scores
    grammar: Grammar
    lexicon: Lexicon
    theta: Floats  # weights of the rules, tensors laid end to end
    tensors: Any  # the rules' weights, in the model's form
    _drawer: Drawer | None = None
    options: Any  # how it is trained, of the class that its kind has for them
    _continues: ClassVar[str | None] = None  # the option that a training cut short may be given more of

    def __init__(self, options: Any = None, **changes: Any) -> None:
        """Take the options of the kind, or its defaults, with some of them changed; a change must have an effect."""
        self.training, defaults, tags = {}, self._default_options(), self.kind == kind_named(self.kind).tagger_name
        self.options = (defaults if options is None else options).given(changes, tags=tags)
        refuse_idle(self.options, defaults, changes, tags=tags)

    @classmethod
    def _default_options(cls) -> ModelOptions:
        """The options of a model about which nothing is said."""
        return kind_named(cls.kind).trained_options()

    # -- training

    def fit(
        self, data: str | Path | Iterable[Any], training: Training | None = None, *, progress: bool = False
    ) -> Self:
        """Learn from trees or, to tag, from sentences as (words, tags), or from the path of a file that has them.

        With `progress` a bar tells how far it is.
        """
        if isinstance(data, str | Path):
            self.training["data"] = [Path(data).name]
            data = self.read_treebank(data)
        if not isinstance(data, Iterable):
            raise LatreeError(f"fit takes the path of a treebank, or what was read from one, not {clipped(data)}")
        with shown(training or Training()) if progress else nullcontext(training or Training()) as watched:
            self.learn(self.prepare_data(data), watched)  # which nothing here holds, and `learn` may let go
        return self

    @abstractmethod
    def read_treebank(self, path: str | Path) -> Iterable[Any]:
        """Read what `fit` learns from."""

    @abstractmethod
    def prepare_data(self, data: Iterable[Any]) -> list[Any]:
        """Bring a treebank into the form that `learn` takes, which a pruner of this kind shares with its model."""

    def learn(self, data: list[Any], training: Training) -> None:
        """Learn from what `prepare_data` made."""
        raise LatreeError(f"a {self.kind} is not trained: it is made of models that are")

    def identity(self) -> Header:
        """Describe what makes a training what it is, as JSON."""
        options = self.options.to_json()
        if self._continues is not None:
            del options[self._continues]
        return {"kind": self.kind, "options": options}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Reached only for what a model lacks: what its classes declare, `fit` gives it."""
            if any(name in vars(owner).get("__annotations__", {}) for owner in type(self).__mro__):
                raise NotTrainedError(f"this {self.kind} is not trained; call its fit, or latree.load a model file")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        """What is for people, and what Python has in every object."""
        special = (name for name in super().__dir__() if name.startswith("_"))
        return [*special, *(name for name in self.for_people if hasattr(self, name)), *self.run_options]

    def __repr__(self) -> str:
        """Tell in a line what it was trained on, its size, and how well it does."""
        name = type(self).__name__
        if not hasattr(self, "grammar"):
            return f"<{name}: not trained>"
        return f"<{name}{_treebank_name(self.training)}: {self.size_told()}{_score_told(self.training)}>"

    # -- what a kind of model says for itself; its readings are of a type of its own

    def prepare(self) -> None:
        """Make what inference needs from grammar and weights; models add the tables of their coarse pass."""
        self.tensors, self._drawer = self._form(), None

    def _form(self) -> Any:
        """The rules' weights as inference takes them."""
        return sparse(Layout(self.grammar, self.widths()), self.theta)

    def coarse_theta(self) -> Floats:
        """One number a rule for the coarse pass."""
        return self.theta

    @abstractmethod
    def coarse(self, reading: Any) -> Coarse:
        """The coarse pass over one sentence."""

    @abstractmethod
    def prune(self, coarse: Any, threshold: float) -> Piece:
        """The forest of what has a posterior of at least the threshold."""

    @abstractmethod
    def _result(self, tokens: tuple[str, ...], search: Search, derivation: Derivation, which: int) -> Result:
        """The analysis that a derivation stands for; `which` is its sentence's place in the search."""

    @abstractmethod
    def _stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Result:
        """What is given where there is no derivation."""

    # -- weights of one subtype a symbol; models with more override these

    def read(self, tokens: Sequence[str]) -> Reading:
        """What is made of the words of a sentence."""
        emissions = self.lexicon.emissions(tokens)
        return Emissions(emissions, emissions)

    def read_all(self, sentences: Sequence[Sequence[str]]) -> Any:
        """What is made of the words of some sentences laid end to end."""
        readings = [self.read(tokens) for tokens in sentences]
        return type(readings[0]).joined(readings)

    def _unit_emissions(self, units: Sequence[tuple[str | None, str | None]]) -> Floats:
        """P(w | tag) [units, tags] of known words, or of unknown words of given classes (`Lexicon.unit_row`)."""
        return np.stack([self.lexicon.unit_row(*unit) for unit in units])

    def refine(self, forest: Forest, reading: Any, looseness: float, gold: tuple[Longs, int] | None = None) -> Forest:
        """A further pruning of what the coarse pass left, all thresholds times `looseness`.

        Where the `anchors` of gold analyses are given, with the size that these have, none of their edges is dropped.
        """
        return forest

    def widths(self) -> Longs:
        return np.ones(len(self.grammar.symbols), np.int64)

    def weights(self, reading: Any) -> Any:
        """The weights of the grammar's rules and of these words, in the model's form."""
        return with_words(self.tensors, Layout(self.grammar, self.widths()), reading.subtypes)

    def _cells(self, reading: Any) -> Any:
        """The weights in a form that lets one go through subtypes one by one."""
        return self.weights(reading)

    def _no_statistics(self, weights: Any) -> Any:
        """What inference that is after posteriors alone adds expectations to."""
        return no_statistics(weights)

    @property
    def searcher(self) -> Model:
        """Who goes through all that the words allow: the model itself, or one whose lists it takes."""
        return self

    def potentials(self, forest: Forest, reading: Any) -> Potentials:
        """What parts of a forest weigh beside the rules: the place for scores of a sentence in context."""
        return NO_POTENTIALS

    def infer(self, forest: Forest, reading: Any) -> Any:
        """Posteriors of a forest of these words."""
        weights = self.weights(reading)
        return infer(forest, weights, self._no_statistics(weights), self.widths(), self.potentials(forest, reading))

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

    def _draw(self, forest: Forest, reading: Any, rng: np.random.Generator) -> list[int]:
        """The edges of a derivation of the forest's only sentence, drawn from its probability."""
        weights, potentials = self._cells(reading), self.potentials(forest, reading)
        return sample_derivation(forest, weights, self.infer(forest, reading).inside, rng, potentials=potentials)

    def likeliest_tag(self, word: str, first: bool) -> str:
        """The likeliest tag of a word by itself."""
        return self.grammar.tags[int(np.argmax(self.lexicon.tag_given_word(word, first)))].label

    def unknown(self, tokens: Sequence[str]) -> list[int]:
        """The places, from 0, of the words that training never saw, in lower case neither."""
        known = self.lexicon.is_known
        return [i for i, word in enumerate(tokens) if not (known(word) or known(word.lower()))]

    def facts(self, one: Analysis) -> dict[str, Any]:
        """An analysis as plain values, for JSON, with the places of the words that training never saw."""
        return one.to_json() | {"unknown": self.unknown(one.tokens)}

    # -- for people: what parsers and taggers both have; a sentence is running text, or a list of its words

    def parse(self, sentence: Sentence, objective: Objective = "max-rule") -> Parse:
        """The best tree of one sentence."""
        raise LatreeError(f"a {self.kind} tags but does not parse; use tag")

    def parse_all(
        self, sentences: str | Iterable[Sentence], jobs: Jobs = 1, objective: Objective = "max-rule"
    ) -> Iterator[Parse]:
        """The best tree of every sentence of a text or a list, in order; the same whatever the number of jobs."""
        raise LatreeError(f"a {self.kind} tags but does not parse; use tag_all")

    @abstractmethod
    def tag(self, sentence: Sentence, objective: Objective = "max-rule") -> list[str]:
        """The tags of one sentence."""

    def tag_all(
        self, sentences: str | Iterable[Sentence], jobs: Jobs = 1, objective: Objective = "max-rule"
    ) -> Iterator[Tagging]:
        """The tags of every sentence of a text or a list, in order; the same whatever the number of jobs."""
        raise LatreeError(f"a {self.kind} parses; use parse_all, whose trees have tags")

    @abstractmethod
    def posteriors(self, sentence: Sentence, least: float = 1e-3) -> list[Any]:
        """What is of at least the given probability, summed over all analyses."""

    @abstractmethod
    def sample(self, sentence: Sentence | None = None, seed: int | None = None) -> Result:
        """An analysis drawn from the model: given words, one of theirs; without, a sentence of the model's own."""

    def tokenize(self, text: str, *, wrapped: bool = False) -> list[list[Token]]:
        """Split running text into sentences and words as `latree.tokenize`, in the way of the model's treebank."""
        sentences = tokenize(text, wrapped=wrapped, style=self.lexicon.style)
        return [[token.unescaped() for token in sentence] for sentence in sentences]

    def words_of(self, sentence: Sentence) -> tuple[str, ...]:
        """The words of one sentence."""
        if isinstance(sentence, Listed | PartialTree):
            sentence = sentence.words
        if not isinstance(sentence, str):
            return checked_words(sentence)
        sentences = self.tokenize(sentence)
        if len(sentences) > 1:
            raise LatreeError(
                f"this text has {len(sentences)} sentences: {clipped(sentence)}; parse_all or tag_all takes them all, "
                "a list of words is one sentence"
            )
        return tuple(sentences[0]) if sentences else ()

    # -- analyses

    def analyse(self, sentences: str | Iterable[Sentence], objective: Objective = "max-rule") -> Iterator[Result]:
        """One analysis a sentence of a text or a list, in order, streaming."""
        for batch in batches(self.tokenize(sentences) if isinstance(sentences, str) else sentences):
            yield from self._analyse_batch(batch, objective)

    def _analyse_batch(self, batch: Sequence[Sentence], objective: Objective) -> list[Result]:
        words = [self.words_of(sentence) for sentence in batch]
        pairs = zip(batch, words, strict=True)
        attempts = [self._attempt(tokens if isinstance(one, str) else one) for one, tokens in pairs]
        results: dict[int, Result] = {}
        for listed in (False, True):
            good = {k: one for k, one in enumerate(attempts) if isinstance(one, Attempt) and one.is_listed == listed}
            search = Search(self, list(good.values()), self.threshold)
            for which, (k, derivation) in enumerate(zip(good, search.best(objective) if good else (), strict=True)):
                if derivation.edges:
                    results[k] = self._result(words[k], search, derivation, which)
                elif listed:
                    results[k] = self._analyse_freely(batch[k], objective)
                else:
                    results[k] = self._analyse_loosely(batch[k], good[k], objective)
        for k, attempt in enumerate(attempts):
            if isinstance(attempt, Trouble):
                results[k] = self._stand_in(words[k], attempt)
        return [results[k] for k in range(len(batch))]

    def _without_limits(self, sentence: Sentence, results: Sequence[Result]) -> list[Result]:
        """Tell of analyses that are among all there are, since limits leave none."""
        reason = self._unmet(sentence)
        return [replace(one, status="recovered", reason=reason) if one.status == "ok" else one for one in results]

    def _unmet(self, sentence: Sentence) -> str:
        """Why limits leave no analysis of a sentence."""
        return UNLISTED

    def _analyse_freely(self, sentence: Sentence, objective: Objective) -> Result:
        """A sentence of which limits leave nothing: leave them out."""
        return self._without_limits(sentence, self._analyse_batch([self.words_of(sentence)], objective))[0]

    def _analyse_loosely(self, sentence: Sentence, attempt: Attempt, objective: Objective) -> Result:
        """A sentence of which nothing was left by pruning: prune less, in the end not at all."""
        tokens = self.words_of(sentence)
        search, derivation = self._best(attempt, objective, LOOSER)
        if derivation.edges:
            return self._result(tokens, search, derivation, 0)
        return self._analyse_freely(sentence, objective) if attempt.is_limited else self._stand_in(tokens, NOTHING)

    def _best(
        self, attempt: Attempt, objective: Objective, loosenesses: Sequence[float] = (1.0, *LOOSER)
    ) -> tuple[Search, Derivation]:
        """The best derivation of one sentence, where nothing is left by pruning with less of it; else without edges."""
        for search in self._searches(attempt, self.threshold, loosenesses):
            derivation = search.best(objective)[0]
            if derivation.edges:
                break
        return search, derivation

    def _searches(self, attempt: Attempt, threshold: float, loosenesses: Sequence[float]) -> Iterator[Search]:
        """Search one sentence, pruning less every time, as long as there is room for it."""
        for looseness in loosenesses:
            search = Search(self, [attempt], threshold * looseness)
            yield search
            if not search.is_listed and len(search.survivors.rule) > MANY_EDGES:
                return

    def _search(self, attempt: Attempt, threshold: float) -> Search:
        """Search one sentence; where nothing is left by pruning, prune less; the last where there is nothing ever."""
        for search in self._searches(attempt, threshold, (1.0, *LOOSER)):
            if np.isfinite(search.log_z[0]):
                break
        return search

    def _attempt(self, sentence: Sentence) -> Attempt | Trouble:
        """The coarse pass of a sentence, or why there is none."""
        if isinstance(sentence, PartialTree):
            raise LatreeError(f"brackets are for parsers; a {self.kind} takes words")
        tokens = self.words_of(sentence)
        if not tokens:
            return Trouble("empty", "no words")
        if len(tokens) > self.max_length:
            return Trouble("failed", f"{len(tokens)} words; the limit is {self.max_length} (--max-length)")
        reading = self.read(tokens)
        coarse = self.coarse(reading)
        return Attempt(coarse, reading) if np.isfinite(coarse.log_z) else NOTHING

    def kbest(self, sentence: Sentence, k: int, objective: Objective = "max-rule") -> list[Result]:
        """The k best analyses, best first.

        With "viterbi" these are exactly the k most probable ones; the other objectives rank what survives pruning.
        """
        if k < 1:
            raise LatreeError(f"cannot list {k} analyses; ask for one or more")
        if objective == "viterbi" and not self.certifies:
            raise LatreeError(f"of a {self.kind} k-best lists go by max-rule, max-rule-sum, variational or mbr")
        tokens, attempt = self.words_of(sentence), self._attempt(sentence)
        if isinstance(attempt, Trouble):
            return [self._stand_in(tokens, attempt)]
        if objective == "viterbi":
            search, derivations = certified(self, attempt, k, 0.0 if attempt.is_listed else self.threshold)
        else:
            search, derivations = self._rank(attempt, k, objective)
        # What has no derivation over subtypes is left out.
        weighed = search.weighed(derivations) if derivations else []
        possible = [one for one in weighed if one.log_weight > -np.inf]
        if not possible and attempt.is_limited:
            return self._without_limits(sentence, self.kbest(tokens, k, objective))
        if not possible:
            return [self._stand_in(tokens, NOTHING)]
        return [self._result(tokens, search, derivation, 0) for derivation in possible]

    def _rank(self, attempt: Attempt, k: int, objective: Objective) -> tuple[Search, list[list[int]]]:
        """The k best by posteriors; a forest with fewer than k derivations is pruned less.

        That moves posteriors, and a pruner that derived nothing before may then rule out what was best.  But the best
        is what it is for one tree: it stays the first, in the loosest forest that still has it.
        """
        search, derivation = self._best(attempt, objective)
        best = derivation.edges
        while True:
            listed = [edges for _, edges in k_best(search.forest, search.scores(objective), k)]
            found = [best, *(edges for edges in listed if edges != best)][:k] if best else listed
            room = search.threshold >= 1e-12 and len(search.survivors.rule) <= MANY_EDGES
            if attempt.is_listed or len(found) == k or not room:
                return search, found
            looser = Search(self, [attempt], search.threshold * 1e-2)
            same = looser.same_edges(search, best)
            if best and not same:
                return search, found
            search, best = looser, same

    @property
    def drawer(self) -> Drawer:
        """Draws sentences of the model's own."""
        if self._drawer is None:
            self._drawer = Drawer(Layout(self.grammar, self.widths()), self.tensors, self.lexicon)
        return self._drawer

    def log_prob(self, sentence: Sentence) -> float:
        """log P(w): the sum over everything that the grammar derives; -inf where it derives nothing."""
        attempt = self._attempt(sentence)
        return -np.inf if isinstance(attempt, Trouble) else float(self._search(attempt, self.threshold).log_z[0])

    def _sample_given(self, sentence: Sentence, rng: np.random.Generator) -> Result:
        """An analysis drawn from its probability given the words, among those that survive pruning."""
        tokens, attempt = self.words_of(sentence), self._attempt(sentence)
        if isinstance(attempt, Trouble):
            return self._stand_in(tokens, attempt)
        search = self._search(attempt, self.threshold)
        if not np.isfinite(search.log_z[0]):
            if attempt.is_limited:
                return self._without_limits(sentence, [self._sample_given(tokens, rng)])[0]
            return self._stand_in(tokens, NOTHING)
        if search.inference is search.untempered:
            edges = self._draw(search.forest, attempt.reading, rng)
        else:
            edges = sample_edges(search.forest, search.posterior, rng)
        return self._result(tokens, search, search.weighed([edges])[0], 0)

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

    def save(self, path: str | Path) -> None:
        """Write the model to one file, all or nothing."""
        header, arrays = self.state()
        files.save(path, self.kind, header, arrays)

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

    @classmethod
    def from_state(cls, header: Header, arrays: Arrays) -> Self:
        """The model that `state` told of."""
        # In the first files the options stood apart, and some were not kept.
        apart = {name: header[name] for name in ("labels", "binarization", "column") if name in header}
        options = header.get("options", apart | header.get("split_merge", {}))
        model = cls(kind_named(cls.kind).trained_options.from_json(options))
        model.training = dict(header["training"])
        model.restore(header, arrays)
        model.check_lexicon()
        model.prepare()
        return model

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


Model = ForestModel[Any]  # of any kind, whether it parses or tags


def _treebank_name(training: Header) -> str:
    """Tell what a model was trained on, where that is known."""
    name = training.get("summary") or " + ".join(training.get("data", []))
    return f" ({name})" if name else ""


def _score_told(training: Header) -> str:
    """Tell the scores on held-out data, where there was any; of several sets, as models that ship have, the range."""
    sets = training.get("scores") or ({training["dev"]["data"]: training["dev"]} if "dev" in training else {})
    for figure, name in (("f1", "F1"), ("token", "tags")):
        scores = sorted((figures[figure], data) for data, figures in sets.items() if figure in figures)
        if scores:
            told = [f"{score:.1f} on {data}" for score, data in (scores[0], scores[-1])]
            return f"; {name} {' to '.join(dict.fromkeys(told))}"
    return ""
