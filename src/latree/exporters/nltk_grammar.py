"""A grammar for NLTK: what `nltk.PCFG.fromstring` reads, and its parsers work with.

NLTK wants probabilities that sum to one for every symbol.  So each tag has the words that it was seen with, and the
classes of words that training never saw, by the lexicon as a distribution (`lexicon.distribution`), brought to a sum of
one; a class stands as a word of its own, `UNK-lower~ing`.  Names are spelled with what NLTK allows in them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.exporters.listing import Listing, Subtype
from latree.lexicon.distribution import WordDistribution

_FOREIGN = re.compile(r"[^\w/^<>-]")  # what a name may not have
_LEADING = re.compile(r"[\w/]")
CLASS = "UNK-"

Production = tuple[str, str, float]  # left side, right side, probability


def texts(listing: Listing) -> Mapping[str, str]:
    """One file; the rules of the root first, since NLTK takes the first symbol for the start."""
    names = spelled(listing)
    productions = [*_rules(listing, names), *_words(listing, names)]
    totals: dict[str, float] = defaultdict(float)
    for left, _, probability in productions:
        totals[left] += probability
    lines = (f"{left} -> {right} [{_digits(probability / totals[left])}]" for left, right, probability in productions)
    return {".pcfg": "".join(f"{line}\n" for line in lines)}


def _digits(probability: float) -> str:
    """A number without an exponent, which NLTK does not read."""
    return np.format_float_positional(probability, trim="-")


def spelled(listing: Listing) -> dict[Subtype, str]:
    """A name of its own for every subtype."""
    names: dict[Subtype, str] = {}
    taken: set[str] = set()
    for number, symbol in enumerate(listing.grammar.symbols):
        name = _FOREIGN.sub(lambda found: f"<{ord(found.group()):X}>", str(symbol))
        name = name if _LEADING.match(name) else f"/{name}"
        if name in taken:  # a phrase and a tag of one name
            name += f"/{symbol.kind}"
        size = int(listing.layout.size[number])
        new = {(number, k): f"{name}_{k}" if size > 1 else name for k in range(size)}
        if name in taken or not taken.isdisjoint(new.values()):
            raise LatreeError(f"{symbol}: no name for it that NLTK allows and that is not another symbol's")
        taken |= {name, *new.values()}
        names |= new
    return names


def _rules(listing: Listing, names: Mapping[Subtype, str]) -> Iterator[Production]:
    """The rules by their parents; the root is the first symbol."""
    for rule in sorted(listing.rules(), key=lambda rule: rule.parent):
        yield names[rule.parent], " ".join(names[child] for child in rule.children), rule.probability


def _words(listing: Listing, names: Mapping[Subtype, str]) -> Iterator[Production]:
    """The words of every subtype of a tag, then the classes."""
    lexicon = listing.model.lexicon
    distribution = WordDistribution(lexicon, listing.model.word_mixing())
    for tag, word, _ in listing.words():
        yield from _productions(listing, names, tag, quoted(word), distribution.emissions(word, False))
    rows = {name: row for row, name in enumerate(lexicon.signatures)}
    for tag, name, _ in listing.classes():
        yield from _productions(listing, names, tag, quoted(CLASS + name), distribution.class_emissions(rows[name]))


def _productions(
    listing: Listing, names: Mapping[Subtype, str], tag: int, terminal: str, row: Floats
) -> Iterator[Production]:
    """What gives a word, of all subtypes of a tag."""
    for number, probability in enumerate(row[listing.columns(tag)].tolist()):
        if probability > 0:
            yield names[tag, number], terminal, probability


def quoted(word: str) -> str:
    """A word as a terminal; of one with both kinds of quotes, which cannot be written, the double ones become two."""
    if "'" in word:
        return '"' + word.replace('"', "''") + '"'
    return f"'{word}'"
