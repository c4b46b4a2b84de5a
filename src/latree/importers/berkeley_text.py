"""Grammars that the Berkeley parser wrote as text: `X.grammar`, `X.lexicon`, `X.words` and `X.splits`.

Less is in them than in a `.gr` file, so a model made from them is near to the original but not the same:

- Unary rules are written with their closure: from a subtype to another in one step or more.  A pair of symbols that
  is no likelier than the chains of two other such pairs is taken for a chain and dropped; a true rule of that pair is
  lost with it, and the numbers of true rules may be those of a likelier chain.
- Words are written with P(w | t_x) as smoothed, and only under tags that they were seen with.  These numbers are
  reproduced; what other tags get follows from counts that are estimated (see `text_lexicon`).
- For classes of unknown words the numbers are reproduced up to one factor a class.  It is the same for all trees of
  a sentence, so it moves no choice between them but shifts their log probabilities.
- A phrase and a tag of the same name cannot be told apart; such a grammar is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from latree.arrays import NONE, Floats
from latree.errors import InputError, LatreeError
from latree.importers.common import Parts, SplitTree, assemble, descent, symbol_of
from latree.importers.text_lexicon import words_of_scores
from latree.kinds.lvg.model import Lvg
from latree.text.binary import Binarization, Symbol
from latree.text.formats import open_text

_ROUNDING = 1e-6  # products come out a little otherwise in another order
Parsed = TypeVar("Parsed")
SUFFIXES = (".grammar", ".lexicon", ".words", ".splits")


def read_text(path: str | Path) -> Lvg:
    """The model of four files with a common prefix; the prefix or one of them is named."""
    prefix = str(path)
    prefix = next((prefix.removesuffix(suffix) for suffix in SUFFIXES if prefix.endswith(suffix)), prefix)
    trees = _splits(f"{prefix}.splits")
    size = {name: len(descent(tree).leaves) for name, tree in trees.items()}
    scores = _lexicon(f"{prefix}.lexicon", _lines_of_words(f"{prefix}.words"), size)
    entries = _grammar(f"{prefix}.grammar")
    symbols = _symbols(entries, trees, scores)
    number = {name: k for k, name in enumerate(symbols)}
    rules = _without_chains(_rules(f"{prefix}.grammar", entries, number, size))
    words = words_of_scores({number[tag]: table for tag, table in scores.items()})
    splits = {number[name]: tree for name, tree in trees.items() if name in number}
    try:
        return assemble(Parts(list(symbols.values()), splits, rules, Binarization(), words))
    except LatreeError as error:
        raise LatreeError(f"{prefix}: {error}") from None


# --- the files


class Entry(NamedTuple):
    """A line of the grammar: (symbol, subtype) of the parent and of each child, and a probability."""

    line: int
    parent: tuple[str, int]
    children: tuple[tuple[str, int], ...]
    probability: float


def _parsed_lines(file: str, parse: Callable[[str], Parsed]) -> Iterator[tuple[int, Parsed]]:
    """Parse every line that is not blank; what `parse` complains of is told with the line's number."""
    with open_text(file) as lines:
        for number, line in enumerate(map(str.strip, lines), start=1):
            if line:
                try:
                    parsed = parse(line)
                except (ValueError, LatreeError) as error:
                    raise InputError(file, number, str(error)) from None
                yield number, parsed


def _grammar(file: str) -> list[Entry]:
    """Read the rules, without what is said of a symbol's staying itself."""
    entries = [Entry(number, *rule) for number, rule in _parsed_lines(file, _rule)]
    return [entry for entry in entries if len(entry.children) > 1 or entry.parent[0] != entry.children[0][0]]


def _rule(line: str) -> tuple[tuple[str, int], tuple[tuple[str, int], ...], float]:
    """`P_i -> L_j R_k p` or `P_i -> C_j p`."""
    fields = line.split()
    if len(fields) not in (4, 5) or fields[1] != "->":
        raise ValueError("expected `P_i -> L_j R_k p` or `P_i -> C_j p`")
    parent, _, *children, probability = fields
    return _subtype(parent), tuple(map(_subtype, children)), _probability(probability)


def _subtype(text: str) -> tuple[str, int]:
    symbol, _, number = text.rpartition("_")
    if not symbol or not number.isdecimal():
        raise ValueError(f"expected a symbol with its subtype, such as NP_3, and not {text!r}")
    return symbol, int(number)


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 <= value <= 1 + _ROUNDING:
        raise ValueError(f"expected a probability and not {text!r}")
    return value


def _lexicon(file: str, known: set[str], size: Mapping[str, int]) -> dict[str, dict[str, Floats]]:
    """P(w | t_x) by tag and word from lines `TAG word [p0, p1, ...]`."""

    def parse(line: str) -> tuple[str, str, Floats]:
        tag, _, rest = line.partition(" ")
        word, _, vector = rest.partition(" ")
        if not (vector.startswith("[") and vector.endswith("]")):
            raise ValueError("expected `TAG word [p0, p1, ...]`")
        if word not in known:
            raise ValueError(f"the word {word!r} is not in the file of words")
        values = [_probability(value.strip()) for value in vector[1:-1].split(",")]
        if len(values) != size.get(tag, 0):
            raise ValueError(f"{tag} has {size.get(tag, 0)} subtypes, but here are {len(values)} numbers")
        return tag, word, np.array(values)

    scores: dict[str, dict[str, Floats]] = {}
    for _, (tag, word, vector) in _parsed_lines(file, parse):
        scores.setdefault(tag, {})[word] = vector
    return scores


def _lines_of_words(file: str) -> set[str]:
    with open_text(file) as lines:
        return set(map(str.strip, lines))


def _splits(file: str) -> dict[str, SplitTree]:
    return dict(split for _, split in _parsed_lines(file, _split))


def _split(line: str) -> tuple[str, SplitTree]:
    """`SYMBOL TAB tree`, the tree in brackets: `(0 (0 0 1) (1 2))`."""
    symbol, _, text = line.partition("\t")
    try:
        tree = _split_tree(text)
        descent(tree)
    except (ValueError, LatreeError) as error:
        raise ValueError(f"expected a symbol, a tab and its split tree: {error}") from None
    return symbol, tree


def _split_tree(text: str) -> SplitTree:
    """Numbers in brackets; the first of a bracket is its label, and a bare number a leaf."""
    open_nodes: list[list[SplitTree]] = [[]]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            open_nodes.append([])
        elif token != ")":
            open_nodes[-1].append(SplitTree(int(token)))
        elif len(open_nodes) < 2 or not open_nodes[-1]:
            raise ValueError("the brackets do not match")
        else:
            label, *children = open_nodes.pop()
            open_nodes[-1].append(SplitTree(label.label, children))
    if len(open_nodes) != 1 or len(open_nodes[0]) != 1:
        raise ValueError("the brackets do not match")
    return open_nodes[0][0]


# --- the grammar


def _symbols(
    entries: list[Entry], trees: Mapping[str, SplitTree], scores: Mapping[str, Mapping[str, Floats]]
) -> dict[str, Symbol]:
    """The symbols by name: what has words is a tag, what has rules is not, and the root alone was never split."""
    inner = dict.fromkeys(entry.parent[0] for entry in entries)
    if both := sorted(inner.keys() & scores.keys()):
        raise LatreeError(
            f"{', '.join(both)}: both a phrase and a tag; text cannot tell them apart, import the .gr file"
        )
    roots = [name for name in inner if name not in trees]
    if len(roots) != 1:
        raise LatreeError(f"expected one symbol without a split tree, the root, and found {', '.join(roots) or 'none'}")
    names = [roots[0], *(name for name in inner if name != roots[0]), *scores]
    return {name: symbol_of(name, name == roots[0], name in inner) for name in names}


def _rules(
    file: str, entries: list[Entry], number: Mapping[str, int], size: Mapping[str, int]
) -> dict[tuple[int, int, int], Floats]:
    """The tensors; what no line names is zero."""
    rules: dict[tuple[int, int, int], Floats] = {}
    for line, parent, children, probability in entries:
        ends = (parent, *children)
        for name, subtype in ends:
            if name not in number:
                raise InputError(file, line, f"{name} has neither rules nor words")
            if subtype >= size.get(name, 1):
                raise InputError(file, line, f"{name} has {size.get(name, 1)} subtypes, so no {name}_{subtype}")
        a, b, *rest = (number[name] for name, _ in ends)
        shape = [size.get(name, 1) for name, _ in ends]  # the root has no split tree
        tensor = rules.setdefault((a, b, rest[0] if rest else NONE), np.zeros([*shape, *[1] * (3 - len(shape))]))
        tensor[*(subtype for _, subtype in ends), *[0] * (3 - len(ends))] = probability
    return rules


def _without_chains(rules: dict[tuple[int, int, int], Floats]) -> dict[tuple[int, int, int], Floats]:
    """The rules without the unary ones that are no likelier than the chains of two others."""
    unary = {(a, b): tensor[:, :, 0] for (a, b, c), tensor in rules.items() if c == NONE}
    below: dict[int, list[int]] = {}
    for a, b in unary:
        below.setdefault(a, []).append(b)
    chains = set()
    for (a, c), matrix in unary.items():
        chain = sum((unary[a, b] @ unary[b, c] for b in below[a] if b != c and (b, c) in unary), np.zeros(matrix.shape))
        if (matrix <= chain * (1 + _ROUNDING)).all():
            chains.add((a, c, NONE))
    return {key: tensor for key, tensor in rules.items() if key not in chains}
