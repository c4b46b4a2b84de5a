"""The rules that clean labels."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latree.errors import LatreeError
from latree.text.labels import PRESETS, LabelRules
from latree.text.tree import Tree

LABELS = st.sampled_from(["NP", "NP-SBJ", "S=2", "-LRB-", "-NONE-", "ROOT", "TOP", "", "A.b", "H+n", "--"])
TREES = st.recursive(
    st.builds(lambda label: Tree(label, word="w"), LABELS.filter(bool)),
    lambda inner: st.builds(Tree, LABELS, st.lists(inner, min_size=1, max_size=4)),
    max_leaves=10,
)


def clean(text: str, rules: str | LabelRules = "penn") -> str:
    rules = LabelRules.named(rules) if isinstance(rules, str) else rules
    return str(rules.clean(Tree.read(text)))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("( (S (NP-SBJ=2 (NPR-N a)) (VP (V b))))", "(ROOT (S (NP (NPR-N a)) (VP (V b))))"),
        ("(TOP (S (-LRB- x) (NN a)))", "(ROOT (S (-LRB- x) (NN a)))"),
        ("(S-1 (NN a))", "(ROOT (S (NN a)))"),
        ("(top (np (n a)) (punct .))", "(ROOT (np (n a)) (punct .))"),
        ("( (ROOT (S (NN a))))", "(ROOT (S (NN a)))"),
        ("(TOP a)", "(ROOT (TOP a))"),
        ("( (S (NP (-NONE- *)) (VP (V b) (NP (-NONE- *T*)))))", "(ROOT (S (VP (V b))))"),
        ("( (NP-A (NP-B (NP (NN a)))))", "(ROOT (NP (NN a)))"),
        ("( (NP (NP (NP (NN a)) (-NONE- *)) (NN b)))", "(ROOT (NP (NP (NN a)) (NN b)))"),
        ("( (NP (NP a)))", "(ROOT (NP (NP a)))"),
        ("( (S (ROOT (NN a)) (NN b)))", "(ROOT (S (ROOT (NN a)) (NN b)))"),
    ],
)
def test_penn_rules(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_nothing_but_empties() -> None:
    assert LabelRules().clean(Tree.read("( (NP (-NONE- *)))")) is None


@pytest.mark.parametrize(
    ("rules", "text", "cleaned"),
    [
        ("floresta", "(STA+fcl (N</N<[+2]+np- (H+n a) (+ +)) (P+v-fin b))", "(ROOT (fcl (np (n a) (+ +)) (v-fin b)))"),
        ("floresta", "(UTT+np (-H+prp a))", "(ROOT (np (prp a)))"),
        ("cess", "( (S.F.C-CD (sn.co (da0 a)) (Fp.x .)))", "(ROOT (S (sn (da0 a)) (Fp.x .)))"),
        ("raw", "( (S-1 (S-1 (-NONE- *))))", "(ROOT (S-1 (S-1 (-NONE- *))))"),
        (LabelRules(tag_cuts="-"), "(S (NPR-N a) (-LRB- x))", "(ROOT (S (NPR a) (-LRB- x)))"),
        (LabelRules(empties=("EC",)), "(S (EC 0) (-NONE- a))", "(ROOT (S (-NONE- a)))"),
        (LabelRules(empties=()), "(S (NP (-NONE- *T*-1)))", "(ROOT (S (NP (-NONE- *T*-1))))"),
        (
            "functions",
            "( (S (NP-SBJ-1 (NN a)) (PP-LOC-PRD=2 (-LRB- b))))",
            "(ROOT (S (NP-SBJ (NN a)) (PP-LOC-PRD (-LRB- b))))",
        ),
        ("functions", "( (S-12 (NP (-NONE- *T*-1)) (VB-1 go)))", "(ROOT (S (VB-1 go)))"),
        (
            replace(LabelRules.named("functions"), empties=()),
            "( (S=1 (NP-SBJ (-NONE- *T*-1)) (VB go)))",
            "(ROOT (S (NP-SBJ (-NONE- *T*)) (VB go)))",
        ),
        (LabelRules(wrappers=("TEXT",), root="TOP"), "(TEXT (S (NN a)))", "(TOP (S (NN a)))"),
        (LabelRules(wrappers=()), "(ROOT (S (NN a)))", "(ROOT (S (NN a)))"),
    ],
)
def test_other_rules(rules: str | LabelRules, text: str, cleaned: str) -> None:
    assert clean(text, rules) == cleaned


@settings(deadline=None)
@given(TREES, st.sampled_from(sorted(PRESETS)))
def test_cleaning_twice_is_cleaning_once(tree: Tree, preset: str) -> None:
    rules = LabelRules.named(preset)
    once = rules.clean(tree)
    assert once is None or rules.clean(once) == once


@settings(deadline=None)
@given(TREES)
def test_cleaned_trees_keep_their_words(tree: Tree) -> None:
    cleaned = LabelRules().clean(tree)
    kept = [tag for tag in tree.tags() if tag != "-NONE-"]
    assert (cleaned.tags() if cleaned else []) == kept
    assert cleaned is None or (cleaned.label == "ROOT" and not cleaned.is_leaf)


@pytest.mark.parametrize("rules", [*PRESETS.values(), LabelRules("=", "-", "+", ("E",), False, ("W",), "R")])
def test_rules_in_json(rules: LabelRules) -> None:
    assert LabelRules.from_json(json.loads(json.dumps(rules.to_json()))) == rules


def test_unknown_rules() -> None:
    with pytest.raises(LatreeError, match="'wsj'; expected one of penn, floresta, cess, raw"):
        LabelRules.named("wsj")
    with pytest.raises(LatreeError, match="unknown label rule cuts"):
        LabelRules.from_json({"cuts": "-"})
