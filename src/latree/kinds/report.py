"""What a model has learned, as a report: its categories, their subtypes, and what those are made of.

`ModelReport` has what all kinds share; a kind says in its own what there is to tell of each category.  A model without
subtypes is one in which every category has one, so that `Subtypes` serves several kinds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

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

Model = TypeVar("Model", bound="ForestModel[Any]")
Item = TypeVar("Item")
Figures = list[tuple[Item, float]]  # items with the shares that they have, the largest first
Facts = Iterable[tuple[str, str]]
Child = tuple[int, int | None]  # a category on the right of a rule; without a subtype it stands for all of them

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


EVERYTHING = Ask(every=True)


class Categories(Generic[Model]):
    """The categories of a model: their names, how often they occur, and what is known of the model as a whole."""

    no_sums = ""  # what the model has that cannot be added up, as `--summed` asks

    def __init__(self, model: Model, ask: Ask = EVERYTHING) -> None:
        if ask.summed and self.no_sums:
            raise LatreeError(f"--summed is for the probabilities of discrete subtypes; this model has {self.no_sums}")
        self.model, self.ask, self.grammar = model, ask, model.grammar
        counted: ForestModel[Any] = getattr(model, "pruner", model)  # a pruner knows how often categories occur
        self.lexicon, self.layout = counted.lexicon, Layout(counted.grammar, counted.widths())
        self.frequency: Floats | None = getattr(counted, "frequency", None)  # [subtypes] but for those of tags

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List what is known of the model: what all kinds have, what its own has, the record of its training."""
        grammar, lexicon, sizes = self.grammar, self.model.lexicon, self.model.widths()
        inner = f"{grammar.first_tag} phrases and parts, " if grammar.first_tag > 1 else ""  # a tagger: only its start
        shared = [
            ("kind", self.model.kind),
            ("grammar", f"{inner}{len(grammar.tags)} tags, {len(grammar.rules)} rules"),
            ("words", f"{len(lexicon.vocabulary)} known, {len(lexicon.signatures)} classes of unknown ones"),
        ]
        if fine := getattr(self.model, "fine", None):
            before = f"the rules have what stands before {fine.tags.separators}"
            shared.append(("fine tags", f"{len(fine.tags.names)}; {before}"))
        if sizes.max() > 1:
            above, tags = int(sizes[: grammar.first_tag].sum()), int(sizes[grammar.first_tag :].sum())
            shared.append(("subtypes", (f"{above} of phrases and parts, " if inner else "") + f"{tags} of tags"))
        if history := getattr(self.model, "history", None):
            shared.append(("rounds", str(history.rounds)))
        return (*shared, *self.own_facts(), *((name, written(value)) for name, value in self.model.training.items()))

    def own_facts(self) -> Facts:
        """List what is known of the model as a whole beside what all kinds have."""
        return ()

    # -- categories

    @cached_property
    def is_tagger(self) -> bool:
        """Whether tags follow one another, instead of standing under phrases."""
        return bool((self.grammar.rules[:, 0] >= self.grammar.first_tag).any())

    def is_tag(self, symbol: int) -> bool:
        return symbol >= self.grammar.first_tag

    def kind(self, symbol: int) -> str:
        return self.grammar.symbols[symbol].kind

    def subtypes(self, symbol: int) -> int:
        """How many discrete subtypes a category has."""
        return int(self.layout.size[symbol])

    def counts(self, symbol: int) -> Floats | None:
        """How often each subtype is expected in training; None where the model does not say."""
        if self.is_tag(symbol):
            return self.lexicon.tag_count[self.tag_columns(symbol)]  # exact, and every model has it
        first, end = self.layout.offset[symbol : symbol + 2]
        return None if self.frequency is None else self.frequency[first:end]

    def count(self, symbol: int) -> float | None:
        counts = self.counts(symbol)
        return None if counts is None else float(counts.sum())

    def tag_columns(self, symbol: int) -> slice:
        """A tag's columns in the lexicon."""
        first, end = self.layout.tag_columns[symbol - self.grammar.first_tag :][:2].tolist()
        return slice(first, end)

    def about(self, symbol: int, *parts: str) -> str:
        """`phrase, 4 subtypes, 120 times`."""
        count = self.count(symbol)
        return ", ".join([self.kind(symbol), *filter(None, parts), *([] if count is None else [how_often(count)])])

    # -- names

    def find(self, name: str) -> list[int]:
        """The symbols of a label, or of a whole name such as `@NP`."""
        named = [s for s, symbol in enumerate(self.grammar.symbols) if name in (symbol.label, str(symbol))]
        if not named:
            names = sorted({known.label for known in self.grammar.symbols})
            raise LatreeError(f"the model has no category {name!r}; it has {', '.join(names)}")
        return named

    def name(self, symbol: int, subtype: int | None = None) -> str:
        """`NP`, or `NP-3`; the number is left out where there is only one."""
        name = legible(str(self.grammar.symbols[symbol]), NAME)
        return name if subtype is None or self.subtypes(symbol) == 1 else f"{name}-{subtype}"

    def link(self, symbol: int, subtype: int | None = None) -> Link:
        return Link(self.name(symbol, subtype), place_of(symbol, subtype))

    def rule(self, rule: int, strong: int) -> Inline:
        """`S -> [NP] VP`: a rule in which the child at a place is meant."""
        parent, *children = (s for s in self.grammar.rules[rule].tolist() if s != NONE)
        right = [Strong(self.name(s)) if k == strong else self.link(s) for k, s in enumerate(children)]
        return (self.link(parent), ARROW, *spaced(right))

    def children(self, rule: int) -> list[int]:
        """The symbols on the right of a rule."""
        return [symbol for symbol in self.grammar.rules[rule, 1:].tolist() if symbol != NONE]

    def right_side(self, children: Iterable[Child]) -> tuple[str | Link | Strong, ...]:
        """What a category becomes; nothing where a tag sequence ends."""
        return spaced([self.link(*child) for child in children]) or ("(end)",)


class ModelReport(Categories[Model]):
    """The report on a model: facts, tables of its categories, and a section for each of them."""

    measure = ""  # what `size` counts; nothing where all categories have the same
    columns: tuple[Column, ...] = (Column("likeliest"),)  # of the overview, beside names and sizes
    footer = ""

    def size(self, symbol: int) -> int:
        """How much of `measure` a category has."""
        return self.subtypes(symbol)

    @abstractmethod
    def describe(self, symbol: int) -> tuple[Cell, ...]:
        """Write the `columns` of a category."""

    @abstractmethod
    def section(self, symbol: int) -> Section:
        """Tell all about a category."""

    def report(self) -> Report:
        """Build what was asked for."""
        if self.ask.symbol is not None:
            return Report(sections=tuple(map(self.section, self.find(self.ask.symbol))))
        grouped = ((title, s) for title, symbols in self.groups.items() for s in symbols if self.ask.every)
        sections = (replace(self.section(s), group=title, size=self.size(s)) for title, s in grouped)
        return Report(facts=self.facts(), blocks=self.overview(), sections=tuple(sections), footer=self.footer)

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """The symbols of each kind, the largest first, then the commonest."""
        symbols = range(len(self.grammar.symbols))
        order = sorted(symbols, key=lambda s: (-self.size(s), -(self.count(s) or 0.0), s))
        groups = {title: [s for s in order if self.kind(s) in kinds] for kinds, title in GROUPS}
        return {title: symbols for title, symbols in groups.items() if symbols}

    def overview(self) -> tuple[Block, ...]:
        """List categories by the number of their subtypes, as in Petrov (2009), figure 2, or of what is measured."""
        measured = (Column(self.measure, "{:,}", "figure"), Column(kind="bar")) if self.measure else ()
        return tuple(
            Table((Column(title), *measured, *self.columns), tuple(map(self._row, symbols)))
            for title, symbols in self.groups.items()
        )

    def _row(self, symbol: int) -> tuple[Cell, ...]:
        sizes = (self.size(symbol),) * 2 if self.measure else ()
        return ((self.link(symbol),), *sizes, *self.describe(symbol))


def place_of(symbol: int, part: int | None = None) -> str:
    """The id of a category's section, or of a card there."""
    return f"c{symbol}" if part is None else f"c{symbol}-{part}"


def written(value: object) -> str:
    """A value of the training record for people to read."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {written(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(written, value))
    return str(value)


# -- text and choices


def how_often(count: float) -> str:
    """Imported models know how often a category occurs in a sentence, others in a treebank."""
    return f"{count:,.0f} times" if count >= 10 else f"{count:.2g} times"


def unit_name(word: str | None, signature: str | None) -> str:
    """A word of the lexical rules, or a class of words."""
    return word if word is not None else "(any other)" if signature is None else f"(class {signature})"


def spaced(pieces: Sequence[Link | Strong]) -> tuple[str | Link | Strong, ...]:
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


def best(items: Sequence[Item], values: Floats, top: int) -> Figures[Item]:
    """The items of the largest positive values, the first of equals first."""
    positive = np.flatnonzero(values > 0)
    order = positive[np.argsort(-values[positive], kind="stable")][:top]
    return [(items[k], float(values[k])) for k in order.tolist()]


def commonest_words(lexicon: Lexicon, columns: Longs, top: int) -> Figures[str]:
    """The commonest words of some columns of a lexicon, with their shares there."""
    pairs = np.flatnonzero(np.isin(lexicon.pair_tag, columns))
    owner = np.searchsorted(lexicon.word_ptr, pairs, side="right") - 1
    tokens = np.bincount(owner, lexicon.pair_count[pairs], len(lexicon.vocabulary)).astype(np.float64)
    return best(lexicon.vocabulary, tokens / max(float(tokens.sum()), 1e-300), top)


# -- discrete subtypes


class Subtypes(ModelReport["ForestModel[Any]"]):
    """The report on a model whose subtypes are discrete, or which has none, and whose weights are probabilities."""

    def __init__(self, model: ForestModel[Any], ask: Ask = EVERYTHING) -> None:
        super().__init__(model, ask)
        self.measure = "subtypes" if self.layout.size.max() > 1 else ""
        self.footer = "" if self.is_tagger else "Examples are drawn from the model at random: grammar, not sense."
        places = np.flatnonzero(model.theta)
        self._weight: Floats = model.theta[places]
        self._rule, *self._subtype = self.layout.coordinates(places)  # of the parent, the left and the right child
        self._symbol = self.grammar.rules[self._rule].T
        cells_before = np.cumsum(np.bincount(self._symbol[0], minlength=len(self.grammar.symbols)))
        self._cells = np.split(np.argsort(self._symbol[0], kind="stable"), cells_before[:-1])  # of each parent

    def shares(self, symbol: int) -> Floats:
        """The share of each subtype in its category; even ones where nothing is known."""
        counts = self.counts(symbol)
        if counts is None or not counts.sum() > 0:
            return np.full(self.subtypes(symbol), 1 / self.subtypes(symbol))
        return counts / np.sum(counts)

    # -- rules and words

    def rules(self, symbol: int, subtype: int | None, top: int, summed: bool = False) -> Figures[tuple[Child, ...]]:
        """The likeliest rules of a subtype; `summed` over the children's subtypes, as the whole category's are."""
        cells = self._cells[symbol]
        weight = self._weight[cells]
        if subtype is None:
            weight = weight * self.shares(symbol)[self._subtype[0][cells]]
        else:
            mine = self._subtype[0][cells] == subtype
            cells, weight = cells[mine], weight[mine]
        if subtype is None or summed:
            sums = np.bincount(self._rule[cells], weight, len(self.grammar.rules)).astype(np.float64)
            likeliest = best(range(len(sums)), sums, top)
            return [(tuple((child, None) for child in self.children(rule)), share) for rule, share in likeliest]
        return [(self._fine_children(cell), share) for cell, share in best(cells.tolist(), weight, top)]

    def _fine_children(self, cell: int) -> tuple[Child, ...]:
        _, *subtypes = (int(of_port[cell]) for of_port in self._subtype)
        return tuple(zip(self.children(int(self._rule[cell])), subtypes, strict=False))

    def uses(self, symbol: int, top: int) -> list[Figures[tuple[int, int]]]:
        """Where each subtype of a category stands: a rule and a place in it (0 left, 1 right), and the share there.

        Nothing where the model does not say how often the parents occur.
        """
        size = self.subtypes(symbol)
        table = np.zeros((2 * len(self.grammar.rules), size))
        for place in (0, 1) if self.counts(0) is not None else ():
            cells = np.flatnonzero(self._symbol[1 + place] == symbol)
            row = (2 * self._rule + place)[cells]
            often = self._occurs[self.layout.offset[self._symbol[0, cells]] + self._subtype[0][cells]]
            np.add.at(table, (row, self._subtype[1 + place][cells]), often * self._weight[cells])
        shares = table / np.maximum(table.sum(0), 1e-300)
        commonest = (best(range(len(table)), shares[:, k], top) for k in range(size))
        return [[(divmod(row, 2), share) for row, share in one] for one in commonest]

    @cached_property
    def _occurs(self) -> Floats:
        """[subtypes] how often each occurs, where that is known."""
        counts = (self.counts(symbol) for symbol in range(len(self.grammar.symbols)))
        return np.concatenate([one for one in counts if one is not None])

    def words(self, symbol: int, subtype: int | None, top: int) -> Figures[str]:
        """The commonest words of a tag, or of one of its subtypes; a phrase has none."""
        if not self.is_tag(symbol):
            return []
        columns = np.arange(self.lexicon.tags)[self.tag_columns(symbol)]
        return commonest_words(self.lexicon, columns if subtype is None else columns[[subtype]], top)

    def samples(self, symbol: int, subtype: int) -> list[str]:
        """Short phrases drawn from what a subtype stands over, the same ones every time; none of a tag."""
        if self.is_tagger or self.is_tag(symbol):
            return []
        rng = np.random.default_rng([symbol, subtype])
        drawn = (self.model.drawer.phrase(symbol, subtype, rng, SAMPLE_WORDS) for _ in range(SAMPLE_TRIES))
        return list(dict.fromkeys(" ".join(phrase) for phrase in drawn if phrase))[:SAMPLES]

    # -- the report

    def describe(self, symbol: int) -> tuple[Cell, ...]:
        """List the likeliest words and rules."""
        rules = ((self.right_side(rule), share) for rule, share in self.rules(symbol, None, self.ask.top))
        return (" | ".join(filter(None, [listed(self.words(symbol, None, self.ask.top)), listed(rules)])),)

    def section(self, symbol: int) -> Section:
        """Tell which subtypes came from which, and of each what it becomes and where it stands."""
        size, uses = self.subtypes(symbol), self.uses(symbol, self.ask.top)
        return Section(
            self.name(symbol),
            place_of(symbol),
            self.about(symbol, f"{size} subtypes" if size > 1 else ""),
            (Outline(self.descent(symbol)),) if size > 1 else (),
            tuple(self._card(symbol, k, uses[k]) for k in range(size)),
        )

    def _card(self, symbol: int, subtype: int, uses: Figures[tuple[int, int]]) -> Section:
        names = ("comes before", "comes after") if self.is_tagger and symbol else ("becomes", "stands in")
        rules = self.rules(symbol, subtype, self.ask.top, self.ask.summed)
        samples = tuple(legible(phrase, 200) for phrase in self.samples(symbol, subtype))
        counts, share = self.counts(symbol), float(self.shares(symbol)[subtype])
        often = [] if counts is None else [how_often(float(counts[subtype]))]
        return Section(
            self.name(symbol, subtype),
            place_of(symbol, subtype),
            ", ".join([f"{share:.1%}", *often] if self.subtypes(symbol) > 1 else often),
            (
                *flow(self.words(symbol, subtype, self.ask.top)),
                *figures(names[0], ((self.right_side(rule), weight) for rule, weight in rules)),
                *figures(names[1], ((self._use(*use), share) for use, share in uses)),
                *([Examples("for example", samples)] if samples else []),
            ),
            share=share,
        )

    def _use(self, rule: int, place: int) -> Inline:
        """The rule with the child that is meant; of a tagger's, the tag before alone."""
        return (self.link(int(self.grammar.rules[rule, 0])),) if self.is_tagger else self.rule(rule, place)

    # -- descent

    def descent(self, symbol: int) -> Branch:
        """Draw which subtype came from which; all at once where the model does not say."""
        size, history = self.subtypes(symbol), getattr(self.model, "history", None)
        steps: list[Longs] = [step[symbol] for step in history.parents] if history is not None else []
        known = bool(steps) and len(steps[-1]) == size
        if not known:
            steps = [np.zeros(size, np.int64)]
        widths = [1, *map(len, steps)]
        level = [[(share, self._leaf(symbol, k, share))] for k, share in enumerate(self.shares(symbol).tolist())]
        for number in range(len(steps), 0, -1):
            groups: list[list[tuple[float, Branch]]] = [[] for _ in range(widths[number - 1])]
            for node, parent in zip(level, steps[number - 1].tolist(), strict=True):
                groups[parent] += node
            level = [_joined(group, f"split in round {number}" if known else "split") for group in groups]
        ((_, root),) = level[0]
        _, _, when = plain(root.label).partition("  ")
        return replace(root, label=f"{self.name(symbol)}  {when}")  # whose share is all

    def _leaf(self, symbol: int, subtype: int, share: float) -> Branch:
        """A subtype with a few words on what it commonly is."""
        if words := self.words(symbol, subtype, 4):
            gloss = " ".join(legible(word, 20) for word, _ in words)
        else:
            rules = self.rules(symbol, subtype, 3, summed=True)
            gloss = " | ".join(" ".join(self.name(*child) for child in rule) for rule, _ in rules)
        return Branch((self.link(symbol, subtype), f"  {share:.1%}  {legible(gloss, 70)}"))


def _joined(group: list[tuple[float, Branch]], when: str) -> list[tuple[float, Branch]]:
    """The subtype that a group came from, with its share; one that was not split stays, and some have left nothing."""
    if len(group) < 2:
        return group
    share = sum(part for part, _ in group)
    return [(share, Branch(f"{share:.1%}  {when}", tuple(branch for _, branch in group)))]


def report(model: ForestModel[Any], ask: Ask) -> Report:
    """Build the report on a model of discrete subtypes, or of none."""
    return Subtypes(model, ask).report()
