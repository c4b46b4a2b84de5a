"""What a model has learned, as a report: its categories, their subtypes, and what those are made of.

A model without subtypes is one in which every category has one, so that this serves several kinds; the others build
theirs on `Categories` and `assemble`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.errors import LatreeError
from latree.inference.subtypes import Layout
from latree.report.value import (
    ARROW,
    Block,
    Branch,
    Cell,
    Column,
    Examples,
    Flow,
    Inline,
    Link,
    Outline,
    Report,
    Section,
    Strong,
    Table,
    legible,
    plain,
)

if TYPE_CHECKING:
    from latree.kinds.model import ForestModel
    from latree.lexicon.words import Lexicon

Item = TypeVar("Item")
Facts = tuple[tuple[str, str], ...]
Shares = list[tuple[str, float]]  # words with the shares that they have
Child = tuple[int, int | None]  # a category on the right of a rule; without a subtype it stands for all of them
Rule = tuple[tuple[Child, ...], float]  # what a subtype becomes, and how likely; no children: a tag sequence ends
Use = tuple[tuple[int, int], float]  # a rule and a place in it (0 left, 1 right), and the share of occurrences there

GROUPS = ((("root", "phrase"), "phrases"), (("part",), "parts of phrases"), (("tag",), "tags"))
NAME, WORD = 30, 40  # letters at most
SAMPLES, SAMPLE_TRIES, SAMPLE_WORDS = 3, 12, 12  # phrases to draw, how often to try, and their greatest length
FIGURES = (Column(), Column(pattern="{:.3f}", kind="figure"))  # of a list with a number beside each entry


class Ask(NamedTuple):
    """What is wanted: the overview, and all categories with it (`every`); or the categories of one name alone."""

    top: int = 5  # rules and words to show of each thing
    symbol: str | None = None
    every: bool = False
    summed: bool = False  # rules whatever the subtypes of the children


def refuse_sums(ask: Ask, what: str) -> None:
    """Say why a model cannot do what `--summed` asks for."""
    if ask.summed:
        raise LatreeError(f"--summed is for the probabilities of discrete subtypes; this model has {what}")


# -- what all kinds share


class Categories:
    """The categories of a model: their names, and how often they occur."""

    def __init__(self, model: ForestModel[Any]) -> None:
        self.model, self.grammar, self.lexicon = model, model.grammar, model.lexicon
        self.layout = Layout(model.grammar, model.widths())

    @cached_property
    def is_tagger(self) -> bool:
        """Whether tags follow one another, instead of standing under phrases."""
        return bool((self.grammar.rules[:, 0] >= self.grammar.first_tag).any())

    def is_tag(self, symbol: int) -> bool:
        return symbol >= self.grammar.first_tag

    def kind(self, symbol: int) -> str:
        return self.grammar.symbols[symbol].kind

    def size(self, symbol: int) -> int:
        return int(self.layout.size[symbol])

    def find(self, name: str) -> list[int]:
        """The symbols of a label, or of a whole name such as `@NP`."""
        found = [s for s, symbol in enumerate(self.grammar.symbols) if name in (symbol.label, str(symbol))]
        if not found:
            names = sorted({known.label for known in self.grammar.symbols})
            raise LatreeError(f"the model has no category {name!r}; it has {', '.join(names)}")
        return found

    def name(self, symbol: int, subtype: int | None = None) -> str:
        """`NP`, or `NP-3`; the number is left out where there is only one."""
        name = legible(str(self.grammar.symbols[symbol]), NAME)
        return name if subtype is None or self.size(symbol) == 1 else f"{name}-{subtype}"

    def link(self, symbol: int, subtype: int | None = None) -> Link:
        return Link(self.name(symbol, subtype), place_of(symbol, subtype))

    def rule(self, rule: int, strong: int) -> Inline:
        """`S -> [NP] VP`: a rule in which the child at a place is meant."""
        parent, *children = (s for s in self.grammar.rules[rule].tolist() if s != NONE)
        right = [Strong(self.name(s)) if k == strong else self.link(s) for k, s in enumerate(children)]
        return (self.link(parent), ARROW, *spaced(right))

    def counts(self, symbol: int) -> Floats | None:
        """How often each subtype is expected in training; None where the model does not say."""
        if self.is_tag(symbol):
            return self.lexicon.tag_count[self.columns(symbol)]  # exact, and every model has it
        frequency: Floats | None = getattr(self.model, "frequency", None)
        return None if frequency is None else frequency[self.layout.offset[symbol] : self.layout.offset[symbol + 1]]

    def count(self, symbol: int) -> float | None:
        counts = self.counts(symbol)
        return None if counts is None else float(counts.sum())

    def columns(self, symbol: int) -> slice:
        """A tag's columns in the lexicon."""
        tag = symbol - self.grammar.first_tag
        return slice(int(self.layout.tag_columns[tag]), int(self.layout.tag_columns[tag + 1]))

    def about(self, symbol: int, *parts: str) -> str:
        """`phrase, 4 subtypes, 120 times`."""
        count = self.count(symbol)
        return ", ".join([self.kind(symbol), *filter(None, parts), *([] if count is None else [how_often(count)])])


@dataclass(frozen=True)
class Overview:
    """How all categories are listed: by a size, and with more to say of each."""

    names: Categories
    size: Callable[[int], int]
    measure: str  # what the size is; nothing where all have the same
    columns: tuple[Column, ...]
    describe: Callable[[int], tuple[Cell, ...]]  # a category, for these columns

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """The symbols of each kind, the largest first, then the commonest."""
        names = self.names
        order = sorted(range(len(names.grammar.symbols)), key=lambda s: (-self.size(s), -(names.count(s) or 0.0), s))
        groups = {title: [s for s in order if names.kind(s) in kinds] for kinds, title in GROUPS}
        return {title: symbols for title, symbols in groups.items() if symbols}

    def tables(self) -> tuple[Table, ...]:
        """Categories by the number of their subtypes, as in Petrov (2009), figure 2, or of what else is measured."""
        measured = (Column(self.measure, "{:,}", "figure"), Column(kind="bar")) if self.measure else ()
        return tuple(
            Table((Column(title), *measured, *self.columns), tuple(map(self._row, symbols)))
            for title, symbols in self.groups.items()
        )

    def _row(self, symbol: int) -> tuple[Cell, ...]:
        size = self.size(symbol)
        return ((self.names.link(symbol),), *((size, size) if self.measure else ()), *self.describe(symbol))


def assemble(
    ask: Ask, overview: Overview, section: Callable[[int], Section], facts: Callable[[], Facts], footer: str = ""
) -> Report:
    """The report on a model that has a section for each category."""
    if ask.symbol is not None:
        return Report(sections=tuple(map(section, overview.names.find(ask.symbol))))
    grouped = ((title, symbol) for title, symbols in overview.groups.items() for symbol in symbols if ask.every)
    sections = tuple(replace(section(s), group=title, size=overview.size(s)) for title, s in grouped)
    return Report(facts=facts(), blocks=overview.tables(), sections=sections, footer=footer)


def place_of(symbol: int, part: int | None = None) -> str:
    """The id of a category's section, or of a card there."""
    return f"c{symbol}" if part is None else f"c{symbol}-{part}"


def facts(model: ForestModel[Any], own: Iterable[tuple[str, str]] = ()) -> Facts:
    """What is known of a model as a whole: what all kinds have, what is its kind's own, the record of its training."""
    grammar, lexicon, sizes = model.grammar, model.lexicon, model.widths()
    inner = f"{grammar.first_tag} phrases and parts, " if grammar.first_tag > 1 else ""  # a tagger has only its start
    shared = [
        ("kind", model.kind),
        ("grammar", f"{inner}{len(grammar.tags)} tags, {len(grammar.rules)} rules"),
        ("words", f"{len(lexicon.vocabulary)} known, {len(lexicon.signatures)} classes of unknown ones"),
    ]
    if sizes.max() > 1:
        above, tags = int(sizes[: grammar.first_tag].sum()), int(sizes[grammar.first_tag :].sum())
        shared.append(("subtypes", (f"{above} of phrases and parts, " if inner else "") + f"{tags} of tags"))
    if history := getattr(model, "history", None):
        shared.append(("rounds", str(history.rounds)))
    return (*shared, *own, *((str(name), _written(value)) for name, value in model.training.items()))


def _written(value: Any) -> str:
    """A value of the training record for people to read."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_written(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return str(value)


# -- text and choices


def how_often(count: float) -> str:
    """Imported models know how often a category occurs in a sentence, others in a treebank."""
    return f"{count:,.0f} times" if count >= 10 else f"{count:.2g} times"


def spaced(pieces: Sequence[Any]) -> tuple[Any, ...]:
    """Names with a space between them."""
    return tuple(part for piece in pieces for part in (" ", piece))[1:]


def listed(pairs: Iterable[tuple[Inline, float]], most: int = WORD) -> str:
    """`the 0.507, a 0.116`."""
    return ", ".join(f"{legible(plain(text), most)} {figure:.3f}" for text, figure in pairs)


def figures(title: str, pairs: Iterable[tuple[Inline, float]]) -> list[Block]:
    """A list with a number beside each entry; none of nothing."""
    rows = tuple(pairs)
    return [Table(FIGURES, rows, title)] if rows else []


def flow(pairs: Iterable[tuple[Inline, float]], title: str = "") -> list[Block]:
    """Words with a number beside each; none of nothing."""
    items = tuple((legible(text, WORD) if isinstance(text, str) else text, figure) for text, figure in pairs)
    return [Flow(items, title)] if items else []


def best(items: Sequence[Item], values: Floats, top: int) -> list[tuple[Item, float]]:
    """The items of the largest positive values, the first of equals first."""
    chosen = np.flatnonzero(values > 0)
    if len(chosen) > top:
        least = np.partition(values[chosen], -top)[-top]
        chosen = chosen[values[chosen] >= least]
    order = chosen[np.argsort(-values[chosen], kind="stable")][:top]
    return [(items[k], float(values[k])) for k in order.tolist()]


def commonest_words(lexicon: Lexicon, columns: Longs, top: int) -> Shares:
    """The commonest words of some columns of a lexicon, with their shares there."""
    pairs = np.flatnonzero(np.isin(lexicon.pair_tag, columns))
    owner = np.searchsorted(lexicon.word_ptr, pairs, side="right") - 1
    tokens = np.bincount(owner, lexicon.pair_count[pairs], len(lexicon.vocabulary)).astype(np.float64)
    return best(lexicon.vocabulary, tokens / max(float(tokens.sum()), 1e-300), top)


# -- discrete subtypes


class SplitNode(NamedTuple):
    """A subtype of some round and those that came of it; a leaf is a present subtype."""

    members: tuple[int, ...]  # the present subtypes that descend from it
    share: float
    round: int | None = None  # in which it was split
    children: tuple[SplitNode, ...] = ()


class Subtypes(Categories):
    """The facts of a model whose subtypes are discrete and whose weights are probabilities."""

    def __init__(self, model: ForestModel[Any]) -> None:
        super().__init__(model)
        self._sums: dict[int, Floats] = {}

    def shares(self, symbol: int) -> Floats:
        """The share of each subtype in its category; even ones where nothing is known."""
        counts = self.counts(symbol)
        if counts is None or not counts.sum() > 0:
            return np.full(self.size(symbol), 1 / self.size(symbol))
        return counts / np.sum(counts)

    # -- rules and words

    def rules(self, symbol: int, subtype: int | None, top: int, summed: bool = False) -> list[Rule]:
        """The likeliest rules of a subtype; `summed` over the children's subtypes, as the whole category's are."""
        rules = self._rules_of(symbol)
        if subtype is not None and not summed:
            return self._fine_rules(rules, subtype, top)
        sums = self._rule_sums(symbol)
        weights = sums @ self.shares(symbol) if subtype is None else sums[:, subtype]
        return [(self._children(rule, None), weight) for rule, weight in best(rules.tolist(), weights, top)]

    def _rules_of(self, symbol: int) -> Longs:
        return np.flatnonzero(self.grammar.rules[:, 0] == symbol)

    def _rule_sums(self, symbol: int) -> Floats:
        """[rules, subtypes] P(rule | subtype), whatever the children's subtypes; kept, for glosses need them often."""
        if symbol not in self._sums:
            sums = [self._tensor(rule).sum((1, 2)) for rule in self._rules_of(symbol)]
            self._sums[symbol] = np.array(sums).reshape(-1, self.size(symbol))
        return self._sums[symbol]

    def _fine_rules(self, rules: Longs, subtype: int, top: int) -> list[Rule]:
        slabs = [self._tensor(rule)[subtype] for rule in rules]
        start = np.cumsum([0, *(slab.size for slab in slabs)])
        weights = np.concatenate([np.zeros(0), *(slab.ravel() for slab in slabs)])
        likeliest = []
        for k, weight in best(range(len(weights)), weights, top):
            which = int(np.searchsorted(start, k, side="right")) - 1
            place = divmod(k - int(start[which]), slabs[which].shape[1])
            likeliest.append((self._children(int(rules[which]), place), weight))
        return likeliest

    def _tensor(self, rule: int) -> Floats:
        return self.layout.tensor(self.model.theta, rule)

    def _children(self, rule: int, subtypes: tuple[int, int] | None) -> tuple[Child, ...]:
        pairs = zip(self.grammar.rules[rule, 1:].tolist(), subtypes or (None, None), strict=True)
        return tuple((symbol, subtype) for symbol, subtype in pairs if symbol != NONE)

    def uses(self, symbol: int, top: int) -> list[list[Use]]:
        """Where each subtype of a category stands, with the share of its occurrences that are there.

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
        shares = table / np.maximum(table.sum(0), 1e-300)
        return [best(places, shares[:, k], top) for k in range(self.size(symbol))]

    def words(self, symbol: int, subtype: int | None, top: int) -> Shares:
        """The commonest words of a tag, or of one of its subtypes; a phrase has none."""
        if not self.is_tag(symbol):
            return []
        columns = np.arange(self.lexicon.tags)[self.columns(symbol)]
        return commonest_words(self.lexicon, columns if subtype is None else columns[[subtype]], top)

    def samples(self, symbol: int, subtype: int) -> list[str]:
        """Short phrases drawn from what a subtype stands over, the same ones every time; none of a tag."""
        if self.is_tagger or self.is_tag(symbol):
            return []
        rng = np.random.default_rng([symbol, subtype])
        drawn = (self.model.drawer.phrase(symbol, subtype, rng, SAMPLE_WORDS) for _ in range(SAMPLE_TRIES))
        return list(dict.fromkeys(" ".join(phrase) for phrase in drawn if phrase))[:SAMPLES]

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


# -- the report on discrete subtypes


def report(model: ForestModel[Any], ask: Ask) -> Report:
    """The report on a model of discrete subtypes, or of none."""
    subtypes = Subtypes(model)
    measure = "subtypes" if subtypes.layout.size.max() > 1 else ""
    overview = Overview(
        subtypes, subtypes.size, measure, (Column("likeliest"),), lambda s: (_likeliest(subtypes, s, ask.top),)
    )
    footer = "" if subtypes.is_tagger else "Examples are drawn from the model at random: grammar, not sense."
    return assemble(ask, overview, lambda s: _section(subtypes, s, ask), lambda: facts(model), footer)


def _likeliest(subtypes: Subtypes, symbol: int, top: int) -> str:
    rules = subtypes.rules(symbol, None, top)
    told = [listed(subtypes.words(symbol, None, top)), listed((_right(subtypes, rule), w) for rule, w in rules)]
    return " | ".join(filter(None, told))


def _section(subtypes: Subtypes, symbol: int, ask: Ask) -> Section:
    size, uses = subtypes.size(symbol), subtypes.uses(symbol, ask.top)
    return Section(
        subtypes.name(symbol),
        place_of(symbol),
        subtypes.about(symbol, f"{size} subtypes" if size > 1 else ""),
        (Outline(_branch(subtypes, symbol, subtypes.split_tree(symbol))),) if size > 1 else (),
        tuple(_card(subtypes, symbol, k, uses[k], ask) for k in range(size)),
    )


def _card(subtypes: Subtypes, symbol: int, subtype: int, uses: list[Use], ask: Ask) -> Section:
    names = ("comes before", "comes after") if subtypes.is_tagger and symbol else ("becomes", "stands in")
    rules = subtypes.rules(symbol, subtype, ask.top, ask.summed)
    samples = tuple(legible(phrase, 200) for phrase in subtypes.samples(symbol, subtype))
    counts, share = subtypes.counts(symbol), float(subtypes.shares(symbol)[subtype])
    often = [] if counts is None else [how_often(float(counts[subtype]))]
    return Section(
        subtypes.name(symbol, subtype),
        place_of(symbol, subtype),
        ", ".join([f"{share:.1%}", *often] if subtypes.size(symbol) > 1 else often),
        (
            *flow(subtypes.words(symbol, subtype, ask.top)),
            *figures(names[0], ((_right(subtypes, rule), weight) for rule, weight in rules)),
            *figures(names[1], ((_use(subtypes, *use), share) for use, share in uses)),
            *([Examples("for example", samples)] if samples else []),
        ),
        share=share,
    )


def _right(subtypes: Subtypes, children: tuple[Child, ...]) -> Inline:
    return spaced([subtypes.link(*child) for child in children]) or "(end)"


def _use(subtypes: Subtypes, rule: int, place: int) -> Inline:
    """The rule with the child that is meant; of a tagger's, the tag before alone."""
    parent = int(subtypes.grammar.rules[rule, 0])
    return (subtypes.link(parent),) if subtypes.is_tagger else subtypes.rule(rule, place)


def _branch(subtypes: Subtypes, symbol: int, node: SplitNode) -> Branch:
    """A node of the split tree: a subtype with a few words on what it commonly is, or when it was split."""
    if not node.children:
        (only,) = node.members
        return Branch((subtypes.link(symbol, only), f"  {node.share:.1%}  {_gloss(subtypes, symbol, only)}"))
    when = "split" if node.round is None else f"split in round {node.round}"
    whole = len(node.members) == subtypes.size(symbol)
    told = f"{subtypes.name(symbol)}  {when}" if whole else f"{node.share:.1%}  {when}"
    return Branch(told, tuple(_branch(subtypes, symbol, child) for child in node.children))


def _gloss(subtypes: Subtypes, symbol: int, subtype: int) -> str:
    if words := subtypes.words(symbol, subtype, 4):
        return legible(" ".join(legible(word, 20) for word, _ in words), 70)
    rules = subtypes.rules(symbol, subtype, 3, summed=True)
    return legible(" | ".join(" ".join(subtypes.name(*child) for child in rule) for rule, _ in rules), 70)
