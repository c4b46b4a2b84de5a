"""What `latree show` tells of log-linear grammars: the numbers against the model's own, the terminal, and the page."""

from __future__ import annotations

import json
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
from latree.kinds.lvg_d.changes import GROUPS, SKETCHED, Changes, Moved, Sketch
from latree.kinds.lvg_d.model import LoglinearModel, LvgD, LvgDTagger
from latree.kinds.lvg_d.refinement import Refinement
from latree.kinds.lvg_d.report import report
from latree.kinds.lvg_d.start import log_rules
from latree.kinds.registry import load
from latree.kinds.report import Ask
from latree.report.html import page
from latree.report.value import Branch, Outline, Section, plain
from tests.command import done, latree, toy_trees
from tests.pages import EVIL, Reader

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


def _symbol(changes: Changes, name: str) -> int:
    (found,) = (s for s in changes.names.find(name) if changes.names.name(s) == name)
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
    sizes = [changes.size(s) for s in symbols]
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
    changes = Changes(model)
    assert len(set(model.size.tolist())) > 2
    start = log_rules(model.pruner, model.pruner.history.rounds, model.options.floor)
    for symbol in (_symbol(changes, "NP"), _symbol(changes, "@S")):
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
        up, down = (changes.moved(symbol, "rules", direction, 10**6) for direction in (True, False))
        assert {changes.describe(one.number): one.delta for one in up + down} == pytest.approx(
            {name: delta for name, delta in truth.items() if abs(delta) > 1e-12}, abs=1e-9
        )
        assert [one.delta for one in up] == sorted((one.delta for one in up), reverse=True)
        assert [one.delta for one in down] == sorted(one.delta for one in down)
        assert changes.moved(symbol, "rules", True, 3) == up[:3]
        assert changes.moved(symbol, "words", True, 3) == []  # a phrase has none


@ALL
def test_every_parameter_that_moved_is_told_once(make: Make) -> None:
    model = make()
    changes = Changes(model)
    told: list[Moved] = []
    for symbol in range(len(model.grammar.symbols)):
        for kind in GROUPS:
            for up in (True, False):
                told += changes.moved(symbol, kind, up, 10**6)
    assert sorted(one.number for one in told) == np.flatnonzero(model.delta).tolist()
    assert all(one.delta == model.delta[one.number] for one in told)
    assert len({changes.describe(one.number) for one in told}) == len(told)


def test_names_of_productions() -> None:
    changes = Changes(_scales())
    names = [changes.describe(number) for number in range(len(changes.delta))]
    assert {"NP-* -> DT-* NN-*", "ROOT -> S-*", "DT-* -> the"} <= set(names)
    assert any(re.fullmatch(r"NP-0\.\.1 -> @?[A-Z]+-2\.\.3 [A-Z]+-0\.\.1", name) for name in names)
    assert any(re.fullmatch(r"NP-[0-3] -> @?[A-Z]+-[0-3] [A-Z]+-[0-3]", name) for name in names)
    assert any(re.fullmatch(r"NN-\* -> \(class \S+\)", name) for name in names)
    assert "NN-* -> (any other)" in names
    tagger = Changes(_tagger())
    names = [tagger.describe(number) for number in range(len(tagger.delta))]
    assert {"ROOT -> DT-*", "DT-* -> NN-*", ".-* -> (end)"} <= set(names)


def test_features_of_spans() -> None:
    model = _with_spans()
    changes, spans = Changes(model), model.spans
    assert spans is not None
    first = len(changes.production)
    assert len(changes.delta) - first == len(spans.key) == len(model.learned.spans)
    np.testing.assert_allclose(changes.weight[first:], np.exp(model.learned.spans))
    (batch,) = model.batches(model.examples(model.prepare_data(toy_trees("dev")[:1])))
    items, keys = spans.keys(batch.gold, batch.words)
    words = [*model.lexical.units, "(edge)"]
    number = {int(key): first + k for k, key in enumerate(spans.key)}
    told = Counter[str]()
    for item, row in zip(items.tolist(), keys.tolist(), strict=True):
        (i, j), name = batch.gold.span[item], changes.names.name(int(batch.gold.symbol[item]))
        padded = [words[-1], *(words[unit] for unit in batch.words.unit), words[-1]]
        before, begin, end, after = padded[i], padded[i + 1], padded[j], padded[j + 1]
        truth = [f"first {begin}", f"last {end}", f"before {before}", f"after {after}"]
        truth += [f"before {before}, first {begin}", f"last {end}, after {after}"]
        for key, known in zip(row, truth, strict=False):
            if key in number and not any(unit[:1] in ("", " ") for unit in (before, begin, end, after)):
                assert changes.describe(number[key]) == f"{name}: {known}"
                told[known.split()[0]] += 1
        if row[6] in number:
            found = re.fullmatch(r".*: (\d+)(?:-(\d+)| or more)? words", changes.describe(number[row[6]]))
            assert found is not None
            assert int(found[1]) <= j - i <= int(found[2] or (found[1] if "more" not in found[0] else 10**6))
            told["words"] += 1
    assert set(told) == {"first", "last", "before", "after", "words"}
    titles = {card.title for card in _section(model, "NP").cards}
    assert {"spans moved up", "spans moved down"} <= titles
    moved = f"{len(spans.key):,}, of which {np.count_nonzero(model.learned.spans):,} moved"
    assert dict(report(model, Ask()).facts)["span features"] == moved


# --- the tree of a production


def _walk(sketch: Sketch) -> Iterator[Sketch]:
    yield sketch
    for child in sketch.children:
        yield from _walk(child)


@pytest.mark.parametrize(("make", "name"), [(_scales, "NP"), (_scales, "NN"), (_tagger, "NN")])
def test_the_sketch_is_of_the_most_divided_production(make: Make, name: str) -> None:
    model = make()
    changes, tree = Changes(model), model.tree
    assert tree is not None
    symbol = _symbol(changes, name)
    sketch = changes.sketch(symbol)
    assert sketch is not None
    assert tree.parent[sketch.node.number] == NONE
    production = int(tree.production[sketch.node.number])
    owner = [*model.grammar.rules[:, 0].tolist(), *(model.grammar.first_tag + model.lexical.tag).tolist()]
    nodes = Counter(p for p in tree.production.tolist() if owner[p] == symbol)
    assert nodes[production] == max(nodes.values()) > 1
    drawn = list(_walk(sketch))
    for one in drawn:
        assert len(one.children) + one.omitted == np.count_nonzero(tree.parent == one.node.number)
        assert all(tree.parent[child.node.number] == one.node.number for child in one.children)
    own = sorted((-abs(float(model.delta[k])), int(k)) for k in np.flatnonzero(tree.production == production))
    most = {k for size, k in own[:SKETCHED] if size < 0}
    assert most <= {one.node.number for one in drawn}
    (outline,) = (block for block in _section(model, name).blocks if isinstance(block, Outline))
    labels = _labels(outline.root)
    assert len(labels) == len(drawn) + sum(one.omitted > 0 for one in drawn)
    told = [label.split("  ")[0] for label in labels if "that moved less" not in label]
    assert told == [changes.describe(one.node.number) for one in drawn]


def _labels(branch: Branch) -> list[str]:
    return [plain(branch.label), *(label for child in branch.children for label in _labels(child))]


def test_what_is_not_divided_has_no_sketch() -> None:
    whole = Refinement.whole(len(_scales().grammar.rules) + len(_scales().lexical.tag))
    for model in (_one(), _with_tree(_scales(), whole, np.ones(whole.nodes))):
        changes = Changes(model)
        assert changes.sketch(_symbol(changes, "NP")) is None
        assert not any(isinstance(block, Outline) for block in _section(model, "NP").blocks)


# --- the terminal


def test_the_overview(saved: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    changes = Changes(_scales())
    lines = done("show", "-m", saved["scales"]).lines
    assert lines[0] == "kind: lvg-d"
    kept, dense = int(_scales().complexity().sum()), int(_scales().model.layout.start[-1])
    rules = len(_scales().grammar.rules)
    told = f"{kept:,} of {dense:,} in {rules} rules, {100 * kept / dense:.1f}% of a dense grammar's"
    assert f"rule parameters: {told}" in lines
    rows = {line.split()[0]: line for line in lines if "━" in line}
    for symbol in range(len(changes.grammar.symbols)):
        name, extent = changes.names.name(symbol), changes.extent(symbol, changes.names.is_tag(symbol))
        assert rows[name].split()[1] == str(extent.kept)
        assert f" {_scales().size[symbol]}  " in rows[name]
        assert f" {extent.kept:,} of {extent.dense:,}: " in rows[name]


def test_the_overview_of_one_scale_and_of_a_tagger(saved: dict[str, Path]) -> None:
    shown = done("show", "-m", saved["one"]).out
    assert "100.0% of a dense grammar's" in shown
    assert "divided" not in shown
    (row,) = (line for line in shown.splitlines() if line.startswith(" NP "))
    cells = int(_one().complexity()[_symbol(Changes(_one()), "NP")])
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
    changes = Changes(_scales())
    symbol = _symbol(changes, "NP")
    lines = done("show", "-m", saved["scales"], "--symbol", "NP", "--top", "2").lines
    often = sum(node.label == "NP" for tree in toy_trees("dev") for node in tree.subtrees())
    assert lines[0] == f"NP: phrase, 4 subtypes, {often} times"
    assert lines[1].startswith(f"parameters: {_scales().complexity()[symbol]} of ")
    place = lines.index("rules moved up")
    best, second = changes.moved(symbol, "rules", True, 2)
    for line, one in zip(lines[place + 1 :], (best, second), strict=False):
        name = re.escape(changes.describe(one.number))
        assert re.fullmatch(rf"  {name} +delta \+{one.delta:.3f} +weight {one.weight:.3g}", line)
    assert lines[place + 3] == ""
    assert "the most divided" in lines
    assert any(line.startswith("└─ ") for line in lines)
    tag = done("show", "-m", saved["tagger"], "--symbol", "NN").lines
    assert any(re.match(r"  NN-\S+ -> \S+  +delta [+-]", line) for line in tag)
    assert sum(line.startswith("parameters: ") for line in tag) == 2  # rules, and words


def test_small_deltas_are_told_from_none() -> None:
    assert [Moved(0, delta, 1.0).signed_delta for delta in (0.0, 0.5, -0.0004)] == ["0", "+0.500", "-4e-04"]


@pytest.mark.parametrize("name", ["one", "tagger"])
def test_an_unknown_category(saved: dict[str, Path], name: str) -> None:
    outcome = latree("show", "-m", saved[name], "--symbol", "XP")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("latree: the model has no category 'XP'; it has ")


def test_the_header_and_what_is_refused(saved: dict[str, Path]) -> None:
    header = json.loads(done("show", "-m", saved["scales"], "--json").out)
    assert (header["kind"], header["options"]["scales"]) == ("lvg-d", True)
    outcome = latree("show", "-m", saved["scales"], "--summed")
    assert (outcome.code, outcome.out) == (1, "")
    assert "weights that are no probabilities" in outcome.err


# --- the page


def _page(model: LoglinearModel, title: str = "", top: int = 3) -> str:
    return page(replace(report(model, Ask(top, every=True)), title=title))


@ALL
def test_the_page_has_every_category_and_no_loose_ends(make: Make) -> None:
    model = make()
    changes, read = Changes(model), Reader(_page(model))
    symbols = range(len(model.grammar.symbols))
    assert {f"c{symbol}" for symbol in symbols} <= set(read.ids)
    for symbol in symbols:
        assert changes.names.name(symbol) in read.texts
        for one in changes.moved(symbol, "words" if changes.names.is_tag(symbol) else "rules", True, 3):
            assert {changes.describe(one.number), f"delta {one.signed_delta}"} <= set(read.texts)
    assert ("the most divided" in read.texts) == any(changes.sketch(symbol) is not None for symbol in symbols)


def test_the_page_escapes_what_the_model_says() -> None:
    model = LvgDTagger(options=replace(SMALL, epochs=0), pruner=_hmm(2))
    model.fit([([f"'>{EVIL}&amp;", "\ud800"], [EVIL, "\x00"])] * 3)
    model.delta[:] = 1.0
    model.training = {EVIL: {EVIL: [EVIL]}}
    text = _page(model, EVIL)
    assert "<script" not in text
    assert EVIL in Reader(text).texts


def test_the_page_is_written_whole(saved: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    outcome = latree("show", "-m", saved["scales"], "--html", path, "--top", "1")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"latree: written to {path}\n")
    model = load(saved["scales"])
    assert isinstance(model, LoglinearModel)
    assert path.read_text(encoding="utf-8") == _page(model, "scales.latree", top=1)
