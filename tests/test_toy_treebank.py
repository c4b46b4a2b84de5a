"""The toy treebank: made by its script, from a proper grammar, and with the agreement that it is meant to hide."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from latree.data import TOY_PARTS, toy
from latree.text.tree import Tree, read_brackets

SCRIPT = Path(__file__).parents[1] / "scripts" / "make_toy_treebank.py"
MODALS = {"will", "can", "must", "should", "may"}
TINY = """
zipf = 1.0
$n = sg pl
S -> NP[sg] VB[sg]  0.5
S -> NP[pl] VB[pl]  0.5
NP[$n] -> DT NN[$n]  1.0
DT : the a
NN[sg] : sheep cat
NN[pl] : sheep
VB[sg] : sleeps
VB[pl] : sleep
"""


@pytest.fixture(scope="module")
def maker() -> Iterator[ModuleType]:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("make_toy_treebank", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def read(part: str, hidden: bool = False) -> list[Tree]:
    path = toy(part, hidden=hidden)
    with path.open(encoding="utf-8") as lines:
        return list(read_brackets(lines, str(path)))


def all_trees() -> list[Tree]:
    return [tree for part in TOY_PARTS for tree in read(part)]


def test_the_script_makes_the_files_that_ship(
    maker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker.main(["--out", str(tmp_path)])
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(toy(part, hidden=hidden).name for part in TOY_PARTS for hidden in (False, True))
    for name in made:
        assert (tmp_path / name).read_bytes() == (toy("train").parent / name).read_bytes(), name
    readme = (toy("train").parent / "README.md").read_text(encoding="utf-8")
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert "\n".join(table) in readme


def test_the_grammar_is_proper_and_its_sentences_have_the_right_length(maker: ModuleType) -> None:
    grammar = maker.read_grammar((toy("train").parent / "grammar.txt").read_text(encoding="utf-8"))
    maker.check(grammar)
    assert 9 < maker.expected_length(grammar) < 11
    assert maker.sample_treebank(grammar)[1] < 0.05 * sum(maker.SIZES.values())


def test_the_numbers_of_a_tiny_grammar(maker: ModuleType) -> None:
    grammar = maker.read_grammar(TINY)
    maker.check(grammar)
    assert maker.expected_length(grammar) == pytest.approx(3)
    third = math.log2(3) - 2 / 3  # the bits of a choice between 2/3 and 1/3
    assert maker.entropy(grammar) == pytest.approx(1 + third + third / 2)
    hidden = Tree.read("(S (NP[sg] (DT the) (NN[sg] cat)) (VB[sg] sleeps))")
    assert maker.log_probability(grammar, hidden) == pytest.approx(math.log(1 / 2 * 2 / 3 * 1 / 3))
    ambiguous = Tree.read("(NP (DT the) (NN sheep))")
    below = {"NP[sg]": 2 / 3 * 2 / 3, "NP[pl]": 2 / 3}
    assert maker._inside(grammar, ambiguous) == pytest.approx(below)
    clash = Tree.read("(S (NP (DT the) (NN cat)) (VB sleep))")
    assert maker.log_probability(grammar, clash) == -math.inf


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("VB[sg]  0.5", "VB[sg]  0.4", "S sum to 0.9"),
        ("NN[pl] : sheep", "", r"never rewritten: \['NN\[pl\]'\]"),
        ("DT : the a", "DT : the a\nJJ : old", r"never used: \['JJ'\]"),
        ("DT NN[$n]  1.0", "DT NN[$n]  0.4\nNP[$n] -> NP[$n] NP[$n]  0.6", "infinite"),
        ("DT : the a", "DT the a", "line 7: neither"),
        ("DT : the a", "DT[$x] : the a", r"line 7: '\$x'"),
    ],
)
def test_a_faulty_grammar_is_refused(maker: ModuleType, old: str, new: str, message: str) -> None:
    assert TINY.count(old) == 1
    with pytest.raises(maker.GrammarError, match=message):
        maker.check(maker.read_grammar(TINY.replace(old, new)))


@pytest.mark.parametrize("part", TOY_PARTS)
def test_hidden_and_visible_trees_agree(maker: ModuleType, part: str) -> None:
    grammar = maker.read_grammar((toy("train").parent / "grammar.txt").read_text(encoding="utf-8"))
    shown, hidden = read(part), read(part, hidden=True)
    assert len(shown) == len(hidden) == maker.SIZES[part]
    for visible_tree, hidden_tree in zip(shown, hidden, strict=True):
        assert {node.label for node in hidden_tree.subtrees()} <= grammar.keys()
        labels = [maker.visible(node.label) for node in hidden_tree.subtrees()]
        assert labels == [node.label for node in visible_tree.subtrees()]
        assert visible_tree.words() == hidden_tree.words()


def test_a_visible_tree_is_at_least_as_probable_as_its_hidden_one(maker: ModuleType) -> None:
    grammar = maker.read_grammar((toy("train").parent / "grammar.txt").read_text(encoding="utf-8"))
    for shown, hidden in zip(read("dev")[:20], read("dev", hidden=True)[:20], strict=True):
        low, high = maker.log_probability(grammar, hidden), maker.log_probability(grammar, shown)
        assert -math.inf < low <= high + 1e-9
        assert high < 0


def test_parts_share_no_sentence_and_lengths_are_kept() -> None:
    train, dev, test = ({tuple(tree.words()) for tree in read(part)} for part in TOY_PARTS)
    assert not train & dev
    assert not (train | dev) & test
    assert len(train) > 590
    assert {len(words) for words in train | dev | test} <= set(range(5, 26))


def test_labels_are_few_and_words_ambiguous() -> None:
    trees = all_trees()
    phrases = {node.label for tree in trees for node in tree.subtrees() if not node.is_leaf}
    pairs = {(leaf.word, leaf.label) for tree in trees for leaf in tree.leaves()}
    assert phrases == {"ROOT", "S", "NP", "VP", "PP", "SBAR", "ADJP", "ADVP"}
    assert len({tag for _, tag in pairs}) == 13
    assert len(pairs) - len({word for word, _ in pairs}) >= 15
    assert {tag for word, tag in pairs if word == "that"} == {"DT", "IN", "WP"}


def finite_verbs(phrase: Tree) -> Iterator[str]:
    """The words that carry the number of a verb phrase; several if it is coordinated."""
    if phrase.children[0].label == "VP":
        yield from (word for child in phrase.children if child.label == "VP" for word in finite_verbs(child))
    elif phrase.children[0].word not in MODALS:
        yield str(phrase.children[0].word)


def test_pronouns_agree_with_their_verbs() -> None:
    verbs: dict[str, set[str]] = {}
    for node in (node for tree in all_trees() for node in tree.subtrees() if node.label == "S"):
        for subject, *rest in (node.children[start:] for start in range(len(node.children))):
            predicate = next((child for child in rest if child.label == "VP"), None)
            if subject.label == "NP" and subject.children[0].label == "PRP" and predicate:
                verbs.setdefault(subject.words()[0], set()).update(finite_verbs(predicate))
    assert verbs.keys() == {"he", "she", "it", "they", "we", "you"}
    singular = verbs["he"] | verbs["she"] | verbs["it"]
    plural = verbs["they"] | verbs["we"] | verbs["you"]
    assert min(len(singular), len(plural)) > 15
    assert all(verb.endswith("s") for verb in singular)
    assert not any(verb.endswith("s") for verb in plural)


def test_determiners_agree_with_their_nouns() -> None:
    nouns: dict[str, set[str]] = {}
    for node in (node for tree in all_trees() for node in tree.subtrees() if node.label == "NP"):
        if node.children[0].label == "DT":
            nouns.setdefault(str(node.children[0].word), set()).add(str(node.children[-1].word))
    singular = nouns["a"] | nouns["this"] | nouns["every"]
    plural = nouns["these"] | nouns["those"] | nouns["some"]
    assert min(len(singular), len(plural)) > 15
    assert not any(noun.endswith("s") for noun in singular)
    assert all(noun.endswith("s") or noun == "children" for noun in plural)


def test_object_pronouns_have_object_case() -> None:
    objects = {
        child.words()[0]
        for tree in all_trees()
        for node in tree.subtrees()
        if node.label in ("VP", "PP")
        for child in node.children
        if child.label == "NP" and child.children[0].label == "PRP"
    }
    assert {"him", "them", "her", "me"} <= objects <= {"him", "them", "her", "it", "me", "us", "you"}


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no part 'valid' in the toy treebank; expected one of train, dev, test"):
        toy("valid")
