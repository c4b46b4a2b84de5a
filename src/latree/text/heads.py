"""Head rules: which child of a constituent hands its head word up.

A table names, for every category, searches that are tried in turn.  One line is one or more searches:

    NP right NN|NNS|NNP POS     # from the right end: the first that is NN, NNS or NNP; else the first POS
    NP left NP                  # a second line of a category goes on where the first found nothing

`left` and `right` name the end at which a search starts.  Where nothing is found, the head is the first child from the
end that the category's last line names, minor labels and conjunctions passed over.  A label that ends in `*` stands for
all that begin so (`VB*`), among the categories too; a backslash before a label takes it as written (`\\S*`, `\\#`).
Three lines set the rest:

    %minor , . PU               # punctuation and the like: passed over, as is every label without a letter or digit
    %conjunction CC CONJP       # passed over too; for coordination see `HeadRules`
    %unlisted right             # where to start for categories that have no line
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from latree.errors import InputError, LatreeError
from latree.text.formats import open_text
from latree.text.head_tables import TABLES
from latree.text.tree import Tree

End = Literal["left", "right"]
_SETTINGS = ("%minor", "%conjunction", "%unlisted")
_CURRENCY = "$#"  # the Penn tags of dollars and pounds, which are words and can be heads
_ENOUGH = 0.5  # of the labels must be known to a table that `for_labels` picks


class Labels:
    """Some labels, named one by one or by how they begin."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        self._exact = frozenset(_literal(pattern) for pattern in self.patterns if not _is_prefix(pattern))
        self._prefixes = tuple(pattern[:-1] for pattern in self.patterns if _is_prefix(pattern))

    def __contains__(self, label: str) -> bool:
        return label in self._exact or label.startswith(self._prefixes)


def _is_prefix(pattern: str) -> bool:
    return len(pattern) > 1 and pattern.endswith("*") and not pattern.startswith("\\")


def _literal(pattern: str) -> str:
    return pattern[1:] if len(pattern) > 1 and pattern.startswith("\\") else pattern


@dataclass(frozen=True)
class Line:
    """A line of a table: searches from one end, tried in turn; each is for several labels at once."""

    category: str
    end: End
    searches: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return " ".join([self.category, self.end, *("|".join(labels) for labels in self.searches)])


class Modifier(NamedTuple):
    """A child that is not the head of its constituent, and what it modifies; words are positions in the sentence."""

    head: int  # the constituent's head word
    word: int  # the child's own head word
    parent: str  # the constituent's label
    child: str
    side: End  # of the head child on which the child stands


@dataclass(frozen=True)
class HeadRules:
    """A head table and how it is applied.

    Coordination is as Collins (1999, appendix A) has it: when the child before the head is a conjunction, the head
    moves to the child before that, once; here minor labels between them are passed over, since trees keep punctuation.

    A category without a line takes, from the end that `unlisted` names, the first child with its own label; else the
    first of its family, that is, with its label less a final P (N or n for NP), or one that begins so (NN, noun); else
    the first that is neither minor nor a conjunction.
    """

    name: str = "default"
    lines: tuple[Line, ...] = ()
    minor: tuple[str, ...] = ()
    conjunction: tuple[str, ...] = ()
    unlisted: End = "left"
    _known: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def named(cls, name: str) -> HeadRules:
        """One of latree's own tables, by the names in `head_tables.TABLES`, or "default"."""
        if name == "default":
            return cls.default()
        if name not in TABLES:
            raise LatreeError(f"unknown head table {name!r}; expected one of {', '.join([*TABLES, 'default'])}")
        return cls.parse(TABLES[name].splitlines(), name, f"<{name}>")

    @classmethod
    def default(cls, unlisted: End = "left") -> HeadRules:
        """No table: every category is chosen for by its label's family and the direction alone."""
        if unlisted not in get_args(End):
            raise LatreeError(f"unknown end {unlisted!r} to search heads from; expected left or right")
        minor = ("-LRB-", "-RRB-", "PU", "PUNC", "PUNCT", "PON*", "punct", "HYPH", "$,", "$.", "$(")
        return cls("default", (), minor, ("CC", "CONJ", "CONJP", "conj", "KON"), unlisted)

    @classmethod
    def read(cls, path: str | Path) -> HeadRules:
        """A table from a file of the user's."""
        with open_text(path) as lines:
            rules = cls.parse(lines, Path(path).stem, str(path))
        if not rules.lines:
            raise LatreeError(f"{path}: no head rules; write lines such as: NP right NN NNS NP")
        return rules

    @classmethod
    def parse(cls, lines: Iterable[str], name: str, file: str) -> HeadRules:
        """A table from its lines; faults are told with `file` and line."""
        table: list[Line] = []
        settings: dict[str, list[str]] = {}
        for number, text in enumerate(lines, start=1):
            fields = _fields(text)
            if not fields:
                continue
            if fields[0].startswith("%"):
                _setting(fields, settings, file, number)
            else:
                table.append(_line(fields, file, number))
        unlisted: Any = settings.get("%unlisted", ["left"])[-1]
        minor, conjunction = (tuple(settings.get(key, ())) for key in _SETTINGS[:2])
        return cls(name, tuple(table), minor, conjunction, unlisted)

    @classmethod
    def for_labels(cls, labels: Iterable[str]) -> HeadRules:
        """The named table that knows most of `labels` (a treebank's categories; with its tags the guess is better).

        A table that knows fewer than half of them is no use: then the default.  Of two that know as many, the one that
        has fewer categories that do not occur.
        """
        wanted = set(labels)
        tables = [cls.named(name) for name in TABLES]
        best = max(tables, key=lambda rules: (rules._count_known(wanted), -rules._count_unused(wanted)))
        enough = best._count_known(wanted) >= max(1.0, _ENOUGH * len(wanted))
        return best if enough else cls.default()

    def to_json(self) -> dict[str, Any]:
        """For a model's header: the table itself, so that a model does not change with latree's tables."""
        settings = [
            " ".join(["%minor", *self.minor]),
            " ".join(["%conjunction", *self.conjunction]),
            f"%unlisted {self.unlisted}",
        ]
        return {"name": self.name, "lines": [str(line) for line in self.lines], "settings": settings}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HeadRules:
        return cls.parse([*data["lines"], *data["settings"]], data["name"], "<head rules>")

    def head(self, label: str, children: Sequence[str]) -> int:
        """Which of a constituent's children, by their labels, is its head."""
        key = (label, tuple(children))
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = self._find(*key)
        return place

    def head_children(self, tree: Tree) -> list[int]:
        """Of every node, in the order of `tree.nodes()`, the place of its head child; -1 at a word."""
        return [
            -1 if node.is_leaf else self.head(node.label, [child.label for child in node.children])
            for node in tree.nodes()
        ]

    def head_words(self, tree: Tree) -> list[int]:
        """Of every node, in the order of `tree.nodes()`, the position of its head word in the sentence."""
        nodes = list(tree.nodes())
        return self._words(nodes, _child_indices(nodes))

    def modifiers(self, tree: Tree) -> Iterator[Modifier]:
        """All children that are not heads, a parent's before its children's, left to right."""
        nodes = list(tree.nodes())
        below = _child_indices(nodes)
        words = self._words(nodes, below)
        for node, indices, word in zip(nodes, below, words, strict=True):
            if len(indices) < 2:
                continue
            head = self.head(node.label, [child.label for child in node.children])
            for place, index in enumerate(indices):
                if place != head:
                    side: End = "left" if place < head else "right"
                    yield Modifier(word, words[index], node.label, nodes[index].label, side)

    def _words(self, nodes: Sequence[Tree], below: Sequence[Sequence[int]]) -> list[int]:
        """Head words from the last node to the first, so that children come before their parents."""
        words = [0] * len(nodes)
        position = sum(node.is_leaf for node in nodes)
        for index in range(len(nodes) - 1, -1, -1):
            node = nodes[index]
            if node.is_leaf:
                position -= 1
                words[index] = position
            else:
                head = self.head(node.label, [child.label for child in node.children])
                words[index] = words[below[index][head]]
        return words

    @cached_property
    def _table(self) -> dict[str, list[tuple[End, list[Labels]]]]:
        table: dict[str, list[tuple[End, list[Labels]]]] = {}
        for line in self.lines:
            table.setdefault(line.category, []).append((line.end, [Labels(labels) for labels in line.searches]))
        return table

    @cached_property
    def _categories(self) -> dict[str, str]:
        """The categories that are named in full, and how the table writes them."""
        return {_literal(category): category for category in self._table if not _is_prefix(category)}

    @cached_property
    def _beginnings(self) -> list[str]:
        """The categories that end in `*`, the longest first: the nearest wins."""
        return sorted(filter(_is_prefix, self._table), key=lambda pattern: (-len(pattern), pattern))

    @cached_property
    def _minor_labels(self) -> Labels:
        return Labels(self.minor)

    @cached_property
    def _conjunctions(self) -> Labels:
        return Labels(self.conjunction)

    def _category(self, label: str) -> str | None:
        if label in self._categories:
            return self._categories[label]
        return next((pattern for pattern in self._beginnings if label.startswith(pattern[:-1])), None)

    def _find(self, label: str, children: tuple[str, ...]) -> int:
        if not children:
            raise ValueError(f"{label!r} has no children, and so no head")
        if len(children) == 1:
            return 0
        category = self._category(label)
        place = self._by_family(label, children) if category is None else self._by_table(category, children)
        return self._first_conjunct(children, place)

    def _by_table(self, category: str, children: tuple[str, ...]) -> int:
        end: End = self.unlisted
        for end, searches in self._table[category]:
            places = _from(end, len(children))
            for labels in searches:
                for place in places:
                    if children[place] in labels:
                        return place
        return self._first_word(end, children)

    def _by_family(self, label: str, children: tuple[str, ...]) -> int:
        stem = label[:-1] if len(label) > 1 and label[-1] in "Pp" else label
        places = _from(self.unlisted, len(children))
        for place in places:
            if children[place] == label:
                return place
        family = stem.casefold()
        for place in places:
            if children[place].casefold() == family and not self._is_passed(children[place]):
                return place
        for place in places:
            if children[place].casefold().startswith(family) and not self._is_passed(children[place]):
                return place
        return self._first_word(self.unlisted, children)

    def _first_word(self, end: End, children: tuple[str, ...]) -> int:
        """The first child that is neither minor nor a conjunction, else that is not minor, else the first."""
        places = _from(end, len(children))
        for place in places:
            if not self._is_passed(children[place]):
                return place
        return next((place for place in places if not self._is_minor(children[place])), places[0])

    def _first_conjunct(self, children: tuple[str, ...], head: int) -> int:
        """The head, or the conjunct before it where it stands behind a conjunction."""
        before = [place for place in range(head) if not self._is_minor(children[place])]
        if len(before) < 2 or children[before[-1]] not in self._conjunctions:
            return head
        return before[-2]

    def _is_minor(self, label: str) -> bool:
        return label in self._minor_labels or not any(sign.isalnum() or sign in _CURRENCY for sign in label)

    def _is_passed(self, label: str) -> bool:
        return label in self._conjunctions or self._is_minor(label)

    def _count_known(self, labels: set[str]) -> int:
        searched = [label for line in self.lines for search in line.searches for label in search]
        known = Labels([*self._table, *searched, *self.minor, *self.conjunction])
        return sum(label in known for label in labels)

    def _count_unused(self, labels: set[str]) -> int:
        return sum(category not in labels for category in self._categories)


def _from(end: End, count: int) -> range:
    """Places in the order of a search that starts at `end`."""
    return range(count) if end == "left" else range(count - 1, -1, -1)


def _child_indices(nodes: Sequence[Tree]) -> list[list[int]]:
    """Where the children of each of `tree.nodes()` stand in it; without recursion, so that depth is no limit."""
    below: list[list[int]] = [[] for _ in nodes]
    done: list[int] = []  # nodes whose parent is still to come, the leftmost last
    for index in range(len(nodes) - 1, -1, -1):
        first = len(done) - len(nodes[index].children)
        below[index] = done[first:][::-1]
        del done[first:]
        done.append(index)
    return below


def _fields(text: str) -> list[str]:
    """The fields of a line, up to a field that begins with #."""
    fields = text.split()
    end = next((place for place, text in enumerate(fields) if text.startswith("#")), None)
    return fields[:end]


def _line(fields: list[str], file: str, number: int) -> Line:
    category, *rest = fields
    if not rest or rest[0] not in get_args(End):
        what = f"{rest[0]!r} after category {category!r}" if rest else f"category {category!r} alone"
        raise InputError(file, number, f"{what}; expected left or right, the end at which to start, then labels")
    searches = []
    for text in rest[1:]:
        labels = tuple(text.split("|")) if text != "|" else (text,)
        if not all(labels):
            raise InputError(file, number, f"{text!r} names an empty label; write labels with single | between them")
        searches.append(labels)
    end: Any = rest[0]
    return Line(category, end, tuple(searches))


def _setting(fields: list[str], settings: dict[str, list[str]], file: str, number: int) -> None:
    key, *values = fields
    if key not in _SETTINGS:
        raise InputError(file, number, f"unknown setting {key!r}; expected one of {', '.join(_SETTINGS)}")
    if key == "%unlisted" and (len(values) != 1 or values[0] not in get_args(End)):
        raise InputError(file, number, f"%unlisted {' '.join(values)}: expected left or right")
    settings.setdefault(key, []).extend(values)
