"""Parsers: models whose derivations are trees."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from latree.arrays import NONE, Floats
from latree.errors import LatreeError
from latree.files import Arrays, Header
from latree.inference.chart import Chart, fill_chart
from latree.inference.chart_grammar import ChartGrammar, chart_grammar
from latree.inference.constituents import Listed, allowed_by
from latree.inference.constraints import Bounds, Mask, bounds_of
from latree.inference.derivations import Derivation
from latree.inference.forest import Forest, Piece, UnknownRuleError, assemble, from_trees
from latree.inference.grammar import Grammar, most_frequent_child, tagged_words
from latree.inference.phrases import SentencePhrases
from latree.inference.prune import Cascade, RuleFinder, prune, rule_finder
from latree.inference.results import Constituent, Objective, Parse
from latree.inference.subtypes import Cells, Layout
from latree.kinds.analyses import attempt_words, draw_analysis, search_one
from latree.kinds.fine_tags import FineTagger
from latree.kinds.model import ForestModel
from latree.kinds.options import TreeOptions
from latree.kinds.registry import all_kinds, kind_named
from latree.kinds.search import NO_TAGS, Attempt, Search, Trouble
from latree.kinds.sentences import Sentence, clipped
from latree.kinds.surprisal import Predictor, Surprisal, unknowable
from latree.lexicon.distribution import WordDistribution
from latree.text.binary import Binarization, Node, undo
from latree.text.formats import detect_format, read_trees
from latree.text.labels import LabelRules
from latree.text.partial_trees import Bracket, PartialTree
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs


class Parser(ForestModel[Parse]):
    """Sentences in, trees out.  A subclass says how its weights come from a treebank."""

    for_people = (*ForestModel.for_people, "log_prob_tree", "surprisal", "labels", "binarization", "temperature")
    labels: LabelRules
    binarization: Binarization
    tempers: ClassVar[bool] = True  # whether a temperature changes its probabilities: a tree is one derivation
    cascade: Cascade | None = None  # how much is pruned, level by level; None: by one threshold
    chart: ChartGrammar  # the coarse grammar
    _find: RuleFinder
    _fine: FineTagger | None = None
    _predictor: Predictor | None = None

    def __init__(self, options: Any = None, **changes: Any) -> None:
        super().__init__(options, **changes)
        self.labels = self.options.labels
        if isinstance(self.options, TreeOptions):  # else the treebank says how its trees become binary
            self.binarization = self.options.binarization

    def prepare(self) -> None:
        """Add the tables of the coarse pass."""
        super().prepare()
        self._predictor = None
        self.chart = chart_grammar(self.grammar, self.coarse_theta())
        self._find = rule_finder(self.grammar, self.coarse_theta())

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        rules, first_tag = self.grammar.rules, self.grammar.first_tag
        if (rules[:, 0] >= first_tag).any() or (rules[:, 1] == NONE).any():
            raise ValueError("a rule has no child, or a tag above it")

    @property
    def searcher(self) -> Parser:
        return self

    def as_pruner(self) -> Parser:
        """Give the parser as it prunes for others."""
        return self

    @property
    def fine(self) -> FineTagger | None:
        """What finds the treebank's tags, where the grammar's are coarser."""
        return self._fine

    # -- for people

    def parse(self, sentence: Sentence, objective: Objective = "max-rule") -> Parse:
        """The best tree of a sentence: running text, a list of words, or these with what is known of the tree."""
        return next(self.analyse([sentence], objective))

    def parse_all(
        self, sentences: str | Iterable[Sentence], jobs: Jobs = 1, objective: Objective = "max-rule"
    ) -> Iterator[Parse]:
        """The best tree of every sentence of a text or a list, in order; the same whatever the number of jobs."""
        from latree.kinds.jobs import analyse_all

        return analyse_all(self, sentences, jobs, objective)

    def tag(self, sentence: Sentence, objective: Objective = "max-rule") -> list[str]:
        """The tags of the best tree."""
        tree = self.parse(sentence, objective).tree
        return [] if tree is None else tree.tags()

    def posteriors(self, sentence: Sentence, least: float = 1e-3) -> list[Constituent]:
        """Every phrase with at least the given probability, summed over all trees; by span."""
        attempt = self.attempt(sentence)
        if isinstance(attempt, Trouble):
            return []
        search = search_one(self, attempt, min(least * 1e-2, self.threshold))
        return search.phrases.likely(least)

    def log_prob_tree(self, tree: Tree) -> float:
        """log P(T, w) of a given tree; -inf where the grammar lacks one of its rules."""
        try:
            forest, words = self.tree_forest(tree)
        except UnknownRuleError:
            return -np.inf
        return float(self.log_inside(forest, self.read(words))[0])

    def surprisal(self, sentence: Sentence, *, reduction: bool = False) -> Surprisal:
        """-log P(word | words before it) of every word, summed over all trees and subtypes (`kinds/surprisal.py`).

        With `reduction` also by how much each lowers the entropy of derivations, which takes three times as long.
        """
        if isinstance(sentence, PartialTree):
            raise LatreeError("surprisal is of words alone, not of words with brackets")
        tokens = self.words_of(sentence)
        if len(tokens) > self.max_length:
            return unknowable(tokens, f"{len(tokens)} words; the limit is {self.max_length} (--max-length)")
        told = self.predictor.surprisal(tokens)
        return self.predictor.with_reduction(told) if reduction else told

    @property
    def predictor(self) -> Predictor:
        """What tells of the next word; made when it is first asked for."""
        if self._predictor is None:
            if not kind_named(self.kind).generates:
                able = " or ".join(kind.name for kind in all_kinds().values() if kind.generates)
                raise LatreeError(f"surprisal takes the probabilities of a {able}; this is a {self.kind}")
            layout, cells = Layout(self.grammar, self.widths()), Cells(self.tensors.place, self.tensors.value)
            self._predictor = Predictor(layout, cells, WordDistribution(self.lexicon, self.word_mixing()))
        return self._predictor

    def word_mixing(self) -> Floats:
        """[columns, columns] how much of each column's P(word | tag) goes into another's."""
        return np.eye(self.lexicon.tags)

    def tree_forest(self, tree: Tree) -> tuple[Forest, list[str]]:
        """A tree as a forest with one derivation, and its words; `UnknownRuleError` where a rule is missing."""
        node = self.binarization.apply(self.cleaned(tree))
        words = [word for word, _ in tagged_words(node)]
        first_tag, tags = self.grammar.first_tag, len(self.grammar.tags)
        entry = [{first_tag + t: i * tags + t for t in range(tags)} for i in range(len(words))]
        piece = from_trees(self.grammar, [node], entry, len(words) * tags)
        return assemble([piece], len(self.grammar.rules)), words

    def cleaned(self, tree: Tree) -> Tree:
        """A given tree as the label rules leave it, its tags as the grammar has them."""
        cleaned = self.labels.clean(_checked_tree(tree))
        if cleaned is None:
            raise LatreeError("the tree has no words")
        return cleaned if self.fine is None else self.fine.tags.coarsened(cleaned)

    def sample(self, sentence: Sentence | None = None, seed: int | None = None) -> Parse:
        """A tree drawn from the model: given words, one of their trees; without, a sentence of the model's own."""
        rng = np.random.default_rng(seed)
        if sentence is not None:
            return draw_analysis(self, sentence, rng)
        tree = self._finely_tagged(undo(self._drawn_tree(rng)))
        words = tuple(tree.words())
        return Parse(words, self.log_prob_tree(tree), self.log_prob(words), tree=tree)

    def _drawn_tree(self, rng: np.random.Generator) -> Node:
        """A binary tree of the model's own."""
        return self.drawer.tree(rng)

    # -- the coarse pass

    def searched(self, words: Sequence[str], looseness: float = 1.0) -> Search | None:
        """Search all trees of a sentence, thresholds times the looseness; None where there are none."""
        attempt = self.attempt(words)
        return None if isinstance(attempt, Trouble) else self._possible(attempt, looseness)

    def searched_within(self, search: Search, sentence: PartialTree) -> Search | None:
        """Search, of all trees that a search of the same words began with, those that agree with brackets."""
        return self._possible(self._bounded_attempt(search.attempts[0], sentence))

    def _possible(self, attempt: Attempt, looseness: float = 1.0) -> Search | None:
        search = search_one(self, attempt, self.threshold * looseness)
        return search if np.isfinite(search.log_z[0]) else None

    def attempt(self, sentence: Sentence) -> Attempt | Trouble:
        """The coarse pass of a sentence; where constituents are listed or brackets given, limited to those."""
        attempt = attempt_words(self, self.words_of(sentence))
        if isinstance(attempt, Trouble):
            return attempt
        if isinstance(sentence, PartialTree):
            return self._bounded_attempt(attempt, sentence)
        return self._listed_attempt(attempt, sentence) if isinstance(sentence, Listed) else attempt

    def _bounded_attempt(self, attempt: Attempt, sentence: PartialTree) -> Attempt:
        """Limit a coarse pass of all trees to those that agree with brackets."""
        bounds = self._bounds(sentence, sentence.brackets)
        chart = bounds.on_chart(cast(Chart, attempt.coarse))
        return attempt._replace(coarse=chart, bounds=bounds, tags=self._given_tags(sentence))

    def _listed_attempt(self, attempt: Attempt, sentence: Listed) -> Attempt:
        """Limit a coarse pass to listed constituents."""
        trees = [self.cleaned(tree) for tree in sentence.trees]
        if other := next((tree for tree in trees if tuple(tree.words()) != sentence.words), None):
            raise LatreeError(f"a listed tree has other words than its sentence: {clipped(str(other))}")
        allowed = allowed_by(trees, self.grammar, len(sentence.words))
        return attempt._replace(coarse=allowed.on_chart(cast(Chart, attempt.coarse)), allowed=allowed)

    def _bounds(self, sentence: PartialTree, brackets: Sequence[Bracket]) -> Bounds:
        """Make some of a sentence's brackets into constraints of this grammar; what the root meets is no constraint."""
        words = len(sentence.words)
        for one in brackets:
            if one.forbidden and one.label is not None and self.fine is not None and self.fine.tags.is_part(one.label):
                raise LatreeError(
                    f"{sentence.told(one)}: whole tags are found last here; they can be given, not forbidden"
                )
        asked = [
            one
            for one in brackets
            if one.forbidden or one.end - one.start < words or not self._is_root(one.label) or one.head is not None
        ]
        return bounds_of(words, asked, self.grammar, self._called, self._modifiers)

    def _modifiers(self) -> Mask:
        """[symbols] those that are never heads, where a grammar tells heads from others."""
        raise LatreeError(f"heads are given to svs, whose grammar knows them; this is a {self.kind}")

    def _is_root(self, label: str | None) -> bool:
        return label is None or self.labels.says_nothing(label)

    def _called(self, label: str) -> Mask:
        """[symbols] which phrases and tags a label stands for."""
        phrase, tag = self.labels.phrase(label), self.labels.tag(label)
        names = {"phrase": phrase, "tag": tag if self.fine is None else self.fine.tags.coarse(tag)}
        return np.array([names.get(symbol.kind) == symbol.label for symbol in self.grammar.symbols])

    def _given_tags(self, sentence: PartialTree) -> dict[int, str]:
        """The whole tags that are given, by the words' places, where the grammar's are coarser."""
        if self.fine is None:
            return {}
        tags: dict[int, str] = {}
        for one in sentence.brackets:
            tag = self.labels.tag(one.label or "")
            is_given = one.end - one.start == 1 and not one.forbidden and tag in self.fine.tags.number
            if is_given and tags.setdefault(one.start, tag) != tag:
                raise LatreeError(f"{sentence.told(one)} and {tags[one.start]}: a word has one tag; drop one of them")
        return tags

    def unmet(self, sentence: Sentence) -> str:
        """Name the first bracket that no tree has, with those before it."""
        if not isinstance(sentence, PartialTree):
            return super().unmet(sentence)
        searcher, brackets = self.searcher, sentence.brackets
        chart = searcher.coarse(searcher.read(sentence.words))

        def agree(some: Sequence[Bracket]) -> bool:
            return bool(np.isfinite(self._bounds(sentence, some).on_chart(chart).log_z))

        # More brackets never leave more trees, so that few charts tell which of hundreds of brackets is too many.
        first = bisect_left(range(len(brackets)), True, key=lambda k: not agree(brackets[: k + 1]))
        if first == len(brackets):
            return "no subtypes derive a tree with these brackets; this one is without them"
        alone = "" if not agree([brackets[first]]) else " together with the brackets before it"
        return f"no tree of this grammar has {sentence.told(brackets[first])}{alone}; this one is without constraints"

    def coarse(self, reading: Any) -> Chart:
        return fill_chart(self.chart, reading.tags)

    def prune(self, coarse: Any, threshold: float) -> Piece:
        return prune(coarse, self._find, threshold)

    # -- results

    def analysis_of(self, tokens: tuple[str, ...], search: Search, derivation: Derivation, which: int) -> Parse:
        tree = self._finely_tagged(derivation.tree(self.grammar, tokens), search.attempts[which].tags)
        look_up = SentencePhrases(search.phrases, which)
        return Parse(tokens, derivation.log_weight, float(search.log_z[which]), tree=tree, look_up=look_up)

    def _finely_tagged(self, tree: Tree, given: Mapping[int, str] = NO_TAGS) -> Tree:
        """A tree as the treebank would have it; some words' tags are given."""
        return tree if self.fine is None else self.fine.refined(tree, self.lexicon, given)

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Parse:
        """A flat tree of the likeliest tags under the commonest sentence label."""
        if not tokens:
            return Parse((), -np.inf, -np.inf, *trouble)
        tags = [self.likeliest_tag(word, first=i == 0) for i, word in enumerate(tokens)]
        leaves = [Tree(tag, word=word) for tag, word in zip(tags, tokens, strict=True)]
        label = most_frequent_child(self.grammar, self.coarse_theta())
        phrase = Tree(label.label, leaves) if label is not None else None
        tree = Tree(self.labels.root, [phrase] if phrase is not None else leaves)
        return Parse(tokens, -np.inf, -np.inf, *trouble, tree=self._finely_tagged(tree))

    # -- treebanks

    def read_treebank(self, path: str | Path) -> Iterator[Tree]:
        if detect_format(path) != "ptb":
            raise LatreeError(f"{path}: CoNLL-U has no trees to train a {self.kind} on; it trains a tagger")
        return read_trees(path)

    def prepare_data(self, data: Iterable[Tree]) -> Iterable[Node]:
        """Clean and binarise trees; those without words are left out."""
        return [self.binarization.apply(tree) for tree in self._clean(data)]

    def _clean(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Apply the label rules to trees; those without words are left out."""
        empty = True
        for tree in map(self.labels.clean, map(_checked_tree, trees)):
            if tree is not None:
                empty = False
                yield tree
        if empty:
            raise LatreeError("the treebank has no trees with words")


def _checked_tree(tree: Any) -> Tree:
    """Check that what should be a tree is one."""
    if not isinstance(tree, Tree):
        raise LatreeError(
            f"expected a tree, not {clipped(tree)}; Tree.read takes one from brackets, latree.read_trees from a file"
        )
    return tree


def tagged_sentences(grammar: Grammar, nodes: Iterable[Node]) -> list[list[tuple[str, int]]]:
    """(word, tag number) sentences of binarised trees, as the lexicon counts them."""
    number = grammar.tag_index
    return [[(word, number[symbol]) for word, symbol in tagged_words(node)] for node in nodes]
