"""What `latree show` tells of subtypes: the facts against the model's own arrays, the terminal, and the page."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.inference.subtypes import History
from latree.kinds.hmm.model import Hmm
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg, LvgTagger
from latree.kinds.model import ForestModel
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.product.model import Product
from latree.kinds.registry import load
from latree.kinds.report import SAMPLE_WORDS, Ask, Subtypes, report
from latree.report.html import page
from latree.report.value import Branch, plain
from latree.text.tree import Tree
from tests.command import done, latree, toy_trees
from tests.pages import Reader

QUICK = LvgOptions(split_iterations=4, merge_iterations=3, smooth_iterations=2)


def _tagged() -> list[tuple[list[str], list[str]]]:
    return [(tree.words(), tree.tags()) for tree in toy_trees("dev")]


@cache
def _lvg() -> Lvg:
    return Lvg(rounds=2, options=QUICK).fit(toy_trees("dev"))


@cache
def _tagger() -> LvgTagger:
    return LvgTagger(subtypes=2, split_iterations=4, smooth_iterations=2).fit(_tagged())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subtypes") / "m.latree"
    _lvg().save(path)
    return path


def _symbol(subtypes: Subtypes, name: str) -> int:
    (found,) = (s for s in subtypes.find(name) if subtypes.name(s) == name)
    return found


# --- facts


def _all_rules(model: ForestModel[Any], symbol: int, subtype: int) -> dict[tuple[Any, ...], float]:
    """Every rule of a subtype, read from theta one number at a time."""
    size, at, found = model.widths(), 0, {}
    for parent, left, right in model.grammar.rules.tolist():
        wide, narrow = (int(size[s]) if s >= 0 else 1 for s in (left, right))
        for x in range(size[parent]):
            for y in range(wide):
                for z in range(narrow):
                    if (parent, x) == (symbol, subtype):
                        children = [(s, k) for s, k in ((left, y), (right, z)) if s >= 0]
                        found[tuple(children)] = float(model.theta[at])
                    at += 1
    assert at == len(model.theta)
    return found


@pytest.mark.parametrize("make", [_lvg, _tagger])
def test_rules_are_those_of_theta(make: Any) -> None:
    model = make()
    subtypes = Subtypes(model)
    for name in ("NP", "S") if make is _lvg else ("NN", "ROOT"):
        symbol = _symbol(subtypes, name)
        for subtype in range(subtypes.subtypes(symbol)):
            truth = {rule: weight for rule, weight in _all_rules(model, symbol, subtype).items() if weight > 0}
            every = subtypes.rules(symbol, subtype, len(truth) + 1)
            assert dict(every) == truth
            assert [weight for _, weight in every] == sorted(truth.values(), reverse=True)
            assert subtypes.rules(symbol, subtype, 2) == every[:2]
            assert sum(truth.values()) == pytest.approx(1)


def test_rules_summed_over_the_subtypes_of_children() -> None:
    model = _lvg()
    subtypes = Subtypes(model)
    symbol = _symbol(subtypes, "VP")
    sums: dict[tuple[Any, ...], float] = {}
    for rule, weight in _all_rules(model, symbol, 0).items():
        key = tuple((child, None) for child, _ in rule)
        sums[key] = sums.get(key, 0.0) + weight
    told = dict(subtypes.rules(symbol, 0, 1000, summed=True))
    assert told == pytest.approx({key: weight for key, weight in sums.items() if weight > 0})
    whole = subtypes.rules(symbol, None, 1000)
    assert sum(weight for _, weight in whole) == pytest.approx(1)


def test_words_are_shares_of_the_lexicon() -> None:
    model = _lvg()
    subtypes, lexicon = Subtypes(model), model.lexicon
    symbol = _symbol(subtypes, "NN")
    first = int(model.layout.tag_columns[symbol - model.grammar.first_tag])
    for subtype in range(subtypes.subtypes(symbol)):
        pairs = np.flatnonzero(lexicon.pair_tag == first + subtype)
        top = pairs[np.argsort(-lexicon.pair_count[pairs], kind="stable")][:4]
        words = [lexicon.vocabulary[k] for k in np.searchsorted(lexicon.word_ptr, top, side="right") - 1]
        shares = lexicon.pair_count[top] / lexicon.tag_count[first + subtype]
        assert subtypes.words(symbol, subtype, 4) == list(zip(words, shares.tolist(), strict=True))
    whole = dict(subtypes.words(symbol, None, 10**6))
    tokens = [
        word for tree in toy_trees("dev") for word, tag in zip(tree.words(), tree.tags(), strict=True) if tag == "NN"
    ]
    assert whole == pytest.approx({word: tokens.count(word) / len(tokens) for word in set(tokens)})
    assert subtypes.words(_symbol(subtypes, "NP"), 0, 4) == []


def test_counts_and_shares() -> None:
    model, trees = _lvg(), toy_trees("dev")
    subtypes = Subtypes(model)
    for name in ("NP", "NN"):
        symbol = _symbol(subtypes, name)
        seen = sum(node.label == name for tree in trees for node in tree.subtrees())
        assert subtypes.count(symbol) == pytest.approx(seen)
        assert subtypes.shares(symbol).sum() == pytest.approx(1)
    plain = Subtypes(Pcfg().fit(trees))
    assert plain.count(_symbol(plain, "NP")) is None  # it was not kept
    assert plain.uses(_symbol(plain, "NP"), 3) == [[]]


def test_uses_are_shares_of_a_subtypes_occurrences() -> None:
    subtypes = Subtypes(_lvg())
    for name in ("NP", "DT"):
        symbol = _symbol(subtypes, name)
        for uses in subtypes.uses(symbol, 10**4):
            assert sum(share for _, share in uses) == pytest.approx(1)
            assert all(subtypes.grammar.rules[rule, 1 + place] == symbol for (rule, place), _ in uses)
    nouns = Subtypes(Lvg(subtypes=1, options=QUICK).fit([Tree.read("(ROOT (S (N a) (N b)))")] * 2))
    (only,) = nouns.uses(_symbol(nouns, "N"), 5)
    assert {place: share for (_, place), share in only} == pytest.approx({0: 0.5, 1: 0.5})


def test_samples_are_phrases_of_known_words_and_stay_the_same() -> None:
    model = _lvg()
    subtypes = Subtypes(model)
    symbol = _symbol(subtypes, "NP")
    samples = subtypes.samples(symbol, 0)
    assert samples
    assert samples == Subtypes(model).samples(symbol, 0)
    assert all(len(phrase.split()) <= SAMPLE_WORDS for phrase in samples)
    assert {word for phrase in samples for word in phrase.split()} <= set(model.lexicon.vocabulary)
    assert subtypes.samples(_symbol(subtypes, "NN"), 0) == []
    assert Subtypes(_tagger()).samples(0, 0) == []


# --- descent


def _shape(branch: Branch) -> Any:
    """The number of a subtype, or the round in which one was split and what came of it."""
    if not branch.children:
        return int(plain(branch.label).split()[0].removeprefix("N-"))
    _, when = plain(branch.label).split("  ")
    return (int(when.split()[-1]) if when != "split" else None), [_shape(child) for child in branch.children]


def _with_history(*steps: list[int]) -> Subtypes:
    """A category N whose subtypes came about as given; the root's is always the one."""
    model = Lvg(subtypes=4, options=QUICK).fit([Tree.read("(ROOT (N a))")])
    number = model.grammar.symbols.index(next(s for s in model.grammar.symbols if s.label == "N"))
    assert number == 1
    model.history = History(tuple((np.zeros(1, np.int64), np.array(step)) for step in steps))
    return Subtypes(model)


def test_the_split_tree_leaves_out_rounds_without_a_split() -> None:
    assert _shape(_with_history([0, 0], [0, 0, 1], [0, 1, 1, 2]).descent(1)) == (1, [(2, [0, (3, [1, 2])]), 3])


def test_a_subtype_without_descendants_is_not_in_the_split_tree() -> None:
    assert _shape(_with_history([0, 0, 0], [0, 0, 1, 1]).descent(1)) == (1, [(2, [0, 1]), (2, [2, 3])])


def test_without_a_history_all_subtypes_come_at_once() -> None:
    tree = _with_history().descent(1)
    assert _shape(tree) == (None, [0, 1, 2, 3])
    assert _shape(_with_history([0, 0]).descent(1)) == _shape(tree)  # one of another grammar


def test_shares_of_the_split_tree_are_those_of_its_subtypes() -> None:
    subtypes = Subtypes(_lvg())
    symbol = _symbol(subtypes, "NP")
    leaves = [plain(one.label).split("  ")[:2] for one in _walk(subtypes.descent(symbol)) if not one.children]
    shares = subtypes.shares(symbol)
    assert leaves == [[subtypes.name(symbol, k), f"{share:.1%}"] for k, share in enumerate(shares)]


def _walk(branch: Branch) -> list[Branch]:
    return [branch, *(below for child in branch.children for below in _walk(child))]


# --- text


def test_the_facts_of_a_model() -> None:
    model = Lvg(subtypes=2, options=QUICK).fit(toy_trees("dev"))
    model.training = {"data": ["a", "b"], "dev": {"f1": 91.234, "sentences": 3}}
    told = dict(Subtypes(model).facts())
    assert (told["kind"], told["rounds"], told["data"], told["dev"]) == ("lvg", "1", "a, b", "f1 91.23, sentences 3")


# --- the terminal


def test_the_overview_sorts_categories_by_their_subtypes(saved: Path) -> None:
    lines = done("show", "-m", saved).lines
    assert lines[0] == "kind: lvg"
    subtypes = Subtypes(load(saved))
    rows = [line.split()[:2] for line in lines if "━" in line]
    assert {name: int(size) for name, size in rows} == {
        subtypes.name(s): subtypes.subtypes(s) for s in range(len(subtypes.grammar.symbols))
    }
    tags = [int(size) for name, size in rows if subtypes.is_tag(_symbol(subtypes, name))]
    assert tags == sorted(tags, reverse=True)


def test_a_category_is_shown_with_its_subtypes_and_their_descent(saved: Path) -> None:
    subtypes = Subtypes(load(saved))
    lines = done("show", "-m", saved, "--symbol", "NP", "--top", "2").lines
    size = subtypes.subtypes(_symbol(subtypes, "NP"))
    assert size > 1
    assert lines[0].startswith(f"NP: phrase, {size} subtypes, ")
    (children, weight), *_ = subtypes.rules(_symbol(subtypes, "NP"), 0, 1)
    right = " ".join(subtypes.name(*child) for child in children)
    first = next(place for place, line in enumerate(lines) if line.startswith("NP-0: "))
    assert lines[first + 1] == "  becomes"
    assert re.fullmatch(rf"    {right} +{weight:.3f}", lines[first + 2])
    assert any(re.fullmatch(r"NP  split in round [1-3]", line) for line in lines)
    assert (
        sum(line.lstrip("│├└─ ").startswith("NP-") and line[0] in "│├└ " and "->" not in line for line in lines) == size
    )
    summed = done("show", "-m", saved, "--symbol", "NP", "--summed").out
    assert re.search(r"  becomes\n    [A-Z@]+( [A-Z@]+)? +\d", summed)


def test_show_does_one_thing_at_a_time(saved: Path, tmp_path: Path) -> None:
    outcome = latree("show", "-m", saved, "--symbol", "NP", "--html", tmp_path / "x.html")
    assert outcome.code == 2
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("symbol", [None, "NN"])
def test_long_and_odd_words_do_not_break_what_is_shown(tmp_path: Path, symbol: str | None) -> None:
    Hmm().fit([(["w" * 500, "a\x1b[2Jb", "[bold]"], ["NN", "NN", "L" * 300])]).save(tmp_path / "m")
    shown = done("show", "-m", tmp_path / "m", *(["--symbol", symbol] if symbol else [])).out
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) < 300
    assert "[bold]" in shown or symbol


# --- the page


@pytest.mark.parametrize("make", [_lvg, _tagger, lambda: Pcfg().fit(toy_trees("dev")), lambda: Hmm().fit(_tagged())])
def test_the_page_has_every_category_and_no_loose_ends(make: Any) -> None:
    model = make()
    read = Reader(page(report(model, Ask(3, every=True))))
    subtypes = Subtypes(model)
    for symbol in range(len(model.grammar.symbols)):
        assert {f"c{symbol}", *(f"c{symbol}-{k}" for k in range(subtypes.subtypes(symbol)))} <= set(read.ids)
        assert subtypes.name(symbol) in read.texts


def test_a_page_that_cannot_be_written(saved: Path, tmp_path: Path) -> None:
    fault = latree("show", "-m", saved, "--html", tmp_path / "none" / "page.html")
    assert fault.code == 1
    assert "cannot be written" in fault.err


# --- JSON


def test_a_category_as_json(saved: Path) -> None:
    told = json.loads(done("show", "-m", saved, "--symbol", "NN", "--json", "--top", "2").out)
    (section,) = told["sections"]
    subtypes = Subtypes(load(saved))
    symbol = _symbol(subtypes, "NN")
    assert (section["title"], section["id"], len(section["cards"])) == ("NN", f"c{symbol}", subtypes.subtypes(symbol))
    words = section["cards"][0]["blocks"][0]["items"]
    assert words == [[word, share] for word, share in subtypes.words(symbol, 0, 2)]


# --- products


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("product") / "both.latree"
    Product([_lvg(), Lvg(rounds=1, seed=1, options=QUICK).fit(toy_trees("dev"))]).save(path)
    return path


def test_a_product_shows_the_probabilities_of_its_members(product: Path) -> None:
    """The root of the toy treebank is always over S, whatever the subtypes."""
    lines = done("show", "-m", product).lines
    assert lines[:2] == ["kind: product", "members: 2: lvg, lvg"]
    roots = [line.split() for line in lines if line.split()[:1] == ["ROOT"]]
    assert [row[-2:] for row in roots] == [["S", "1.000"]] * 2
    told = json.loads(done("show", "-m", product, "--symbol", "NP", "--json", "--top", "9999").out)
    assert [one["title"] for one in told["sections"]] == ["1: NP", "1: @NP", "2: NP", "2: @NP"]
    for section in told["sections"]:
        for card in section["cards"]:
            (becomes,) = (block for block in card["blocks"] if block.get("title") == "becomes")
            assert sum(weight for _, weight in becomes["rows"]) == pytest.approx(1)


def test_the_page_of_a_product_keeps_its_members_apart(product: Path, tmp_path: Path) -> None:
    assert latree("show", "-m", product, "--html", tmp_path / "page.html").code == 0
    read = Reader((tmp_path / "page.html").read_text(encoding="utf-8"))
    symbols = range(len(_lvg().grammar.symbols))
    assert {f"m{member}-c{symbol}" for member in (1, 2) for symbol in symbols} <= set(read.ids)
