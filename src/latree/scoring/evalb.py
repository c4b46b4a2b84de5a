"""EVALB in Python: the bracket score that parsing papers report, in the original program's own table.

EVALB deletes words by the tags of each side separately, so that a parser's wrong tag on a comma makes the two sides
differ in length and the sentence is left out of the score; `latree.scoring.score` has the strict count beside this one.
Messages about sentences left out, which EVALB writes to standard error, are no part of the table: each sentence keeps
its own in `Sentence.reason`.  MAX_ERROR is read but never stops the scoring.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, compress
from os import PathLike
from pathlib import Path

from latree.errors import InputError
from latree.text.tree import Tree, unescape

OK, ERROR, SKIP = 0, 1, 2  # EVALB's column "Stat.": the sides differ in their words; there is nothing to score
ANY_LABEL = "*"  # the one label of all brackets where the score is unlabelled

# EVALB drops function tags by itself: NP-SBJ and NP=2 are NP, while -NONE- keeps its leading hyphen.
_BASE_LABEL = re.compile(r".[^-=]*", re.DOTALL)

Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class Parameters:
    """What a .prm file sets; the defaults are those of COLLINS.prm."""

    delete: frozenset[str] = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
    delete_for_length: frozenset[str] = frozenset({"-NONE-"})
    equal_labels: tuple[tuple[str, str], ...] = (("ADVP", "PRT"),)
    equal_words: tuple[tuple[str, str], ...] = ()
    quote_labels: frozenset[str] = frozenset()
    quote_words: frozenset[str] = frozenset()
    labeled: int = 1
    cutoff: int = 40
    max_error: int = 10
    debug: int = 0

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Parameters:
        """The parameters in a .prm file; what the file leaves out is empty, or EVALB's own default for a number."""
        numbers: dict[str, int] = {}
        lists: defaultdict[str, list[list[str]]] = defaultdict(list)
        for line, name, words in _settings(Path(path)):
            if fault := _fault_of_setting(name, words):
                raise InputError(str(path), line, fault)
            if name in _NUMBERS:
                numbers[_NUMBERS[name]] = int(words[0])
            else:
                lists[name].append([unescape(word) for word in words] if name in _OF_WORDS else words)
        return cls(
            delete=frozenset(label for (label,) in lists["DELETE_LABEL"]),
            delete_for_length=frozenset(label for (label,) in lists["DELETE_LABEL_FOR_LENGTH"]),
            equal_labels=tuple((first, second) for first, second in lists["EQ_LABEL"]),
            equal_words=tuple((first, second) for first, second in lists["EQ_WORD"]),
            quote_labels=frozenset(label for (label,) in lists["QUOTE_LABEL"]),
            quote_words=frozenset(word for (word,) in lists["QUOTE_TERM"]),
            **numbers,
        )

    def label(self, label: str) -> str | None:
        """The label under which a bracket is counted, or None where its bracket is deleted."""
        if label not in self._labels:
            base = _base(label)
            counted = self._label_classes.get(base, base) if self.labeled else ANY_LABEL
            self._labels[label] = None if base in self.delete else counted
        return self._labels[label]

    def same_tag(self, first: str, second: str) -> bool:
        return first == second or self._label_classes.get(first, first) == self._label_classes.get(second, second)

    def same_word(self, first: str, second: str) -> bool:
        return first == second or self._word_classes.get(first, first) == self._word_classes.get(second, second)

    def length(self, tree: Tree) -> int:
        """The length by which a sentence falls under the cut-off: punctuation counts, traces do not."""
        return sum(leaf.label not in self.delete_for_length for leaf in tree.leaves())

    @cached_property
    def _labels(self) -> dict[str, str | None]:
        return {}

    @cached_property
    def _label_classes(self) -> dict[str, str]:
        return _classes(self.equal_labels)

    @cached_property
    def _word_classes(self) -> dict[str, str]:
        return _classes(self.equal_words)


def _base(label: str) -> str:
    match = _BASE_LABEL.match(label)
    return match.group() if match else label


def _classes(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The name of each item's class under the equivalence that `pairs` span: the item named first in the file."""
    names: dict[str, str] = {}
    for first, second in pairs:
        name, other = names.setdefault(first, first), names.setdefault(second, second)
        names = {item: name if old == other else old for item, old in names.items()}
    return names


def _settings(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Line number, option and values of every line that sets something."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(str(path), raw.count(b"\n", 0, error.start) + 1, "not UTF-8; save the file as UTF-8") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, *words = line.split()
            yield number, name, words


def _fault_of_setting(name: str, words: Sequence[str]) -> str:
    """What is wrong with a line of a .prm file; empty where nothing is."""
    if name not in _ARITY:
        return f"unknown option {name!r}; expected one of {', '.join(_ARITY)}"
    if len(words) != _ARITY[name]:
        return f"{name} takes {_ARITY[name]} value{'s' * (_ARITY[name] > 1)}, found {len(words)}"
    if name in _NUMBERS and not _WHOLE.fullmatch(words[0]):
        return f"{name} takes a whole number of up to nine digits, found {words[0][:20]!r}"
    return ""


_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBERS = {"DEBUG": "debug", "MAX_ERROR": "max_error", "CUTOFF_LEN": "cutoff", "LABELED": "labeled"}
_OF_LABELS = ("DELETE_LABEL", "DELETE_LABEL_FOR_LENGTH", "QUOTE_LABEL", "EQ_LABEL")
_OF_WORDS = ("QUOTE_TERM", "EQ_WORD")
_ARITY = {name: 2 if name.startswith("EQ_") else 1 for name in (*_NUMBERS, *_OF_LABELS, *_OF_WORDS)}
COLLINS = Parameters()


@dataclass(frozen=True, slots=True)
class Flat:
    """What is left of a tree after deletion: words and tags, and brackets over the words that are left."""

    words: list[str]
    tags: list[str]
    brackets: list[Bracket]


def flatten(tree: Tree, keep: Sequence[bool], parameters: Parameters) -> Flat:
    """The tree with only the words that `keep` marks; brackets left without a word go too."""
    offsets = [0, *accumulate(keep)]
    leaves = list(compress(tree.leaves(), keep))
    brackets = [
        (label, offsets[start], offsets[end])
        for name, start, end in tree.spans()
        if offsets[start] < offsets[end] and (label := parameters.label(name)) is not None
    ]
    return Flat([leaf.word or "" for leaf in leaves], [leaf.label for leaf in leaves], brackets)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One row of EVALB's table; `reason` says in words why the sentence was left out or has no usable parse."""

    length: int
    status: int = OK
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    tags: int = 0
    reason: str = ""

    @property
    def exact(self) -> bool:
        return not self.reason and self.matched == self.gold == self.test


def score_pair(gold: Tree, test: Tree | None, parameters: Parameters = COLLINS) -> Sentence:
    """EVALB's row for one sentence; `test` is None where the parser gave no tree."""
    length = parameters.length(gold)
    if test is None:
        return Sentence(length, SKIP, reason="no parse")
    gold_keep, test_keep = _kept(gold, test, parameters)
    left, right = flatten(gold, gold_keep, parameters), flatten(test, test_keep, parameters)
    status, reason = _fault(left.words, right.words, parameters)
    return Sentence(length, status, reason=reason) if status else count(left, right, length, parameters)


def _kept(gold: Tree, test: Tree, parameters: Parameters) -> tuple[list[bool], list[bool]]:
    """Which words stay on each side: those whose own tag is not deleted, and quotes that only one side deletes.

    The newer EVALB puts such a quote back on both sides, where the parameters list its word and both its tags.
    """
    gold_leaves, test_leaves = gold.leaves(), test.leaves()
    gold_keep = [leaf.label not in parameters.delete for leaf in gold_leaves]
    test_keep = [leaf.label not in parameters.delete for leaf in test_leaves]
    if parameters.quote_words and len(gold_keep) == len(test_keep):
        for i, (left, right) in enumerate(zip(gold_leaves, test_leaves, strict=True)):
            words, tags = {left.word, right.word}, {left.label, right.label}
            if words <= parameters.quote_words and tags <= parameters.quote_labels:
                gold_keep[i] = test_keep[i] = gold_keep[i] or test_keep[i]
    return gold_keep, test_keep


def _fault(gold: Sequence[str], test: Sequence[str], parameters: Parameters) -> tuple[int, str]:
    """EVALB's status and the reason why it leaves a sentence out, in the order in which it looks for them."""
    if not test:
        return SKIP, "no words left in the parse"
    if len(gold) != len(test):
        return ERROR, f"length differs: {len(gold)} words in gold, {len(test)} in the parse, after deletion"
    for left, right in zip(gold, test, strict=True):
        if not parameters.same_word(left, right):
            return ERROR, f"words differ: {left!r} in gold, {right!r} in the parse"
    return OK, ""


def count(gold: Flat, test: Flat, length: int, parameters: Parameters) -> Sentence:
    """The counts of two sides that have the same words."""
    return Sentence(
        length,
        matched=(Counter(gold.brackets) & Counter(test.brackets)).total(),
        gold=len(gold.brackets),
        test=len(test.brackets),
        crossing=_crossing(gold.brackets, test.brackets),
        words=len(gold.words),
        tags=sum(map(parameters.same_tag, gold.tags, test.tags)),
    )


def _crossing(gold: Sequence[Bracket], test: Sequence[Bracket]) -> int:
    """How many test brackets cross some gold bracket.  A span that is in the gold tree cannot."""
    spans = {(start, end) for _, start, end in gold}
    unseen = [(start, end) for _, start, end in test if (start, end) not in spans]
    return sum(any(a < start < b < end or start < a < end < b for a, b in spans) for start, end in unseen)


class Summary:
    """Totals over sentences, without those that EVALB leaves out."""

    def __init__(self, rows: Sequence[Sentence]) -> None:
        valid = [row for row in rows if row.status == OK]
        self.sentences, self.valid = len(rows), len(valid)
        self.errors = sum(row.status == ERROR for row in rows)
        self.skips = sum(row.status == SKIP for row in rows)
        self.matched, self.gold, self.test, self.crossing, self.words, self.tags = (
            sum(getattr(row, name) for row in valid)
            for name in ("matched", "gold", "test", "crossing", "words", "tags")
        )
        self.recall, self.precision = percent(self.matched, self.gold), percent(self.matched, self.test)
        self.f1 = harmonic(self.precision, self.recall)
        self.exact = percent(sum(row.exact for row in valid), self.valid)
        self.tag_accuracy = percent(self.tags, self.words)
        self.uncrossed = percent(sum(row.crossing == 0 for row in valid), self.valid)
        self.nearly_uncrossed = percent(sum(row.crossing <= 2 for row in valid), self.valid)


def percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


_RULE = "=" * 76
_HEAD = f"""\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
{_RULE}"""


def format_table(rows: Sequence[Sentence], parameters: Parameters = COLLINS) -> str:
    """EVALB's whole output, line for line: a row for each sentence, the totals, and the two summaries."""
    total = Summary(rows)
    short = Summary([row for row in rows if row.length <= parameters.cutoff])
    lines = [_HEAD, *(_row(number, row) for number, row in enumerate(rows, start=1)), _RULE, _totals(total)]
    lines += ["=== Summary ===", "", "-- All --", *_summary(total)]
    lines += ["", f"-- len<={parameters.cutoff} --", *_summary(short)]
    return "\n".join(lines) + "\n"


def _row(number: int, row: Sentence) -> str:
    rates = f"{percent(row.matched, row.gold):6.2f} {percent(row.matched, row.test):6.2f}"
    brackets = f"{row.matched:3d}    {row.gold:3d}  {row.test:3d}    {row.crossing:3d}"
    tags = f"{row.words:4d}  {row.tags:4d}   {percent(row.tags, row.words):6.2f}"
    return f"{number:4d}  {row.length:3d}    {row.status:d}  {rates}   {brackets}   {tags}"


def _totals(total: Summary) -> str:
    brackets = f"{total.matched:6d} {total.gold:5d} {total.test:5d}  {total.crossing:5d}"
    tags = f"{total.words:5d} {total.tags:5d}   {total.tag_accuracy:6.2f}"
    return f"{'':16}{total.recall:6.2f} {total.precision:6.2f} {brackets}  {tags}"


def _summary(total: Summary) -> list[str]:
    counts = {
        "Number of sentence": total.sentences,
        "Number of Error sentence": total.errors,
        "Number of Skip  sentence": total.skips,
        "Number of Valid sentence": total.valid,
    }
    rates = {
        "Bracketing Recall": total.recall,
        "Bracketing Precision": total.precision,
        "Bracketing FMeasure": total.f1,
        "Complete match": total.exact,
        "Average crossing": total.crossing / total.valid if total.valid else 0.0,
        "No crossing": total.uncrossed,
        "2 or less crossing": total.nearly_uncrossed,
        "Tagging accuracy": total.tag_accuracy,
    }
    whole = [f"{name:26}= {value:6d}" for name, value in counts.items()]
    return whole + [f"{name:26}= {value:6.2f}" for name, value in rates.items()]
