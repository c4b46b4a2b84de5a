"""Structured vectorial semantics: its choices, its counts, its learning and the parser, against loops and recounts."""

from __future__ import annotations

from collections import Counter
from copy import copy
from itertools import combinations, product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from latree import LatreeError, Parse, Pcfg, Tree, load
from latree.arrays import NONE, Floats, Longs
from latree.inference.forest import Forest, assemble, from_trees
from latree.inference.forms.factored import NO_RELATION, Factored, with_words, zeros_like
from latree.inference.grammar import Grammar, count_rules, inner_nodes, rule_symbols
from latree.inference.subtypes import Layout
from latree.inference.sweep import inside_only
from latree.inference.viterbi import viterbi_edges
from latree.kinds.parser import tagged_sentences
from latree.kinds.svs import Choice, SvsOptions
from latree.kinds.svs.choice import chosen_edges
from latree.kinds.svs.counts import (
    HeadCounts,
    Headwords,
    PairCounts,
    Structure,
    SvsWeights,
    count_heads,
    from_counts,
    head_relations,
    normalised,
    rule_weights,
    smoothed,
    structure,
)
from latree.kinds.svs.model import Svs
from latree.kinds.svs.relations import ANY, HeadBinarization, Relation, relation_of
from latree.kinds.svs.training import FactoredEm
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank, LexicalLayout
from latree.learning.loop import Progress, Training
from latree.lexicon.options import LexiconOptions
from latree.lexicon.words import Lexicon
from latree.text.binary import Node, Symbol
from latree.text.heads import HeadRules
from tests import svs_loops
from tests.command import toy_trees
from tests.enumerate import ROOT
from tests.factored import count, example, numbers_of, written_out
from tests.forests import all_edge_sets
from tests.grammars import SEEDS
from tests.heads import head_place, head_word

SHORT = ["you", "like", "these", "books", "."]
CLUSTERED = SvsOptions(headwords=30, clusters=4, iterations=20, least=3, refinements=0)


# --- the choice of analyses


CHOICES = get_args(Choice)


@pytest.mark.parametrize("choice", ["concept", "vector"])
@pytest.mark.parametrize("seed", range(20))
def test_choice_equals_loops(seed: int, choice: Choice) -> None:
    _, forest, weights, width, prior = example(seed, (4, 3))
    expected = svs_loops.parse(forest, weights, width, prior, exact=choice == "concept")
    assert sorted(chosen_edges(forest, weights, width, prior, choice)) == sorted(expected)


def test_the_choices_differ() -> None:
    """Else the tests beside this one could not tell them apart."""
    differing = dict.fromkeys(combinations(CHOICES, 2), 0)
    for seed in range(20):
        _, forest, weights, width, prior = example(seed, (4, 3))
        ways = {choice: sorted(chosen_edges(forest, weights, width, prior, choice)) for choice in CHOICES}
        for one, other in differing:
            differing[one, other] += ways[one] != ways[other]
    assert min(differing.values()) > 0


@pytest.mark.parametrize("seed", range(20))
def test_the_maximum_is_the_best_derivation_with_its_concepts(seed: int) -> None:
    """As it is found where every triple of concepts has a number of its own."""
    one = example(seed, (4, 3))
    _, tensors = written_out(one)
    chosen = chosen_edges(one.forest, one.weights, one.width, one.prior, "maximum")
    assert sorted(chosen) == sorted(viterbi_edges(one.forest, tensors, one.width))


@pytest.mark.parametrize("seed", SEEDS)
def test_with_one_concept_all_choices_are_the_best_derivation(seed: int) -> None:
    _, forest, weights, width, prior = example(seed, concepts=1)

    def weight(edges: list[int]) -> float:
        return svs_loops.assignments(forest, weights, width, edges)[0][1]

    best = max(map(weight, all_edge_sets(forest, int(forest.root[0]))))
    for choice in CHOICES:
        assert weight(chosen_edges(forest, weights, width, prior, choice)) == pytest.approx(best)


@pytest.mark.parametrize("choice", CHOICES)
def test_choice_where_floats_are_too_small(choice: Choice) -> None:
    _, forest, weights, width, prior = example(5)
    tiny = weights._replace(entry=weights.entry * 1e-200)
    assert chosen_edges(forest, tiny, width, prior, choice) == chosen_edges(forest, weights, width, prior, choice)


# --- the paper's running example: "the egrs.", concepts pulled, the and unknown

THE, UNKNOWN = 1, 2


def running_example() -> tuple[Node, Grammar, Factored]:
    """Eqns 6' to 8'.

    The paper's: the relation (8'), which words have which headwords, and that the result is .036 (11').  The numbers of
    e (6') and m (7') are lost from the text; these are our own, such that with L[unknown, the] = .4 the printed result
    follows: .3 * .3 * .4 * 1.
    """
    noun_phrase, determiner = Symbol("phrase", "NP"), Symbol("tag", "DT", ("NP",))
    noun = Symbol("tag", "NN")
    tree = Node(ROOT, Node(noun_phrase, Node(determiner, word="the"), Node(noun, word="egrs.")))
    grammar = Grammar((ROOT, noun_phrase, determiner, noun), np.array([(1, 2, 3), (0, 1, NONE)], np.int32), 0)
    rule = np.array([[0.1, 0.1, 0.3], [1.0, 1.0, 1.0]])
    relation = np.array([[[0, 0.2, 0.8], [0, 0, 1], [0.1, 0.4, 0.5]], np.eye(3)])  # l_MOD, and l_ID of headwords
    nothing = np.zeros(0), np.zeros(1, np.int64)
    label = np.array([(0, 1), (NO_RELATION, NO_RELATION)], np.int32)
    the, eggs = np.zeros((2, 2, 3))
    the[0, THE], eggs[1, UNKNOWN] = 1.0, 0.3
    emissions = np.stack([the.ravel(), eggs.ravel()])
    return tree, grammar, with_words(Factored(rule, relation, label, *nothing), emissions)


def test_running_example() -> None:
    tree, grammar, weights = running_example()
    entry = [{2: 0, 3: 1}, {2: 2, 3: 3}]
    forest = assemble([from_trees(grammar, [tree], entry, 4)], len(grammar.rules))
    width = np.array([1, 3, 3, 3])
    prior = np.array([[0, 0, 0], [0.1, 0.1, 0.8], [0, 1, 0], [0, 0, 1]], np.float64)  # a of the NP: eqn 9'
    phrase = int(np.flatnonzero(forest.symbol == 1)[0])
    _, messages = inside_only(forest, weights, width)
    found = np.exp(messages.scale[phrase]) * messages.row[messages.start[phrase] : messages.start[phrase + 1]]
    np.testing.assert_allclose(found, [0, 0, 0.036])  # eqn 11', by eqn 10
    for best in (
        svs_loops.best_for_each(forest, weights, width),
        svs_loops.best_for_all(forest, weights, width, prior),
    ):
        assert best.vectors[phrase] == pytest.approx([0, 0, 0.036])
        assert best.vectors[forest.root[0]] == pytest.approx([0.036])
    assert prior[1] @ found == pytest.approx(0.8 * 0.036)  # a . e of eqn 11
    for choice in CHOICES:
        assert sorted(chosen_edges(forest, weights, width, prior, choice)) == list(range(len(forest.rule)))


def test_the_head_may_stand_on_the_left() -> None:
    """The example with its words the other way round is the same."""
    _, _, weights = running_example()
    lists = svs_loops.plain(weights)
    mirrored = lists._replace(label=[[1, 0], [NO_RELATION, NO_RELATION]])
    the, eggs = [0.0, 1.0, 0.0], [0.0, 0.0, 0.3]
    assert svs_loops.composed(mirrored, 0, eggs, the, 3) == svs_loops.composed(lists, 0, the, eggs, 3)


# --- counts


class Counted:
    """Toy trees with everything that is counted of them."""

    def __init__(self, trees: list[Tree], headwords: int, least: int = 3, rare: int = 20) -> None:
        self.trees, self.heads = trees, HeadRules.named("penn")
        self.binarization = HeadBinarization.of(trees, self.heads, least)
        self.nodes = [self.binarization.apply(tree) for tree in trees]
        self.grammar, self.rule_counts = count_rules(self.nodes)
        self.structure: Structure = structure(self.grammar, self.rule_counts, least)
        self.headwords = Headwords.of(self.nodes, headwords)
        self.counts: HeadCounts = count_heads(self.grammar, self.structure, self.nodes, self.headwords)
        self.sentences = tagged_sentences(self.grammar, self.nodes)
        lexicon = Lexicon.count(self.sentences, len(self.grammar.tags), "neutral", LexiconOptions(rare=rare))
        self.treebank = LatentTreebank.of(self.grammar, CodedTrees.of(self.nodes), lexicon)

    def lexical(self, concepts: int) -> LexicalLayout:
        return self.treebank.lexical(Layout(self.grammar, self.width(concepts)))

    def width(self, concepts: int) -> Longs:
        return np.where(np.arange(len(self.grammar.symbols)) == 0, 1, concepts)

    def weights(self, relation: Floats, concept_of: Floats) -> SvsWeights:
        lexical, vocabulary = self.lexical(concept_of.shape[1]), self.treebank.vocabulary
        heads = self.headwords.numbers([vocabulary[word] for word in lexical.entries.word])
        return from_counts(self.counts, relation, concept_of, self.structure, lexical, heads)


@pytest.fixture(scope="module")
def counted(train: list[Tree]) -> Counted:
    return Counted(train, 12, least=20)


def test_headwords_are_the_commonest(counted: Counted) -> None:
    seen = Counter(word.lower() for tree in counted.trees for word in tree.words())
    least = min(seen[word] for word in counted.headwords.words)
    assert len(counted.headwords.words) == 12
    assert all(seen[word] <= least for word in set(seen) - set(counted.headwords.words))
    assert counted.headwords.number(counted.headwords.words[3].upper()) == 3
    assert counted.headwords.numbers(["never-seen"]).tolist() == [12]


def test_every_rule_has_its_structure(counted: Counted) -> None:
    """Of two children one is the head; the root's child and a child that is absent have no relation."""
    symbols, found = counted.grammar.symbols, counted.structure
    for (parent, left, right), labels in zip(counted.grammar.rules.tolist(), found.label.tolist(), strict=True):
        assert (labels[0] == NO_RELATION) == (parent == 0)
        assert (labels[1] == NO_RELATION) == (parent == 0 or right == NONE)
        roles = sorted(found.relations[label].role for label in labels if label != NO_RELATION)
        assert roles in ([], ["head"], ["head", "left"], ["head", "right"])
        for child, label in zip((left, right), labels, strict=True):
            if label != NO_RELATION:
                own = relation_of(symbols[parent], symbols[child], on_left=child == left)
                assert found.relations[label] in (own, own._replace(parent=ANY))


def test_pairs_are_the_trees_modifiers(counted: Counted) -> None:
    """Recounted from the trees themselves, before they were made binary."""
    expected: Counter[tuple[int, int, str, str]] = Counter()
    for node in (node for tree in counted.trees for node in tree.subtrees() if len(node.children) > 1):
        number = [counted.headwords.number(head_word(counted.heads, child)) for child in node.children]
        head = head_place(counted.heads, node)
        for place, modifier in enumerate(node.children):
            if place != head:
                expected[number[head], number[place], "left" if place < head else "right", modifier.label] += 1
    found: Counter[tuple[int, int, str, str]] = Counter()
    for parent, child, relation, n in pairs_of(counted):
        if relation.role != "head":
            found[parent, child, relation.role, relation.child] += n
        else:
            assert parent == child  # a head has its parent's headword
    assert found == expected


def pairs_of(counted: Counted) -> list[tuple[int, int, Relation, int]]:
    pairs, relations = counted.counts.pairs, counted.structure.relations
    columns = (pairs.parent, pairs.child, pairs.relation, pairs.count.astype(int))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(parent, child, relations[label], n) for parent, child, label, n in rows]


def test_rare_relations_are_one_whatever_the_parent(counted: Counted) -> None:
    tokens: Counter[Relation] = Counter()
    for _, _, relation, n in pairs_of(counted):
        tokens[relation] += n
    own = {relation: n for relation, n in tokens.items() if relation.parent != ANY}
    assert 0 < len(own) < len(tokens)
    assert min(own.values()) >= 20


def naive_head(node: Node) -> str:
    """By going down, again for every node."""
    while node.word is None:
        node = next(child for child in node.children() if not child.symbol.parents)
    return node.word


def test_rules_and_symbols_with_their_headwords(counted: Counted) -> None:
    rules = np.zeros(counted.counts.rule.shape)
    symbols = np.zeros(counted.counts.symbol.shape)
    for root in counted.nodes:
        for node in inner_nodes(root):
            row = tuple(NONE if one is None else counted.grammar.index[one] for one in rule_symbols(node))
            rules[counted.grammar.rules.tolist().index(list(row)), counted.headwords.number(naive_head(node))] += 1
            for child in node.children():
                symbols[counted.grammar.index[child.symbol], counted.headwords.number(naive_head(child))] += 1
    np.testing.assert_array_equal(counted.counts.rule.toarray(), rules)
    np.testing.assert_array_equal(counted.counts.symbol.toarray(), symbols)
    np.testing.assert_array_equal(rules.sum(1), counted.rule_counts)


# --- the models that follow from counts


def random_concepts(headwords: int, concepts: int, seed: int = 0) -> Floats:
    """P(i | h)."""
    table = np.random.default_rng(seed).random((headwords, concepts)) ** 4
    return normalised(table)


def test_rule_probabilities_sum_to_one(counted: Counted) -> None:
    """Eqn 18, given symbol and concept; the root's, eqn 20, over concepts too."""
    concept_of = random_concepts(13, 3)
    weights = counted.weights(np.ones((1, 3, 3)), concept_of)
    assert weights.rule[counted.structure.top].sum() == pytest.approx(1)
    sums = np.zeros((len(counted.grammar.symbols), 3))
    np.add.at(sums, counted.grammar.rules[:, 0], weights.rule)
    np.testing.assert_allclose(sums[1 : counted.grammar.first_tag], 1)


def test_eqn_18_as_printed(counted: Counted) -> None:
    """sum over h of P(lch -> rule) P(h | lci), P(h | lci) by Bayes' rule from P(i | h) and counts of h with lc."""
    concept_of = random_concepts(13, 3)
    found = counted.weights(np.ones((1, 3, 3)), concept_of).rule
    rules = counted.counts.rule.toarray()
    parents = counted.grammar.rules[:, 0]
    of_symbol = np.zeros((len(counted.grammar.symbols), 13))
    np.add.at(of_symbol, parents, rules)
    for rule in np.flatnonzero(~counted.structure.top)[::7]:
        total = of_symbol[parents[rule]]
        given_head = np.divide(rules[rule], total, out=np.zeros(13), where=total > 0)
        for i in range(3):
            bayes = concept_of[:, i] * total
            assert found[rule, i] == pytest.approx(given_head @ (bayes / bayes.sum()))


def test_prior_counts_symbols_with_concepts(counted: Counted) -> None:
    """Eqn 21: as often as the symbol occurs, in all."""
    concept_of = random_concepts(13, 3)
    prior = counted.weights(np.ones((1, 3, 3)), concept_of).prior
    np.testing.assert_allclose(prior.sum(1), counted.counts.symbol.toarray().sum(1))
    np.testing.assert_allclose(prior, counted.counts.symbol.toarray() @ concept_of)


def test_one_hot_clusters_are_headwords(counted: Counted) -> None:
    """Where each headword is a concept of its own, in whatever order, clustered is lexicalised."""
    order = np.random.default_rng(1).permutation(13)
    relation = head_relations(counted.counts.pairs)
    lexicalised = counted.weights(relation, np.eye(13))
    clustered = counted.weights(relation, np.eye(13)[order])
    place = np.argsort(order)  # the headword of every concept
    np.testing.assert_allclose(clustered.rule, lexicalised.rule[:, place])
    np.testing.assert_allclose(clustered.prior, lexicalised.prior[:, place])
    words = (weights.words.reshape(-1, 13) for weights in (clustered, lexicalised))
    np.testing.assert_allclose(next(words), next(words)[:, place])


def test_lexicalised_relations_are_relative_frequencies(counted: Counted) -> None:
    """Eqn 8; a headword that never has a modifier of the relation has a row of zeros."""
    relation, pairs = head_relations(counted.counts.pairs), counted.counts.pairs
    seen: dict[tuple[int, int], float] = {}
    for label, parent, n in zip(pairs.relation.tolist(), pairs.parent.tolist(), pairs.count.tolist(), strict=True):
        seen[label, parent] = seen.get((label, parent), 0.0) + n
    for label, parent, child, n in zip(pairs.relation, pairs.parent, pairs.child, pairs.count, strict=True):
        assert relation[label, parent, child] == pytest.approx(n / seen[int(label), int(parent)])
    assert relation.sum() == pytest.approx(len(seen))


def test_lexicalised_heads_have_their_parents_headword(counted: Counted) -> None:
    """L(l_ID) is the identity, less headwords that head nothing of the kind."""
    table = head_relations(counted.counts.pairs)
    heads = [k for k, relation in enumerate(counted.structure.relations) if relation.role == "head"]
    assert heads
    for found in table[heads]:
        np.testing.assert_array_equal(found, np.diag(found.diagonal()))
        assert set(found.diagonal()) <= {0.0, 1.0}


def test_emissions_are_eqn_19(train: list[Tree]) -> None:
    """sum over h of P(x | lch) P(h | lci), where no word is rare and so none shares what it says with others."""
    counted = Counted(train, 12, rare=0)
    concept_of = random_concepts(13, 3)
    weights, lexical = counted.weights(np.ones((1, 3, 3)), concept_of), counted.lexical(3)
    found = lexical.estimate(weights.words).reshape(-1, 3)
    tokens = Counter((word, tag) for sentence in counted.sentences for word, tag in sentence)
    with_head = np.zeros((len(counted.grammar.tags), 13))
    for (word, tag), n in tokens.items():
        with_head[tag, counted.headwords.number(word)] += n
    for entry, (word, tag) in enumerate(zip(lexical.entries.word, lexical.entries.tag, strict=True)):
        name = counted.treebank.vocabulary[word]
        head = counted.headwords.number(name)
        bayes = with_head[tag][:, None] * concept_of
        given_concept = bayes[head] / bayes.sum(0)  # P(h | lci)
        np.testing.assert_allclose(found[entry], tokens[name, tag] / with_head[tag, head] * given_concept)


def test_smoothed_rules_still_sum_to_one(counted: Counted) -> None:
    concept_of = random_concepts(13, 3)
    weights, rules = counted.weights(np.ones((1, 3, 3)), concept_of), counted.grammar.rules
    theta = rule_weights(counted.rule_counts[:, None], counted.structure, rules)[:, 0]
    same = smoothed(weights.rule, weights.prior, theta, counted.structure, rules, 0.0)
    np.testing.assert_allclose(same, weights.rule)
    found = smoothed(weights.rule, weights.prior, theta, counted.structure, rules, 5.0)
    sums = np.zeros((len(counted.grammar.symbols), 3))
    np.add.at(sums, rules[:, 0], found)
    np.testing.assert_allclose(sums[1 : counted.grammar.first_tag], 1)
    below = ~counted.structure.top
    assert (np.abs(found - theta[:, None])[below] <= np.abs(weights.rule - theta[:, None])[below] + 1e-12).all()


# --- EM over the trees

TINY = ["(ROOT (S (N a) (V b)))", "(ROOT (S (NP (D c) (N a)) (V b)))", "(ROOT (S (NP (N a)) (V d)))"]


def tree_forest(treebank: LatentTreebank) -> Forest:
    """All trees, a node an item."""
    (stretch,) = map(treebank.shards.build, treebank.shards.recipes)
    return stretch.forest


def tiny_em() -> tuple[Counted, FactoredEm, SvsWeights]:
    counted = Counted([Tree.read(text) for text in (*TINY, TINY[0])], 4, least=1, rare=0)
    concept_of = random_concepts(5, 2)
    relation = np.random.default_rng(2).dirichlet(np.ones(2), (len(counted.structure.relations), 2))
    em = FactoredEm(counted.treebank, counted.lexical(2), counted.structure, counted.width(2))
    return counted, em, counted.weights(relation, concept_of)


def test_expectations_of_trees_equal_enumeration() -> None:
    """Every concept of every node of every tree; the fourth is the first again, which EM sums over once."""
    counted, em, start = tiny_em()
    log_likelihood, stats = em._expect(start)
    forest, width = tree_forest(counted.treebank), counted.width(2)
    emissions = counted.lexical(2).estimate(start.words)
    starts = np.arange(0, len(emissions) + 1, 2)
    weights = Factored(start.rule, start.relation, counted.structure.label, emissions, starts)
    expected, total = zeros_like(weights), 0.0
    for root in forest.root.tolist():
        (edges,) = all_edge_sets(forest, root)
        ways = svs_loops.assignments(forest, weights, width, edges)
        mass = sum(weight for _, weight in ways)
        total += np.log(mass)
        for at, weight in ways:
            count(forest, weights, edges, at, weight / mass, expected)
    assert log_likelihood == pytest.approx(total)
    for found, wanted in zip(numbers_of(stats), numbers_of(expected), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_expected_occurrences_are_the_treebanks() -> None:
    """Whatever the concepts, every symbol is expected as often as it was seen."""
    counted, em, start = tiny_em()
    after = em.run(start, range(3), 3, lambda *_: None)
    np.testing.assert_allclose(after.prior.sum(1), counted.counts.symbol.toarray().sum(1))


def test_no_iterations_change_nothing() -> None:
    _, em, start = tiny_em()
    assert em.run(start, range(0), 0, lambda *_: None) is start


def test_em_never_lowers_the_likelihood(train: list[Tree]) -> None:
    seen: list[Progress] = []
    options = SvsOptions(headwords=30, clusters=4, iterations=10, starts=2, least=3, refinements=12)
    Svs(options=options).fit(train, Training(seen.append))
    steps = [(progress.step, progress.stage) for progress in seen if progress.model is not None]
    clustered, refined = "headwords clustered", "EM over the trees"
    assert steps == [(1, clustered), (2, clustered), (3, refined), (4, refined)]
    seen = [progress for progress in seen if progress.model is None and progress.stage == refined]
    assert [(progress.done, progress.parts) for progress in seen] == [(k, 12) for k in range(1, 13)]
    rises = np.diff([progress.value for progress in seen])
    assert (rises >= -1e-9 * abs(seen[0].value)).all()
    assert rises.sum() > 0


def test_where_headwords_are_concepts_em_would_change_nothing(counted: Counted) -> None:
    """Trees say which headword each constituent has; the parser does not run EM then."""
    start = counted.weights(head_relations(counted.counts.pairs), np.eye(13))
    after = FactoredEm(counted.treebank, counted.lexical(13), counted.structure, counted.width(13)).run(
        start, range(2), 2, lambda *_: None
    )
    for name in ("rule", "relation", "words"):
        np.testing.assert_allclose(getattr(after, name), getattr(start, name), atol=1e-12)
    seen: list[Progress] = []
    Svs(options=SvsOptions(headwords=3, clusters=0)).fit(counted.trees[:5], Training(seen.append))
    assert not seen


def test_too_many_headwords_to_be_concepts() -> None:
    pairs = PairCounts.of({(0, 0, 0): 1.0}, 20_001, 400)
    with pytest.raises(LatreeError, match=r"20000 headwords, each a concept, need relations of 1192 GiB; take fewer"):
        head_relations(pairs)


def test_a_fall_of_the_likelihood_is_reported() -> None:
    _, em, start = tiny_em()
    falling = iter([-1.0, -2.0])
    honest = em._expect
    em._expect = lambda weights: (next(falling), honest(weights)[1])  # type: ignore[method-assign]
    with pytest.raises(LatreeError, match=r"fell from -1\.0 to -2\.0"):
        em.run(start, range(2), 2, lambda *_: None)


# --- the parser


@pytest.fixture(scope="module")
def model(train: list[Tree]) -> Svs:
    return Svs(options=CLUSTERED).fit(train)


def outline(parse: Parse) -> tuple[object, ...]:
    return parse.tokens, parse.status, parse.reason, str(parse)


def parses(model: Svs | Pcfg, trees: list[Tree], objective: str = "max-rule") -> list[Parse]:
    return list(model.parse_all([tree.words() for tree in trees], objective=objective))  # type: ignore[arg-type]


@pytest.mark.parametrize(("clusters", "refinements", "seed"), [(0, 50, 0), (4, 0, 3), (4, 2, 3)])
def test_saved_and_loaded(
    train: list[Tree], dev: list[Tree], tmp_path: Path, clusters: int, refinements: int, seed: int
) -> None:
    options = SvsOptions(headwords=10, clusters=clusters, iterations=10, least=3, refinements=refinements, seed=seed)
    model = Svs(options=options).fit(train)
    model.save(tmp_path / "svs.latree")
    again = load(tmp_path / "svs.latree")
    assert isinstance(again, Svs)
    assert (again.options, again.headwords.words) == (model.options, model.headwords.words)
    for choice in CHOICES:
        again.choice = model.choice = choice
        assert list(map(outline, parses(again, dev, "viterbi"))) == list(map(outline, parses(model, dev, "viterbi")))
    assert list(map(outline, parses(again, dev))) == list(map(outline, parses(model, dev)))


def test_without_headwords_it_is_the_pcfg(train: list[Tree], dev: list[Tree]) -> None:
    """Of the same binarisation: syntax only, all choices alike."""
    model = Svs(options=SvsOptions(headwords=0, clusters=0, least=3)).fit(train)
    pcfg = Pcfg(binarization=model.binarization).fit(train)
    assert model.concepts == 1
    np.testing.assert_allclose(model.rule[:, 0], pcfg.theta)
    assert set(model.relation.ravel()) == {1.0}
    expected = parses(pcfg, dev, "viterbi")
    for choice in CHOICES:
        model.choice = choice
        found = parses(model, dev, "viterbi")
        assert [str(parse.tree) for parse in found] == [str(parse.tree) for parse in expected]
    assert [model.log_prob_tree(tree) for tree in dev] == pytest.approx([pcfg.log_prob_tree(tree) for tree in dev])


def test_the_seed_decides(train: list[Tree]) -> None:
    models = [Svs(options=CLUSTERED, seed=seed).fit(train) for seed in (1, 1, 2)]
    for name in ("rule", "relation", "prior", "concept_of"):
        first, same, other = (getattr(one, name) for one in models)
        np.testing.assert_array_equal(first, same)
        assert not np.array_equal(first, other)


@pytest.mark.parametrize("choice", ["vector", "concept"])
def test_viterbi_is_the_choice_of_the_loops(model: Svs, choice: str) -> None:
    """On the very forest that the parser searches."""
    reading = model.read(SHORT)
    forest = assemble([model.prune(model.coarse(reading), model.threshold)], len(model.grammar.rules))
    exact, prior = choice == "concept", model.priors
    edges = svs_loops.parse(forest, model.weights(reading), model.widths(), prior, exact=exact)
    model.choice = choice  # type: ignore[assignment]
    found = model.parse(SHORT, "viterbi")
    model.choice = "vector"
    words = sorted(int(forest.span[forest.ends[e, 0], 0]) for e in edges if forest.rule[e] >= forest.rules)
    assert words == list(range(len(SHORT)))
    assert found.tree is not None
    phrases = {
        (model.grammar.symbols[forest.symbol[item]].label, *forest.span[item].tolist())
        for item in forest.ends[edges, 0].tolist()
        if model.grammar.symbols[forest.symbol[item]].kind == "phrase"
    }
    assert phrases == {span for span in found.tree.spans() if span[0] != model.labels.root}


def test_a_root_with_several_children() -> None:
    """The root has no concept, and so no room for a modifier: a part of its own stands under it."""
    trees = [Tree.read("(ROOT (A a) (B b))"), Tree.read("(ROOT (A a) (C c))")]
    for clusters in (0, 2):
        model = Svs(options=SvsOptions(headwords=3, clusters=clusters, least=1), lexicon=LexiconOptions(rare=0))
        model.fit(trees)
        assert model.parse(["a", "c"], "viterbi").tree == trees[1]
        assert model.parse(["a", "c"]).tree == trees[1]


def test_words_smoothed_towards_their_tag(train: list[Tree]) -> None:
    """With a share of one, no concept says anything of its own of words."""
    options = SvsOptions(headwords=30, clusters=4, iterations=10, least=3, word_smoothing=1.0)
    model = Svs(options=options).fit(train)
    tags = len(model.grammar.tags)
    reading = model.read(SHORT)
    concepts = reading.subtypes.reshape(len(SHORT), tags, 4)
    np.testing.assert_allclose(concepts, np.repeat(reading.tags[:, :, None], 4, axis=2))


def test_coarse_emissions_are_those_of_all_concepts(model: Svs) -> None:
    """P(w | lc) = sum over i of P(w | lci) P(i | lc)."""
    tags = len(model.grammar.tags)
    reading = model.read(SHORT)
    concepts = reading.subtypes.reshape(len(SHORT), tags, 4)
    prior = model.prior[model.grammar.first_tag :]
    for word in range(len(SHORT)):
        for tag in range(tags):
            assert reading.tags[word, tag] == pytest.approx(concepts[word, tag] @ prior[tag] / prior[tag].sum())


def test_no_trees() -> None:
    with pytest.raises(LatreeError, match="no trees"):
        Svs().fit([])


def test_heads_have_one_relation_if_asked(counted: Counted) -> None:
    """l_ID of the paper; modifiers have theirs as before."""
    grammar, counts = counted.grammar, counted.rule_counts
    several, one = (structure(grammar, counts, 20, alike) for alike in (False, True))
    assert sum(relation.role == "head" for relation in several.relations) > 1
    assert [relation for relation in one.relations if relation.role == "head"] == [Relation("head", ANY, ANY)]
    modifiers = [{one for one in each.relations if one.role != "head"} for each in (several, one)]
    assert modifiers[0] == modifiers[1]
    for rule, k in np.argwhere(several.label != NO_RELATION).tolist():
        mine, other = (each.relations[each.label[rule, k]] for each in (several, one))
        assert mine.role == other.role


@pytest.mark.parametrize("relation", ["context", "one"])
def test_heads_of_headwords_have_the_identity(train: list[Tree], relation: str) -> None:
    """Whatever the context, a head shares its phrase's headword; rows of nothing are those never seen."""
    model = Svs(headwords=10, clusters=0, head_relation=relation).fit(train)
    for number, one in enumerate(model.structure.relations):
        if one.role == "head":
            seen = model.relation[number].sum(1) > 0
            np.testing.assert_array_equal(model.relation[number][seen], np.eye(model.concepts)[seen])


def test_a_picture_has_relations_and_concepts(train: list[Tree], dev: list[Tree]) -> None:
    """As figure 1 of the paper: of headwords, every phrase has that of its head, and every tag its word's."""
    model = Svs(headwords=1000, clusters=0).fit(train)
    tree = next(one.tree for one in parses(model, dev) if one.status == "ok" and one.tree is not None)
    drawn = model.draw(tree).tree
    assert drawn.words() == tree.words()

    def check(node: Tree, plain: Tree) -> None:
        label, _, concept = node.label.partition("{")
        relation, _, category = label.partition(":")
        assert (relation in ("ID", "MOD"), category) == (True, plain.label)
        heads = [child for child in node.children if child.label.startswith("ID:")]
        if node.word is not None:
            assert concept in (f"{node.word.lower()}}}", "unk}")
        else:
            assert [head.label.partition("{")[2] for head in heads] == [concept]
        for pair in zip(node.children, plain.children, strict=True):
            check(*pair)

    assert drawn.label == tree.label
    for top, plain in zip(drawn.children, tree.children, strict=True):
        check(top, plain)
    assert "<svg" in model.draw(tree)._repr_svg_()


def test_what_an_svs_does_not_do_is_told() -> None:
    model = Svs(options=SvsOptions(headwords=20, clusters=2)).fit(toy_trees("dev"))
    words = toy_trees("dev")[0].words()
    assert len(model.kbest(words, 3)) == 3
    with pytest.raises(LatreeError, match="k-best lists go by"):
        model.kbest(words, 3, "viterbi")


@pytest.fixture(scope="module", params=[0, 1], ids=["", "sisters"])
def two_headed(request: pytest.FixtureRequest) -> Svs:
    """The head of Y Y X is on the right, that of Y Y Y on the left; between them they make rules for either."""
    heads = HeadRules.parse(["S left X"], "two", "<two>")
    trees = [Tree.read(text) for text in ("(ROOT (S (Y a) (Y b) (X c)))", "(ROOT (S (Y a) (Y b) (Y c)))")]
    options = SvsOptions(headwords=3, clusters=2, least=1, refinements=3, horizontal=request.param)
    return Svs(options=options, heads=heads, lexicon=LexiconOptions(rare=0)).fit(trees)


def test_a_trees_probability_is_that_of_all_its_derivations(two_headed: Svs) -> None:
    words = ["a", "b", "c"]
    reading = two_headed.read(words)
    forest = assemble([two_headed.prune(two_headed.coarse(reading), 0.0)], len(two_headed.grammar.rules))
    derivations = list(all_edge_sets(forest, int(forest.root[0])))
    listed = two_headed.kbest(words, 10)
    assert len(listed) == len({parse.tree for parse in listed}) < len(derivations)
    sums = np.logaddexp.reduce([parse.log_joint for parse in listed])
    assert sums == pytest.approx(two_headed.log_inside(forest, reading)[0])
    for parse in listed:
        assert parse.tree is not None
        assert parse.log_joint == pytest.approx(two_headed.log_prob_tree(parse.tree))
    tree = Tree.read("(ROOT (S (Y a) (Y b) (Y c)))")
    own, _ = two_headed.tree_forest(tree)
    assert two_headed.log_prob_tree(tree) > two_headed.log_inside(own, reading)[0]


def test_k_best_lists_have_k_trees_where_there_are(two_headed: Svs) -> None:
    for k in (1, 2):
        assert len(two_headed.kbest(["a", "b", "c"], k)) == k
    assert two_headed.log_prob_tree(Tree.read("(ROOT (Q (Y a)))")) == -np.inf


def test_a_list_begins_with_the_best_however_many_derivations_its_trees_have(two_headed: Svs) -> None:
    """Also where a tree's other derivations are far down in the list."""
    for words in product("abc", repeat=3):
        best = two_headed.parse(words)
        for k in (1, 2, 3, 5):
            listed = two_headed.kbest(words, k)
            assert len({one.tree for one in listed}) == len(listed)
            if len(listed) == 1 or listed[0].log_joint > listed[1].log_joint + 1e-6:  # else rounding decides
                assert listed[0].tree == best.tree


def test_a_trees_probability_is_a_share_of_what_survives(two_headed: Svs) -> None:
    """Where derivations of a tree were pruned, P(w) lacks them too: the trees of a list never make more than one."""
    model, words = copy(two_headed), ["a", "b", "c"]
    whole = {one.tree: one.log_joint for one in model.kbest(words, 50)}
    for model.threshold in (0.5, 0.3, 0.1, 0.0):
        listed = model.kbest(words, 3)
        assert sum(one.probability for one in listed) <= 1 + 1e-9
        assert all(one.log_joint <= whole[one.tree] + 1e-9 for one in listed)
        assert model.parse(words).log_marginal == pytest.approx(model.log_prob(words))
    everything = model.kbest(words, 50)
    assert sum(one.probability for one in everything) == pytest.approx(1.0)


def test_sentences_of_its_own() -> None:
    """Every tree is drawn as often as it is probable, whatever its concepts."""
    trees = [Tree.read(text) for text in TINY]
    options = SvsOptions(headwords=5, clusters=2, least=1, refinements=2)
    model = Svs(options=options, lexicon=LexiconOptions(rare=0)).fit(trees)
    drawn = Counter(model.sample(seed=seed).tree for seed in range(400))
    assert len(drawn) > 3
    for tree, n in drawn.items():
        assert tree is not None
        p = np.exp(model.log_prob_tree(tree))
        assert abs(n / 400 - p) < 4.5 * np.sqrt(p / 400) + 1 / 400
    words = next(iter(drawn)).words()  # type: ignore[union-attr]
    assert model.sample(words, seed=0).tree == model.sample(words, seed=0).tree
