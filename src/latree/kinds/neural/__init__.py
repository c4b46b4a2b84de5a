"""Grammars that read in context: a neural encoder weighs words and phrases, inference stays exact.

The rules are those of a Gaussian-mixture grammar (gm-lveg).  What the encoder makes of a word where it stands is a
point in the latent space of its tags, a Gaussian for every tag; what it makes of a span is a weight for every label.
"""

from __future__ import annotations

from dataclasses import dataclass

from latree.errors import LatreeError
from latree.kinds.options import TreebankOptions
from latree.kinds.registry import Kind
from latree.options import CHANGED, option

SCRATCH = "scratch"
_OWN, _READY = {"encoder": SCRATCH}, {"encoder": CHANGED}
_NUMBERS = dict.fromkeys(("width", "hidden", "characters", "word_vector"), 10_000)
_MOST = {"dim": 1000, "components": 1000, "layers": 100, **_NUMBERS}  # sizes of a network


@dataclass(frozen=True)
class NeuralOptions(TreebankOptions):
    """The constants of the model and its training."""

    encoder: str = option(
        SCRATCH,
        "What reads words in their context: scratch, a network that learns from the treebank alone; or a transformer "
        "that has learned from much text: a folder in the layout of Hugging Face, a package that holds such a folder, "
        "or a name on their hub.",
    )
    rounds: int = option(
        4,
        "Rounds of split and merge of the grammar with subtypes (lvg) that says what is worth considering.",
        least=1,
        only="parser",
    )
    dim: int = option(4, "Numbers in the latent vector of a phrase or word.", least=1)
    components: int = option(1, "Gaussians in the weight of a rule.", least=1)
    spans: bool = option(True, "Let the encoder weigh phrases too, not words alone.", only="parser")
    width: int = option(
        300, "Numbers that each direction of the network makes of a word in its context.", least=1, needs=_OWN
    )
    layers: int = option(2, "Layers of the network: all of them, or those on top of a transformer.", least=1)
    dropout: float = option(0.33, "Share of numbers that are left out at random in training.", least=0.0, most=0.9)
    epochs: int = option(
        30, "Passes over the treebank; after each the model is scored on --dev, and the best one is kept.", least=1
    )
    batch: int = option(32, "Sentences in one step of training.", least=1)
    rate: float = option(
        2e-3, "Length of the first steps of training (Adam); it falls to nothing, pass after pass.", least=0.0
    )
    encoder_rate: float = option(
        2e-4, "--rate of the transformer's uppermost layer; the lower a layer, the less.", least=0.0, needs=_READY
    )
    max_length: int = option(80, "Sentences of more words are left out of training, since they take long.", least=1)
    looseness: float = option(
        0.1,
        "How much more of each sentence is considered than by the grammar with subtypes itself: its pruning thresholds "
        "are multiplied by this, so that 0.1 prunes less and 1 as much.",
        least=1e-9,
        most=1.0,
    )
    device: str = option("cpu", "Where the network is trained: cpu, cuda, or mps.")
    alone: bool = option(False, "Decide by the network alone, not together with the model that prunes.")
    informed: bool = True  # whether words begin with what the pruner's lexicon says of them
    hidden: int = 250  # numbers in between, of a span
    characters: int = 100  # numbers that a word's letters make
    word_vector: int = 100
    word_dropout: float = 0.2  # share of words that are taken for unknown in training
    piece_dropout: float = 0.1  # share of a transformer's pieces that are hidden in training
    depth_rate: float = 0.85  # rate of a layer of the transformer, as a share of that of the layer above
    averaging: int = (
        200  # steps of training, about, whose weights are averaged, where these are no more than two passes
    )
    warm_up: float = 0.05  # share of training in which the rate rises
    grammar_rate: float = 1e-2  # of the rules' weights
    clip: float = 5.0  # a step's gradient is no longer than this
    spread: float = 0.05  # means of rules begin within this of zero

    def __post_init__(self) -> None:
        """Refuse sizes that no network has, before one is made of them: those of a file may be anything."""
        for name, most in _MOST.items():
            if not 1 <= (size := getattr(self, name)) <= most:
                raise LatreeError(f"{name}, {size}, must lie between 1 and {most}")

    @property
    def from_scratch(self) -> bool:
        return self.encoder == SCRATCH


KIND = Kind(
    "neural",
    "Continuous subtypes that are read in context: a neural encoder weighs words and phrases (extra `neural`).",
    options=NeuralOptions,
    parser="latree.kinds.neural.model:NeuralParser",
    tagger="latree.kinds.neural.model:NeuralTagger",
    report="latree.kinds.neural.report:report",
    multiplies=True,
    joins_pruner=True,
    pruners=("lvg", "hmm", "gm-lveg"),
    needs="torch",
)
