"""What Zhao, Zhang & Tu (2018) did, as values of options: `latree train gm-lveg --paper`."""

from __future__ import annotations

from typing import Any, NamedTuple

from latree.options import Preset


class Stated(NamedTuple):
    """The values of an option for a parser and for a tagger, and where they come from: sections are the paper's."""

    parser: Any
    tagger: Any
    source: str


EVERY_LENGTH = 20_000  # words: as long as a sentence may be that is tagged at all

PAPER = {
    "dim": Stated(3, 3, "4.2, 4.3: the dimension of latent vectors is 3"),
    "components": Stated(4, 4, "4.2, 4.3: K_r = 4"),
    "word_components": Stated(4, 4, "4.3: all mixtures have 4 components; the authors' program gives words 2"),
    "grow": Stated(0, 0, "5: finding the number of components is left to others"),
    "covariance": Stated("spherical", "spherical", "4.3; for tagging 4.2 has diagonal ones too, GM-LVeG-D"),
    "start": Stated("treebank", "treebank", "3.3: rho = alpha P(r) of the treebank grammar"),
    "alpha": Stated(8.0, 8.0, "4.3; 4.2 does not give another for tagging"),
    "spread": Stated(0.05, 0.05, "3.3: means are drawn from [-0.05, 0.05]"),
    "spans": Stated(False, False, "2: rules alone have weights"),
    "epochs": Stated(15, 20, "4.3; 4.2"),
    "max_length": Stated(50, EVERY_LENGTH, "4.3: sentences of at most 50 words; 4.2 leaves none out"),
    "unknown": Stated("english", "english", "4.1: the Berkeley parser's classes; one class but for English"),
    "rare": Stated(1, 1, "4.1: words that occur less than two times go by their class"),
    "pruner": Stated("pcfg", "lvg", "3.2: the treebank grammar; a tagger has none to choose"),
    "subtypes": Stated(4, 1, "4.2: a tagger has no other model; a parser has none to choose"),
    "p_min": Stated(1e-5, 0.0, "4.3; 4.2: taggers prune nothing"),
    "looseness": Stated(1.0, 1.0, "4.3: p_min is that of training"),
    "k_min": Stated(40, 0, "4.3: 40 in learning; 4.2: taggers prune nothing"),
    "parse_k_min": Stated(20, None, "4.3: 20 in parsing"),
    "k_max": Stated(50, 0, "4.3"),
    "theta": Stated(0.35, 1.0, "4.3"),
    "alone": Stated(True, True, "4: no other model has a say in the choice"),
    "memory": Stated(0.0, 0.0, "3.3: epochs are not averaged"),
    "rate": Stated(0.01, 0.01, "the authors' program; the paper gives none"),
    "batch": Stated(180, 180, "the authors' program; the paper gives none"),
}

PRESET = Preset(
    {name: stated.parser for name, stated in PAPER.items()}, {name: stated.tagger for name, stated in PAPER.items()}
)
