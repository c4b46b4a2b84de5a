"""Sample the toy treebank that ships with latree from its hand-written grammar.

    python scripts/make_toy_treebank.py [--out FOLDER]

The grammar (src/latree/data/toy/grammar.txt) is over split symbols such as NP[sg,subj].  Every tree is written twice:
with its split symbols (train.hidden.mrg), and with the visible label only (train.mrg), so that one can ask how much of
the split a learner finds again.  The grammar is checked first, and the same seed gives the same bytes.

Trees are drawn from the grammar and thrown away where they have fewer than 5 or more than 25 words, or where a dev or
test sentence was seen in an earlier part.  What is left follows the grammar's distribution conditioned on being kept:
log P(tree | kept) = log P(tree) - log P(kept).  The share thrown away is printed, and is small by the grammar's design.
"""

from __future__ import annotations

import argparse
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple, Protocol

TOY = Path(__file__).parents[1] / "src" / "latree" / "data" / "toy"
SIZES = {"train": 600, "dev": 100, "test": 100}
SEED = 2018
SHORTEST, LONGEST = 5, 25
LARGEST = 1e9  # an expected size beyond this is infinite

_SETTING = re.compile(r"(zipf|\$\w) = (.+)")
_RULE = re.compile(r"(\S+) -> (.+?) +([\d.]+)")
_WORDS = re.compile(r"(\S+) : (.+)")
_VARIABLE = re.compile(r"\$\w")


class GrammarError(ValueError):
    """A fault in the grammar file."""


class Option(NamedTuple):
    """One way to rewrite a symbol: into symbols, or (for a tag) into one word."""

    probability: float
    symbols: tuple[str, ...] = ()
    word: str | None = None


Grammar = Mapping[str, Sequence[Option]]  # the first symbol is the root


class TreeLike(Protocol):
    """What `log_probability` asks of a tree; `Node` and latree's `Tree` both have it."""

    label: str
    word: str | None

    @property
    def children(self) -> Sequence[TreeLike]: ...


@dataclass
class Node:
    """A sampled tree over split symbols."""

    label: str
    children: Sequence[Node]
    word: str | None

    def words(self) -> tuple[str, ...]:
        if self.word is not None:
            return (self.word,)
        return tuple(word for child in self.children for word in child.words())

    def brackets(self, name: Callable[[str], str]) -> str:
        inner = self.word or " ".join(child.brackets(name) for child in self.children)
        return f"({name(self.label)} {inner})"


def visible(symbol: str) -> str:
    """The label that the treebank shows for a split symbol."""
    return symbol.partition("[")[0]


# ---------------------------------------------------------------- reading


def read_grammar(text: str) -> Grammar:
    """The grammar in `text`, variables expanded; its format is described at the head of grammar.txt."""
    settings: dict[str, list[str]] = {}
    grammar: dict[str, list[Option]] = defaultdict(list)
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if setting := _SETTING.fullmatch(line):
            settings[setting[1]] = setting[2].split()
            continue
        try:
            for expanded in _expand(line, settings):
                symbol, options = _parse_line(expanded, float(settings["zipf"][0]))
                grammar[symbol] += options
        except (GrammarError, KeyError) as error:
            raise GrammarError(f"line {number}: {error}") from error
    return dict(grammar)


def _expand(line: str, settings: Mapping[str, Sequence[str]]) -> Iterator[str]:
    names = sorted(set(_VARIABLE.findall(line)))
    for values in product(*(settings[name] for name in names)):
        expanded = line
        for name, value in zip(names, values, strict=True):
            expanded = expanded.replace(name, value)
        yield expanded


def _parse_line(line: str, exponent: float) -> tuple[str, list[Option]]:
    if rule := _RULE.fullmatch(line):
        return rule[1], [Option(float(rule[3]), symbols=tuple(rule[2].split()))]
    if lexical := _WORDS.fullmatch(line):
        words = lexical[2].split()
        weights = [rank**-exponent for rank in range(1, len(words) + 1)]
        return lexical[1], [Option(w / sum(weights), word=word) for w, word in zip(weights, words, strict=True)]
    raise GrammarError(f"neither a rule nor a list of words: {line!r}")


# ---------------------------------------------------------------- checking


def check(grammar: Grammar) -> None:
    """Raise GrammarError unless this is a proper and consistent grammar without symbols that are missing or idle."""
    for symbol, options in grammar.items():
        if not math.isclose(total := sum(option.probability for option in options), 1.0):
            raise GrammarError(f"the probabilities of {symbol} sum to {total:.6g}, not to one")
    reached = {next(iter(grammar))} | _children(grammar)
    if unknown := reached - grammar.keys():
        raise GrammarError(f"symbols that are never rewritten: {sorted(unknown)}")
    if idle := grammar.keys() - reached:
        raise GrammarError(f"symbols that are never used: {sorted(idle)}")
    expected_length(grammar)


def _children(grammar: Grammar) -> set[str]:
    return {child for options in grammar.values() for option in options for child in option.symbols}


def expected_length(grammar: Grammar) -> float:
    """The mean number of words of a sentence from the grammar."""
    return _expected_total(grammar, lambda options: sum(o.probability for o in options if o.word is not None))


def entropy(grammar: Grammar) -> float:
    """The mean information of a derivation, in bits."""
    return _expected_total(grammar, lambda options: -sum(o.probability * math.log2(o.probability) for o in options))


def _expected_total(grammar: Grammar, local: Callable[[Sequence[Option]], float], rounds: int = 10_000) -> float:
    """The expected sum of `local` over a derivation's symbols: the limit of a sum over ever deeper trees.

    The limit is finite just when a derivation takes finitely many steps in the mean.
    """
    root = next(iter(grammar))
    here = {symbol: local(options) for symbol, options in grammar.items()}
    total = here
    for _ in range(rounds):
        deeper = {symbol: here[symbol] + _mean_over_children(grammar[symbol], total) for symbol in grammar}
        if all(math.isclose(deeper[symbol], total[symbol], rel_tol=1e-12) for symbol in grammar):
            return deeper[root]
        if deeper[root] > LARGEST:
            break
        total = deeper
    raise GrammarError("the expected size of a derivation is infinite")


def _mean_over_children(options: Sequence[Option], value: Mapping[str, float]) -> float:
    return sum(option.probability * sum(value[symbol] for symbol in option.symbols) for option in options)


# ---------------------------------------------------------------- sampling


def sample(grammar: Grammar, symbol: str, rng: random.Random) -> Node:
    option = _choose(grammar[symbol], rng)
    return Node(symbol, [sample(grammar, child, rng) for child in option.symbols], option.word)


def _choose(options: Sequence[Option], rng: random.Random) -> Option:
    # Not rng.choices: only random() is promised to give the same numbers in every version of Python.
    point = rng.random()
    for option in options:
        point -= option.probability
        if point < 0:
            return option
    return options[-1]


def sample_treebank(grammar: Grammar, seed: int = SEED) -> tuple[dict[str, list[Node]], int]:
    """The parts of the treebank, and how many trees were thrown away on the way."""
    rng, root = random.Random(seed), next(iter(grammar))
    parts: dict[str, list[Node]] = {}
    seen: set[tuple[str, ...]] = set()
    rejected = 0
    for part, size in SIZES.items():
        trees = parts[part] = []
        while len(trees) < size:
            tree = sample(grammar, root, rng)
            if SHORTEST <= len(words := tree.words()) <= LONGEST and words not in seen:
                trees.append(tree)
            else:
                rejected += 1
        seen |= {tree.words() for tree in trees}
    return parts, rejected


def log_probability(grammar: Grammar, tree: TreeLike) -> float:
    """Natural log of a tree's probability; a label without its subtype stands for all that it may hide."""
    mass = _inside(grammar, tree).get(next(iter(grammar)), 0.0)
    return math.log(mass) if mass else -math.inf


def _inside(grammar: Grammar, tree: TreeLike) -> dict[str, float]:
    """For each split symbol that the node may be: the probability that it derives the words below."""
    children = [_inside(grammar, child) for child in tree.children]
    return {
        symbol: sum(o.probability * _mass(o, tree.word, children) for o in options)
        for symbol, options in grammar.items()
        if tree.label in (symbol, visible(symbol))
    }


def _mass(option: Option, word: str | None, children: Sequence[Mapping[str, float]]) -> float:
    if option.word != word or len(option.symbols) != len(children):
        return 0.0
    return math.prod(mass.get(symbol, 0.0) for symbol, mass in zip(option.symbols, children, strict=True))


# ---------------------------------------------------------------- writing


def write_treebank(parts: Mapping[str, Sequence[Node]], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, trees in parts.items():
        for suffix, name in ("", visible), (".hidden", str):
            text = "".join(f"{tree.brackets(name)}\n" for tree in trees)
            (folder / f"{part}{suffix}.mrg").write_text(text, encoding="utf-8", newline="\n")


def report(grammar: Grammar, parts: Mapping[str, Sequence[Node]], rejected: int) -> Iterator[str]:
    """Lines that say what was made; the table is the one in the folder's README."""
    kept, length = sum(map(len, parts.values())), expected_length(grammar)
    yield f"{len(grammar)} split symbols, {len({visible(symbol) for symbol in grammar})} visible labels"
    yield f"mean length {length:.2f} words, entropy {entropy(grammar) / length:.3f} bits a word, before rejection"
    yield f"rejected {rejected} of {kept + rejected} trees ({rejected / (kept + rejected):.1%})"
    known = {word for tree in parts["train"] for word in tree.words()}
    yield "| part | trees | words | mean length | word types | unknown words |"
    yield "|---|---|---|---|---|---|"
    for part, trees in parts.items():
        words = [word for tree in trees for word in tree.words()]
        unknown = sum(word not in known for word in words) / len(words)
        mean = len(words) / len(trees)
        yield f"| {part} | {len(trees)} | {len(words)} | {mean:.1f} | {len(set(words))} | {unknown:.1%} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Sample the toy treebank from its grammar.")
    parser.add_argument("--out", type=Path, default=TOY, help="folder to write to (default: the package's)")
    folder = parser.parse_args(arguments).out
    grammar = read_grammar((TOY / "grammar.txt").read_text(encoding="utf-8"))
    check(grammar)
    parts, rejected = sample_treebank(grammar)
    write_treebank(parts, folder)
    print(*report(grammar, parts, rejected), sep="\n")


if __name__ == "__main__":
    main()
