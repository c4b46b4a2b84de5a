"""Head rules: which child of a constituent hands its head word up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from latree.text.head_table import End, HeadTable


@dataclass(frozen=True)
class HeadRules(HeadTable):
    """A head table, applied.

    Coordination is as Collins (1999, appendix A) has it: when the child before the head is a conjunction, the head
    moves to the child before that, once; here minor labels between them are passed over, since trees keep punctuation.

    A category without a line takes, from the end that `unlisted` names, the first child with its own label; else the
    first of its family, that is, with its label less a final P (N or n for NP), or one that begins so (NN, noun); else
    the first that is neither minor nor a conjunction.
    """

    _known: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def head(self, label: str, children: Sequence[str]) -> int:
        """Find a constituent's head among its children, by their labels."""
        key = (label, tuple(children))
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = self._find(*key)
        return place

    def _find(self, label: str, children: tuple[str, ...]) -> int:
        if not children:
            raise ValueError(f"{label!r} has no children, and so no head")
        if len(children) == 1:
            return 0
        category = self.category(label)
        place = self._by_family(label, children) if category is None else self._by_table(category, children)
        return self._first_conjunct(children, place)

    def _by_table(self, category: str, children: tuple[str, ...]) -> int:
        end: End = self.unlisted
        for end, searches in self.searches[category]:
            places = _from(end, len(children))
            for labels in searches:
                for place in places:
                    if children[place] in labels:
                        return place
        return self._first_word(end, children)

    def _by_family(self, label: str, children: tuple[str, ...]) -> int:
        places = _from(self.unlisted, len(children))
        family = (label[:-1] if len(label) > 1 and label[-1] in "Pp" else label).casefold()
        words = [place for place in places if not self.is_passed(children[place])]
        choices = (
            [place for place in places if children[place] == label],
            [place for place in words if children[place].casefold() == family],
            [place for place in words if children[place].casefold().startswith(family)],
        )
        for chosen in choices:
            if chosen:
                return chosen[0]
        return self._first_word(self.unlisted, children)

    def _first_word(self, end: End, children: tuple[str, ...]) -> int:
        """Find the first child that is neither minor nor a conjunction, else that is not minor, else the first."""
        places = _from(end, len(children))
        for is_passed in (self.is_passed, self.is_minor):
            for place in places:
                if not is_passed(children[place]):
                    return place
        return places[0]

    def _first_conjunct(self, children: tuple[str, ...], head: int) -> int:
        """Move the head to the conjunct before it, where it stands behind a conjunction."""
        before = [place for place in range(head) if not self.is_minor(children[place])]
        if len(before) < 2 or not self.is_conjunction(children[before[-1]]):
            return head
        return before[-2]


def _from(end: End, count: int) -> range:
    """Count places in the order of a search that starts at `end`."""
    return range(count) if end == "left" else range(count - 1, -1, -1)
