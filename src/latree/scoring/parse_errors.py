"""Parse errors by kind: what each edit on the way from a parse to the gold tree says of the parser.

The kinds are those of Kummerfeld, Hall, Curran & Klein (2012).  Trees are compared as the strict count compares them,
without punctuation and under the labels that EVALB's parameters hold equal, so that the brackets of all errors are the
brackets that the strict count has missed or found in excess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from latree.scoring.evalb import COLLINS, Parameters, percent
from latree.scoring.label_families import Family, family_of
from latree.scoring.score import NO_PARSE, ROOT, kept_words, paired, without_wrapper
from latree.scoring.tree_edits import Edit, Relabel, apply_edits
from latree.scoring.tree_repair import Part, Repair, repairs
from latree.text.tree import Tree

Kind = Literal[
    "PP attachment",
    "clause attachment",
    "NP attachment",
    "VP attachment",
    "modifier attachment",
    "coordination",
    "NP-internal structure",
    "different label",
    "unary",
    "single-word phrase",
    "other span",
    "no parse",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
ATTACHMENTS: dict[Family, Kind] = {
    "preposition": "PP attachment",
    "clause": "clause attachment",
    "noun": "NP attachment",
    "verb": "VP attachment",
    "modifier": "modifier attachment",
}


@dataclass(frozen=True)
class ParseError:
    """An error of a parse."""

    kind: Kind
    brackets: int  # how many it makes wrong: missing ones and those that should not be there
    told: str  # in words, what is to be done
    edits: tuple[Edit, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "brackets": self.brackets, "correction": self.told}


@dataclass(frozen=True)
class SentenceErrors:
    """What is wrong with one parse; both trees are as they are compared, and None where no word is counted."""

    number: int
    gold: Tree | None
    parse: Tree | None
    tags: tuple[tuple[str, str], ...]  # gold and predicted, of all words whose tags differ, punctuation too
    errors: tuple[ParseError, ...]
    retags: tuple[Relabel, ...] = ()  # of the words that are compared

    @property
    def brackets(self) -> int:
        return sum(error.brackets for error in self.errors)

    def mended(self) -> Tree | None:
        """Make all edits; this is the gold tree."""
        edits = (*self.retags, *(edit for error in self.errors for edit in error.edits))
        return None if self.parse is None else apply_edits(self.parse, edits)

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.number,
            "brackets": self.brackets,
            "gold": None if self.gold is None else str(self.gold),
            "parse": None if self.parse is None else str(self.parse),
            "errors": [error.to_json() for error in self.errors],
            "tags": [{"gold": gold, "predicted": predicted} for gold, predicted in self.tags],
        }


@dataclass(frozen=True)
class ParseErrors:
    """The errors of a file of parses; `to_json` has the fixed names."""

    sentences: list[SentenceErrors]

    @cached_property
    def times(self) -> Counter[Kind]:
        return Counter(error.kind for one in self.sentences for error in one.errors)

    @cached_property
    def brackets(self) -> Counter[Kind]:
        counts = Counter[Kind]()
        for one in self.sentences:
            for error in one.errors:
                counts[error.kind] += error.brackets
        return counts

    @cached_property
    def tags(self) -> Counter[tuple[str, str]]:
        """How often a word of one tag has another."""
        return Counter(pair for one in self.sentences for pair in one.tags)

    def kinds(self) -> list[Kind]:
        """The kinds that there are, the one with most wrong brackets first."""
        return sorted(self.times, key=lambda kind: (-self.brackets[kind], KINDS.index(kind)))

    def share(self, kind: Kind) -> float:
        """How many of all wrong brackets are of a kind, in per cent."""
        return percent(self.brackets[kind], self.brackets.total())

    def worst(self, most: int) -> list[SentenceErrors]:
        """The sentences with most wrong brackets."""
        wrong = (one for one in self.sentences if one.brackets)
        return sorted(wrong, key=lambda one: (-one.brackets, one.number))[:most]

    def to_json(self) -> dict[str, Any]:
        return {
            "kinds": [
                {"kind": kind, "times": self.times[kind], "brackets": self.brackets[kind], "share": self.share(kind)}
                for kind in self.kinds()
            ],
            "brackets": self.brackets.total(),
            "tags": [
                {"gold": gold, "predicted": predicted, "count": count}
                for (gold, predicted), count in self.tags.most_common()
            ],
            "sentences": [one.to_json() for one in self.sentences if one.errors or one.tags],
        }


def classify_errors(
    gold: Iterable[Tree],
    predicted: Iterable[Tree | None],
    parameters: Parameters = COLLINS,
    *,
    wrapper: str | None = ROOT,
    max_length: int | None = None,
) -> ParseErrors:
    """Find what is wrong with parses, by kinds of errors; what is compared is as in `score_trees`."""
    parameters = without_wrapper(parameters, wrapper)
    pairs = enumerate(paired(gold, predicted, "trees"), start=1)
    return ParseErrors(
        [
            _errors_of(number, left, right, parameters)
            for number, (left, right) in pairs
            if max_length is None or parameters.length(left) <= max_length
        ]
    )


def _errors_of(number: int, gold: Tree, parse: Tree | None, parameters: Parameters) -> SentenceErrors:
    words = kept_words(gold, parse, parameters)
    right = _comparable(gold, words.gold, parameters)
    if parse is None or words.reason:
        missed = 0 if right is None else len(list(right.spans())) - 1
        return SentenceErrors(number, right, None, (), (ParseError("no parse", missed, words.reason or NO_PARSE),))
    found = _comparable(parse, words.test, parameters)
    pairs = zip(words.gold_tags, words.test_tags, strict=True)
    tags = tuple(pair for pair in pairs if not parameters.same_tag(*pair))
    if right is None or found is None:  # no words are left, on both sides
        return SentenceErrors(number, right, found, tags, ())
    retags = tuple(_retags(found, right))
    errors = tuple(_error(repair) for repair in repairs(apply_edits(found, retags), right))
    return SentenceErrors(number, right, found, tags, errors, retags)


def _comparable(tree: Tree, keep: Sequence[bool], parameters: Parameters) -> Tree | None:
    """The tree as brackets are counted: only words that are kept, only phrases with such words and counted labels."""
    kept = iter(reversed(keep))  # a fold goes from the last word to the first

    def combine(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        if node.word is not None:
            return [node] if next(kept) else []
        children = [child for part in below for child in part]
        label = parameters.label(node.label)
        return children if label is None or not children else [Tree(label, children)]

    top = tree.fold(combine)
    return Tree(ROOT, top) if top else None


def _retags(parse: Tree, gold: Tree) -> list[Relabel]:
    """The edits that give words their gold tags."""
    paths: list[tuple[int, ...]] = []
    stack: list[tuple[Tree, tuple[int, ...]]] = [(parse, ())]
    while stack:
        node, path = stack.pop()
        if node.is_leaf:
            paths.append(path)
        stack.extend((node[k], (*path, k)) for k in reversed(range(len(node))))
    triples = zip(paths, parse.tags(), gold.tags(), strict=True)
    return [Relabel(path, right) for path, tag, right in triples if tag != right]


# -- kinds


def _error(repair: Repair) -> ParseError:
    return ParseError(kind_of(repair), repair.brackets, _told(repair), repair.edits)


def kind_of(repair: Repair) -> Kind:
    """What kind of error is mended."""
    if repair.action == "relabel":
        return "different label"
    if repair.action == "reorder":
        return "unary"
    if repair.action != "move" and len(repair.inside) == 1:
        (only,) = repair.inside
        return "single-word phrase" if only.is_tag else "unary"
    if _is_coordination(repair):
        return "coordination"
    return _kind_of_move(repair) if repair.action == "move" else _kind_of_phrase(repair)


def _is_coordination(repair: Repair) -> bool:
    """Whether a conjunction is at the edge of what is mended, or next to it."""
    inside = repair.inside if repair.action != "move" else (repair.inside[0], repair.inside[-1])
    parts = any(family_of(part.label, part.is_tag) == "coordination" for part in inside)
    return parts or any(family_of(label, is_tag=True) == "coordination" for label in repair.beside)


def _kind_of_move(repair: Repair) -> Kind:
    """By what moves."""
    if kind := _attached(repair.inside):
        return kind
    return "NP-internal structure" if all(family_of(one) == "noun" for one in repair.above) else "other span"


def _kind_of_phrase(repair: Repair) -> Kind:
    """By what is attached to a phrase, where it is one of its label and more, as (NP (NP a man) (PP with a hat)); else
    by what the phrase is."""
    family = family_of(repair.label)
    heads = [place for place, part in enumerate(repair.inside) if not part.is_tag and part.label == repair.label]
    if heads and (kind := _attached(repair.inside[: heads[0]] + repair.inside[heads[0] + 1 :])):
        return kind
    in_noun = family == "noun" or (family in (None, "modifier") and family_of(repair.above[0]) == "noun")
    if in_noun and all(part.is_tag or family_of(part.label) in ("noun", "modifier") for part in repair.inside):
        return "NP-internal structure"
    return "other span" if family is None else ATTACHMENTS.get(family, "coordination")


def _attached(parts: Sequence[Part]) -> Kind | None:
    """The kind of attachment, by the first phrase that is of a family, else by a word that is a modifier."""
    phrases = [family_of(part.label) for part in parts if not part.is_tag]
    tags = [family_of(part.label, is_tag=True) for part in parts if part.is_tag]
    return next((ATTACHMENTS[one] for one in (*phrases, *tags) if one in ATTACHMENTS), None)


def _told(repair: Repair) -> str:
    """What is to be done, in words."""
    words = " ".join(word for part in repair.inside for word in part.words)
    labels = " ".join(part.label for part in repair.inside)
    if repair.action == "move":
        source, target = repair.above
        return f"move {labels} ({words}) from {source} to {target}"
    if repair.action in ("relabel", "reorder"):
        return f"{repair.label} should be {repair.new_label} ({words})"
    return f"{'missing' if repair.action == 'insert' else 'extra'} {repair.label} over {labels} ({words})"
