"""A constituency tree, and Penn brackets in and out.

A node is either a preterminal, which has a `word` and no children, or a phrase, which has children and no word.
Words hold real parentheses in memory; brackets on disk write them as -LRB- and -RRB-.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, overload

from latree.errors import InputError

if TYPE_CHECKING:
    from latree.text.draw import Picture

Result = TypeVar("Result")

# Only ASCII white space separates tokens in a bracket file, so that a no-break space may stand inside a word.
_SPACE, TEXT = r"[ \t\r\n\f\v]", r"[^ \t\r\n\f\v()]"
_SPACES = re.compile(f"{_SPACE}+")
# A whole preterminal is one match (tag, word), since most brackets are; then "(" with its label, ")" and bare text.
_SYMBOLS = re.compile(rf"\(({TEXT}++){_SPACE}++({TEXT}++){_SPACE}*+\)|\(({TEXT}*+)|\)|{TEXT}++")
_TAG, _WORD, _LABEL = 1, 2, 3


class Tree(Sequence["Tree"]):
    """A labelled node and the sequence of its children: `Tree("NP", [Tree("NN", word="cat")])`.

    A tree never changes once it is made, so that it may be a key, and stand in many trees.
    """

    __slots__ = ("children", "label", "word")
    label: str
    children: tuple[Tree, ...]
    word: str | None

    def __init__(self, label: str, children: Iterable[Tree] = (), word: str | None = None) -> None:
        children = tuple(children)
        if (word is None) == (not children):
            raise ValueError(f"node {label!r} needs either children or a word")
        for child in children:
            if child.__class__ is not Tree:
                raise TypeError(
                    f"a child of node {label!r} must be a Tree, not {child!r}; a word: Tree('NN', word='cat')"
                )
        _set_label(self, label)
        _set_children(self, children)
        _set_word(self, word)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Tree does not change: build a new one instead of setting its {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)

    def __len__(self) -> int:
        return len(self.children)

    def __bool__(self) -> bool:
        """Be true always: a tag has no children, but it is a tree."""
        return True

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.children)

    @overload
    def __getitem__(self, place: int) -> Tree: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Tree, ...]: ...
    def __getitem__(self, place: int | slice) -> Tree | tuple[Tree, ...]:
        try:
            return self.children[place]
        except IndexError:
            raise IndexError(f"no child {place}: node {self.label!r} has {len(self)} children") from None
        except TypeError:
            raise TypeError(f"children go by number, not {place!r}; find({place!r}) goes by label") from None

    @property
    def is_leaf(self) -> bool:
        """Whether this is a preterminal: a tag over its word."""
        return self.word is not None

    def subtrees(self) -> list[Tree]:
        """All nodes, the tree itself first, a parent before its children, left to right."""
        nodes, stack = [], [self]
        while stack:
            node = stack.pop()
            nodes.append(node)
            if node.children:
                stack.extend(node.children[::-1])
        return nodes

    def find(self, label: str) -> list[Tree]:
        """All nodes with this label, in the order of `subtrees`."""
        return [node for node in self.subtrees() if node.label == label]

    def leaves(self) -> list[Tree]:
        """The preterminals, left to right."""
        return [node for node in self.subtrees() if node.word is not None]

    def words(self) -> list[str]:
        return [node.word for node in self.subtrees() if node.word is not None]

    def tags(self) -> list[str]:
        return [leaf.label for leaf in self.leaves()]

    def fold(self, combine: Callable[[Tree, list[Result]], Result]) -> Result:
        """`combine(node, its children's results)` from the leaves up; never recursive, so that depth is no limit."""
        done: list[Result] = []
        for node in reversed(self.subtrees()):
            first = len(done) - len(node.children)
            results = done[first:]
            del done[first:]
            results.reverse()
            done.append(combine(node, results))
        return done[0]

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """(label, start, end) of every phrase, a parent before its children; end is exclusive."""
        widths = self._widths()
        stack = [(self, 0)]
        while stack:
            node, start = stack.pop()
            if node.is_leaf:
                continue
            end = start + widths[id(node)]
            yield node.label, start, end
            for child in reversed(node.children):
                end -= widths[id(child)]
                stack.append((child, end))

    def _widths(self) -> dict[int, int]:
        widths: dict[int, int] = {}
        for node in reversed(self.subtrees()):
            widths[id(node)] = 1 if node.is_leaf else sum(widths[id(child)] for child in node.children)
        return widths

    def _flat(self) -> tuple[tuple[str, str | int], ...]:
        """The nodes in the order of `subtrees`, each as its label and its word or the number of its children."""
        return tuple((node.label, len(node.children) if node.word is None else node.word) for node in self.subtrees())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Tree) and self._flat() == other._flat())

    def __hash__(self) -> int:
        return hash(self._flat())

    def __reduce__(self) -> tuple[Callable[..., Tree], tuple[object]]:
        """Pickle as a flat list: nested, a deep tree would be beyond pickle."""
        return _unflatten, (self._flat(),)

    def __str__(self) -> str:
        """One line of Penn brackets."""
        return format_brackets(self)

    def __repr__(self) -> str:
        return f"Tree.read({format_brackets(self)!r})"

    def draw(self) -> Picture:
        """Make a picture of the tree, to be printed, shown in a notebook, or saved."""
        from latree.text.draw import Picture

        return Picture(self)

    def _repr_svg_(self) -> str:
        return self.draw()._repr_svg_()

    def _repr_html_(self) -> str:
        """How a notebook shows the tree."""
        return self.draw()._repr_html_()

    @classmethod
    def read(cls, text: str) -> Tree:
        """The one tree in `text`."""
        trees = list(read_brackets(StringIO(text), "<text>"))
        if len(trees) != 1:
            raise InputError("<text>", 1, f"expected one tree, found {len(trees)}")
        return trees[0]

    @staticmethod
    def from_nltk(tree: Any) -> Tree:
        """A Tree from an nltk.Tree (or anything with `label()` and children that are trees or strings)."""
        flat: list[tuple[str, str | int]] = []
        stack = [tree]
        while stack:
            node = stack.pop()
            children = list(node)
            if len(children) == 1 and isinstance(children[0], str):
                flat.append((node.label(), unescape(children[0])))
                continue
            if any(isinstance(child, str) for child in children):
                raise ValueError(f"node {node.label()!r} mixes words and phrases; put every word under its own tag")
            flat.append((node.label(), len(children)))
            stack.extend(reversed(children))
        return _unflatten(flat)

    def to_nltk(self) -> Any:
        """Make an nltk.Tree of the tree, parentheses escaped as nltk's readers leave them; nltk must be installed."""
        from nltk import Tree as NltkTree

        return self.fold(lambda node, done: NltkTree(node.label, done if node.word is None else [escape(node.word)]))


_set_label, _set_children, _set_word = (Tree.__dict__[name].__set__ for name in ("label", "children", "word"))


def _unflatten(nodes: Sequence[tuple[str, str | int]]) -> Tree:
    """Build the tree of which `_flat` made these nodes."""
    done: list[Tree] = []
    for label, rest in reversed(nodes):
        if isinstance(rest, str):
            done.append(Tree(label, word=rest))
        else:
            children = done[: -rest - 1 : -1]
            del done[-rest:]
            done.append(Tree(label, children))
    return done[0]


def escape(text: str) -> str:
    """Text as it may stand in brackets: parentheses as -LRB- and -RRB-, inner white space as an underscore."""
    if text.isalnum():  # most are, and nothing is quicker to see
        return text
    if "(" in text or ")" in text:
        text = text.replace("(", "-LRB-").replace(")", "-RRB-")
    return _SPACES.sub("_", text)


def unescape(word: str) -> str:
    """The word that `escape` wrote: real parentheses."""
    return word.replace("-LRB-", "(").replace("-RRB-", ")") if "RB-" in word else word


def format_brackets(tree: Tree) -> str:
    """One line of Penn brackets; never recursive, so that depth is no limit."""
    parts: list[str] = []
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            parts.append(")")
            continue
        if parts:
            parts.append(" ")
        if node.word is not None:
            parts.append(f"({escape(node.label)} {escape(node.word)})")
            continue
        parts.append(f"({escape(node.label)}")
        stack.append(None)
        stack.extend(reversed(node.children))
    return "".join(parts)


def read_brackets(lines: Iterable[str], file: str) -> Iterator[Tree]:
    """Trees from lines of Penn brackets, one pass; a tree may span lines, a line may hold several trees.

    An outer bracket without a label gets the label "".  Faults raise InputError with line and column.
    """
    reader = _BracketReader(file)
    number = 0
    for number, line in enumerate(lines, start=1):
        yield from reader.feed(line, number)
    reader.finish(number)


class TreeAt(NamedTuple):
    """A tree of a file, and the line that it ends in."""

    tree: Tree
    line: int


def read_bracket_lists(lines: Iterable[str], file: str) -> Iterator[list[TreeAt]]:
    """Lists of trees with an empty line after each, as parsers write their k best; more empty lines say nothing."""
    reader, trees = _BracketReader(file), list[TreeAt]()
    number = 0
    for number, line in enumerate(lines, start=1):
        trees += (TreeAt(tree, number) for tree in reader.feed(line, number))
        if trees and not line.strip() and not reader.open:
            yield trees
            trees = []
    reader.finish(number)
    if trees:
        yield trees


class _Open:
    """A bracket that is not closed yet, and where it stands."""

    __slots__ = ("children", "column", "label", "line", "word")

    def __init__(self, label: str, line: int, column: int) -> None:
        self.label, self.line, self.column = label, line, column
        self.word: str | None = None
        self.children: list[Tree] = []


class _BracketReader:
    """The open brackets of the tree being read, outermost first."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.open: list[_Open] = []

    def feed(self, line: str, number: int) -> Iterator[Tree]:
        stack = self.open
        for match in _SYMBOLS.finditer(line):
            group = match.lastindex
            if group and stack and stack[-1].word is not None:
                raise self.fault(number, match, "a bracket after a word; give every word its own tag")
            if group == _LABEL:
                stack.append(_Open(match[_LABEL], number, match.start() + 1))
                continue
            if group == _WORD:
                tree = Tree(match[_TAG], (), unescape(match[_WORD]))
            elif match[0] == ")":
                tree = self.close(number, match)
            else:
                self.text(match[0], number, match)
                continue
            if stack:
                stack[-1].children.append(tree)
            else:
                yield tree

    def text(self, text: str, number: int, match: re.Match[str]) -> None:
        """Text on its own: a label away from its bracket, or a word away from its tag."""
        if not self.open:
            raise self.fault(number, match, f"{text!r} outside brackets; expected '('")
        bracket = self.open[-1]
        if bracket.children:
            raise self.fault(number, match, f"word {text!r} beside a bracket; give every word its own tag")
        if not bracket.label:
            bracket.label = text
        elif bracket.word is None:
            bracket.word = unescape(text)
        else:
            raise self.fault(number, match, f"second word {text!r} under tag {bracket.label!r}; expected ')'")

    def close(self, number: int, match: re.Match[str]) -> Tree:
        if not self.open:
            raise self.fault(number, match, "')' without an open bracket; expected '('")
        bracket = self.open.pop()
        if bracket.word is None and not bracket.children:
            what = f"bracket '({bracket.label})' without a word or children" if bracket.label else "empty bracket '()'"
            raise InputError(self.file, bracket.line, f"{what}; expected a tag and a word", bracket.column)
        return Tree(bracket.label, bracket.children, bracket.word)

    def fault(self, number: int, match: re.Match[str], message: str) -> InputError:
        return InputError(self.file, number, message, match.start() + 1)

    def finish(self, number: int) -> None:
        """The end of the file, where every bracket must be closed."""
        if self.open:
            first, count = self.open[0], len(self.open)
            what = f"{count} bracket{'s' * (count > 1)} never closed"
            raise InputError(self.file, first.line, f"{what}; expected ')' by line {number}", first.column)
