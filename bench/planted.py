"""How much of the toy treebank's hidden grammar a training finds again.

    python -m bench.planted [--rounds N] [--seeds N] [--trees N]

The visible trees are learned from; the hidden ones say which subtype each node really has.  Two figures:

V-measure    of the learned subtypes against the hidden ones, category by category and weighted by their nodes; each
             node counts as the learned subtype that is most probable there, given the tree (0: nothing in common,
             100: the same partition)
nats a word  of the test trees, summed over subtypes, under the learned and under the generating grammar

The hidden grammar has few words, each with its own place, and agreement over long distances.  So no word but the
unseen is rare here, EM gets more time to leave the saddle that a split begins at, and there is little smoothing.
"""

from __future__ import annotations

import argparse
import math
import random
import runpy
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from latree.compare.agreement import Agreement
from latree.data import toy
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg.subtypes_in_trees import posteriors_in_tree
from latree.kinds.pcfg.model import Pcfg
from latree.lexicon.options import LexiconOptions
from latree.text.tree import Tree

ROOT = Path(__file__).parents[1]
_MAKER = runpy.run_path(str(ROOT / "scripts" / "make_toy_treebank.py"))
_log_probability: Callable[[Any, Tree], float] = _MAKER["log_probability"]
visible: Callable[[str], str] = _MAKER["visible"]

LEXICON = LexiconOptions(rare=1, known=0.001)
OPTIONS = LvgOptions(split_iterations=300, noise=50.0, rule_smoothing=0.001, word_smoothing=0.001)
ROUNDS = 5

Pair = tuple[int, str]  # a node's learned subtype and its hidden one


class Sum(NamedTuple):
    """Log-probabilities of trees, a word."""

    learned: float
    generator: float
    impossible: int  # trees that the learned grammar cannot derive; they are left out of both

    @property
    def excess(self) -> float:
        """How much worse the learned grammar is, in per cent of the generator's."""
        return 100 * (self.learned / self.generator - 1)


def generator() -> Any:
    """The grammar that made the toy treebank."""
    return _MAKER["read_grammar"]((toy("train").parent / "grammar.txt").read_text(encoding="utf-8"))


def read(part: str, *, hidden: bool = False) -> list[Tree]:
    return [Tree.read(line) for line in toy(part, hidden=hidden).read_text(encoding="utf-8").splitlines()]


def sample(count: int, seed: int = 0) -> list[Tree]:
    """More trees from the generator, with their hidden subtypes and of the toy treebank's lengths."""
    grammar, rng, trees = generator(), random.Random(seed), list[Tree]()
    while len(trees) < count:
        drawn = _MAKER["sample"](grammar, next(iter(grammar)), rng)
        if _MAKER["SHORTEST"] <= len(drawn.words()) <= _MAKER["LONGEST"]:
            trees.append(Tree.read(drawn.brackets(str)))
    return trees


def without_subtypes(tree: Tree) -> Tree:
    if tree.word is not None:
        return Tree(visible(tree.label), word=tree.word)
    return Tree(visible(tree.label), [without_subtypes(child) for child in tree.children])


# -- subtypes


def hidden_subtypes(tree: Tree) -> list[tuple[str, int, int, str]]:
    """(visible label, start, end, hidden label) of every node, the lower of a chain before the higher."""
    labels: list[tuple[str, int, int, str]] = []

    def visit(node: Tree, start: int) -> int:
        end = start + 1 if node.word is not None else start
        for child in node.children:
            end = visit(child, end)
        labels.append((visible(node.label), start, end, node.label))
        return end

    visit(tree, 0)
    return labels


def pairs_by_category(model: Lvg, hidden: Iterable[Tree]) -> dict[str, list[Pair]]:
    """The learned and the hidden subtype of every node below the root."""
    pairs = defaultdict(list)
    for tree in hidden:
        (binary,) = model.prepare_data([without_subtypes(tree)])
        learned = {place: iter(nodes) for place, nodes in posteriors_in_tree(model, binary).items()}
        for label, start, end, subtype in hidden_subtypes(tree)[:-1]:
            pairs[label].append((int(next(learned[label, start, end]).subtypes.argmax()), subtype))
    return pairs


def v_measure(pairs: Sequence[Pair]) -> float:
    """V-measure of two partitions, given the two parts that each node is in."""
    learned, hidden = ({name: k for k, name in enumerate(dict.fromkeys(names))} for names in zip(*pairs, strict=True))
    table = np.zeros((len(learned), len(hidden)))
    for one, other in pairs:
        table[learned[one], hidden[other]] += 1
    return Agreement.of(table).v_measure


def weighted_v_measure(pairs: dict[str, list[Pair]]) -> float:
    """The mean over the categories that have hidden subtypes, each by its nodes."""
    split = {label: rows for label, rows in pairs.items() if len({hidden for _, hidden in rows}) > 1}
    return sum(len(rows) * v_measure(rows) for rows in split.values()) / sum(map(len, split.values()))


# -- likelihood


def nats_a_word(model: Lvg | Pcfg, trees: Sequence[Tree]) -> Sum:
    """The mean over the trees that the model can derive."""
    grammar = generator()
    rows = [(model.log_prob_tree(tree), _log_probability(grammar, tree), len(tree.words())) for tree in trees]
    kept = [row for row in rows if math.isfinite(row[0])]
    words = sum(row[2] for row in kept)
    return Sum(sum(row[0] for row in kept) / words, sum(row[1] for row in kept) / words, len(rows) - len(kept))


def known_words_only(trees: Iterable[Tree], train: Iterable[Tree]) -> list[Tree]:
    known = {word for tree in train for word in tree.words()}
    return [tree for tree in trees if known.issuperset(tree.words())]


# -- the script


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare learned subtypes with the toy treebank's hidden ones.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trees", type=int, help="train on so many fresh trees, not on the toy treebank's 600")
    options = parser.parse_args(arguments)
    hidden = read("train", hidden=True) if options.trees is None else sample(options.trees)
    train, test = [without_subtypes(tree) for tree in hidden], read("test")
    known = known_words_only(test, train)
    print(f"{len(train)} trees; {len(test)} test trees, {len(known)} of them without unknown words")
    print("| model | subtypes | V-measure | nats a word | generator | worse by | impossible trees | known words only |")
    print("|---|---|---|---|---|---|---|---|")
    plain = Pcfg().fit(train)
    print(_row("pcfg", len(plain.grammar.symbols), 0.0, nats_a_word(plain, test), nats_a_word(plain, known)))
    for seed in range(options.seeds):
        model = Lvg(rounds=options.rounds, seed=seed, lexicon=LEXICON, options=OPTIONS).fit(train)
        measure = weighted_v_measure(pairs_by_category(model, hidden[:600]))
        name = f"lvg, {options.rounds} rounds, seed {seed}"
        print(_row(name, int(model.size.sum()), measure, nats_a_word(model, test), nats_a_word(model, known)))


def _row(name: str, subtypes: int, measure: float, every: Sum, known: Sum) -> str:
    figures = f"{every.learned:.4f} | {every.generator:.4f} | {every.excess:.1f} % | {every.impossible}"
    return f"| {name} | {subtypes} | {measure:.1f} | {figures} | {known.learned:.4f}: {known.excess:.1f} % |"


if __name__ == "__main__":
    main()
