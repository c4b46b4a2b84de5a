"""The sum over all trees of all sentences, against sums over sentences one by one, and against what PCFGs come to."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from latree.arrays import NONE, Floats, Longs
from latree.inference.gaussian.drawing import MixtureDrawer
from latree.inference.gaussian.mass import Derivable, InfiniteMassError, Mass, derivable
from latree.inference.gaussian.mixtures import Components, Mixtures, components
from latree.inference.gaussian.slots import slot_forest
from latree.inference.gaussian.sweeps import gaussian_log_z
from latree.inference.grammar import Grammar, tagged_words
from latree.inference.sampling import MOST_WORDS
from latree.kinds.gm_lveg.start import from_treebank
from latree.text.binary import Node, Symbol, longest_unary_chain
from tests.enumerate import random_grammar
from tests.grammars import SEEDS, full_forest
from tests.mixtures import random_mixtures

WORDS = 2  # every tag has a lexical rule for each
A, T = 1, 2


class Setting(NamedTuple):
    """A grammar under Gaussian mixtures, over two words."""

    grammar: Grammar
    parts: Components
    weights: Mixtures
    times: Floats

    @property
    def tag(self) -> Longs:
        return np.tile(np.arange(len(self.grammar.tags)), WORDS)

    @property
    def derivable(self) -> Derivable:
        return derivable(self.grammar, self.tag, self.times, self.parts)

    def mass(self, weights: Mixtures | None = None) -> Mass:
        return Mass(self.derivable, self.weights if weights is None else weights)

    def log_weight(self, words: tuple[int, ...]) -> float:
        """log of the sum over all trees of one sentence, each word as often as its rules count."""
        tags = len(self.grammar.tags)
        forest = full_forest(self.grammar, np.ones(len(self.grammar.rules)), np.ones((len(words), tags)))
        if not len(forest.rule):
            return -math.inf
        entry = np.concatenate([len(self.grammar.rules) + word * tags + np.arange(tags) for word in words])
        log_rho = self.weights.log_rho + np.repeat(
            np.append(np.zeros(len(self.grammar.rules)), np.log(self.times)), self.parts.size
        )
        slots = slot_forest(forest, entry, self.parts.size)
        return float(gaussian_log_z(slots, self.parts, self.weights._replace(log_rho=log_rho))[0])


def setting(seed: int, shape: tuple[int, int] = (2, 2), word: float = -4.0) -> Setting:
    """A random grammar with light words, so that long sentences weigh little."""
    rng = np.random.default_rng(seed)
    grammar, _ = random_grammar(rng, unary_steps=int(rng.integers(0, 3)), density=0.3, unary_density=0.4)
    tags, rules = np.arange(grammar.first_tag, len(grammar.symbols), dtype=np.int32), len(grammar.rules)
    parts = components(grammar.rules, np.tile(tags, WORDS), rng.integers(1, 4, rules + WORDS * len(tags)))
    weights = random_mixtures(parts, shape, rng)
    weights.log_rho[parts.first[rules] :] += word
    return Setting(grammar, parts, weights, rng.integers(1, 4, WORDS * len(tags)).astype(np.float64))


def sentences(most: int) -> list[tuple[int, ...]]:
    return [words for n in range(1, most + 1) for words in itertools.product(range(WORDS), repeat=n)]


@pytest.mark.parametrize("seed", range(4))
def test_all_sentences_sum_to_the_mass(seed: int) -> None:
    """Sums over longer and longer sentences come nearer and nearer from below: P sums to one."""
    case = setting(seed)
    z, sums = math.exp(case.mass().log_z), np.zeros(5)
    for words in sentences(len(sums)):
        sums[len(words) - 1] += math.exp(case.log_weight(words))
    left = z - np.cumsum(sums)
    assert (np.diff(left) <= 0).all()
    assert left[-1] == pytest.approx(0.0, abs=1e-4 * z)
    assert left[-1] >= -1e-12 * z
    grows = sums[-1] / sums[-3]  # what is left goes on as it has begun, about: in steps of two words
    assert left[-1] <= 2 * (sums[-1] + sums[-2]) * grows / (1 - grows) + 1e-12 * z


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (3, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_equals_finite_differences(seed: int, shape: tuple[int, int]) -> None:
    case = setting(seed, shape)
    gradient, rng, step = case.mass().gradient(), np.random.default_rng(seed), 1e-5
    for name, values in case.weights._asdict().items():
        places = list(np.ndindex(values.shape))
        for at in (places[k] for k in rng.permutation(len(places))[:40]):
            both = []
            for sign in (1, -1):
                moved = values.copy()
                moved[at] += sign * step
                both.append(case.mass(case.weights._replace(**{name: moved})).log_z)
            slope = (both[0] - both[1]) / (2 * step)
            assert getattr(gradient, name)[at] == pytest.approx(slope, rel=1e-5, abs=1e-9), (name, at)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_tree_has_one_root_and_its_expected_words(seed: int) -> None:
    """Expected counts of components: one rule of the root, and a word more than there are binary rules."""
    case = setting(seed, word=-2.5)
    count, everything = case.mass().gradient().log_rho, case.derivable
    assert (count >= 0).all()
    assert count[everything.root].sum() == pytest.approx(1.0)
    two = (case.parts.slot[:, 1:] != NONE).all(1)
    assert count[everything.words].sum() == pytest.approx(1 + count[two].sum())


# -- PCFGs


def branching(p: float, words: float = 1.0) -> tuple[Grammar, Floats, Floats]:
    """S -> A, A -> A A with p, A -> t with 1 - p, and t over words that sum to a given weight."""
    symbols = (Symbol("root", "S"), Symbol("phrase", "A"), Symbol("tag", "t"))
    rules = np.array([(A, A, A), (0, A, NONE), (A, T, NONE)], np.int32)
    return Grammar(symbols, rules, 1), np.array([p, 1.0, 1.0 - p]), np.full(WORDS, words / WORDS)


def as_mixtures(grammar: Grammar, theta: Floats, words: Floats) -> Setting:
    """All Gaussians at one point."""
    tags = np.arange(grammar.first_tag, len(grammar.symbols), dtype=np.int32)
    all_tags = np.tile(tags, WORDS)
    parts = components(grammar.rules, all_tags, np.ones(len(theta) + len(words), np.int64))
    meetings = np.where(np.append(grammar.rules[:, 0], all_tags) == 0, 0, 2)
    rng = np.random.default_rng(0)
    weights = from_treebank(parts, np.append(theta, words), meetings, 3, 1, None, 0.0, rng)
    return Setting(grammar, parts, weights, np.ones(len(words)))


@pytest.mark.parametrize(("p", "expected"), [(0.3, 1.0), (0.45, 1.0), (0.6, 2 / 3), (0.8, 0.25)])
def test_a_branching_process(p: float, expected: float) -> None:
    """m = p m^2 + 1 - p has two solutions, of which the lesser counts: the other is no sum over finite trees."""
    mass = as_mixtures(*branching(p)).mass()
    assert math.exp(mass.log_z) == pytest.approx(expected, rel=1e-12)


def test_words_of_a_branching_process() -> None:
    """With p = 0.3 there are 1 / (1 - 2 p) symbols of each height at most, and (1 - p) / (1 - 2 p) words."""
    case = as_mixtures(*branching(0.3))
    count = case.mass().gradient().log_rho
    assert count[case.derivable.words].sum() == pytest.approx(0.7 / 0.4, rel=1e-11)


@pytest.mark.parametrize(("p", "words"), [(0.9, 4.0), (0.3, 20.0)])
def test_an_infinite_sum_is_told(p: float, words: float) -> None:
    """m = p m^2 + (1 - p) words has no solution."""
    with pytest.raises(InfiniteMassError, match="not finite"):
        as_mixtures(*branching(p, words)).mass()


def scalar_masses(grammar: Grammar, theta: Floats, words: Floats) -> Floats:
    """[symbols] of a PCFG, by going round until nothing changes."""
    mass = np.zeros(len(grammar.symbols))
    for _ in range(10_000):
        base = np.zeros_like(mass)
        base[grammar.first_tag :] = words.reshape(WORDS, -1).sum(0)
        for (a, b, c), weight in zip(grammar.rules.tolist(), theta, strict=True):
            if c != NONE and a != 0:
                base[a] += weight * mass[b] * mass[c]
        level, top = base, base.copy()
        for _ in range(grammar.unary_steps):
            above = np.zeros_like(mass)
            for (a, b, c), weight in zip(grammar.rules.tolist(), theta, strict=True):
                if c == NONE and a != 0:
                    above[a] += weight * level[b]
            level, top = above, top + above
        for (a, b, c), weight in zip(grammar.rules.tolist(), theta, strict=True):
            if a == 0:
                top[0] += weight * top[b] * (1.0 if c == NONE else top[c])
        if np.array_equal(top, mass):
            break
        mass = top
    return mass


@pytest.mark.parametrize("seed", SEEDS)
def test_one_point_is_a_pcfg(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grammar, _ = random_grammar(rng, unary_steps=2, density=0.3, unary_density=0.4)
    theta, words = rng.random(len(grammar.rules)) * 0.3, rng.random(WORDS * len(grammar.tags)) * 0.3
    expected = scalar_masses(grammar, theta, words)
    assert math.exp(as_mixtures(grammar, theta, words).mass().log_z) == pytest.approx(expected[0], rel=1e-12)


# -- drawing


def spelled(case: Setting) -> MixtureDrawer:
    """Trees whose words are the numbers of their kind."""
    tags = len(case.grammar.tags)
    return MixtureDrawer(case.grammar, case.parts, case.mass(), lambda rule, first, rng: str(rule // tags))


@pytest.mark.parametrize("seed", SEEDS)
def test_sentences_are_drawn_by_their_probability(seed: int) -> None:
    """How often each short sentence comes up is within six standard deviations of its probability."""
    case, draws = setting(seed, word=-2.5), 1000
    drawer, rng, log_z = spelled(case), np.random.default_rng(seed), case.mass().log_z
    trees = [drawer.tree(rng) for _ in range(draws)]
    assert all(longest_unary_chain(tree) <= case.grammar.unary_steps for tree in trees)
    found = Counter(tuple(int(word) for word, _ in tagged_words(tree)) for tree in trees)
    for words in sentences(3):
        p = math.exp(case.log_weight(words) - log_z)
        assert abs(found[words] - draws * p) <= 6 * math.sqrt(draws * p * (1 - p)) + 1e-9, words


def test_the_first_word_is_told() -> None:
    case = as_mixtures(*branching(0.4))
    drawer = MixtureDrawer(case.grammar, case.parts, case.mass(), lambda rule, first, rng: str(first))
    words = [word for word, _ in tagged_words(_long_tree(drawer))]
    assert words == ["True"] + ["False"] * (len(words) - 1)


def _long_tree(drawer: MixtureDrawer) -> Node:
    rng = np.random.default_rng(0)
    while True:
        tree = drawer.tree(rng)
        if 3 < sum(1 for _ in tagged_words(tree)) <= MOST_WORDS:
            return tree
