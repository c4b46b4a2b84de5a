"""How many errors that were planted in a treebank `latree check` finds.

    python -m bench.planted_errors FILE [--trust FILE]... [--recipe "lvg --rounds 4"] [--folds N] [--errors 200]

Errors are of four kinds, a quarter each, at random places.  label: a phrase has another label, as often as each occurs.
tag: a word has another tag, one of those that it has elsewhere, if any.  attachment: the first or last child of a
phrase goes to the phrase above, or a sister of a phrase into it.  dropped: a bracket is gone.  What is printed, in per
cent of the errors, is how many are found in the first part of a list:

places       Every phrase and every tag of the treebank, and every bracket that the model would add, the most suspicious
             first.  Ranks count all of these; the size of the list is that of the phrases and tags alone.  An error is
             found where the list has a place that it changed: the phrase or the word itself, or of a phrase that is no
             longer there its words.
phrases      The same without tags, for errors in phrases alone.
sentences    Sentences by their worst place; an error is found with its sentence.
"""

from __future__ import annotations

import argparse
import pathlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import latree
from latree.check.findings import Finding
from latree.check.treebank import check_treebank
from latree.cli.recipes import read_recipe
from latree.experiments.tasks import Ledger
from latree.text.tree import Tree

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
KINDS = ("label", "tag", "attachment", "dropped")

Span = tuple[int, int]
Path = tuple[int, ...]  # the numbers of the children on the way from the root


class Place(NamedTuple):
    """A phrase, by its words, or a tag; of phrases over the same words, all."""

    sentence: int
    start: int
    end: int
    is_tag: bool = False


class Planted(NamedTuple):
    kind: str
    places: frozenset[Place]  # of which each tells of the error


class Spot(NamedTuple):
    """A node where it stands."""

    node: Tree
    path: Path
    start: int
    end: int


def spots_of(tree: Tree) -> Iterator[Spot]:
    """All nodes, a parent before its children."""
    stack = [(tree, Path(), 0)]
    while stack:
        node, path, start = stack.pop()
        yield Spot(node, path, start, start + len(node.words()))
        for number, child in enumerate(node.children):
            stack.append((child, (*path, number), start))
            start += len(child.words())


def replaced(tree: Tree, path: Path, nodes: Sequence[Tree]) -> Tree:
    """The tree with other nodes in the place of one."""
    nodes = tuple(nodes)
    for depth in reversed(range(len(path))):
        above = tree
        for number in path[:depth]:
            above = above.children[number]
        children = above.children
        nodes = (Tree(above.label, (*children[: path[depth]], *nodes, *children[path[depth] + 1 :])),)
    return nodes[0]


Change = tuple[Tree, frozenset[tuple[int, int, bool]]]  # the tree with an error, and the spans that tell of it


class Planter:
    """Makes errors as they are likely in one treebank."""

    def __init__(self, trees: Iterable[Tree], rng: random.Random) -> None:
        self.rng, self.labels, self.tags = rng, Counter[str](), Counter[str]()
        self.tags_of: dict[str, set[str]] = defaultdict(set)
        for tree in trees:
            self.labels.update(label for label, *_ in tree.spans())
            for leaf in tree.leaves():
                self.tags[leaf.label] += 1
                self.tags_of[leaf.word or ""].add(leaf.label)
            self.labels[tree.label] -= 1
        self.labels = +self.labels

    def _other(self, label: str, names: Counter[str]) -> str:
        while True:
            if (chosen := self.rng.choices(list(names), list(names.values()))[0]) != label:
                return chosen

    def label(self, tree: Tree) -> Change | None:
        """Give a phrase another label, as often as each occurs."""
        spots = [one for one in spots_of(tree) if one.path and not one.node.is_leaf]
        if not spots:
            return None
        node, path, start, end = self.rng.choice(spots)
        wrong = Tree(self._other(node.label, self.labels), node.children)
        return replaced(tree, path, [wrong]), frozenset({(start, end, False)})

    def tag(self, tree: Tree) -> Change | None:
        """Give a word another tag."""
        node, path, start, end = self.rng.choice([one for one in spots_of(tree) if one.node.is_leaf])
        possible = sorted(self.tags_of[node.word or ""] - {node.label})
        tag = self.rng.choice(possible) if possible else self._other(node.label, self.tags)
        return replaced(tree, path, [Tree(tag, word=node.word)]), frozenset({(start, end, True)})

    def drop(self, tree: Tree) -> Change | None:
        """Take a bracket of two words or more away."""
        spots = [one for one in spots_of(tree) if one.path and one.end - one.start > 1 and len(one.node) > 1]
        if not spots:
            return None
        node, path, start, end = self.rng.choice(spots)
        return replaced(tree, path, node.children), frozenset({(start, end, False)})

    def attach(self, tree: Tree) -> Change | None:
        """Move the edge of a phrase by one child, out of it or into it."""
        moves = [move for one in spots_of(tree) if one.path and not one.node.is_leaf for move in self._moves(tree, one)]
        return self.rng.choice(moves) if moves else None

    def _moves(self, tree: Tree, spot: Spot) -> Iterator[Change]:
        node, (*above, number), start, end = spot
        children = node.children
        parent = tree
        for step in above:
            parent = parent.children[step]
        before, after = parent.children[:number], parent.children[number + 1 :]

        def change(*parts: Tree, first: int, last: int) -> Change:
            whole = Tree(parent.label, parts)
            return replaced(tree, tuple(above), [whole]), frozenset({(start, end, False), (first, last, False)})

        if len(children) > 2:
            first, *most, last = children
            short = Tree(node.label, [first, *most]), Tree(node.label, [*most, last])
            yield change(*before, short[0], last, *after, first=start, last=end - len(last.words()))
            yield change(*before, first, short[1], *after, first=start + len(first.words()), last=end)
        if len(parent) > 2:
            if before:
                longer = Tree(node.label, [before[-1], *children])
                yield change(*before[:-1], longer, *after, first=start - len(before[-1].words()), last=end)
            if after:
                longer = Tree(node.label, [*children, after[0]])
                yield change(*before, longer, *after[1:], first=start, last=end + len(after[0].words()))


def plant(trees: Sequence[Tree], errors: int, seed: int) -> tuple[list[Tree], list[Planted]]:
    """Copy a treebank with so many errors in it; a sentence may have several, no two at the same place."""
    rng = random.Random(seed)
    planter, changed, planted = Planter(trees, rng), list(trees), list[Planted]()
    makers: Sequence[Callable[[Tree], Change | None]] = (planter.label, planter.tag, planter.attach, planter.drop)
    taken: set[Place] = set()
    while len(planted) < errors:
        number, sentence = len(planted) % len(KINDS), rng.randrange(len(trees))
        if (change := makers[number](changed[sentence])) is None:
            continue
        places = frozenset(Place(sentence, *one) for one in change[1])
        if not places & taken:
            taken |= places
            changed[sentence] = change[0]
            planted.append(Planted(KINDS[number], places))
    return changed, planted


# -- what is found


class Ranked(NamedTuple):
    """Places in the order of a list, and how many there are to look through."""

    places: list[Place]
    size: int


def share_found(planted: Sequence[Planted], ranked: Ranked, share: float) -> float:
    """How many of the errors have a place within a share of the list."""
    seen = set(ranked.places[: int(share * ranked.size)])
    return sum(bool(one.places & seen) for one in planted) / len(planted)


def place_of(finding: Finding) -> Place:
    return Place(finding.sentence - 1, finding.start, finding.end, finding.kind == "tag")


def by_places(trees: Sequence[Tree], findings: Iterable[Finding], *, tags: bool) -> Ranked:
    """All findings; the list is as long as there are nodes, though more may be listed."""
    nodes = sum(bool(spot.path) and (tags or not spot.node.is_leaf) for tree in trees for spot in spots_of(tree))
    return Ranked([place_of(one) for one in findings if tags or one.kind != "tag"], nodes)


def by_sentences(trees: Sequence[Tree], findings: Iterable[Finding]) -> Ranked:
    """Sentences by their worst finding; a sentence is told as a place without words."""
    order = dict.fromkeys(one.sentence - 1 for one in findings)
    return Ranked([Place(number, 0, 0) for number in order], len(trees))


def main() -> None:
    """Plant errors, look for them, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--trust", action="append", default=[])
    parser.add_argument("--recipe", default="lvg --rounds 4")
    parser.add_argument("--folds", type=int)
    parser.add_argument("--errors", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", type=pathlib.Path)
    told = parser.parse_args()
    recipe = read_recipe(told.recipe)
    labels = recipe.untrained().labels
    trees, planted = plant(list(latree.read_trees(told.file, labels)), told.errors, told.seed)
    trusted = [tree for path in told.trust for tree in latree.read_trees(path)]
    ledger = Ledger(told.resume)
    checked = check_treebank(trees, recipe, folds=told.folds, trusted=trusted, jobs=told.jobs, ledger=ledger)
    show(trees, planted, checked.doubts)


def show(trees: Sequence[Tree], planted: Sequence[Planted], findings: Sequence[Finding]) -> None:
    """Print a row for each list and each kind of error."""
    places, phrases = (by_places(trees, findings, tags=tags) for tags in (True, False))
    sentences = by_sentences(trees, findings)
    in_phrases = [one for one in planted if one.kind != "tag"]
    in_sentences = [Planted(one.kind, frozenset(Place(p.sentence, 0, 0) for p in one.places)) for one in planted]
    rows = [("places", planted, places), ("phrases", in_phrases, phrases), ("sentences", in_sentences, sentences)]
    rows += [(f"  {kind}", [one for one in planted if one.kind == kind], places) for kind in KINDS]
    print(f"{'list':12} {'errors':>6} {'size':>6} " + " ".join(f"{share:>6.0%}" for share in SHARES))
    for name, errors, ranked in rows:
        found = " ".join(f"{100 * share_found(errors, ranked, share):6.1f}" for share in SHARES)
        print(f"{name:12} {len(errors):6} {ranked.size:6} {found}")


if __name__ == "__main__":
    main()
