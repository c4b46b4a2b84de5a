"""The same words annotated unlike: variation nuclei (Dickinson & Meurers 2003, 2005).

A nucleus is a sequence of words that is annotated in more than one way, between the same words on both sides: as a
phrase of some label and as one of another or as no phrase, or of one word by several tags.  All sequences of one length
are looked at together, by hashes of their words, so that a treebank takes seconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Longs
from latree.check.findings import NO_BRACKET, Finding
from latree.check.nodes import nodes_of
from latree.text.tree import Tree

Hashes = NDArray[np.uint64]

LONGEST = 30  # words of a nucleus
SHOWN = 3  # places elsewhere that are told
COMPARED = 20  # of the places elsewhere, whose context is looked at
FURTHEST = 10  # words of context on each side that are compared
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products of it never vanish
_BORDER = 0  # the number that stands before and after every sentence


class Source(NamedTuple):
    """A tree and where it is from."""

    tree: Tree  # with clean labels
    file: str
    sentence: int
    is_checked: bool = True  # else it only says how others do it


class Nucleus(NamedTuple):
    """Occurrences of the same words that are annotated in several ways."""

    places: list[int]  # of the first words, in the corpus
    annotations: list[str]
    length: int
    is_tag: bool


@dataclass(frozen=True)
class Corpus:
    """All sentences end to end, a border before each and after the last."""

    sources: Sequence[Source]
    word: Longs  # numbers of the words
    sentence: Longs  # which source each word is of
    first: Longs  # where each sentence begins
    spots: dict[bool, list[tuple[int, int, str]]]  # for tags and for phrases: place of the first word, length, label

    @classmethod
    def of(cls, sources: Sequence[Source]) -> Corpus:
        number: dict[str, int] = {}
        words, owner, first = [_BORDER], [0], list[int]()
        spots: dict[bool, list[tuple[int, int, str]]] = {False: [], True: []}
        for which, source in enumerate(sources):
            begin = len(words)
            first.append(begin)
            tokens = source.tree.words()
            words += [*(number.setdefault(token, len(number) + 1) for token in tokens), _BORDER]
            owner += [which] * (len(tokens) + 1)
            for spot, _ in list(nodes_of(source.tree))[1:]:
                spots[spot.is_tag].append((begin + spot.start, spot.end - spot.start, spot.label))
        return cls(sources, np.array(words), np.array(owner), np.array(first), spots)

    def prefix_hashes(self) -> Hashes:
        """[words + 1] for every place a hash of all words before it."""
        table = np.empty(len(self.word) + 1, np.uint64)
        total, mask = 0, (1 << 64) - 1
        base, mixed = int(_BASE), _mixed(self.word).tolist()
        table[0] = 0
        for place, value in enumerate(mixed, start=1):
            total = (total * base + value) & mask
            table[place] = total
        return table


def _mixed(numbers: Longs) -> Hashes:
    """Numbers spread over all 64 bits."""
    spread: Hashes = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
    return spread ^ (spread >> np.uint64(29))


def variations(sources: Sequence[Source]) -> list[Finding]:
    """A finding for every way but the commonest in which a nucleus is annotated, where a checked tree has it."""
    corpus = Corpus.of(sources)
    hashes = corpus.prefix_hashes()
    return [
        finding
        for is_tag in (False, True)
        for nucleus in _nuclei(corpus, hashes, is_tag)
        for finding in _findings(corpus, nucleus)
    ]


# -- nuclei


def _nuclei(corpus: Corpus, hashes: Hashes, is_tag: bool) -> Iterator[Nucleus]:
    """All sequences of words that are annotated in several ways, the shortest first."""
    by_length: dict[int, dict[int, list[str]]] = {}
    for place, length, label in corpus.spots[is_tag]:
        if length <= LONGEST:
            by_length.setdefault(length, {}).setdefault(place, []).append(label)
    for length, labels in sorted(by_length.items()):
        names = {place: "/".join(chain) for place, chain in labels.items()}  # of a unary chain, all labels
        for places in _repeated(hashes, np.array(sorted(names)), length):
            annotations = [names.get(place, NO_BRACKET) for place in places]
            if len(set(annotations)) > 1:
                yield Nucleus(places, annotations, length, is_tag)


def _repeated(hashes: Hashes, annotated: Longs, length: int) -> Iterator[list[int]]:
    """The places of every annotated sequence of so many words that occurs again between the same two words."""
    wide = length + 2
    power = np.uint64(pow(int(_BASE), wide, 1 << 64))
    window = hashes[wide:] - hashes[:-wide] * power  # of the words from each place on
    wanted = np.unique(window[annotated - 1])
    at = np.flatnonzero(np.isin(window, wanted))
    order = at[np.argsort(window[at], kind="stable")]
    ends = np.flatnonzero(np.r_[np.diff(window[order]) != 0, True]) + 1
    starts = np.r_[0, ends[:-1]]
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if end - start > 1:
            yield (order[start:end] + 1).tolist()


# -- findings


def _findings(corpus: Corpus, nucleus: Nucleus) -> Iterator[Finding]:
    """Every place in a checked tree where the nucleus is not annotated as it mostly is."""
    counts = Counter(nucleus.annotations)
    commonest, most = counts.most_common(1)[0]
    common = _places(nucleus, commonest)
    for place, annotation in zip(nucleus.places, nucleus.annotations, strict=True):
        if annotation != commonest and corpus.sources[corpus.sentence[place]].is_checked:
            alike = max(_shared(corpus, place, other, nucleus.length) for other in common[:COMPARED])
            score = math.log((most + 0.5) / (counts[annotation] + 0.5)) + math.log(nucleus.length + alike)
            yield _finding(corpus, nucleus, place, (annotation, commonest), score, common)


def _places(nucleus: Nucleus, annotation: str) -> list[int]:
    return [place for place, one in zip(nucleus.places, nucleus.annotations, strict=True) if one == annotation]


def _shared(corpus: Corpus, one: int, other: int, length: int) -> int:
    """How many words two occurrences have in common on both sides, up to the ends of their sentences."""
    return sum(_run(corpus.word, one + first, other + first, step) for first, step in ((-1, -1), (length, 1)))


def _run(word: Longs, one: int, other: int, step: int) -> int:
    run = 0
    while run < FURTHEST and word[one] == word[other]:
        run += 1
        if word[one] == _BORDER:
            break
        one, other = one + step, other + step
    return run


def _finding(
    corpus: Corpus, nucleus: Nucleus, place: int, labels: tuple[str, str], score: float, common: Sequence[int]
) -> Finding:
    which = int(corpus.sentence[place])
    source, start = corpus.sources[which], place - int(corpus.first[which])
    counts = ", ".join(f"{name} {count}" for name, count in Counter(nucleus.annotations).most_common())
    return Finding(
        "variation",
        start,
        start + nucleus.length,
        *labels,
        score,
        tree=str(source.tree),
        note=f"{'tagged' if nucleus.is_tag else 'annotated'} {counts}",
        elsewhere=tuple(f"{labels[1]}: {_where(corpus, other)}" for other in common[:SHOWN]),
        file=source.file,
        sentence=source.sentence,
    )


def _where(corpus: Corpus, place: int) -> str:
    source = corpus.sources[corpus.sentence[place]]
    return f"{source.file}:{source.sentence}"
