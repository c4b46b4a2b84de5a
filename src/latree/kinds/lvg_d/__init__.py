"""Log-linear latent variable grammars, trained to tell right trees from wrong ones (Petrov 2009, section 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from latree.kinds.options import TreebankOptions, spans_option
from latree.kinds.registry import Kind
from latree.options import SET, option

Penalty = Literal["l1", "l2"]


@dataclass(frozen=True)
class LvgDOptions(TreebankOptions):
    """The constants of the model and its training."""

    rounds: int = option(
        4,
        "Rounds of split and merge of the generative grammar (lvg) that training begins with.",
        least=1,
        only="parser",
        needs={"subtypes": None},
    )
    subtypes: int | None = option(
        None,
        "Give every category exactly so many subtypes, a power of two, instead of --rounds.",
        least=1,
        shown="as many as --rounds finds useful; for a tagger 4",
        tagger=4,
    )
    start: Literal["generative", "zero"] = option(
        "generative", "Where the weights begin: at those of the generative grammar, or all alike at zero."
    )
    scales: bool = option(
        False, "Make each rule only as fine as it needs to be: subtypes are told apart where it pays."
    )
    spans: bool = spans_option()
    penalty: Penalty = option(
        "l1", "What holds the weights back: l1 leaves most of them where they began, l2 draws all of them a little."
    )
    strength: float = option(0.5, "How strongly the penalty holds the weights back.", least=0.0)
    epochs: int = option(
        3, "Stretches of training; after each the model is scored on --dev, and the best one is kept.", least=1
    )
    iterations: int = option(8, "Steps of the optimiser in each of these stretches.", least=1)
    stochastic: int = option(
        0, "Passes over the treebank in small, quick steps (Adam) before the first stretch.", least=0
    )
    rate: float = option(0.05, "Length of these quick steps.", least=0.0, needs={"stochastic": SET})
    batch: int = option(128, "Sentences taken together: more need more memory, and make quick steps rarer.", least=1)
    max_length: int = option(50, "Sentences of more words are left out of training, since they take long.", least=1)
    joined: int = 5  # words with at most so many tokens have their class's weights beside their own
    threshold: float = 1e-3  # edges of a lower posterior under the pruner are dropped
    floor: float = 0.02  # share of the unsplit grammar in the start: cells that EM emptied come to life again
    gain: float = 2.0  # nats that dividing a node must gain, where several scales begin at the generative grammar
    noise: float = 0.01  # in the first parameters, where subtypes begin alike

    @property
    def ridge(self) -> float:
        """The strength of a penalty by squares."""
        return self.strength if self.penalty == "l2" else 0.0


KIND = Kind(
    "lvg-d",
    "Subtypes with weights trained to tell right trees from wrong ones.",
    options=LvgDOptions,
    parser="latree.kinds.lvg_d.model:LvgD",
    tagger="latree.kinds.lvg_d.model:LvgDTagger",
    report="latree.kinds.lvg_d.report:report",
    multiplies=True,
    pruners=("lvg",),
)
