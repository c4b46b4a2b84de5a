"""Errors of parses by kind: edits that lead to the gold tree, brackets that add up, kinds of hand-made examples."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

import latree
from latree.diagnosis.error_report import error_sections
from latree.report.html import page
from latree.report.value import Report
from latree.scoring.label_families import family_of
from latree.scoring.parse_errors import KINDS, classify_errors
from latree.scoring.score import score_trees
from latree.scoring.tree_edits import apply_edits
from latree.scoring.tree_repair import repairs
from latree.text.differences import difference
from latree.text.tree import Tree

SAW_HIGH = "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NN glee)))))"
SAW_LOW = "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NN glee))))))"


def tree(text: str) -> Tree:
    return Tree("ROOT", [Tree.read(text)])


def random_tree(rng: random.Random, start: int, end: int, depth: int = 0) -> Tree:
    """A tree with unary chains, also of one label, over given words."""
    if end - start == 1 and (depth > 5 or rng.random() < 0.6):
        return Tree(rng.choice(["X", "Y", "."]), word=f"w{start}")
    parts = rng.randint(1, min(3, end - start)) if depth < 6 else end - start
    cuts = [start, *sorted(rng.sample(range(start + 1, end), parts - 1)), end]
    children = [random_tree(rng, a, b, depth + 1) for a, b in pairwise(cuts)]
    return Tree(rng.choice(["A", "B", "C"]), children)


def random_pairs(count: int) -> list[tuple[Tree, Tree]]:
    rng = random.Random(0)
    sizes = [rng.randint(1, 9) for _ in range(count)]
    return [(tree(str(random_tree(rng, 0, n))), tree(str(random_tree(rng, 0, n)))) for n in sizes]


def test_edits_lead_to_the_gold_tree_and_account_for_all_brackets() -> None:
    for parse, gold in random_pairs(150):
        same_tags = Tree.read(str(gold))
        found = repairs(retagged(parse, same_tags), gold)
        assert apply_edits(retagged(parse, same_tags), (edit for one in found for edit in one.edits)) == gold
        have, want = Counter([*parse.spans()][1:]), Counter([*gold.spans()][1:])
        assert sum(one.brackets for one in found) == ((have - want) + (want - have)).total()
        assert all(one.brackets > 0 or one.action == "reorder" for one in found)


def retagged(parse: Tree, gold: Tree) -> Tree:
    tags = iter(reversed(gold.tags()))
    return parse.fold(lambda node, done: Tree(next(tags) if node.is_leaf else node.label, done, node.word))


def test_a_tree_has_no_errors_against_itself() -> None:
    assert all(repairs(gold, gold) == [] for _, gold in random_pairs(20))


def test_brackets_are_those_of_the_strict_count() -> None:
    """Punctuation goes, by the gold tags; a parse that failed, or is of other words, misses everything."""
    pairs = random_pairs(60)
    gold = [one for _, one in pairs]
    parses: list[Tree | None] = [one for one, _ in pairs]
    parses[3], parses[4] = None, tree("(S (N one) (V two) (P three) (Q four) (R five) (S six) (T s) (U e) (V n) (W t))")
    found, scores = classify_errors(gold, parses), score_trees(gold, parses)
    for one, row in zip(found.sentences, scores.rows, strict=True):
        assert one.brackets == row.strict.gold + row.strict.test - 2 * row.strict.matched
        assert one.parse is None or one.mended() == one.gold
    assert [one.errors[0].kind for one in found.sentences[3:5]] == ["no parse", "no parse"]
    assert found.tags.total() == sum(row.strict.words - row.strict.tags for row in scores.rows if not row.strict.reason)


@pytest.mark.parametrize(
    ("parse", "gold", "kinds"),
    [
        (SAW_LOW, SAW_HIGH, ["PP attachment 1"]),
        (SAW_HIGH, SAW_LOW, ["PP attachment 1"]),
        (  # one phrase in the wrong place: five brackets are wrong by it
            "(VP (V v) (NP (NP (N a)) (PP (IN of) (NP (NP (N b)) (PP (IN in) (NP (N c)))))))",
            "(VP (V v) (NP (NP (N a)) (PP (IN of) (NP (N b)))) (PP (IN in) (NP (N c))))",
            ["PP attachment 5"],
        ),
        (
            "(VP (V v) (NP (NP (N a)) (PP (IN of) (NP (N b)))) (PP (IN in) (NP (N c))))",
            "(VP (V v) (NP (NP (N a)) (PP (IN of) (NP (NP (N b)) (PP (IN in) (NP (N c)))))))",
            ["PP attachment 5"],
        ),
        (
            "(IP (NP (N a)) (VB said) (CP (C that) (IP (NP (N b)) (VB left) (CP (C when) (IP (VB rains))))))",
            "(IP (NP (N a)) (VB said) (CP (C that) (IP (NP (N b)) (VB left))) (CP (C when) (IP (VB rains))))",
            ["clause attachment 4"],
        ),
        ("(S (NP (N a)) (VP (V b) (ADVP (R c))))", "(S (NP (N a)) (VP (V b)) (ADVP (R c)))", ["modifier attachment 2"]),
        (
            "(NP (NP (N cats)) (PP (IN of) (NP (NP (N men)) (CC and) (NP (N dogs)))))",
            "(NP (NP (NP (N cats)) (PP (IN of) (NP (N men)))) (CC and) (NP (N dogs)))",
            ["coordination 4"],
        ),
        ("(NP (D the) (N a) (N b))", "(NP (D the) (NML (N a) (N b)))", ["NP-internal structure 1"]),
        ("(S (VP (V go) (NP (N home))))", "(VP (V go) (NP (N home)))", ["unary 1"]),
        ("(VP (V go) (NP (N home)))", "(VP (V go) (ADVP (N home)))", ["different label 2"]),
        ("(VP (V go) (NP (N home)))", "(VP (V go) (N home))", ["single-word phrase 1"]),
        ("(S (VP (S (VP (V go) (R on)))))", "(VP (S (VP (S (V go) (R on)))))", ["unary 0"]),
        ("(Z (A a) (Q (B b) (C c)))", "(Z (A a) (B b) (C c))", ["other span 1"]),
    ],
)
def test_kinds(parse: str, gold: str, kinds: list[str]) -> None:
    found = classify_errors([tree(gold)], [tree(parse)])
    assert [f"{error.kind} {error.brackets}" for error in found.sentences[0].errors] == kinds


@pytest.mark.parametrize(
    ("label", "family"),
    [
        *(("S", "clause"), ("SBAR", "clause"), ("IP", "clause"), ("CP", "clause"), ("fcl", "clause")),
        *(("NP", "noun"), ("NX", "noun"), ("sn", "noun"), ("grup.nom.ms", "noun"), ("np", "noun")),
        *(("PP", "preposition"), ("sp", "preposition"), ("VP", "verb"), ("grup.verb", "verb")),
        *(("ADJP", "modifier"), ("s.a.ms", "modifier"), ("UCP", "coordination"), ("FOO", None)),
    ],
)
def test_families_of_labels(label: str, family: str | None) -> None:
    assert family_of(label) == family


def test_the_figures_add_up() -> None:
    found = latree.classify_errors([tree(SAW_HIGH)] * 3, [tree(SAW_LOW), tree(SAW_HIGH), None])
    told = found.to_json()
    assert [(one["kind"], one["times"], one["brackets"]) for one in told["kinds"]] == [
        ("no parse", 1, 6),
        ("PP attachment", 1, 1),
    ]
    assert sum(one["share"] for one in told["kinds"]) == pytest.approx(100)
    assert (told["brackets"], [one["sentence"] for one in told["sentences"]]) == (7, [1, 3])
    assert [one.number for one in found.worst(5)] == [3, 1]
    assert {one["kind"] for one in told["kinds"]} <= {*KINDS}
    assert [section.title for section in error_sections(found, 2)] == ["Parse errors", "Worst sentences"]


def test_differences_are_marked_and_the_rest_is_short() -> None:
    shown = difference(tree(SAW_LOW), tree(SAW_HIGH))
    assert str(shown).replace("\u00a0", " ") == "(ROOT (S (NP I) (VP (VBD saw) (NP* (NP the man) (PP with glee)))))"
    assert [shown.tree.subtrees()[place].label for place in shown.marked] == ["NP"]
    assert not difference(tree(SAW_LOW), tree(SAW_LOW)).marked


def test_a_page_shows_both_trees_with_what_is_wrong_marked() -> None:
    found = classify_errors([tree(SAW_HIGH)], [tree(SAW_LOW)])
    shown = page(Report("errors", sections=tuple(error_sections(found, 1))))
    assert shown.count("<figure>") == 2
    assert shown.count('fill="#e0523a"') == 1
