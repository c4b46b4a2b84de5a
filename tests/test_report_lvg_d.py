"""What `latree show` tells of log-linear grammars: the numbers against the model's own, the terminal, and the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from latree.arrays import NONE, Floats
from latree.inference.forms.multiscale import MultiScale, expanded
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg, LvgTagger
from latree.kinds.lvg_d import LvgDOptions
from latree.kinds.lvg_d.changes import GROUPS, Changes
from latree.kinds.lvg_d.model import LoglinearModel, LvgD, LvgDTagger
from latree.kinds.lvg_d.refinement import Refinement
from latree.kinds.lvg_d.report import SKETCHED, Loglinear, report, signed
from latree.kinds.lvg_d.start import log_rules
from latree.kinds.report import Ask
from latree.report.html import page
from latree.report.value import Branch, Outline, Section, plain
from tests.command import done, toy_trees
from tests.pages import Reader

QUICK = LvgOptions(split_iterations=10, merge_iterations=5, smooth_iterations=3)
Model = TypeVar("Model", LvgD, LvgDTagger)
SMALL = LvgDOptions(epochs=1, iterations=4, batch=32)
SCALES = replace(SMALL, scales=True, penalty="l1", strength=0.1)


@cache
def _one() -> LvgD:
    """With subtypes that were merged: not all symbols have the same number."""
    return LvgD(options=SMALL, pruner=Lvg(rounds=2, options=QUICK)).fit(toy_trees("dev"))


@cache
def _trained() -> LvgD:
    """At several scales, as training divides them."""
    return LvgD(options=SCALES, pruner=Lvg(subtypes=4, options=QUICK)).fit(toy_trees("dev"))


@cache
def _with_spans() -> LvgD:
    options = replace(SCALES, spans=True, strength=0.01)
    return LvgD(options=options, pruner=Lvg(subtypes=2, options=QUICK)).fit(toy_trees("dev"))


@cache
def _scales() -> LvgD:
    """Divided at random, up to twice."""
    return _divided_at_random(_trained())


def _hmm(subtypes: int) -> LvgTagger:
    return LvgTagger(subtypes=subtypes, split_iterations=10, smooth_iterations=3)


@cache
def _tagger() -> LvgDTagger:
    sentences = [(tree.words(), tree.tags()) for tree in toy_trees("dev")]
    return _divided_at_random(LvgDTagger(options=SCALES, pruner=_hmm(4)).fit(sentences))


def _divided_at_random(model: Model) -> Model:
    rng = np.random.default_rng(0)
    words = np.tile([True, False, False], (len(model.lexical.tag), 1))
    ports = np.concatenate([model.grammar.rules > 0, words])
    tree = Refinement.whole(len(ports))
    for share in (0.8, 0.4):
        tree = tree.divided(rng.random(tree.nodes) < share, ports)
    return _with_tree(model, tree, rng.standard_normal(tree.nodes) * (rng.random(tree.nodes) < 0.7))


def _with_tree(model: Model, tree: Refinement, delta: Floats) -> Model:
    """Another model of the same subtypes."""
    header, arrays = model.state()
    own = {f"tree.{name}": array for name, array in tree.to_arrays().items()} | {"tree.start": np.zeros(tree.nodes)}
    return type(model).from_state(header, arrays | own | {"delta": delta})


ALL = pytest.mark.parametrize("make", [_one, _trained, _with_spans, _scales, _tagger])
Make = Callable[[], LoglinearModel]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("loglinear")
    paths = {name: folder / f"{name}.latree" for name in ("one", "scales", "tagger")}
    for path, make in zip(paths.values(), (_one, _scales, _tagger), strict=True):
        make().save(path)
    return paths


def _section(model: LoglinearModel, name: str) -> Section:
    """What is told of a category of just that name."""
    (found,) = (one for one in report(model, Ask(symbol=name)).sections if one.title == name)
    return found


def _symbol(told: Loglinear, name: str) -> int:
    (found,) = (s for s in told.find(name) if told.name(s) == name)
    return found


# --- how many parameters


@ALL
def test_parameters_are_counted_as_the_model_counts_them(make: Make) -> None:
    model = make()
    changes, grammar = Changes(model), model.grammar
    symbols = range(len(grammar.symbols))
    assert [changes.extent(s, False).kept for s in symbols] == model.complexity().tolist()
    cells = Counter[int]()
    for parent, *children in grammar.rules.tolist():
        cells[parent] += int(np.prod([model.size[s] for s in (parent, *children) if s != NONE]))
    assert [changes.extent(s, False).dense for s in symbols] == [cells[s] for s in symbols]
    words = Counter(grammar.first_tag + int(tag) for tag in model.lexical.tag)
    assert [changes.extent(s, True).productions for s in symbols] == [words[s] for s in symbols]
    assert [changes.extent(s, True).dense for s in symbols] == [words[s] * model.size[s] for s in symbols]
    for of_words in (False, True):
        parts = [changes.extent(s, of_words) for s in symbols]
        whole = changes.extent(None, of_words)
        assert whole[:3] == tuple(map(sum, zip(*(part[:3] for part in parts), strict=True)))
    sizes = [Loglinear(model).size(s) for s in symbols]
    if model.tree is None:
        assert sum(sizes) == len(model.delta)
    else:
        own = model.node_start + model.delta[: model.tree.nodes]  # those of spans come after
        assert np.count_nonzero(own) <= sum(sizes) <= len(own)


@pytest.mark.parametrize("make", [_scales, _tagger])
def test_how_often_productions_are_divided(make: Make) -> None:
    model = make()
    assert model.tree is not None
    depth: dict[int, int] = {}
    for node, production in enumerate(model.tree.production.tolist()):
        steps = 0
        while model.tree.parent[node] != NONE:
            node, steps = int(model.tree.parent[node]), steps + 1
        depth[production] = max(depth.get(production, 0), steps)
    rules = len(model.grammar.rules)
    for of_words in (False, True):
        truth = Counter(times for production, times in depth.items() if (production >= rules) == of_words)
        found = Changes(model).extent(None, of_words)
        assert {k: count for k, count in enumerate(found.divided) if count} == truth
        assert max(truth) > 0
    assert found._replace(divided=(4, 0, 3, 1)).times == "4 not, 3 twice, 1 three times"


# --- what each parameter stands for


def _words_weights(model: LoglinearModel, word: str) -> list[float]:
    """What each subtype of each tag gives a word within a sentence."""
    weights: list[float] = model.read(["the", word]).subtypes[1].tolist()
    return weights


@ALL
def test_weights_are_means_over_the_subtypes_that_a_parameter_stands_for(make: Make) -> None:
    model = make()
    changes, layout, rules = Changes(model), model.model.layout, len(model.grammar.rules)
    cells = model.learned.cells
    dense = expanded(layout, MultiScale(cells)).value if model.tree is not None else cells.value
    seen = Counter[str]()
    for number in range(len(changes.production)):
        production, (x, y, z) = int(changes.production[number]), changes.block(number)
        if production < rules:
            block = layout.tensor(dense, production)[np.ix_(x, y, z)]
            kind = "rule"
        else:
            unit, tag = (
                model.lexical.units[model.lexical.unit[production - rules]],
                model.lexical.tag[production - rules],
            )
            if unit[:1] in ("", " "):
                continue
            first = int(layout.tag_columns[tag])
            block = np.array([_words_weights(model, unit)[first + k] for k in x])
            kind = "word"
            assert (len(y), len(z)) == (1, 1)
        assert block.size > 0
        assert changes.weight[number] == pytest.approx(float(block.mean()))
        seen[kind] += 1
    assert min(seen["rule"], seen["word"]) > 100


def test_blocks_below_a_node_make_up_the_node() -> None:
    model = _scales()
    changes, tree = Changes(model), model.tree
    assert tree is not None
    for parent in np.unique(tree.parent[tree.parent != NONE]).tolist():
        whole = _triples(changes.block(parent))
        parts = [_triples(changes.block(child)) for child in np.flatnonzero(tree.parent == parent).tolist()]
        assert set.union(*parts) == whole
        assert sum(map(len, parts)) == len(whole)


def _triples(block: list[range]) -> set[tuple[int, int, int]]:
    return {(x, y, z) for x in block[0] for y in block[1] for z in block[2]}


# --- what moved


def test_at_one_scale_delta_is_how_far_a_weight_is_from_the_generative_one() -> None:
    model = _one()
    told_of, changes = Loglinear(model), Changes(model)
    assert len(set(model.size.tolist())) > 2
    start = log_rules(model.pruner, model.pruner.history.rounds, model.options.floor)
    for symbol in (_symbol(told_of, "NP"), _symbol(told_of, "@S")):
        truth = {}
        for rule, (parent, left, right) in enumerate(model.grammar.rules.tolist()):
            base, now = (model.model.layout.tensor(v, rule) for v in (start, np.log(model.learned.cells.value)))
            for x, y, z in np.ndindex(base.shape) if parent == symbol else ():
                pairs = [(parent, x), (left, y), (right, z)]
                names = [model.pruner.grammar.symbols[s] for s, _ in pairs if s != NONE]
                sizes = [int(model.size[s]) for s, _ in pairs if s != NONE]
                told = [
                    f"{n}-{k}" if size > 1 else str(n) for n, size, (_, k) in zip(names, sizes, pairs, strict=False)
                ]
                truth[f"{told[0]} -> {' '.join(told[1:])}"] = float(now[x, y, z] - base[x, y, z])
        up, down = (changes.moved(symbol, "rules", sign, 10**6) for sign in (1, -1))
        assert {told_of.parameter(k): float(model.delta[k]) for k in up + down} == pytest.approx(
            {name: delta for name, delta in truth.items() if abs(delta) > 1e-12}, abs=1e-9
        )
        assert model.delta[up].tolist() == sorted(model.delta[up], reverse=True)
        assert model.delta[down].tolist() == sorted(model.delta[down])
        assert changes.moved(symbol, "rules", 1, 3) == up[:3]
        assert changes.moved(symbol, "words", 1, 3) == []  # a phrase has none


@ALL
def test_every_parameter_that_moved_is_told_once(make: Make) -> None:
    model = make()
    told_of, changes = Loglinear(model), Changes(model)
    told: list[int] = []
    for symbol in range(len(model.grammar.symbols)):
        for group in GROUPS:
            for sign in (1, -1):
                told += changes.moved(symbol, group, sign, 10**6)
    assert sorted(told) == np.flatnonzero(model.delta).tolist()
    assert len({told_of.parameter(k) for k in told}) == len(told)


def test_names_of_productions() -> None:
    told = Loglinear(_scales())
    names = [told.parameter(number) for number in range(len(_scales().delta))]
    assert {"NP-* -> DT-* NN-*", "ROOT -> S-*", "DT-* -> the"} <= set(names)
    assert any(re.fullmatch(r"NP-0\.\.1 -> @?[A-Z]+-2\.\.3 [A-Z]+-0\.\.1", name) for name in names)
    assert any(re.fullmatch(r"NP-[0-3] -> @?[A-Z]+-[0-3] [A-Z]+-[0-3]", name) for name in names)
    assert any(re.fullmatch(r"NN-\* -> \(class \S+\)", name) for name in names)
    assert "NN-* -> (any other)" in names
    told = Loglinear(_tagger())
    names = [told.parameter(number) for number in range(len(_tagger().delta))]
    assert {"ROOT -> DT-*", "DT-* -> NN-*", ".-* -> (end)"} <= set(names)


def test_features_of_spans() -> None:
    model = _with_spans()
    report_on, changes, spans = Loglinear(model), Changes(model), model.spans
    assert spans is not None
    first = len(changes.production)
    assert len(changes.delta) - first == len(spans.key) == len(model.learned.spans)
    np.testing.assert_allclose(changes.weight[first:], np.exp(model.learned.spans))
    examples = model.examples(model.prepare_data(toy_trees("dev")[:1]))
    batch, units = model.batch(examples), model.words_of_all(examples)
    items, keys = spans.keys(batch.gold, units)
    words = [*model.lexical.units, "(edge)"]
    number = {int(key): first + k for k, key in enumerate(spans.key)}
    told = Counter[str]()
    for item, row in zip(items.tolist(), keys.tolist(), strict=True):
        (i, j), name = batch.gold.span[item], report_on.name(int(batch.gold.symbol[item]))
        padded = [words[-1], *(words[unit] for unit in units.unit), words[-1]]
        before, begin, end, after = padded[i], padded[i + 1], padded[j], padded[j + 1]
        truth = [f"first {begin}", f"last {end}", f"before {before}", f"after {after}"]
        truth += [f"before {before}, first {begin}", f"last {end}, after {after}"]
        for key, known in zip(row, truth, strict=False):
            if key in number and not any(unit[:1] in ("", " ") for unit in (before, begin, end, after)):
                assert report_on.parameter(number[key]) == f"{name}: {known}"
                told[known.split()[0]] += 1
        if row[6] in number:
            found = re.fullmatch(r".*: (\d+)(?:-(\d+)| or more)? words", report_on.parameter(number[row[6]]))
            assert found is not None
            assert int(found[1]) <= j - i <= int(found[2] or (found[1] if "more" not in found[0] else 10**6))
            told["words"] += 1
    assert set(told) == {"first", "last", "before", "after", "words"}
    titles = {card.title for card in _section(model, "NP").cards}
    assert {"spans moved up", "spans moved down"} <= titles
    moved = f"{len(spans.key):,}, of which {np.count_nonzero(model.learned.spans):,} moved"
    assert dict(report(model, Ask()).facts)["span features"] == moved


# --- the tree of a production


@pytest.mark.parametrize(("make", "name"), [(_scales, "NP"), (_scales, "NN"), (_tagger, "NN")])
def test_the_sketch_is_of_the_most_divided_production(make: Make, name: str) -> None:
    model = make()
    told, changes, tree = Loglinear(model), Changes(model), model.tree
    assert tree is not None
    symbol = _symbol(told, name)
    nodes = changes.most_divided(symbol)
    assert tree.parent[nodes[0]] == NONE
    owner = [*model.grammar.rules[:, 0].tolist(), *(model.grammar.first_tag + model.lexical.tag).tolist()]
    sizes = Counter(p for p in tree.production.tolist() if owner[p] == symbol)
    assert len(nodes) == sizes[int(tree.production[nodes[0]])] == max(sizes.values()) > 1
    number = {told.parameter(node): node for node in nodes.tolist()}
    (outline,) = (block for block in _section(model, name).blocks if isinstance(block, Outline))
    drawn = list(_walk(outline.root))
    for one in drawn:
        below = np.count_nonzero(tree.parent == number[_production(one)])
        children = [child for child in one.children if not _omitted(child)]
        assert all(tree.parent[number[_production(child)]] == number[_production(one)] for child in children)
        assert len(children) + sum(map(_omitted, one.children)) == below
    most = sorted((-abs(float(model.delta[k])), int(k)) for k in nodes)[:SKETCHED]
    assert {k for size, k in most if size < 0} <= {number[_production(one)] for one in drawn}


def _walk(branch: Branch) -> Iterator[Branch]:
    """The nodes that stand for parameters."""
    if not _omitted(branch):
        yield branch
        for child in branch.children:
            yield from _walk(child)


def _production(branch: Branch) -> str:
    return plain(branch.label).split("  ")[0]


def _omitted(branch: Branch) -> int:
    """How many nodes a line stands for that says that there are more."""
    more = re.fullmatch(r"\((\d+) that moved less\)", plain(branch.label))
    return int(more[1]) if more else 0


def test_what_is_not_divided_has_no_sketch() -> None:
    whole = Refinement.whole(len(_scales().grammar.rules) + len(_scales().lexical.tag))
    for model in (_one(), _with_tree(_scales(), whole, np.ones(whole.nodes))):
        assert not any(isinstance(block, Outline) for block in _section(model, "NP").blocks)


# --- the terminal


def test_the_overview(saved: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    told_of, changes = Loglinear(_scales()), Changes(_scales())
    lines = done("show", "-m", saved["scales"]).lines
    assert lines[0] == "kind: lvg-d"
    kept, dense = int(_scales().complexity().sum()), int(_scales().model.layout.start[-1])
    rules = len(_scales().grammar.rules)
    told = f"{kept:,} of {dense:,} in {rules} rules, {100 * kept / dense:.1f}% of a dense grammar's"
    assert f"rule parameters: {told}" in lines
    rows = {line.split()[0]: line for line in lines if "━" in line}
    for symbol in range(len(told_of.grammar.symbols)):
        name, extent = told_of.name(symbol), changes.extent(symbol, told_of.is_tag(symbol))
        assert rows[name].split()[1] == str(extent.kept)
        assert f" {_scales().size[symbol]}  " in rows[name]
        assert f" {extent.kept:,} of {extent.dense:,}: " in rows[name]


def test_the_overview_of_one_scale_and_of_a_tagger(saved: dict[str, Path]) -> None:
    shown = done("show", "-m", saved["one"]).out
    assert "100.0% of a dense grammar's" in shown
    assert "divided" not in shown
    (row,) = (line for line in shown.splitlines() if line.startswith(" NP "))
    cells = int(_one().complexity()[_symbol(Loglinear(_one()), "NP")])
    assert re.search(rf" {cells} in \d+ *$", row)
    shown = done("show", "-m", saved["tagger"]).out
    assert re.search("rules, divided +words, divided", shown)


def test_what_the_weights_are_measured_from() -> None:
    header, arrays = _one().state()
    from_zero = LvgD.from_state(header | {"options": header["options"] | {"start": "zero"}}, arrays)
    told = [dict(report(model, Ask()).facts)["weights"] for model in (_one(), _scales(), from_zero)]
    bases = (
        "the generative grammar",
        "the generative grammar, as finely as productions are divided",
        "the same for all rules and words",
    )
    assert told == [f"exp(base + delta); the base is {base}" for base in bases]


def test_a_category(saved: dict[str, Path]) -> None:
    told, changes = Loglinear(_scales()), Changes(_scales())
    symbol = _symbol(told, "NP")
    lines = done("show", "-m", saved["scales"], "--symbol", "NP", "--top", "2").lines
    often = sum(node.label == "NP" for tree in toy_trees("dev") for node in tree.subtrees())
    assert lines[0] == f"NP: phrase, 4 subtypes, {often} times"
    assert lines[1].startswith(f"parameters: {_scales().complexity()[symbol]} of ")
    place = lines.index("rules moved up")
    for line, k in zip(lines[place + 1 :], changes.moved(symbol, "rules", 1, 2), strict=False):
        name = re.escape(told.parameter(k))
        assert re.fullmatch(rf"  {name} +delta \+{changes.delta[k]:.3f} +weight {changes.weight[k]:.3g}", line)
    assert lines[place + 3] == ""
    assert "the most divided" in lines
    assert any(line.startswith("└─ ") for line in lines)
    tag = done("show", "-m", saved["tagger"], "--symbol", "NN").lines
    assert any(re.match(r"  NN-\S+ -> \S+  +delta [+-]", line) for line in tag)
    assert sum(line.startswith("parameters: ") for line in tag) == 2  # rules, and words


def test_small_deltas_are_told_from_none() -> None:
    assert [signed(delta) for delta in (0.0, 0.5, -0.0004)] == ["0", "+0.500", "-4e-04"]


# --- the page


@ALL
def test_the_page_has_every_category_and_no_loose_ends(make: Make) -> None:
    model = make()
    told, changes = Loglinear(model, Ask(3, every=True)), Changes(model)
    read, symbols = Reader(page(told.report())), range(len(model.grammar.symbols))
    assert {f"c{symbol}" for symbol in symbols} <= set(read.ids)
    for symbol in symbols:
        assert told.name(symbol) in read.texts
        for k in changes.moved(symbol, "words" if told.is_tag(symbol) else "rules", 1, 3):
            assert {told.parameter(k), f"delta {signed(float(changes.delta[k]))}"} <= set(read.texts)
    assert ("the most divided" in read.texts) == any(len(changes.most_divided(symbol)) for symbol in symbols)
