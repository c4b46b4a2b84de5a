"""A treebank as one forest with lexical entries, and the counts that EM takes from it.

Every word under its tag is an entry.  Rare words share what they say of a tag's subtypes: for them
P(w | t_x) = P(rare | t_x) P(w | rare, t), so that a word seen twice does not get subtypes of its own.  That is a model
with fewer parameters, whose maximum likelihood estimate is given below; EM with it never lowers the likelihood.

Where tags have finer ones behind them, a tag's subtype emits a word and a fine tag f together: in the above w is then
the pair, and P(rare, f | t_x) P(w | rare, f) its probability where the word is rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Longs, ranges, starts
from latree.files import compact
from latree.inference.forest import Forest, Piece, assemble, share
from latree.inference.forms.sparse import Sparse, with_entries
from latree.inference.grammar import Grammar
from latree.inference.subtypes import Layout
from latree.inference.trellis import chain_rules, gold_chain
from latree.jit import kernel, lean_kernel
from latree.learning.checkpoint import fingerprint
from latree.learning.coded_trees import CodedTrees
from latree.learning.on_disk import PiecesOnDisk, on_disk
from latree.learning.shards import Shards
from latree.lexicon.words import Lexicon

if TYPE_CHECKING:
    from latree.parallel import Jobs

# Subtrees are shared within a stretch, and every stretch reads all weights: short ones cost more than they bring.
WORDS_A_STRETCH = 30_000
MOST_STRETCHES = 64


@dataclass(frozen=True)
class Entries:
    """The lexical entries: a tag with a word, told apart further by the class of the token where the word is rare."""

    fine: Longs  # [entries] number among the fine tags, or where there are none among the tags
    tag: Longs  # [entries] number among the tags
    word: Longs  # number in the vocabulary
    signature: Longs  # class of a rare token, NONE for a frequent word
    count: Floats  # tokens


class Tokens(NamedTuple):
    """The words of a treebank, end to end."""

    words: Sequence[str]  # all that there are
    word: Longs  # [tokens] among these
    opens: NDArray[np.bool_]  # whether it is the first of its sentence
    tag: Longs
    fine: Longs  # number among the fine tags, or where there are none among the tags

    def entries(self, lexicon: Lexicon) -> tuple[Longs, Entries]:
        """The entry of every token, numbered as they are met, and what the entries are."""
        forms, form = np.unique(2 * self.word + self.opens, return_inverse=True)
        of_form = [lexicon.entry(self.words[code // 2], bool(code % 2)) for code in forms.tolist()]
        number_of = {pair: k for k, pair in enumerate(dict.fromkeys(of_form))}
        pair = np.array([number_of[pair] for pair in of_form], np.int64)[form]
        key = (self.fine * (int(self.tag.max(initial=0)) + 1) + self.tag) * len(number_of) + pair
        _, met, place, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(met)
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        first = met[order]
        word, signature = np.array(list(number_of), np.int64).reshape(-1, 2)[pair[first]].T
        tokens = count[order].astype(np.float64)
        return number[place], Entries(self.fine[first], self.tag[first], word.copy(), signature.copy(), tokens)


class Stretch(NamedTuple):
    """Some gold trees laid end to end."""

    forest: Forest  # a node an item
    shared: Forest  # a distinct subtree an item: what EM sums over

    @classmethod
    def of(cls, pieces: Sequence[Piece], rules: int) -> Stretch:
        forest = assemble(pieces, rules)
        return cls(on_disk(forest), on_disk(share(forest)))


def cut(pieces: PiecesOnDisk, words: int) -> list[PiecesOnDisk]:
    """Cut a treebank of so many words into a power of two of stretches with about as many edges each."""
    count = 1 << (min(max(words // WORDS_A_STRETCH, 1), MOST_STRETCHES).bit_length() - 1)
    edges = np.cumsum(pieces.edges)
    cuts = np.searchsorted(edges, edges[-1] * np.arange(1, count) // count)
    bounds = [0, *cuts.tolist(), len(pieces)]
    return [pieces[first:last] for first, last in pairwise(bounds) if first < last]


@dataclass(frozen=True)
class LatentTreebank:
    """Gold trees, in stretches that several processes may share."""

    grammar: Grammar
    shards: Shards[Stretch]
    entries: Entries
    vocabulary: tuple[str, ...]  # what the entries' words are
    words: int  # tokens in all

    @classmethod
    def of(
        cls, grammar: Grammar, trees: CodedTrees, lexicon: Lexicon, fine: Mapping[str, int] | None = None
    ) -> LatentTreebank:
        """`lexicon` is that of the unsplit tags: it says which words are rare, and their classes; `fine` has numbers
        for the fine tags that stand behind the trees' own, if they do."""
        tag = trees.tags(grammar)
        behind = tag if fine is None else trees.fine_numbers(fine)
        tokens = Tokens(trees.words, trees.word.astype(np.int64), trees.opens, tag, behind)
        number, entries = tokens.entries(lexicon)
        return cls._of_pieces(grammar, trees.pieces(grammar, number), entries, lexicon, len(number))

    @classmethod
    def of_tags(
        cls, grammar: Grammar, sentences: Sequence[Sequence[tuple[str, int]]], lexicon: Lexicon
    ) -> LatentTreebank:
        """Lay out (word, tag number) sentences of a bigram grammar."""
        words: dict[str, int] = {}
        word = [words.setdefault(word, len(words)) for sentence in sentences for word, _ in sentence]
        tag = np.array([tag for sentence in sentences for _, tag in sentence], np.int64)
        first, rules = starts([len(sentence) for sentence in sentences]), chain_rules(grammar)
        opens = np.zeros(len(word) + 1, np.bool_)
        opens[first] = True
        number, entries = Tokens(tuple(words), np.array(word, np.int64), opens[:-1], tag, tag).entries(lexicon)
        places = pairwise(first.tolist())
        pieces = (gold_chain(rules, tag[a:b].tolist(), number[a:b].tolist()) for a, b in places)
        return cls._of_pieces(grammar, pieces, entries, lexicon, len(number))

    @classmethod
    def _of_pieces(
        cls, grammar: Grammar, pieces: Iterator[Piece], entries: Entries, lexicon: Lexicon, words: int
    ) -> LatentTreebank:
        stretches = cut(PiecesOnDisk.of(pieces), words)
        shards = Shards(stretches, partial(Stretch.of, rules=len(grammar.rules)))
        return cls(grammar, shards, entries, lexicon.vocabulary, words)

    def opened(self, jobs: Jobs) -> LatentTreebank:
        """The same treebank with so many threads at work on it, or a cluster, whose `shards` are to be closed."""
        return replace(self, shards=Shards(self.shards.recipes, self.shards.build, jobs, threads=True))

    @cached_property
    def fingerprint(self) -> str:
        """What tells it from other treebanks."""
        names = ("\n".join(map(str, self.grammar.symbols)), "\n".join(self.vocabulary))
        pieces = (piece for stretch in self.shards.recipes for piece in stretch)
        arrays = (*(array for piece in pieces for array in piece[:2]), self.entries.word, self.entries.fine)
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        return fingerprint([*encoded, *(np.ascontiguousarray(array).tobytes() for array in arrays)])

    def lexical(self, layout: Layout) -> LexicalLayout:
        return LexicalLayout(self.entries, layout)


@dataclass(frozen=True)
class LexicalLayout:
    """Where the entries' vectors over subtypes lie, and how expected counts become P(w | t_x)."""

    entries: Entries
    layout: Layout
    finely: bool = False  # whether columns are subtypes under fine tags, each fine tag with those of its coarse one

    @cached_property
    def fine(self) -> LexicalLayout:
        """The same entries by their fine tags."""
        return self if self.finely else replace(self, finely=True)

    @cached_property
    def label(self) -> Longs:
        """[entries] the tag that columns are of."""
        return self.entries.fine if self.finely else self.entries.tag

    @cached_property
    def label_columns(self) -> Longs:
        """[labels + 1] the first column of each."""
        if not self.finely:
            return self.layout.tag_columns
        size = np.zeros(int(self.label.max(initial=-1)) + 1, np.int64)
        size[self.label] = self.size
        return starts(size)

    @cached_property
    def size(self) -> Longs:
        """[entries] subtypes of the entry's tag."""
        return self.layout.size[self.layout.grammar.first_tag + self.entries.tag]

    @property
    def columns(self) -> int:
        """How many subtypes all tags have."""
        return int(self.label_columns[-1])

    @cached_property
    def column(self) -> Longs:
        """For every number of the flat vectors its column among all tags' subtypes."""
        return ranges(self.label_columns[self.label], self.size)

    def by_column(self, counts: Floats) -> Floats:
        """Sum flat vectors to [columns]."""
        return np.bincount(self.column, weights=counts, minlength=self.columns).astype(np.float64)

    @cached_property
    def entry(self) -> Longs:
        """For every number of the flat vectors its entry."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @cached_property
    def pair(self) -> Longs:
        """For every number of the flat vectors its (word, column) pair: tokens of one word under one subtype."""
        pairs = self.entries.word[self.entry] * self.columns + self.column
        return np.asarray(np.unique(pairs, return_inverse=True)[1])

    @cached_property
    def rare_share(self) -> Floats:
        """P(w | rare, t) of each number's entry, or P(w | rare, f); zero for frequent words."""
        entries = self.entries
        rare = np.where(entries.signature == NONE, 0.0, entries.count)
        key = entries.word * len(self.label_columns) + self.label
        _, pair = np.unique(key, return_inverse=True)
        by_pair, by_tag = np.bincount(pair, rare)[pair], np.bincount(self.label, rare)[self.label]
        share = np.divide(by_pair, by_tag, out=np.zeros_like(rare), where=rare > 0)
        return share[self.entry]

    @cached_property
    def is_rare(self) -> NDArray[np.bool_]:
        return np.asarray(self.entries.signature[self.entry] != NONE)

    def tie(self, counts: Floats) -> Floats:
        """c_TW of each number's word and subtype: its own expected count, or for a rare word its share of the rare."""
        return _tied(counts, self.column, self.columns, self.pair, self.is_rare, self.rare_share)

    def estimate(self, counts: Floats) -> Floats:
        """Maximum likelihood P(w | t_x), or P(w, f | t_x), from expected counts, rare words tied."""
        tied = self.fine.tie(counts)
        _divide_by_totals(tied, counts, self.column, np.zeros(self.columns))
        return tied

    def lexicon(self, counts: Floats, unsplit: Lexicon) -> Lexicon:
        """The lexicon over all tags' subtypes, each a column: for words as they come, known or not."""
        columns = self.columns
        _, first = np.unique(self.pair, return_index=True)  # sorted by word, then by column
        tied = compact(self.tie(counts)[first])
        first, tied = first[tied > 0], tied[tied > 0]
        word = self.entries.word[self.entry[first]]
        word_ptr = np.searchsorted(word, np.arange(len(unsplit.vocabulary) + 1))
        rare = self.is_rare
        place = self.entries.signature[self.entry[rare]] * columns + self.column[rare]
        signature_count = np.bincount(place, weights=counts[rare], minlength=len(unsplit.signatures) * columns)
        return replace(
            unsplit,
            word_ptr=word_ptr,
            pair_tag=self.column[first],
            pair_count=tied,
            signature_count=compact(signature_count.reshape(-1, columns).astype(np.float64)),
            tag_columns=self.label_columns,
        )

    def weights(self, rules: Sparse, emissions: Floats) -> Sparse:
        """Rules with the entries' vectors: the weights of the treebank's forest."""
        return with_entries(rules, emissions, self.size)

    def mapped(self, vectors: Floats, maps: Sequence[Floats]) -> Floats:
        """Every entry's vector v becomes M v, with the matrix M of its tag."""
        tag_of = self.entries.tag
        size = np.array([len(matrix) for matrix in maps])[tag_of]
        start, old_start = starts(size), starts(self.size)
        result = np.empty(int(start[-1]))
        for tag, matrix in enumerate(maps):
            mine = np.flatnonzero(tag_of == tag)[:, None]
            rows = vectors[old_start[mine] + np.arange(matrix.shape[1])]
            result[start[mine] + np.arange(matrix.shape[0])] = rows @ matrix.T
        return result


@kernel
def _tied(
    counts: Floats, column: Longs, columns: int, pair: Longs, is_rare: NDArray[np.bool_], rare_share: Floats
) -> Floats:
    unseen, own, tied = np.zeros(columns), np.zeros(len(counts)), np.empty(len(counts))
    for k in range(len(counts)):
        if is_rare[k]:
            unseen[column[k]] += counts[k]
        else:
            own[pair[k]] += counts[k]
    for k in range(len(counts)):
        tied[k] = rare_share[k] * unseen[column[k]] if is_rare[k] else own[pair[k]]
    return tied


@lean_kernel
def _divide_by_totals(values: Floats, counts: Floats, column: Longs, total: Floats) -> None:
    """Divide values by the sums of their columns' counts, for which there is room."""
    for k in range(len(counts)):
        total[column[k]] += counts[k]
    for k in range(len(values)):
        values[k] = values[k] / total[column[k]] if total[column[k]] > 0.0 else 0.0
