"""What a lexicon counts as rare, and how much it makes of it."""

from __future__ import annotations

from dataclasses import dataclass

from latree.options import Options, option


@dataclass(frozen=True)
class LexiconOptions(Options):
    """What counts as rare, and how strongly P(t|w) is drawn towards p_u; the defaults are the Berkeley parser's,
    those of the guesser were chosen on dev parts."""

    # A tagger's was chosen on the dev parts of seven tagging sets: it gains from a sharper idea of what is rare.
    rare: int = option(
        20,
        "Words that occur at most so often in training show how words that never occur behave.",
        least=1,
        tagger=3,
    )
    known: float = 0.1  # weight of p_u for a known word ...
    frequent: float = 0.0001  # ... and for one with more than `often` tokens
    often: int = 100
    unknown: float = 0.5  # weight of p_u for a signature
    guessed: float = 1.0  # weight of the guesser's opinion, in place of p_u, for a known word that is rare
