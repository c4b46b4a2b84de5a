"""Compositional vector grammars: the network over lists, its training, and the grammar that it is a special case of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from latree import Cvg, LatreeError, Lvg, Tree, read_trees
from latree.arrays import NONE, Floats
from latree.data import toy
from latree.inference.forest import assemble, from_trees
from latree.inference.grammar import Grammar, tagged_words
from latree.kinds.cvg import CvgOptions
from latree.kinds.cvg.lists import TreeList, pack_lists, unpack_lists
from latree.kinds.cvg.network import Circuit, Network, activity, circuit, compositions, slopes, totals
from latree.kinds.cvg.training import Batch, Epochs, Learner, hinge
from latree.kinds.cvg.vectors import GivenVectors, first_words
from latree.kinds.lvg import LvgOptions
from latree.learning.adagrad import AdaGrad
from latree.learning.loop import Training
from latree.text.binary import Node
from latree.text.labels import LabelRules
from tests.command import latree
from tests.enumerate import derivations
from tests.grammars import SEEDS, example

QUICK = LvgOptions(rounds=1, split_iterations=10, merge_iterations=5, smooth_iterations=5)
SMALL = CvgOptions(dim=3, list_length=8, epochs=2, folds=2, batch=8)
SENTENCES = [tree.words() for tree in list(read_trees(toy("test")))[:12]]


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return list(read_trees(toy("dev"), LabelRules()))


@pytest.fixture(scope="module")
def model(trees: list[Tree]) -> Cvg:
    return Cvg(SMALL, pruner=Lvg(QUICK).fit(trees)).fit(trees)


@pytest.fixture(scope="module")
def trainee(trees: list[Tree]) -> Epochs:
    """A training that stands before its first step."""
    fresh = Cvg(SMALL, pruner=Lvg(QUICK).fit(trees))
    epochs = Epochs(fresh, fresh.prepare_data(trees))
    epochs.begin(np.random.default_rng(0), Training())
    return epochs


def random_network(grammar: Grammar, units: int, dim: int, seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    count = int(compositions(grammar).max()) + 1
    shapes = ((count, dim, 2 * dim + 1), (count, dim), (units, dim))
    return Network(*(0.7 * rng.uniform(-1, 1, shape) for shape in shapes))


# -- the network


def pair_numbers(grammar: Grammar) -> dict[tuple[str, ...], int]:
    """The composition of every pair of names."""
    rows = zip(grammar.rules.tolist(), compositions(grammar).tolist(), strict=True)
    return {tuple(str(grammar.symbols[s]) for s in row[1:] if s != NONE): number for row, number in rows}


def by_recursion(grammar: Grammar, network: Network, node: Node, units: Iterator[int]) -> tuple[Floats, float]:
    """A node's vector and the sum of the scores below, as the paper has it."""
    if node.word is not None:
        return network.word[next(units)], 0.0
    below = [by_recursion(grammar, network, child, units) for child in node.children()]
    kind = pair_numbers(grammar)[tuple(str(child.symbol) for child in node.children())]
    dim = network.dim
    made = network.matrix[kind][:, -1].copy()
    for place, (vector, _) in enumerate(below):
        made += network.matrix[kind][:, place * dim : (place + 1) * dim] @ vector
    made = np.tanh(made)
    return made, float(network.score[kind] @ made) + sum(score for _, score in below)


def test_a_tree_scores_as_by_recursion(model: Cvg) -> None:
    """What a tree's score has beside the pruner's part is the network's, node by node."""
    for words in SENTENCES:
        reading = model.read(words)
        forest = assemble([model.coarse(reading).piece], len(model.grammar.rules))
        lines = model.circuit(forest, reading.unit)
        scores = {str(one.tree): one.log_joint for one in model.kbest(words, SMALL.list_length) if one.tree is not None}
        assert len(scores) == len(reading.listed.base)
        expected = []
        for text in scores:
            node = model.binarization.apply(Tree.read(text))
            expected.append(by_recursion(model.grammar, model.network, node, iter(reading.unit.tolist()))[1])
        alone = totals(lines, activity(model.network, lines).score)
        assert sorted(alone) == pytest.approx(sorted(expected))
        assert sorted(alone + reading.listed.base) == pytest.approx(sorted(scores.values()))


def test_the_base_is_the_pruners_score(model: Cvg) -> None:
    """A network that weighs nothing leaves the choice to the pruner."""
    silent = Cvg(SMALL, pruner=model.pruner)
    silent.adopt(model.pruner)
    silent.lexical = model.lexical
    silent.network = model.network._replace(score=np.zeros_like(model.network.score))
    for words in SENTENCES:
        assert str(silent.parse(words, "viterbi")) == str(model.pruner.parse(words))


def single_tree(grammar: Grammar, tree: Node) -> Circuit:
    """A circuit over one tree, whose words are units 0, 1, ..."""
    words, tags = len(list(tagged_words(tree))), len(grammar.tags)
    entry = [{grammar.first_tag + t: i * tags + t for t in range(tags)} for i in range(words)]
    forest = assemble([from_trees(grammar, [tree], entry, words * tags)], len(grammar.rules))
    return circuit(forest, compositions(grammar), np.arange(words), tags)


@pytest.mark.parametrize("seed", SEEDS)
def test_slopes_are_those_of_finite_differences(seed: int, trainee: Epochs) -> None:
    lines = trainee.batches[seed % len(trainee.batches)].lines
    network = random_network(trainee.model.grammar, len(trainee.model.network.word), 3, seed)
    rng = np.random.default_rng(seed)
    of_tree = rng.standard_normal(len(lines.tree)) * (rng.random(len(lines.tree)) < 0.3)
    gradient = network.zeros()
    slopes(network, lines, activity(network, lines), of_tree, gradient)
    check_gradient(lambda: float(of_tree @ totals(lines, activity(network, lines).score)), network, gradient, rng)


def check_gradient(value: Callable[[], float], network: Network, gradient: Network, rng: np.random.Generator) -> None:
    """Move numbers that have a slope, and some of all, a little up and down."""
    step = 1e-5
    for part, slope in zip(network, gradient, strict=True):
        flat, steep = part.reshape(-1), np.flatnonzero(slope)
        assert len(steep)
        for place in [*rng.choice(steep, 15).tolist(), *rng.integers(part.size, size=3).tolist()]:
            before = flat[place]
            flat[place] = before + step
            up = value()
            flat[place] = before - step
            down = value()
            flat[place] = before
            assert (up - down) / (2 * step) == pytest.approx(slope.reshape(-1)[place], rel=1e-5, abs=1e-7)


# -- training


def random_batch(seed: int) -> tuple[Batch, Floats]:
    """Lists of some trees without a network, and scores for them."""
    rng = np.random.default_rng(seed)
    first = np.cumsum([0, *rng.integers(1, 6, 5)])
    none = np.zeros(0, np.int64)
    wrong = rng.integers(0, 5, first[-1]).astype(np.float64)
    best = np.concatenate([wrong[a:b] == wrong[a:b].min() for a, b in pairwise(first)])
    lines = Circuit(none, none, [], none, none, none, first)
    return Batch(lines, np.zeros(first[-1]), wrong, best), rng.standard_normal(first[-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_loss_is_the_largest_violation(seed: int) -> None:
    batch, scores = random_batch(seed)
    first, expected = batch.lines.first.tolist(), 0.0
    for a, b in pairwise(first):
        winner = max((k for k in range(a, b) if batch.best[k]), key=lambda k: scores[k])
        margins = [0.5 * (batch.wrong[k] - batch.wrong[winner]) for k in range(a, b)]
        expected += max(scores[a + k] + margin - scores[winner] for k, margin in enumerate(margins))
    loss, slope = hinge(batch, scores, 0.5)
    assert loss == pytest.approx(expected)
    margin_part = loss - slope @ scores  # the loss is linear in the scores, while the same trees win
    assert hinge(batch, scores + 1e-9 * slope, 0.5)[0] == pytest.approx(slope @ (scores + 1e-9 * slope) + margin_part)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_loss_where_the_best_lead_by_the_margin(seed: int) -> None:
    batch, _ = random_batch(seed)
    loss, slope = hinge(batch, -0.5 * batch.wrong, 0.5)
    assert loss == 0
    assert not slope.any()


def test_the_loss_falls_as_its_gradient_says(trainee: Epochs) -> None:
    model, batch = trainee.model, trainee.batches[-1]
    network = random_network(model.grammar, len(model.network.word), 3)
    learner = Learner(network, network, SMALL)
    loss, gradient = learner.gradient(batch)
    assert loss > 0
    check_gradient(lambda: learner.gradient(batch)[0], network, gradient, np.random.default_rng(1))


def test_trees_are_marked_by_their_phrases(trainee: Epochs, trees: list[Tree]) -> None:
    """Wrong phrases are counted, and the trees of the highest F1 are the best, as lists of spans have it."""
    model, marked = trainee.model, []
    examples = model.examples(trainee.data)
    for tree, one, listed in zip(trees, examples, trainee.lists, strict=True):
        batch = trainee._batch([one], [listed])
        wrong, f1 = [], []
        for text in list_of_trees(model, listed, one.words):
            mine, gold = (set(phrases(each)) for each in (Tree.read(text), tree))
            wrong.append(len(mine - gold))
            f1.append(2 * len(mine & gold) / (len(mine) + len(gold)))
        assert batch.wrong.tolist() == wrong
        assert batch.best.tolist() == [one >= max(f1) - 1e-9 for one in f1]
        marked.append(len(wrong))
    assert max(marked) == SMALL.list_length


def phrases(tree: Tree) -> list[tuple[str, int, int]]:
    return [span for span in tree.spans() if span[0] != "ROOT"]


def list_of_trees(model: Cvg, listed: TreeList, words: tuple[str, ...]) -> list[str]:
    """The trees of a list, written out from its items."""
    made: dict[int, list[int]] = {}
    for edge, parent in enumerate(listed.ends[:, 0].tolist()):
        made.setdefault(parent, []).append(edge)

    def write(edge: int) -> str:
        parent, *children = listed.ends[edge].tolist()
        symbol, start = model.grammar.symbols[listed.symbol[parent]], int(listed.span[parent, 0])
        if children == [NONE, NONE]:
            return f"({symbol.label} {words[start]})"
        inside = " ".join(write(*made[child]) for child in children if child != NONE)
        return inside if symbol.kind == "part" else f"({symbol.label} {inside})"

    return [write(edge) for edge in made[max(made)]]


def test_lists_come_from_grammars_that_have_not_seen_them(trainee: Epochs) -> None:
    """The lists of the first half are those of a grammar trained on the second."""
    data, fresh = trainee.data, Lvg(QUICK)
    fresh.learn(data[len(data) // 2 :], Training())
    for node, listed in list(zip(data, trainee.lists, strict=True))[: len(data) // 2]:
        words = [word for word, _ in tagged_words(node)]
        expected = [str(one) for one in fresh.kbest(words, SMALL.list_length)]
        trees = list_of_trees(trainee.model, listed, tuple(words))
        order = np.argsort(-listed.base, kind="stable")
        # `kbest` leaves out what no subtypes derive, and asked for so many, it prunes less where there are fewer.
        found = [trees[k] for k in order if fresh.log_prob_tree(Tree.read(trees[k])) > -np.inf]
        assert len(found) <= len(expected)
        if len(found) == len(expected):
            assert sorted(found) == sorted(expected)
            assert found[:1] == expected[:1]


def test_lists_are_packed_and_unpacked(trainee: Epochs) -> None:
    for before, after in zip(trainee.lists, unpack_lists(pack_lists(trainee.lists)), strict=True):
        for name in ("rule", "ends", "symbol", "span", "base"):
            np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


def test_adagrad_slows_down_by_what_it_has_moved() -> None:
    rng, adagrad = np.random.default_rng(0), AdaGrad(0.1)
    parameters, squares = rng.random((4, 2)), np.zeros((4, 2))
    expected = parameters.copy()
    for rows in ([0, 1], [1, 3], [1]):
        gradient = rng.standard_normal((len(rows), 2))
        adagrad.step("x", parameters, gradient, np.array(rows))
        for row, slope in zip(rows, gradient, strict=True):
            squares[row] += slope**2
            expected[row] -= 0.1 * slope / (np.sqrt(squares[row]) + adagrad.least)
    np.testing.assert_allclose(parameters, expected)


def test_one_tree_each_is_nothing_to_learn_from(trees: list[Tree]) -> None:
    with pytest.raises(LatreeError, match="no sentence has two trees to choose from"):
        Cvg(SMALL, pruner=Lvg(QUICK).fit(trees), list_length=1).fit(trees)


# -- probabilities


def test_probabilities_are_those_of_the_list(model: Cvg) -> None:
    for words in SENTENCES:
        listed = model.kbest(words, SMALL.list_length, "variational")
        weights = [math.exp(one.log_joint - listed[0].log_joint) for one in listed]
        assert [one.probability for one in listed] == pytest.approx([one / math.fsum(weights) for one in weights])
        assert weights == sorted(weights, reverse=True)
        assert str(model.parse(words, "viterbi")) == str(listed[0])
        for phrase in model.posteriors(words, 0.0):
            having = [one.probability for one in listed if one.tree and phrase[:3] in list(one.tree.spans())]
            assert phrase.probability == pytest.approx(math.fsum(having), abs=1e-9)


def test_a_tree_that_is_not_listed_has_no_probability(model: Cvg) -> None:
    words = SENTENCES[0]
    listed = model.kbest(words, SMALL.list_length)
    more = model.pruner.kbest(words, 2 * SMALL.list_length)
    others = {str(one) for one in more} - {str(one) for one in listed}
    assert others
    for text in others:
        assert model.log_prob_tree(Tree.read(text)) == -math.inf


# -- a latent vector grammar whose weights are points


def point_masses(
    grammar: Grammar, network: Network, rule_scores: Floats, node: Node, units: Iterator[int], sd: float
) -> tuple[Floats, Floats]:
    """A node's message in a latent vector grammar of one dimension: the means and log weights of Gaussians.

    The weight of a rule over vectors is W(a, b, c) = exp(s(p)) N(a; p, sd^2) with p = f(b, c), the Gaussian in the
    place of the point mass of eqn 3 of Zhao, Zhang & Tu (2018); words have N(a; x, sd^2).  A message is
    m(a) = int int W(a, b, c) m(b) m(c), by Gauss-Hermite quadrature around each of the children's Gaussians.
    """
    if node.word is not None:
        return network.word[next(units)], np.zeros(1)
    points, mass = np.polynomial.hermite_e.hermegauss(3)
    sides = []
    for child in node.children():
        mean, log_weight = point_masses(grammar, network, rule_scores, child, units, sd)
        spread = (mean[:, None] + sd * points).ravel(), (log_weight[:, None] + np.log(mass / mass.sum())).ravel()
        sides.append(spread)
    if len(sides) == 1:
        (b,), (log_weight,) = zip(*sides, strict=True)
        c = np.zeros_like(b)
    else:
        b, c = (grid.ravel() for grid in np.meshgrid(sides[0][0], sides[1][0], indexing="ij"))
        log_weight = np.add.outer(sides[0][1], sides[1][1]).ravel()
    symbols = [grammar.index[child.symbol] for child in node.children()]
    row = (grammar.index[node.symbol], symbols[0], symbols[1] if len(symbols) > 1 else NONE)
    kind = pair_numbers(grammar)[tuple(str(child.symbol) for child in node.children())]
    ((on_b, on_c, constant),) = network.matrix[kind]
    p = np.tanh(on_b * b + on_c * c + constant)
    return p, log_weight + network.score[kind, 0] * p + rule_scores[grammar.rule_index[row]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_latent_vector_grammar_of_point_masses_scores_a_tree_alike(seed: int) -> None:
    """As variances shrink, and with their square: halving a deviation leaves a quarter of what it adds."""
    grammar, theta, emissions = example(seed, words=3)
    network = random_network(grammar, 3, 1, seed)
    log_theta = np.log(np.where(theta > 0, theta, 1.0))
    for derivation in derivations(grammar, theta, emissions)[:4]:
        lines = single_tree(grammar, derivation.tree)
        rules = [one.rule for one in derivation.rules if one.rule != NONE]
        (score,) = totals(lines, activity(network, lines).score) + log_theta[rules].sum()
        errors = []
        for sd in (0.04, 0.02, 0.01):
            _, log_weight = point_masses(grammar, network, log_theta, derivation.tree, iter(range(3)), sd)
            errors.append(float(np.logaddexp.reduce(log_weight)) - score)
        assert abs(errors[-1]) < 0.01
        assert errors[1] / errors[0] == pytest.approx(0.25, abs=0.02)
        assert errors[2] / errors[1] == pytest.approx(0.25, abs=0.01)


# -- vectors of words from a file


def test_vectors_are_read(tmp_path: Path) -> None:
    for head in ("", "3 2\n"):
        path = tmp_path / "vectors.txt"
        path.write_text(f"{head}the 1 2\nnew york 3 -4e-1\ncat 5 6\nthe 7 8\n", encoding="utf-8")
        given = GivenVectors.read(str(path), {"The", "new york", "dog"})
        assert {word: vector.tolist() for word, vector in given.vectors.items()} == {
            "the": [1, 2],
            "new york": [3, -0.4],
        }
        assert given.dim == 2
        words = first_words(
            [("The", None), (None, "UNK"), ("new york", None)], given, SMALL_2, np.random.default_rng(0)
        )
        assert words[0] / words[0, 0] == pytest.approx([1, 2])
        assert words[[0, 2]].std() == pytest.approx(SMALL_2.spread)


SMALL_2 = CvgOptions(vectors="vectors.txt")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("the 1 2\na 1\n", "vectors.txt:2: expected a word and 2 numbers, not 2 fields"),
        ("the 1 2\na 1 x\n", "vectors.txt:2: not a number among the numbers of a vector: .*'x'"),
        ("a 1 nan\n", "vectors.txt:1: a vector with a number that is not finite"),
        ("the\n", "vectors.txt:1: expected a word and some numbers, not 1 fields"),
        ("", "vectors.txt: no vectors of words that are in the treebank"),
        ("zzz 1 2\n", "vectors.txt: no vectors of words that are in the treebank"),
    ],
)
def test_faults_of_vectors_are_told_by_line(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LatreeError, match=complaint):
        GivenVectors.read(str(path), {"a", "the"})


def test_training_begins_with_the_vectors_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2 3 4\ngirl 1 2 3 5\n", encoding="utf-8")
    size = ("--rounds", "1", "--epochs", "1", "--folds", "1", "--list", "3", "--quiet")
    command = ("train", "cvg", toy("dev"), *size, "--vectors", path)
    refused = latree(*command, "--dim", "3", "-o", tmp_path / "m")
    assert (refused.code, refused.err) == (1, f"latree: {path}: vectors of 4 numbers; --dim 3 is another number\n")
    assert latree(*command, "-o", tmp_path / "m").code == 0
    assert "dimension: 4" in latree("show", "-m", tmp_path / "m").out
