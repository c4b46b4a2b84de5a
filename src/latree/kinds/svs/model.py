"""The parser of structured vectorial semantics: every constituent has a vector over concepts, and concepts are the same
for all categories ("Structured Vectorial Semantics for Broad-coverage Parsing")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.checks import integers, numbers
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile, pack_strings, unpack_strings
from latree.inference.constraints import Mask
from latree.inference.decode import only
from latree.inference.derivations import Derivation
from latree.inference.forest import Forest, restrict
from latree.inference.forms.factored import NO_RELATION, Factored, no_statistics, with_words
from latree.inference.grammar import count_rules, normalise
from latree.inference.reading import Emissions
from latree.inference.results import Objective, Parse
from latree.inference.sweep import Inference
from latree.kinds.parser import Parser, tagged_sentences
from latree.kinds.search import Search
from latree.kinds.sentences import Sentence
from latree.kinds.svs import Choice, SvsOptions
from latree.kinds.svs.choice import chosen_edges
from latree.kinds.svs.counts import Headwords, Structure, normalised, structure
from latree.kinds.svs.derivations import TreeForest, all_derivations
from latree.kinds.svs.relations import HeadBinarization, Relation, is_head
from latree.kinds.svs.training import Concepts
from latree.kinds.svs.vectors import ConstituentVector, Neighbour, Vector, annotated_tree, read_vectors, similarity
from latree.learning.loop import Training, train
from latree.lexicon.words import Lexicon
from latree.text.binary import Node
from latree.text.draw import Picture
from latree.text.heads import HeadRules
from latree.text.tree import Tree

OTHERS = "unk"  # the concept of words that are no headwords, as the paper calls them


class Svs(Parser):
    """`Svs().fit(trees).parse(tokens)`; `.vectors(tree)` gives a vector for every constituent."""

    kind = "svs"
    for_people = (*Parser.for_people, "vectors", "draw", "sentence_vector", "similarity", "neighbours")
    options: SvsOptions
    certifies = tempers = False
    run_options = (*Parser.run_options, "choice")
    rule: Floats  # [rules, concepts] theta_M, smoothed
    relation: Floats  # [relations, concepts, concepts] theta_L
    prior: Floats  # [symbols, concepts] how often each occurs
    concept_of: Floats  # [headwords, concepts] P(i | h)
    choice: Choice = "vector"  # what `viterbi` means

    def _modifiers(self) -> Mask:
        return np.array([not is_head(symbol) for symbol in self.grammar.symbols])

    # -- training

    def prepare_data(self, data: Iterable[Tree]) -> list[Node]:
        """Clean trees, and make them binary by their heads."""
        cleaned = list(self._clean(data))
        heads = self.options.heads or HeadRules.for_labels(node.label for tree in cleaned for node in tree.subtrees())
        sisters = self.options.horizontal
        self.binarization = HeadBinarization.of(cleaned, heads, self.options.least, sisters)  # type: ignore[assignment]
        return [self.binarization.apply(tree) for tree in cleaned]

    def learn(self, data: list[Node], training: Training) -> None:
        """Counts; where headwords are clustered the EM of eqns 13 to 17; where asked for, EM over the trees."""
        self.grammar, counts = count_rules(data)
        one_head_relation = self.options.head_relation == "one"
        self.structure = structure(self.grammar, counts, self.options.least, one_head_relation)
        self.theta = normalise(self.grammar.rules, counts, len(self.grammar.symbols))
        sentences = tagged_sentences(self.grammar, data)
        unsplit = Lexicon.count(sentences, len(self.grammar.tags), self.options.unknown, self.options.lexicon)
        train(Concepts(self, data, unsplit), training, self.options.seed)

    # -- tables

    @property
    def concepts(self) -> int:
        return int(self.concept_of.shape[1])

    def prepare(self) -> None:
        """Add what concepts say of tags."""
        super().prepare()
        self.tag_concepts = normalised(self.prior[self.grammar.first_tag :])

    def form(self) -> Factored:
        return Factored(self.rule, self.relation, self.structure.label, np.zeros(0), np.zeros(1, np.int64))

    def widths(self) -> Longs:
        return np.where(np.arange(len(self.grammar.symbols)) == 0, 1, self.concepts)

    def complexity(self) -> Longs:
        """[symbols] weights other than zero of the rules by concepts; relations, which belong to no category, are left
        out."""
        numbers = np.count_nonzero(self.rule, axis=1)
        return np.bincount(self.grammar.rules[:, 0], numbers, len(self.grammar.symbols)).astype(np.int64)

    # -- search

    def read(self, tokens: Sequence[str]) -> Emissions:
        """P(w | lc) and P(w | lc i), tags' concepts laid end to end (eqn 19)."""
        concepts = self.lexicon.emissions(tokens).reshape(len(tokens), -1, self.concepts)
        tags = (concepts * self.tag_concepts).sum(2)
        share = self.options.word_smoothing
        concepts = (1 - share) * concepts + share * tags[:, :, None]
        return Emissions(tags, concepts.reshape(len(tokens), -1))

    def weights(self, reading: Emissions) -> Factored:
        return with_words(self.tensors, reading.subtypes)

    def no_statistics(self, weights: Factored) -> Factored:
        return no_statistics(weights)

    def likeliest_tag(self, word: str, first: bool) -> str:
        """The likeliest tag of a word by itself, its concepts taken together."""
        by_tag = self.lexicon.tag_given_word(word, first).reshape(-1, self.concepts).sum(1)
        return self.grammar.tags[int(np.argmax(by_tag))].label

    def viterbi_scores(self, forest: Forest, reading: Emissions) -> Floats:
        """Zero on the derivation that the paper's parser chooses (`choice`)."""
        return only(forest, chosen_edges(forest, self.weights(reading), self.widths(), self.priors, self.choice))

    @property
    def priors(self) -> Floats:
        """[symbols, concepts] a of eqn 9."""
        return self.prior / max(float(self.prior.sum()), 1e-300)

    # -- trees, which may have several derivations: by other heads, or modifiers in another order

    def log_prob_tree(self, tree: Tree) -> float:
        """log P(T, w) over all its derivations; -inf where the grammar has none."""
        derivations, reading = self._derivations(tree)
        return -np.inf if derivations is None else float(self.log_inside(derivations.forest, reading)[0])

    def analysis_of(self, tokens: tuple[str, ...], search: Search, derivation: Derivation, which: int) -> Parse:
        """The tree of a derivation, with the probability of the tree."""
        parse = super().analysis_of(tokens, search, derivation, which)
        return parse if parse.tree is None else replace(parse, log_joint=self._log_joint(parse.tree, search, which))

    def _log_joint(self, tree: Tree, search: Search, which: int) -> float:
        """log P(T, w) over its derivations that survived pruning, as log P(w) is: so that shares of it sum to one."""
        derivations, reading = self._derivations(tree)
        if derivations is None:
            return -np.inf
        kept = restrict(derivations.forest, search.contains(derivations.forest, which))
        return float(self.log_inside(kept, reading)[0])

    def kbest(self, sentence: Sentence, k: int, objective: Objective = "max-rule") -> list[Parse]:
        """The k best trees: that of a better derivation comes first, and no tree twice."""
        asked = k
        while True:
            found = super().kbest(sentence, asked, objective)
            trees: dict[Tree | None, Parse] = {}
            for parse in found:
                trees.setdefault(parse.tree, parse)  # where its best derivation stands
            if len(trees) >= k or len(found) < asked:
                return list(trees.values())[:k]
            asked *= 2

    # -- vectors

    def vectors(self, tree: Tree) -> list[ConstituentVector]:
        """A vector over concepts for every constituent of a tree, the largest first; tags are left out."""
        return read_vectors(self.grammar, *self._infer_tree(tree))

    def draw(self, tree: Tree) -> Picture:
        """A picture of a tree with the likeliest concept of every node and its relation to the node above.

        A node is ID, the head of the phrase above, or MOD, a modifier; concepts have their numbers, or headwords.
        """
        names = (*self.headwords.words, OTHERS) if self.options.clusters == 0 else [*map(str, range(self.concepts))]
        return Picture(annotated_tree(self.grammar, *self._infer_tree(tree), names))

    def _infer_tree(self, tree: Tree) -> tuple[TreeForest, Inference]:
        """All derivations of a tree, and what follows from them."""
        derivations, reading = self._derivations(tree)
        inference = None if derivations is None else self.infer(derivations.forest, reading)
        if derivations is None or inference is None or not np.isfinite(inference.log_z[0]):
            raise LatreeError("the grammar does not derive this tree, so that its constituents have no vectors")
        return derivations, inference

    def _derivations(self, tree: Tree) -> tuple[TreeForest | None, Emissions]:
        """A tree with every choice of heads, where the grammar has any, and what is known of its words."""
        cleaned = self.cleaned(tree)
        binarization: HeadBinarization = self.binarization  # type: ignore[assignment]
        return all_derivations(cleaned, self.grammar, binarization), self.read(cleaned.words())

    def sentence_vector(self, tree: Tree) -> ConstituentVector:
        """That of the topmost constituent, whose head is the sentence's."""
        vectors = self.vectors(tree)
        if not vectors:
            raise LatreeError("the tree has no constituents but its root")
        return vectors[0]

    @staticmethod
    def similarity(a: Vector, b: Vector) -> float:
        """0 to 1: the cosine of the square roots of two posteriors, which is their Bhattacharyya coefficient."""
        return similarity(a, b)

    @staticmethod
    def neighbours(vector: Vector, bank: Sequence[tuple[str, ConstituentVector]], k: int = 10) -> list[Neighbour]:
        """The k constituents of a bank, each given with its text, that are most like one, the most alike first."""
        found = [Neighbour(text, one, similarity(vector, one)) for text, one in bank]
        return sorted(found, key=lambda neighbour: -neighbour.similarity)[:k]

    # -- files

    def state(self) -> ModelFile:
        header, arrays = super().state()
        header["binarization"] = self.binarization.to_json()
        header["relations"] = [list(relation) for relation in self.structure.relations]
        names = ("rule", "relation", "prior", "concept_of")
        arrays |= {f"svs.{name}": getattr(self, name) for name in names}
        arrays["svs.label"] = self.structure.label
        return ModelFile(header, arrays | {"svs.headwords": pack_strings(self.headwords.words)})

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        self.binarization = HeadBinarization.from_json(header["binarization"])  # type: ignore[assignment]
        self.headwords = Headwords(unpack_strings(arrays["svs.headwords"]))
        rules, symbols, relations = len(self.grammar.rules), len(self.grammar.symbols), len(header["relations"])
        self.rule = numbers("svs.rule", arrays, (rules, None))
        concepts = self.rule.shape[1]
        if concepts == 0:
            raise ValueError("there are no concepts")
        self.relation = numbers("svs.relation", arrays, (relations, concepts, concepts))
        self.prior = numbers("svs.prior", arrays, (symbols, concepts))
        self.concept_of = numbers("svs.concept_of", arrays, (len(self.headwords.words) + 1, concepts))
        label = integers("svs.label", arrays, (rules, 2), NO_RELATION, relations).astype(np.int32)
        below = (self.grammar.rules[:, :1] > 0) & (self.grammar.rules[:, 1:] != NONE)
        if not np.array_equal(label != NO_RELATION, below):
            raise ValueError("children have no relations, or relations no children")
        self.structure = Structure(label, tuple(Relation(*one) for one in header["relations"]))
