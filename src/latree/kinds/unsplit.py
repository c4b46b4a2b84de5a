"""The grammar of a parser without its subtypes: what it derives is a better stand-in than a flat tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.inference.reading import Emissions
from latree.inference.results import Parse
from latree.kinds.fine_tags import FineTagger
from latree.kinds.parser import Parser
from latree.learning.loop import Training

REASON = "the subtypes derive nothing for these words; this is what the grammar derives without them"


class Unsplit(Parser):
    """Another parser's rules, each with the weight that it has in the coarse pass."""

    kind = "unsplit"
    parser: Any  # a grammar with subtypes

    def __init__(self, parser: Parser) -> None:
        self.parser, self.training = parser, parser.training
        self.grammar, self.lexicon, self.theta = parser.grammar, parser.lexicon, parser.coarse_theta()
        self.labels, self.binarization, self.max_length = parser.labels, parser.binarization, parser.max_length
        self.threshold = parser.threshold
        self.prepare()

    def learn(self, data: object, training: Training) -> None:
        raise LatreeError("an unsplit grammar is made of a parser that was trained; fit that one")

    def read(self, tokens: Sequence[str]) -> Emissions:
        tags: Floats = self.parser.read(tokens).tags
        return Emissions(tags, tags)

    def likeliest_tag(self, word: str, first: bool) -> str:
        tag: str = self.parser.likeliest_tag(word, first)
        return tag

    @property
    def fine(self) -> FineTagger | None:
        tagger: FineTagger | None = self.parser.fine
        return tagger


def without_subtypes(parser: Parser, tokens: tuple[str, ...]) -> Parse | None:
    """What the grammar derives without its subtypes, told to be that; None where it derives nothing."""
    found = next(Unsplit(parser).analyse([tokens]))
    return found.as_stand_in(REASON) if found.status == "ok" else None
