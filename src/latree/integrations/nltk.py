"""latree as NLTK's parser and tagger: the interfaces `ParserI` and `TaggerI`, trees as `ProbabilisticTree`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from latree.errors import LatreeError
from latree.exporters import grammar_texts
from latree.inference.results import Parse
from latree.integrations.common import Named, analyses, missing, tags_of, the_model, the_parser
from latree.text.tree import Tree, escape, unescape

try:
    from nltk import PCFG, ParserI, ProbabilisticTree, TaggerI
    from nltk import Tree as NltkTree
except ImportError:
    raise missing("NLTK", "nltk") from None


class LatreeParser(ParserI):  # type: ignore[misc]
    """Parses lists of words; with `k`, into so many trees a sentence, the best first.

    The probability of a tree is P(tree | words), and that of a phrase inside it the probability that the phrase is
    there, summed over all trees.  A stand-in, for a sentence that the grammar does not derive, has none: None.
    Parentheses are -LRB- and -RRB- in trees, as NLTK's own readers leave them, and may be either in sentences.
    """

    def __init__(self, model: Named = None, k: int = 1) -> None:
        if k < 1:
            raise LatreeError(f"cannot list {k} trees; ask for one or more")
        self.model, self.k = the_parser(model), k

    def grammar(self) -> PCFG:
        """The grammar for NLTK, of models whose rules have probabilities; subtypes are symbols of their own."""
        return PCFG.fromstring(grammar_texts(self.model, "nltk")[".pcfg"])

    def parse(self, sent: Sequence[str]) -> Iterator[ProbabilisticTree]:
        """The best trees of a sentence, the best first."""
        return next(self.parse_sents([sent]))

    def parse_sents(self, sents: Iterable[Sequence[str]]) -> Iterator[Iterator[ProbabilisticTree]]:
        """The best trees of every sentence."""
        for parses in self._best(map(_words, sents)):
            yield (probabilistic(parse) for parse in parses if parse.tree is not None)

    def _best(self, sentences: Iterable[list[str]]) -> Iterator[list[Parse]]:
        if self.k == 1:
            return ([parse] for parse in self.model.parse_all(sentences))
        return (self.model.kbest(words, self.k) for words in sentences)


class LatreeTagger(TaggerI):  # type: ignore[misc]
    """Tags lists of words: by a tagger, or by the best trees of a parser."""

    def __init__(self, model: Named = None) -> None:
        self.model = the_model(model)

    def tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
        """The words of a sentence with their tags."""
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Iterable[Sequence[str]]) -> list[list[tuple[str, str]]]:
        """The words of every sentence with their tags."""
        given = [list(sentence) for sentence in sentences]
        told = analyses(self.model, [_words(sentence) for sentence in given])
        return [list(zip(words, tags_of(one), strict=True)) for words, one in zip(given, told, strict=True)]


def probabilistic(parse: Parse) -> ProbabilisticTree:
    """The tree of a parse for NLTK, with its probability and with those of its phrases."""
    if parse.tree is None:
        raise LatreeError("there are no words, and so no tree")
    phrases = [one.probability for one in parse.constituents]  # none of a stand-in

    def made(node: Tree, children: list[Any]) -> Any:
        if node.word is not None:
            return NltkTree(node.label, [escape(node.word)])
        return ProbabilisticTree(node.label, children, prob=phrases.pop() if phrases else None)  # a fold goes backwards

    tree = parse.tree.fold(made)
    tree.set_prob(None if math.isnan(parse.probability) else parse.probability)
    return tree


def _words(sentence: Sequence[str]) -> list[str]:
    """The words as latree has them; running text is not NLTK's notion of a sentence."""
    if isinstance(sentence, str):
        raise LatreeError("NLTK's sentences are lists of words; split the text, as nltk.word_tokenize does")
    return [unescape(word) for word in sentence]
