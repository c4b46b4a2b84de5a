"""What people call of a model, whatever its kind: training, analyses, files.

What a kind says for itself is in `kinds/hooks.py`; the way from a sentence to its analyses is in `kinds/analyses.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from latree import files
from latree.errors import LatreeError, NotTrainedError
from latree.files import Arrays, Header
from latree.inference.constituents import Listed
from latree.inference.results import Analysis, Objective, Parse, Tagging
from latree.kinds import analyses
from latree.kinds.hooks import ModelHooks, Result
from latree.kinds.registry import kind_named
from latree.kinds.search import Trouble
from latree.kinds.sentences import Sentence, batches, checked_words, clipped
from latree.learning.loop import Training
from latree.learning.progress import shown
from latree.learning.runtime import set_for_training
from latree.options import refuse_idle
from latree.text.partial_trees import PartialTree
from latree.text.sentences import tokenize
from latree.text.tokenize import Token

if TYPE_CHECKING:
    from latree.parallel import Jobs


class ForestModel(ModelHooks[Result]):
    """A model that prunes by a coarse pass and infers over forests.  `fit` gives it its grammar and lexicon.

    What people call is in `for_people`, which `dir` lists; the rest is what search, training and reports see of it.
    """

    for_people: ClassVar[tuple[str, ...]] = (
        *("fit", "options", "training", "save", "kind", "grammar", "lexicon"),
        *("parse", "parse_all", "tag", "tag_all", "tokenize", "kbest", "posteriors", "sample", "log_prob", "unknown"),
    )

    def __init__(self, options: Any = None, **changes: Any) -> None:
        """Take the options of the kind, or its defaults, with some of them changed; a change must have an effect."""
        self.training, defaults, tags = {}, self.default_options(), self.kind == kind_named(self.kind).tagger_name
        self.options = (defaults if options is None else options).given(changes, tags=tags)
        refuse_idle(self.options, defaults, changes, tags=tags)

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
        watching = shown(training or Training()) if progress else nullcontext(training or Training())
        with set_for_training(), watching as watched:
            self.learn(self.prepare_data(data), watched)  # which nothing here holds, and `learn` may let go
        return self

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

    # -- analyses: what parsers and taggers both have; a sentence is running text, or a list of its words

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

    def analyse(self, sentences: str | Iterable[Sentence], objective: Objective = "max-rule") -> Iterator[Result]:
        """One analysis a sentence of a text or a list, in order, streaming."""
        for batch in batches(self.tokenize(sentences) if isinstance(sentences, str) else sentences):
            yield from self.analyse_batch(batch, objective)

    def analyse_batch(self, batch: Sequence[Sentence], objective: Objective) -> list[Result]:
        """One analysis a sentence, in order."""
        return analyses.analyse_batch(self, batch, objective)

    def kbest(self, sentence: Sentence, k: int, objective: Objective = "max-rule") -> list[Result]:
        """The k best analyses, best first.

        With "viterbi" these are exactly the k most probable ones; the other objectives rank what survives pruning.
        """
        if k < 1:
            raise LatreeError(f"cannot list {k} analyses; ask for one or more")
        if objective == "viterbi" and not self.certifies:
            raise LatreeError(f"of a {self.kind} k-best lists go by max-rule, max-rule-sum, variational or mbr")
        return analyses.list_analyses(self, sentence, k, objective)

    def log_prob(self, sentence: Sentence) -> float:
        """log P(w): the sum over everything that the grammar derives; -inf where it derives nothing."""
        attempt = self.attempt(sentence)
        if isinstance(attempt, Trouble):
            return -np.inf
        return float(analyses.search_one(self, attempt, self.threshold).log_z[0])

    def unknown(self, tokens: Sequence[str]) -> list[int]:
        """The places, from 0, of the words that training never saw, in lower case neither."""
        known = self.lexicon.is_known
        return [i for i, word in enumerate(tokens) if not (known(word) or known(word.lower()))]

    def facts(self, one: Analysis) -> dict[str, Any]:
        """An analysis as plain values, for JSON, with the places of the words that training never saw."""
        return one.to_json() | {"unknown": self.unknown(one.tokens)}

    # -- files

    def save(self, path: str | Path) -> None:
        """Write the model to one file, all or nothing."""
        header, arrays = self.state()
        files.save(path, self.kind, header, arrays)

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
