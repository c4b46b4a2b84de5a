"""What a model has learned, as facts to print or to draw: categories, their subtypes, and what those are made of.

A model without subtypes is one in which every category has one, so all kinds are described alike.  Nothing is printed
here, and text is as the model has it: `legible` makes it fit for a terminal or a page.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.inference.subtypes import Layout

if TYPE_CHECKING:
    from latree.kinds.model import ForestModel

Item = TypeVar("Item")

# Kinds of symbols that are listed together, and what they are called.
GROUPS = ((("root", "phrase"), "phrases"), (("part",), "parts of phrases"), (("tag",), "tags"))
SAMPLES, SAMPLE_TRIES, SAMPLE_WORDS = 3, 12, 12  # phrases to draw, how often to try, and their greatest length


class Child(NamedTuple):
    """A category on the right of a rule; without a subtype it stands for all of them."""

    symbol: int
    subtype: int | None


class Rule(NamedTuple):
    """What a subtype becomes, and how likely; no children: a tag sequence ends."""

    children: tuple[Child, ...]
    weight: float


class Word(NamedTuple):
    """A word of a tag, and its share in the tag's tokens."""

    word: str
    share: float


class Use(NamedTuple):
    """A rule that a subtype is a child in, at `place` (0 left, 1 right), and the share of its occurrences there."""

    rule: int
    place: int
    share: float


@dataclass(frozen=True)
class Subtype:
    """One subtype of a category."""

    number: int
    count: float | None  # expected occurrences in training; None where the model does not say
    share: float  # among those of its category
    rules: list[Rule]
    words: list[Word]
    uses: list[Use]
    samples: list[str]  # phrases that it may stand over, drawn from the model


@dataclass(frozen=True)
class SplitNode:
    """A subtype of some round and those that came of it; a leaf is a present subtype."""

    members: tuple[int, ...]  # the present subtypes that descend from it
    share: float
    round: int | None = None  # in which it was split
    children: tuple[SplitNode, ...] = ()

    def walk(self) -> Iterator[SplitNode]:
        """This node and all below, parents first, left to right."""
        yield self
        for child in self.children:
            yield from child.walk()


class Showcase:
    """The facts of one model."""

    def __init__(self, model: ForestModel[Any]) -> None:
        self.model, self.grammar, self.lexicon = model, model.grammar, model.lexicon
        self.layout = Layout(model.grammar, model.widths())
        self._sums: dict[int, Floats] = {}

    # -- categories

    @property
    def has_subtypes(self) -> bool:
        return bool(self.layout.size.max() > 1)

    @cached_property
    def is_tagger(self) -> bool:
        """Whether tags follow one another, instead of standing under phrases."""
        return bool((self.grammar.rules[:, 0] >= self.grammar.first_tag).any())

    @cached_property
    def by_size(self) -> list[int]:
        """All symbols, those with most subtypes first, then the commonest."""
        counts = [self.count(symbol) or 0.0 for symbol in range(len(self.grammar.symbols))]
        return sorted(range(len(counts)), key=lambda s: (-self.layout.size[s], -counts[s], s))

    def find(self, name: str) -> list[int]:
        """The symbols of a label, or of a whole name such as `@NP`."""
        return [s for s, symbol in enumerate(self.grammar.symbols) if name in (symbol.label, str(symbol))]

    def is_tag(self, symbol: int) -> bool:
        return symbol >= self.grammar.first_tag

    def size(self, symbol: int) -> int:
        return int(self.layout.size[symbol])

    def name(self, symbol: int, subtype: int | None = None) -> str:
        """`NP`, or `NP-3`; the number is left out where there is only one."""
        name = str(self.grammar.symbols[symbol])
        return name if subtype is None or self.size(symbol) == 1 else f"{name}-{subtype}"

    def counts(self, symbol: int) -> Floats | None:
        """How often each subtype is expected in training; None where the model does not say."""
        if self.is_tag(symbol):
            return self.lexicon.tag_count[self._columns(symbol)]  # exact, and every model has it
        frequency: Floats | None = getattr(self.model, "frequency", None)
        return None if frequency is None else frequency[self.layout.offset[symbol] : self.layout.offset[symbol + 1]]

    def count(self, symbol: int) -> float | None:
        counts = self.counts(symbol)
        return None if counts is None else float(counts.sum())

    def shares(self, symbol: int) -> Floats:
        """The share of each subtype in its category; even ones where nothing is known."""
        counts = self.counts(symbol)
        if counts is None or not counts.sum() > 0:
            return np.full(self.size(symbol), 1 / self.size(symbol))
        return counts / np.sum(counts)

    def subtypes(self, symbol: int, top: int, summed: bool = False) -> list[Subtype]:
        """All there is to say of each subtype of a category, in their order."""
        counts, shares = self.counts(symbol), self.shares(symbol)
        places, often = self._uses(symbol)
        return [
            Subtype(
                k,
                None if counts is None else float(counts[k]),
                float(shares[k]),
                self.rules(symbol, k, top, summed),
                self.words(symbol, k, top),
                [Use(*where, share) for where, share in _best(places, often[:, k], top)],
                self.samples(symbol, k),
            )
            for k in range(self.size(symbol))
        ]

    # -- rules

    def rules(self, symbol: int, subtype: int | None, top: int, summed: bool = False) -> list[Rule]:
        """The likeliest rules of a subtype; `summed` over the children's subtypes, as the whole category's are."""
        own = self._own_rules(symbol)
        if subtype is None:
            weights = self._rule_sums(symbol) @ self.shares(symbol)
        elif summed:
            weights = self._rule_sums(symbol)[:, subtype]
        else:
            return self._fine_rules(own, subtype, top)
        return [Rule(self._children(rule, None), weight) for rule, weight in _best(own.tolist(), weights, top)]

    def _own_rules(self, symbol: int) -> Longs:
        return np.flatnonzero(self.grammar.rules[:, 0] == symbol)

    def _rule_sums(self, symbol: int) -> Floats:
        """[rules, subtypes] P(rule | subtype), whatever the children's subtypes; kept, for samples need them often."""
        if symbol not in self._sums:
            sums = [self._tensor(rule).sum((1, 2)) for rule in self._own_rules(symbol)]
            self._sums[symbol] = np.array(sums).reshape(-1, self.size(symbol))
        return self._sums[symbol]

    def _fine_rules(self, own: Longs, subtype: int, top: int) -> list[Rule]:
        slabs = [self._tensor(rule)[subtype] for rule in own]
        start = np.cumsum([0, *(slab.size for slab in slabs)])
        found = []
        for k in _largest(np.concatenate([np.zeros(0), *(slab.ravel() for slab in slabs)]), top).tolist():
            which = int(np.searchsorted(start, k, side="right")) - 1
            place = divmod(k - int(start[which]), slabs[which].shape[1])
            found.append(Rule(self._children(int(own[which]), place), float(slabs[which][place])))
        return found

    def _tensor(self, rule: int) -> Floats:
        return self.layout.tensor(self.model.theta, rule)

    def _children(self, rule: int, subtypes: tuple[int, int] | None) -> tuple[Child, ...]:
        children = self.grammar.rules[rule, 1:].tolist()
        pairs = zip(children, subtypes or (None, None), strict=True)
        return tuple(Child(symbol, subtype) for symbol, subtype in pairs if symbol != NONE)

    def _uses(self, symbol: int) -> tuple[list[tuple[int, int]], Floats]:
        """(rule, place) where a category stands, and the share of each subtype's occurrences that are there.

        Nothing where the model does not say how often the parents occur.
        """
        places, rows = [], []
        for rule, (parent, *children) in enumerate(self.grammar.rules.tolist()):
            often = self.counts(parent) if symbol in children and self.counts(0) is not None else None
            if often is None:
                continue
            joint = np.tensordot(often, self._tensor(rule), 1)
            for place in (place for place, child in enumerate(children) if child == symbol):
                places.append((rule, place))
                rows.append(joint.sum(1 - place))
        table = np.array(rows).reshape(-1, self.size(symbol))
        return places, table / np.maximum(table.sum(0), 1e-300)

    # -- words

    def words(self, symbol: int, subtype: int | None, top: int) -> list[Word]:
        """The commonest words of a tag, or of one of its subtypes; a phrase has none."""
        if not self.is_tag(symbol):
            return []
        columns = np.arange(self.lexicon.tags)[self._columns(symbol)]
        wanted = columns if subtype is None else columns[[subtype]]
        lexicon = self.lexicon
        pairs = np.flatnonzero((lexicon.pair_tag >= wanted[0]) & (lexicon.pair_tag <= wanted[-1]))
        owner = np.searchsorted(lexicon.word_ptr, pairs, side="right") - 1
        totals = np.bincount(owner, lexicon.pair_count[pairs], len(lexicon.vocabulary)).astype(np.float64)
        return [Word(*one) for one in _best(lexicon.vocabulary, totals / max(float(totals.sum()), 1e-300), top)]

    def _columns(self, symbol: int) -> slice:
        """A tag's columns in the lexicon."""
        tag = symbol - self.grammar.first_tag
        return slice(int(self.layout.tag_columns[tag]), int(self.layout.tag_columns[tag + 1]))

    def gloss(self, symbol: int, subtype: int) -> str:
        """A few words on a subtype: what it commonly is."""
        if words := self.words(symbol, subtype, 4):
            return " ".join(legible(one.word, 20) for one in words)
        rules = self.rules(symbol, subtype, 3, summed=True)
        return " | ".join(" ".join(self.name(*child) for child in rule.children) for rule in rules)

    # -- samples

    def samples(self, symbol: int, subtype: int) -> list[str]:
        """Short phrases drawn from what a subtype stands over, the same ones every time; none of a tag."""
        if self.is_tagger or self.is_tag(symbol):
            return []
        rng = np.random.default_rng([symbol, subtype])
        drawn = (" ".join(self._draw(symbol, subtype, rng)) for _ in range(SAMPLE_TRIES))
        different = dict.fromkeys(phrase for phrase in drawn if phrase)
        return list(different)[:SAMPLES]

    def _draw(self, symbol: int, subtype: int, rng: np.random.Generator) -> tuple[str, ...]:
        """The words of one random expansion; none where it grows too long."""
        words: list[str] = []
        stack = [(symbol, subtype)]
        while stack and len(stack) + len(words) <= SAMPLE_WORDS:
            symbol, subtype = stack.pop()
            if self.is_tag(symbol):
                column = self._columns(symbol).start + subtype
                if not self.lexicon.tag_count[column] > 0:
                    return ()
                words.append(self.lexicon.sample_word(column, rng))
                continue
            rule = int(self._own_rules(symbol)[_choose(self._rule_sums(symbol)[:, subtype], rng)])
            slab = self._tensor(rule)[subtype]
            below = self._children(rule, divmod(_choose(slab.ravel(), rng), slab.shape[1]))
            stack.extend((child.symbol, child.subtype or 0) for child in reversed(below))
        return () if stack else tuple(words)

    # -- descent

    def split_tree(self, symbol: int) -> SplitNode:
        """Which subtype came from which; all at once where the model does not say."""
        size, history = self.size(symbol), getattr(self.model, "history", None)
        steps = [step[symbol] for step in history.parents] if history is not None else []
        known = bool(steps) and len(steps[-1]) == size
        if not known:
            steps = [np.zeros(size, np.int64)]
        widths = [1, *map(len, steps)]
        level: list[SplitNode | None] = [SplitNode((k,), share) for k, share in enumerate(self.shares(symbol).tolist())]
        for number in range(len(steps), 0, -1):
            groups: list[list[SplitNode]] = [[] for _ in range(widths[number - 1])]
            for node, parent in zip(level, steps[number - 1].tolist(), strict=True):
                groups[parent] += [] if node is None else [node]
            level = [_joined(group, number if known else None) for group in groups]
        assert level[0] is not None
        return level[0]


def _joined(group: list[SplitNode], number: int | None) -> SplitNode | None:
    """The subtype that a group came from; one that was not split stays what it is, and some have left nothing."""
    if len(group) < 2:
        return group[0] if group else None
    members = tuple(k for node in group for k in node.members)
    return SplitNode(members, sum(node.share for node in group), number, tuple(group))


# -- choosing


def _largest(values: Floats, top: int) -> Longs:
    """Where the largest positive values are, the first of equals first."""
    found = np.flatnonzero(values > 0)
    if len(found) > top:
        least = np.partition(values[found], -top)[-top]
        found = found[values[found] >= least]
    return found[np.argsort(-values[found], kind="stable")][:top]


def _best(items: Sequence[Item], values: Floats, top: int) -> list[tuple[Item, float]]:
    return [(items[k], float(values[k])) for k in _largest(values, top).tolist()]


def _choose(odds: Floats, rng: np.random.Generator) -> int:
    return int(rng.choice(len(odds), p=odds / odds.sum()))


# -- text


def legible(text: str, most: int = 40) -> str:
    """Text without what would upset a terminal or an encoder, and not too long to set."""
    clean = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def facts(model: ForestModel[Any]) -> list[tuple[str, str]]:
    """What is known of a model as a whole, by name."""
    grammar, lexicon, sizes = model.grammar, model.lexicon, model.widths()
    inner = f"{grammar.first_tag} phrases and parts, " if grammar.first_tag > 1 else ""  # a tagger has only its start
    found = [
        ("kind", model.kind),
        ("grammar", f"{inner}{len(grammar.tags)} tags, {len(grammar.rules)} rules"),
        ("words", f"{len(lexicon.vocabulary)} known, {len(lexicon.signatures)} classes of unknown ones"),
    ]
    if sizes.max() > 1:
        above, tags = int(sizes[: grammar.first_tag].sum()), int(sizes[grammar.first_tag :].sum())
        found.append(("subtypes", (f"{above} of phrases and parts, " if inner else "") + f"{tags} of tags"))
    if history := getattr(model, "history", None):
        found.append(("rounds", str(history.rounds)))
    return found + [(str(name), _written(value)) for name, value in model.training.items()]


def _written(value: Any) -> str:
    """A value of the training record for people to read."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_written(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return str(value)
