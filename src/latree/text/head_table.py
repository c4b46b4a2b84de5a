"""Head tables: what they say about each category, and how they are read.

A table names, for every category, searches that are tried in turn.  One line is one or more searches:

    NP right NN|NNS|NNP POS     # from the right end: the first that is NN, NNS or NNP; else the first POS
    NP left NP                  # a second line of a category goes on where the first found nothing

`left` and `right` name the end at which a search starts.  Where nothing is found, the head is the first child from the
end that the category's last line names, minor labels and conjunctions passed over.  A label that ends in `*` stands for
all that begin so (`VB*`), among the categories too; a backslash before a label takes it as written (`\\S*`, `\\#`).
Three lines set the rest:

    %minor , . PU               # punctuation and the like: passed over, as is every label without a letter or digit
    %conjunction CC CONJP       # passed over too; for coordination see `heads.HeadRules`
    %unlisted right             # where to start for categories that have no line

latree's own tables are the files in `head_tables`.  `penn` is the published one (Magerman 1995, Collins 1999 appendix
A).  The others are our own writing, each after the principles named in its first lines; where a treebank marks heads
itself, the table was checked against the marks.  Apart from `penn` and `alpino`, which follow their schemes, a clause's
head is its lexical verb and not the auxiliary beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self, get_args

from latree.errors import InputError, LatreeError
from latree.text.formats import open_text

End = Literal["left", "right"]
# Of two tables that suit a treebank equally well, the one named first is taken.
TABLES = ("penn", "idn", "historical", "keyaki", "alpino", "cess", "floresta", "sinica", "greynir", "macula")
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


@dataclass(frozen=True)
class HeadTable:
    """A head table: the searches for every category, and the labels that are passed over."""

    name: str = "default"
    lines: tuple[Line, ...] = ()
    minor: tuple[str, ...] = ()
    conjunction: tuple[str, ...] = ()
    unlisted: End = "left"

    @classmethod
    def named(cls, name: str) -> Self:
        """Read one of latree's own tables, by its name in `TABLES`, or make the "default" one."""
        if name == "default":
            return cls.default()
        if name not in TABLES:
            raise LatreeError(f"unknown head table {name!r}; expected one of {', '.join([*TABLES, 'default'])}")
        text = (files("latree.text") / "head_tables" / f"{name}.txt").read_text("utf-8")
        return cls.parse(text.splitlines(), name, f"<{name}>")

    @classmethod
    def default(cls, unlisted: End = "left") -> Self:
        """Make a table without lines, by which heads are chosen by their labels' families and the direction alone."""
        if unlisted not in get_args(End):
            raise LatreeError(f"unknown end {unlisted!r} to search heads from; expected left or right")
        minor = ("-LRB-", "-RRB-", "PU", "PUNC", "PUNCT", "PON*", "punct", "HYPH", "$,", "$.", "$(")
        return cls("default", (), minor, ("CC", "CONJ", "CONJP", "conj", "KON"), unlisted)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a table of the user's from a file."""
        with open_text(path) as lines:
            rules = cls.parse(lines, Path(path).stem, str(path))
        if not rules.lines:
            raise LatreeError(f"{path}: no head rules; write lines such as: NP right NN NNS NP")
        return rules

    @classmethod
    def parse(cls, lines: Iterable[str], name: str, file: str) -> Self:
        """Make a table of its lines; faults are told with `file` and line."""
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
    def for_labels(cls, labels: Iterable[str]) -> Self:
        """Pick the named table that knows most of `labels`, a treebank's categories (with its tags it picks better).

        A table that knows fewer than half of them is no use: then the default.  Of two that know as many, the one that
        has fewer categories that do not occur.
        """
        wanted = set(labels)
        tables = [cls.named(name) for name in TABLES]
        best = max(tables, key=lambda rules: (rules._count_known(wanted), -rules._count_unused(wanted)))
        enough = best._count_known(wanted) >= max(1.0, _ENOUGH * len(wanted))
        return best if enough else cls.default()

    def to_json(self) -> dict[str, Any]:
        """Write the table itself into a model's header, so that a model does not change with latree's tables."""
        settings = [
            " ".join(["%minor", *self.minor]),
            " ".join(["%conjunction", *self.conjunction]),
            f"%unlisted {self.unlisted}",
        ]
        return {"name": self.name, "lines": [str(line) for line in self.lines], "settings": settings}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls.parse([*data["lines"], *data["settings"]], data["name"], "<head rules>")

    @cached_property
    def searches(self) -> dict[str, list[tuple[End, list[Labels]]]]:
        """All searches of each category, in turn."""
        table: dict[str, list[tuple[End, list[Labels]]]] = {}
        for line in self.lines:
            table.setdefault(line.category, []).append((line.end, [Labels(labels) for labels in line.searches]))
        return table

    @cached_property
    def _categories(self) -> dict[str, str]:
        """The categories that are named in full, and how the table writes them."""
        return {_literal(category): category for category in self.searches if not _is_prefix(category)}

    @cached_property
    def _beginnings(self) -> list[str]:
        """The categories that end in `*`, the longest first: the nearest wins."""
        return sorted(filter(_is_prefix, self.searches), key=lambda pattern: (-len(pattern), pattern))

    @cached_property
    def _minor_labels(self) -> Labels:
        return Labels(self.minor)

    @cached_property
    def _conjunctions(self) -> Labels:
        return Labels(self.conjunction)

    def category(self, label: str) -> str | None:
        """Find what the table calls the category of this label, if it has it."""
        if label in self._categories:
            return self._categories[label]
        return next((pattern for pattern in self._beginnings if label.startswith(pattern[:-1])), None)

    def is_minor(self, label: str) -> bool:
        return label in self._minor_labels or not any(sign.isalnum() or sign in _CURRENCY for sign in label)

    def is_conjunction(self, label: str) -> bool:
        return label in self._conjunctions

    def is_passed(self, label: str) -> bool:
        return self.is_conjunction(label) or self.is_minor(label)

    def _count_known(self, labels: set[str]) -> int:
        searched = [label for line in self.lines for search in line.searches for label in search]
        known = Labels([*self.searches, *searched, *self.minor, *self.conjunction])
        return sum(label in known for label in labels)

    def _count_unused(self, labels: set[str]) -> int:
        return sum(category not in labels for category in self._categories)


def _fields(text: str) -> list[str]:
    """Split a line into fields, up to a field that begins with #."""
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
