"""Listed constituents: what is left is what has no others, and sums are over all of that."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from latree import LatreeError, Pcfg, Tree
from latree.data import toy
from latree.inference.chart import fill_chart
from latree.inference.chart_grammar import chart_grammar
from latree.inference.constituents import Listed, allowed_by
from latree.inference.forest import assemble
from latree.inference.prune import prune, rule_finder
from latree.inference.sweep import inside_only
from latree.kinds.parser import Parser
from latree.lexicon.options import LexiconOptions
from latree.text.binary import Binarization, undo
from tests.command import done, toy_trees, write_conllu
from tests.command import latree as run
from tests.enumerate import derivations, weights_of
from tests.grammars import SEEDS, example, ones
from tests.kinds_matrix import PARSERS, model, model_file


def constituents(tree: Tree) -> set[tuple[str, int, int]]:
    """Phrases and tags with their spans."""
    return set(tree.spans()) | {(tag, i, i + 1) for i, tag in enumerate(tree.tags())}


def listed_in(trees: list[Tree]) -> set[tuple[str, int, int]]:
    return set().union(*map(constituents, trees))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lists", [1, 3, 20])
def test_sums_are_over_the_trees_of_listed_constituents(seed: int, lists: int) -> None:
    grammar, theta, emissions = example(seed)
    every = derivations(grammar, theta, emissions)
    rng = np.random.default_rng(seed)
    listed = [undo(every[k].tree) for k in rng.choice(len(every), min(lists, len(every)), replace=False)]
    names = listed_in(listed)
    compatible = [one for one in every if constituents(undo(one.tree)) <= names]
    assert len(compatible) >= 1
    allowed = allowed_by(listed, grammar, len(emissions))
    chart = fill_chart(chart_grammar(grammar, theta), emissions)
    piece = allowed.on_piece(prune(allowed.on_chart(chart), rule_finder(grammar, theta), 0.0))
    forest = assemble([piece], len(grammar.rules))
    labels = [grammar.symbols[symbol].label for symbol in piece.symbol]
    assert {(label, *span) for label, span in zip(labels, map(tuple, piece.span.tolist()), strict=True)} <= names
    sizes = ones(grammar)
    log_z = inside_only(forest, weights_of(grammar, theta, emissions, sizes), sizes)[0][0]
    assert log_z == pytest.approx(math.log(math.fsum(one.weight for one in compatible)))


WORDS = toy_trees("dev")[0].words()


@pytest.fixture(scope="module")
def lists() -> list[Tree]:
    pcfg: Any = model("pcfg")
    return [parse.tree for parse in pcfg.kbest(WORDS, 4, "viterbi")]


def test_sums_of_a_binarised_grammar() -> None:
    """Parts are free: every tree of listed constituents counts, whichever way it was made binary."""
    seen_tags = LexiconOptions(known=0.0, frequent=0.0)  # so that there are few enough trees to list them all
    pcfg = Pcfg(lexicon=seen_tags, binarization=Binarization(horizontal=1)).fit(toy("dev"))
    sentences = [tree.words() for tree in toy_trees("dev")]
    lists = (pcfg.kbest(words, 2_000, "viterbi") for words in sentences)
    every = next(trees for trees in lists if 20 < len(trees) < 2_000)
    trees = [one.tree for one in every[1::7][:4] if one.tree is not None]
    names = listed_in(trees)
    sums = [one.log_joint for one in every if one.tree is not None and constituents(one.tree) <= names]
    assert len(trees) <= len(sums) < len(every)
    assert pcfg.log_prob(Listed(every[0].tokens, tuple(trees))) == pytest.approx(logsumexp(sums), abs=1e-9)


@pytest.mark.parametrize("name", PARSERS)
def test_every_parser_keeps_to_the_list(name: str, lists: list[Tree]) -> None:
    parser: Any = model(name)
    sentence = Listed(tuple(WORDS), tuple(lists))
    ranked = parser.kbest(sentence, 10_000)
    best = ranked[0]
    assert len(ranked) < 10_000
    if best.status == "recovered":  # a grammar may lack a rule of each
        assert "no tree has only constituents that are listed" in best.reason
        return
    assert all(constituents(one.tree) <= listed_in(lists) for one in ranked)
    assert parser.parse(sentence).tree == best.tree
    assert logsumexp([one.log_joint for one in ranked]) == pytest.approx(parser.log_prob(sentence), abs=1e-6)


@pytest.mark.parametrize("name", ["pcfg", "gm-lveg"])
def test_lists_that_make_no_tree(name: str) -> None:
    parser: Any = model(name)
    flat = Tree("ROOT", [Tree("S", [Tree("NN", word=word) for word in WORDS])])
    sentence = Listed(tuple(WORDS), (flat,))
    free = parser.parse(WORDS)
    for found in (parser.parse(sentence), parser.kbest(sentence, 3)[0]):
        assert (found.tree, found.status) == (free.tree, "recovered")
        assert "no tree has only constituents that are listed" in found.reason
    assert parser.log_prob(sentence) == -np.inf


def test_sentences_with_and_without_lists_do_not_mix(lists: list[Tree]) -> None:
    parser: Any = model("lvg")
    sentence = Listed(tuple(WORDS), tuple(lists))
    mixed = list(parser.parse_all([WORDS, sentence, WORDS]))
    apart = [parser.parse(one) for one in (WORDS, sentence, WORDS)]
    assert [(one.tree, one.log_joint, one.log_marginal) for one in mixed] == [
        (one.tree, one.log_joint, one.log_marginal) for one in apart
    ]


def test_trees_of_other_words() -> None:
    parser: Any = model("pcfg")
    assert isinstance(parser, Parser)
    with pytest.raises(LatreeError, match="a listed tree has other words than its sentence"):
        parser.parse(Listed(("a", "b"), (Tree.read("(S (X a))"),)))


# -- the command line


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("".join(" ".join(tree.words()) + "\n" for tree in toy_trees("dev")[:3]) + "\n", encoding="utf-8")
    return path


def test_lists_of_one_model_for_another(sentences: Path, tmp_path: Path) -> None:
    """As `--kbest` writes them, one tree a line or several lines, whatever the number of jobs."""
    lists = tmp_path / "lists"
    lists.write_text(done("parse", "-m", model_file("lvg"), "--kbest", "1", sentences).out, encoding="utf-8")
    found = done("parse", "-m", model_file("pcfg"), "--constituents", lists, sentences)
    assert found.out == done("parse", "-m", model_file("lvg"), sentences).out  # no other tree is left
    assert "stand-in" not in found.err
    again = done("parse", "-m", model_file("pcfg"), "--constituents", lists, "--jobs", "2", sentences)
    assert again.out == found.out
    lists.write_text(lists.read_text(encoding="utf-8").replace(" (", "\n  ("), encoding="utf-8")
    assert done("parse", "-m", model_file("pcfg"), "--constituents", lists, sentences).out == found.out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace("\n\n", "\n"), ":2: not a tree of sentence 1: "),
        (lambda text: text.split("\n\n", 1)[1], ":1: not a tree of sentence 1: "),
        (lambda text: text.split("\n\n")[0], ": no trees for sentence 2; "),
        (lambda text: text + text, ":7: trees beyond those of the 4 sentences"),
        (lambda text: text[:-5], "brackets never closed"),
        (lambda text: text.replace("(ROOT", "ROOT", 1), ":1:1: 'ROOT' outside brackets"),
    ],
)
def test_faults_in_lists(sentences: Path, tmp_path: Path, change: Any, told: str) -> None:
    lists, good = tmp_path / "lists", done("parse", "-m", model_file("pcfg"), "--kbest", "1", sentences).out
    lists.write_text(change(good.rstrip("\n") + "\n\n"), encoding="utf-8")
    outcome = run("parse", "-m", model_file("pcfg"), "--constituents", lists, sentences)
    assert outcome.code == 1
    assert str(lists) + told in outcome.err or told in outcome.err
    assert "Traceback" not in outcome.err


def test_what_lists_exclude(tmp_path: Path) -> None:
    outcome = run("parse", "--constituents", "-", stdin="a\n")
    assert outcome.code == 2
    assert "standard input" in outcome.err
    outcome = run("parse", "--constituents", toy("dev"), "--accurate", toy("dev"))
    assert outcome.code == 2
    assert "--accurate has no effect with it" in outcome.err


def test_a_training_scores_with_lists(tmp_path: Path) -> None:
    """As `latree parse` does with them: where the gold trees are listed, there is nothing else to choose."""
    lists, dev = tmp_path / "lists", tmp_path / "dev.mrg"
    trees = toy_trees("dev")[:5]
    dev.write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
    lists.write_text("".join(f"{tree}\n\n" for tree in trees), encoding="utf-8")
    command = ("train", "pcfg", toy("dev"), "-o", tmp_path / "m")
    assert ", exact 100.00, " in run(*command, "--dev", dev, "--constituents", lists).err
    outcome = run(*command, "--constituents", lists)
    assert outcome.code == 2
    assert "--constituents has no effect without --dev" in outcome.err
    outcome = run(*command, "--dev", dev, "--constituents", tmp_path / "none")
    assert outcome.code == 1
    assert "cannot be read" in outcome.err
    tagged = write_conllu(tmp_path / "dev.conllu", trees)
    outcome = run("train", "lvg", tagged, "--dev", tagged, "-o", tmp_path / "m", "--constituents", lists)
    assert outcome.code == 2
    assert "--constituents is for parsers" in outcome.err
