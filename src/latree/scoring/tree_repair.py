"""How a parse becomes the gold tree, in few edits: what is wrong with it, an error at a time.

Brackets by themselves say little of errors: a prepositional phrase in the wrong place makes the brackets of all phrases
wrong that end in it.  So the edit that sets most brackets right is made first, a move as a rule, and so on until both
trees are the same (Kummerfeld, Hall, Curran & Klein 2012 have the idea).  Phrases move only out of and into phrases
whose own brackets are wrong, so that no edit makes a right bracket wrong; every edit but those that only change the
order of a unary chain sets at least one bracket right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from latree.scoring.tree_edits import Delete, Edit, Insert, Move, Node, Relabel
from latree.text.tree import Tree

Action = Literal["move", "insert", "delete", "relabel", "reorder"]
Bracket = tuple[str, int, int]
Span = tuple[int, int]


class Part(NamedTuple):
    """A phrase or a word that an edit is about."""

    label: str
    words: tuple[str, ...]
    is_tag: bool


@dataclass(frozen=True)
class Repair:
    """One error: the edits that mend it, how many brackets become right by it, and what is around."""

    action: Action
    edits: tuple[Edit, ...]
    brackets: int
    label: str  # of the phrase that is put in, taken out or renamed; of the first that moves
    new_label: str  # of one that is renamed
    inside: tuple[Part, ...]  # what moves, or the children of the phrase
    above: tuple[str, ...]  # the labels of the parents, before and after
    beside: tuple[str, ...]  # the labels of the next siblings, before and after
    start: int
    end: int


class Run(NamedTuple):
    """Some neighbours: the children `first` to `last` of a node, without the last."""

    source: Node
    first: int
    last: int

    @property
    def nodes(self) -> list[Node]:
        return self.source.children[self.first : self.last]

    @property
    def rest(self) -> list[Node]:
        """The other children."""
        return self.source.children[: self.first] + self.source.children[self.last :]

    @property
    def span(self) -> Span:
        return self.source.children[self.first].start, self.source.children[self.last - 1].end


class Plan(NamedTuple):
    """A move that might be made."""

    gain: int
    run: Run
    target: Node
    place: int
    wrap: Bracket | None  # a phrase that is then made in the target
    drops: bool  # whether the source then says nothing: its only child is of the same label

    def rank(self) -> tuple[int, int, int]:
        """The more brackets the better, then the fewer edits, then the fewer words that move."""
        start, end = self.run.span
        return self.gain, -(self.wrap is not None) - self.drops, start - end


def repairs(parse: Tree, gold: Tree) -> list[Repair]:
    """All errors of a parse of the same words and tags; the labels of the roots are not looked at."""
    return _Workshop(Node.of(parse), gold).mend()


def _part(node: Node) -> Part:
    words = tuple(one.word for one in node.subtree() if one.word is not None)
    return Part(node.label, words, node.word is not None)


def _siblings(run: Sequence[Node]) -> tuple[str, ...]:
    """The labels of the neighbours of some neighbours."""
    parent, first, last = run[0].parent, run[0].place, run[-1].place
    assert parent is not None
    return tuple(node.label for node in (*parent.children[:first][-1:], *parent.children[last + 1 :][:1]))


def _is_within(labels: Sequence[str], whole: Sequence[str]) -> bool:
    """Tell whether labels are there in the same order, maybe with others between."""
    rest = iter(whole)
    return all(label in rest for label in labels)


@dataclass
class _Workshop:
    """A parse that is being mended."""

    root: Node
    gold: Tree
    excess: Counter[Bracket] = field(init=False)  # how many more there are of a bracket than in the gold tree
    chains: dict[Span, list[str]] = field(init=False)  # the labels that the gold tree has on a span, downwards

    def __post_init__(self) -> None:
        self.chains = {}
        _, *spans = self.gold.spans()
        for label, start, end in spans:
            self.chains.setdefault((start, end), []).append(label)
        self._count()

    def _count(self) -> None:
        """See what is missing and extra now."""
        self.excess = Counter((node.label, node.start, node.end) for node in self._phrases())
        self.excess.subtract((label, *span) for span, labels in self.chains.items() for label in labels)

    def mend(self) -> list[Repair]:
        found = []
        while (repair := self._next()) is not None:
            found.append(repair)
        return found + list(self._reorder())

    def _phrases(self) -> list[Node]:
        """All phrases but the root."""
        return [node for node in self.root.subtree()[1:] if node.word is None]

    def _is_extra(self, node: Node) -> bool:
        return node.word is None and node.parent is not None and self.excess[node.label, node.start, node.end] > 0

    def _gain(self, changes: Counter[Bracket]) -> int:
        """How many brackets become right where so many of each come or go."""
        now = ((self.excess[bracket], change) for bracket, change in changes.items())
        return sum(abs(excess) - abs(excess + change) for excess, change in now)

    def _next(self) -> Repair | None:
        """Mend what is best mended now; None where all brackets are right."""
        plan = max(self._moves(), key=Plan.rank, default=None)
        if plan is not None and plan.gain > 2:
            return self._move(plan)
        if (repair := self._relabel()) is not None:
            return repair
        return self._move(plan) if plan is not None and plan.gain == 2 else self._insert() or self._delete()

    def _make(self, edits: Iterable[Edit]) -> int:
        """Make some edits; return how many brackets are right by them."""
        wrong = sum(map(abs, self.excess.values()))
        for edit in edits:
            edit.apply(self.root)
        self._count()
        return wrong - sum(map(abs, self.excess.values()))

    # -- moves

    def _moves(self) -> Iterator[Plan]:
        """All moves that set two brackets right, or more."""
        for source in (self.root, *self._phrases()):
            for first, last in self._runs(source):
                yield from (plan for plan in self._places(Run(source, first, last)) if plan.gain >= 2)

    def _runs(self, source: Node) -> set[tuple[int, int]]:
        """The children of a node that may move: out of it where it is extra itself, or into an extra neighbour."""
        size, runs = len(source.children), set[tuple[int, int]]()
        if self._is_extra(source):
            runs |= {(0, last) for last in range(1, size)} | {(first, size) for first in range(1, size)}
        for place, child in enumerate(source.children):
            if self._is_extra(child):
                runs |= {(place + 1, last) for last in range(place + 2, size + 1)}
                runs |= {(first, place) for first in range(place)}
        return runs - {(0, size)}

    def _places(self, run: Run) -> Iterator[Plan]:
        """Where neighbours may go: down into the next one, or up, and from there down."""
        (source, first, last), (start, end) = run, run.span
        shrunk: list[Node] = []

        def downwards(node: Node, *, leftwards: bool) -> Iterator[Plan]:
            grown: list[Node] = []
            while self._is_extra(node):
                grown.append(node)
                place = len(node.children) if leftwards else 0
                yield from self._plans(run, node, place, shrunk, grown)
                node = node.children[-1 if leftwards else 0]

        if first > 0:
            yield from downwards(source.children[first - 1], leftwards=True)
        if last < len(source.children):
            yield from downwards(source.children[last], leftwards=False)
        node = source
        while self._is_extra(node) and node.parent is not None and (node.start == start or node.end == end):
            shrunk.append(node)
            leftwards, parent, place = node.start == start, node.parent, node.place
            yield from self._plans(run, parent, place if leftwards else place + 1, shrunk, [])
            beyond = place - 1 if leftwards else place + 1
            if 0 <= beyond < len(parent.children):
                yield from downwards(parent.children[beyond], leftwards=leftwards)
            node = parent

    def _plans(self, run: Run, target: Node, place: int, shrunk: list[Node], grown: list[Node]) -> Iterator[Plan]:
        """A move as it is, and with a phrase made after it; some phrases lose what moves, others get it."""
        source, (start, end), rest = run.source, run.span, run.rest
        drops = len(rest) == 1 and rest[0].word is None and rest[0].label == source.label and source is not self.root
        lost = {id(node): node for node in (*shrunk, *grown, *([source] if drops else []))}
        changes = Counter[Bracket]()
        for node in lost.values():
            changes[node.label, node.start, node.end] -= 1
        for node in shrunk[drops:]:
            changes[node.label, end if node.start == start else node.start, start if node.end == end else node.end] += 1
        for node in grown:
            changes[node.label, min(node.start, start), max(node.end, end)] += 1
        yield Plan(self._gain(changes), run, target, place, None, drops)
        for wrap in self._wraps(target, place, start, end):
            yield Plan(self._gain(_with(changes, wrap)), run, target, place, wrap, drops)

    def _wraps(self, target: Node, place: int, start: int, end: int) -> Iterator[Bracket]:
        """The phrases that may be made after a move: of what moved and a phrase beside it, with the label of that; or
        of what is on one side of it, with the label of the whole."""
        for beside in target.children[max(place - 1, 0) : place + 1]:
            if beside.word is None:
                yield beside.label, min(beside.start, start), max(beside.end, end)
        if target is not self.root:
            sides = (target.start, start), (end, target.end)
            yield from ((target.label, first, last) for first, last in sides if first < last)

    def _move(self, plan: Plan) -> Repair:
        (source, first, last), run = plan.run, plan.run.nodes
        parts, above, beside = tuple(map(_part, run)), source.label, _siblings(run)
        edits: list[Edit] = [Move(source.path, first, last, plan.target.path, plan.place)]
        gain = self._make(edits)
        more: Edit
        if plan.drops:
            more = Delete(source.path)
            gain, edits = gain + self._make([more]), [*edits, more]
        beside += _siblings(run)
        if plan.wrap is not None:
            label, start, end = plan.wrap
            below = plan.target.children
            places = [k for k, node in enumerate(below) if start <= node.start and node.end <= end]
            more = Insert(plan.target.path, places[0], places[-1] + 1, label)
            gain, edits = gain + self._make([more]), [*edits, more]
        parent = run[0].parent
        assert parent is not None
        labels, span = (above, parent.label), (run[0].start, run[-1].end)
        return Repair("move", tuple(edits), gain, parts[0].label, "", parts, labels, beside, *span)

    # -- single phrases

    def _about(self, node: Node, action: Action, edit: Edit, new_label: str = "") -> Repair:
        """Make an edit of a phrase that is there, and tell of it."""
        assert node.parent is not None
        parts, beside, above = tuple(map(_part, node.children)), _siblings([node]), (node.parent.label,)
        label, start, end = node.label, node.start, node.end
        return Repair(action, (edit,), self._make([edit]), label, new_label, parts, above, beside, start, end)

    def _relabel(self) -> Repair | None:
        """Rename the first phrase whose span is right and whose label is not."""
        for node in self._phrases():
            if self._is_extra(node):
                for label in self.chains.get((node.start, node.end), ()):
                    if self.excess[label, node.start, node.end] < 0:
                        return self._about(node, "relabel", Relabel(node.path, label), label)
        return None

    def _delete(self) -> Repair | None:
        """Take out the first phrase that should not be there."""
        extra = next(filter(self._is_extra, self._phrases()), None)
        return None if extra is None else self._about(extra, "delete", Delete(extra.path))

    def _insert(self) -> Repair | None:
        """Put in the smallest phrase that is missing and crosses none that is there."""
        missing = (bracket for bracket, excess in self.excess.items() if excess < 0)
        for label, start, end in sorted(missing, key=lambda one: (one[2] - one[1], one[1], one[0])):
            if (edit := self._insertion(label, start, end)) is not None:
                return self._put_in(edit)
        return None

    def _insertion(self, label: str, start: int, end: int) -> Insert | None:
        """Where a phrase of this span belongs; in a chain, where the gold tree has it, as far as that can be seen."""
        node, on_span = self.root, list[Node]()
        while (inner := next((c for c in node.children if c.start <= start and end <= c.end), None)) is not None:
            if inner.word is not None:
                break
            node = inner
            if (node.start, node.end) == (start, end):
                on_span.append(node)
        labels, wanted = [one.label for one in on_span], self.chains[start, end]
        fits = (k for k in range(len(labels) + 1) if _is_within([*labels[:k], label, *labels[k:]], wanted))
        depth = next(fits, len(labels))
        parent = on_span[depth - 1] if depth else (on_span[0].parent or self.root) if on_span else node
        places = [k for k, child in enumerate(parent.children) if start <= child.start and child.end <= end]
        if not places or (parent.children[places[0]].start, parent.children[places[-1]].end) != (start, end):
            return None
        return Insert(parent.path, places[0], places[-1] + 1, label)

    def _put_in(self, edit: Insert) -> Repair:
        gain, node = self._make([edit]), self.root.at((*edit.at, edit.first))
        assert node.parent is not None
        parts, beside, above = tuple(map(_part, node.children)), _siblings([node]), (node.parent.label,)
        return Repair("insert", (edit,), gain, edit.label, "", parts, above, beside, node.start, node.end)

    def _reorder(self) -> Iterator[Repair]:
        """Rename the phrases of chains whose brackets are right, but not their order."""
        chains: dict[Span, list[Node]] = {}
        for node in self._phrases():
            chains.setdefault((node.start, node.end), []).append(node)
        for span, nodes in chains.items():
            wrong = [(node, label) for node, label in zip(nodes, self.chains[span], strict=True) if node.label != label]
            if wrong:
                (top, label), parent = wrong[0], nodes[0].parent
                assert parent is not None
                edits = tuple(Relabel(node.path, label) for node, label in wrong)
                told = (top.label, label, tuple(map(_part, top.children)), (parent.label,), _siblings(nodes[:1]))
                yield Repair("reorder", edits, self._make(edits), *told, *span)


def _with(changes: Counter[Bracket], more: Bracket) -> Counter[Bracket]:
    """Changes with one more bracket; a sum of counters would lose those that go."""
    changed = Counter(changes)
    changed[more] += 1
    return changed
