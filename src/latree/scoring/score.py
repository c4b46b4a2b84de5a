"""Scores of parses and tags, for people and for programs.

Parses are counted twice.  EVALB's count is what papers report; it leaves out every sentence where the parser failed
or gave a punctuation mark another tag.  The strict count leaves nothing out: words are deleted by the gold tags on
both sides, and a sentence without a usable parse has no brackets, so all its gold brackets are missed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from latree.errors import LatreeError
from latree.scoring.evalb import (
    COLLINS,
    Flat,
    Parameters,
    Sentence,
    Summary,
    count,
    flatten,
    harmonic,
    percent,
    score_pair,
)
from latree.text.tree import Tree, read_brackets

if TYPE_CHECKING:
    from rich.table import Table

NO_PARSE = "no parse"  # why a sentence has no brackets
ROOT = "ROOT"  # the label of the outer bracket of every tree that latree has cleaned
Triple = tuple[int, int, int]  # matched, gold and test brackets of a sentence; for tags, correct and twice the words
Tagged = tuple[Sequence[str], Sequence[str]]
A = TypeVar("A")
B = TypeVar("B")

_NO_PARSE = re.compile(r"\s*\(\s*[^\s()]*\s*(\(\s*\)\s*)*\)\s*")
_PLACEHOLDER = "(no-parse no-parse)"


def read_predictions(lines: Iterable[str], file: str) -> Iterator[Tree | None]:
    """Trees from a parser's output, None for a line such as `(())`, by which parsers say that they have no parse."""
    for tree in read_brackets(_with_placeholders(lines), file):
        yield None if tree.is_leaf and str(tree) == _PLACEHOLDER else tree


def _with_placeholders(lines: Iterable[str]) -> Iterator[str]:
    """Line for line the same file, so that faults keep their line numbers, but for lines without a parse."""
    depth = 0
    for line in lines:
        yield f"{_PLACEHOLDER}\n" if depth == 0 and _NO_PARSE.fullmatch(line) else line
        depth += line.count("(") - line.count(")")


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence, by its number in the file, in both counts; the strict words and tags take in punctuation."""

    number: int
    evalb: Sentence
    strict: Sentence
    same_words: bool  # or no parse, which says nothing of words


class LabelCounts:
    """Brackets by label, in the strict count; labels that the parameters hold equal are counted as one."""

    def __init__(self) -> None:
        self.matched, self.gold, self.test = Counter[str](), Counter[str](), Counter[str]()

    def add(self, gold: Flat, test: Flat) -> None:
        both = Counter(gold.brackets) & Counter(test.brackets)
        for total, brackets in (self.matched, both.elements()), (self.gold, gold.brackets), (self.test, test.brackets):
            total.update(label for label, _, _ in brackets)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Counts and rates of each label, the most frequent of the gold trees first."""
        labels = sorted(self.gold | self.test, key=lambda label: (-self.gold[label], label))
        return {label: rates_of(self.matched[label], self.gold[label], self.test[label]) for label in labels}


def rates_of(matched: int, gold: int, test: int) -> dict[str, float]:
    """Precision, recall and F1 of things that are counted, and the counts."""
    rates = {"precision": percent(matched, test), "recall": percent(matched, gold)}
    return rates | {"f1": harmonic(**rates), "matched": matched, "gold": gold, "test": test}


@dataclass(frozen=True, slots=True)
class Scores:
    """All that is known about a file of parses; `to_json` has the fixed names."""

    rows: list[Row]
    labels: LabelCounts
    cutoff: int

    @property
    def evalb(self) -> Summary:
        return Summary([row.evalb for row in self.rows])

    @property
    def strict(self) -> Summary:
        return Summary([row.strict for row in self.rows])

    @property
    def failed(self) -> list[tuple[int, str]]:
        """Number and reason of each sentence without a usable parse."""
        return [(row.number, row.strict.reason) for row in self.rows if row.strict.reason]

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Number and reason of each sentence that EVALB leaves out."""
        return [(row.number, row.evalb.reason) for row in self.rows if row.evalb.status]

    @property
    def strangers(self) -> int:
        """Count the sentences whose parse is one of other words: where they are many, the files hardly fit."""
        return sum(not row.same_words for row in self.rows)

    def bracket_counts(self) -> list[Triple]:
        """For `compare`: the strict counts of each sentence."""
        return [(row.strict.matched, row.strict.gold, row.strict.test) for row in self.rows]

    def tag_counts(self) -> list[Triple]:
        """For `compare`: correct tags over all words, punctuation too."""
        return [(row.strict.tags, row.strict.words, row.strict.words) for row in self.rows]

    def by_length(self) -> dict[str, list[Row]]:
        """Sentences in bins of ten words, and those up to the cut-off; bins that are empty are left out."""
        bins: dict[int, list[Row]] = {}
        for row in self.rows:
            bins.setdefault(max(row.strict.length - 1, 0) // 10, []).append(row)
        named = {f"{10 * ten + 1}-{10 * ten + 10}": bins[ten] for ten in sorted(bins)}
        return named | {f"<={self.cutoff}": [row for row in self.rows if row.strict.length <= self.cutoff]}

    def to_json(self) -> dict[str, Any]:
        return {
            **_rates(self.rows),
            "skipped_sentences": [{"sentence": number, "reason": reason} for number, reason in self.skipped],
            "failed_sentences": [{"sentence": number, "reason": reason} for number, reason in self.failed],
            "by_label": self.labels.to_json(),
            "by_length": {name: _rates(rows) for name, rows in self.by_length().items()},
        }


def _rates(rows: Sequence[Row]) -> dict[str, float]:
    evalb, strict = Summary([row.evalb for row in rows]), Summary([row.strict for row in rows])
    return {
        "precision": evalb.precision,
        "recall": evalb.recall,
        "f1": evalb.f1,
        "exact": evalb.exact,
        "tag_accuracy": evalb.tag_accuracy,
        "sentences": len(rows),
        "skipped": evalb.errors + evalb.skips,
        "failed": sum(bool(row.strict.reason) for row in rows),
        "precision_strict": strict.precision,
        "recall_strict": strict.recall,
        "f1_strict": strict.f1,
        "exact_strict": strict.exact,
        "tag_accuracy_all": strict.tag_accuracy,
    }


def score_trees(
    gold: Iterable[Tree],
    predicted: Iterable[Tree | None],
    parameters: Parameters = COLLINS,
    *,
    wrapper: str | None = ROOT,
    max_length: int | None = None,
) -> Scores:
    """Both counts of a file of parses.

    `wrapper` is the label of the outer bracket that cleaned trees carry, which is never counted; None leaves labels as
    they stand.  Sentences whose gold tree is longer than `max_length` are left out of everything.
    """
    parameters = without_wrapper(parameters, wrapper)
    rows, labels = [], LabelCounts()
    for number, (left, right) in enumerate(paired(gold, predicted, "trees"), start=1):
        if max_length is None or parameters.length(left) <= max_length:
            strict = _strict(left, right, parameters, labels)
            rows.append(Row(number, score_pair(left, right, parameters), strict, _same_words(left, right, parameters)))
    return Scores(rows, labels, parameters.cutoff)


def without_wrapper(parameters: Parameters, wrapper: str | None) -> Parameters:
    """Parameters by which the outer bracket of cleaned trees is not counted either."""
    return parameters if wrapper is None else replace(parameters, delete=parameters.delete | {wrapper})


def paired(gold: Iterable[A], predicted: Iterable[B], what: str) -> list[tuple[A, B]]:
    """Both files side by side; files of unequal length do not belong together, so nothing is cut off silently."""
    left, right = list(gold), list(predicted)
    if len(left) != len(right):
        raise LatreeError(f"{len(left)} {what} in gold, {len(right)} predicted; the files must match one to one")
    return list(zip(left, right, strict=True))


class KeptWords(NamedTuple):
    """Which leaves of both trees the strict count compares, and the tags of all words but traces."""

    gold: list[bool]
    test: list[bool]
    gold_tags: list[str]
    test_tags: list[str]
    reason: str  # why the trees cannot be compared


def kept_words(gold: Tree, test: Tree | None, parameters: Parameters) -> KeptWords:
    """Traces, which the parser never saw, go by the tags of either side, as they must for the other words to line up;
    all else goes by the gold tags."""
    tags = [tag for tag in gold.tags() if tag not in parameters.delete_for_length]
    guesses = [tag for tag in test.tags() if tag not in parameters.delete_for_length] if test is not None else []
    keep = [tag not in parameters.delete for tag in tags]
    reason = NO_PARSE if test is None else _length_fault(len(tags), len(guesses))
    there = [] if test is None or reason else _spread(test, keep, parameters)
    return KeptWords(_spread(gold, keep, parameters), there, tags, guesses, reason)


def _strict(gold: Tree, test: Tree | None, parameters: Parameters, labels: LabelCounts) -> Sentence:
    """The strict count of one sentence."""
    kept = kept_words(gold, test, parameters)
    left, right, correct = flatten(gold, kept.gold, parameters), Flat([], [], []), 0
    if test is not None and not kept.reason:
        right = flatten(test, kept.test, parameters)
        correct = sum(map(parameters.same_tag, kept.gold_tags, kept.test_tags))
    labels.add(left, right)
    words = len(kept.gold_tags)
    return replace(count(left, right, words, parameters), words=words, tags=correct, reason=kept.reason)


def _same_words(gold: Tree, test: Tree | None, parameters: Parameters) -> bool:
    """Tell whether a parse has the words of the gold tree, traces left aside; no parse has none that differ."""
    if test is None:
        return True
    left, right = (
        [leaf.word or "" for leaf in tree.leaves() if leaf.label not in parameters.delete_for_length]
        for tree in (gold, test)
    )
    return len(left) == len(right) and all(map(parameters.same_word, left, right))


def _spread(tree: Tree, keep: Sequence[bool], parameters: Parameters) -> list[bool]:
    """`keep`, which is by real words, over all leaves of the tree: traces are never kept."""
    flags = iter(keep)
    return [tag not in parameters.delete_for_length and next(flags) for tag in tree.tags()]


def _length_fault(gold: int, predicted: int) -> str:
    return "" if gold == predicted else f"{gold} words in gold, {predicted} predicted"


@dataclass(frozen=True, slots=True)
class TagScores:
    """Tagging accuracy: counts are (correct, words), of each sentence, and of the words in the training vocabulary."""

    counts: list[tuple[int, int]]
    known: tuple[int, int] | None
    confusion: Counter[tuple[str, str]]

    def tag_counts(self) -> list[Triple]:
        """For `compare`."""
        return [(correct, words, words) for correct, words in self.counts]

    def to_json(self, confusions: int = 20) -> dict[str, Any]:
        """Accuracies in per cent, and the most frequent errors; known and unknown are null without a vocabulary."""
        right, words = sum(count[0] for count in self.counts), sum(count[1] for count in self.counts)
        unknown = self.known and (right - self.known[0], words - self.known[1])
        return {
            "token": percent(right, words),
            "sentence": percent(sum(correct == total for correct, total in self.counts), len(self.counts)),
            "known": self.known and percent(*self.known),
            "unknown": unknown and percent(*unknown),
            "tokens": words,
            "sentences": len(self.counts),
            "known_tokens": self.known and self.known[1],
            "unknown_tokens": unknown and unknown[1],
            "confusion": [
                {"gold": gold, "predicted": predicted, "count": number}
                for (gold, predicted), number in self.confusion.most_common(confusions)
            ],
        }


def score_tags(gold: Iterable[Tagged], predicted: Iterable[Tagged], known: Collection[str] | None = None) -> TagScores:
    """Accuracy of predicted tags; `known` is the training vocabulary."""
    counts: list[tuple[int, int]] = []
    confusion: Counter[tuple[str, str]] = Counter()
    familiar: list[bool] = []  # of each word in the vocabulary, whether its tag is right
    vocabulary = frozenset(known or ())
    for number, ((words, tags), (others, guesses)) in enumerate(paired(gold, predicted, "sentences"), start=1):
        _check_words(number, words, others)
        hits = [tag == guess for tag, guess in zip(tags, guesses, strict=True)]
        counts.append((sum(hits), len(hits)))
        familiar += [hit for word, hit in zip(words, hits, strict=True) if word in vocabulary]
        confusion.update((tag, guess) for tag, guess in zip(tags, guesses, strict=True) if tag != guess)
    return TagScores(counts, None if known is None else (sum(familiar), len(familiar)), confusion)


def _check_words(number: int, gold: Sequence[str], predicted: Sequence[str]) -> None:
    if fault := _length_fault(len(gold), len(predicted)):
        raise LatreeError(f"sentence {number}: {fault}; are these the same sentences?")
    for place, (word, other) in enumerate(zip(gold, predicted, strict=True), start=1):
        if word != other:
            differ = f"word {place} is {word!r} in gold, {other!r} predicted"
            raise LatreeError(f"sentence {number}: {differ}; are these the same sentences?")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Second minus first, in points, with a 95 % interval and a two-sided p-value by paired bootstrap."""

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    resamples: int

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def compare(first: Sequence[Triple], second: Sequence[Triple], *, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Whether two systems differ on the same sentences; F1 of `bracket_counts`, accuracy of `tag_counts`.

    Accuracy is the F1 of counts whose gold and test numbers are the same, so one function does for both.
    """
    import numpy as np

    if not first or [gold for _, gold, _ in first] != [gold for _, gold, _ in second]:
        raise LatreeError("the two systems must be scored on the same gold sentences, at least one")
    table = np.concatenate([np.array(first, float), np.array(second, float)], axis=1)
    sums = np.ones((1, len(table))) @ table
    (one,), (two,) = _f1(sums[:, :3]), _f1(sums[:, 3:])
    differences = _resampled(table, resamples, np.random.default_rng(seed))
    low, high = np.quantile(differences, [0.025, 0.975])
    tail = min(np.sum(differences <= 0), np.sum(differences >= 0))
    p_value = min(1.0, 2.0 * (1 + int(tail)) / (1 + resamples))
    return Comparison(float(one), float(two), float(two - one), float(low), float(high), p_value, resamples)


def _f1(sums: Any) -> Any:
    """F1 of each row of (matched, gold, test); 0 where there are no brackets at all, as in EVALB."""
    whole = sums[:, 1] + sums[:, 2]
    return 200.0 * sums[:, 0] / (whole + (whole == 0))


def _resampled(table: Any, resamples: int, rng: Any) -> Any:
    """Second minus first in every resample: how often each sentence is drawn, times the counts, a block at a time."""
    import numpy as np

    size = len(table)
    block = max(1, 2_000_000 // size)  # so that the draws of a block take 16 MB
    parts = []
    for start in range(0, resamples, block):
        draws = rng.multinomial(size, np.full(size, 1.0 / size), size=min(block, resamples - start))
        sums = draws.astype(float) @ table
        parts.append(_f1(sums[:, 3:]) - _f1(sums[:, :3]))
    return np.concatenate(parts)


def render_trees(scores: Scores) -> Table:
    """Both counts for the terminal, whole and by length."""
    heads = {"sentences": "n", "skipped": "skip", "failed": "fail", "precision": "prec", "recall": "rec", "f1": "F1"}
    heads |= {"exact": "exact", "tag_accuracy": "tags"}
    heads |= {"f1_strict": "F1\nstrict", "exact_strict": "exact\nstrict", "tag_accuracy_all": "tags\nstrict"}
    groups = {"all": scores.rows, **scores.by_length()}
    return render_table("words", heads, {group: _rates(rows) for group, rows in groups.items()})


def render_labels(scores: Scores) -> Table:
    """The strict count by label, for the terminal."""
    heads = {"gold": "gold", "test": "test", "matched": "matched", "precision": "prec", "recall": "rec", "f1": "F1"}
    return render_table("label", heads, scores.labels.to_json())


def render_tags(scores: TagScores) -> Table:
    """The accuracies for the terminal."""
    heads = {name: name for name in ("token", "sentence", "known", "unknown")}
    return render_table("", heads, {"accuracy": scores.to_json()})


def render_table(corner: str, heads: Mapping[str, str], rows: Mapping[str, Mapping[str, Any]]) -> Table:
    """A table for the terminal: a row a name, the values of each under their heads."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text  # a plain Text, as a label may look like rich's markup

    table = Table(corner, box=SIMPLE_HEAD, padding=0, show_edge=False)
    for head in heads.values():
        table.add_column(head, justify="right", no_wrap=True)
    for title, values in rows.items():
        table.add_row(Text(title), *(_cell(values[name]) for name in heads))
    return table


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
