"""Compositional vector grammars: a recursive network chooses from a grammar's k-best list (Socher et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from latree.kinds.options import TreeOptions, seed_option
from latree.kinds.registry import Kind
from latree.options import option

DIM = 25  # numbers in a vector, where no file of vectors says otherwise


@dataclass(frozen=True)
class CvgOptions(TreeOptions):
    """The constants of the model and its training."""

    seed: int = seed_option()
    rounds: int = option(
        4, "Rounds of split and merge of the grammar with subtypes (lvg) that lists the trees to choose from.", least=1
    )
    list_length: int = option(50, "Trees of a sentence that are listed to choose from.", name="list", least=1)
    dim: int | None = option(
        None, "Numbers in the vector of a phrase or word.", least=1, shown=f"{DIM}, or as many as in --vectors"
    )
    vectors: str | None = option(
        None,
        "A text file of word vectors to begin with, in each line a word and its numbers, as word2vec and GloVe write "
        "them; words that are not there begin at random, as all do without it.",
        shown="none",
    )
    folds: int = option(
        5,
        "Parts that the treebank is cut into: the trees of each are listed by a grammar trained on the others, which "
        "errs as on new sentences; 1: by the grammar itself, which has seen them.",
        least=1,
    )
    epochs: int = option(
        5, "Passes over the lists; after each the model is scored on --dev, and the best one is kept.", least=1
    )
    batch: int = option(20, "Sentences in one step of training.", least=1)
    rate: float = option(0.05, "Length of the steps of training (AdaGrad).", least=0.0)
    margin: float = option(
        0.5, "How much higher, for each wrong phrase of another tree, the best tree of a list is to score.", least=0.0
    )
    strength: float = option(1e-4, "How strongly the network is drawn back to where it began (L2).", least=0.0)
    max_length: int = option(50, "Sentences of more words are left out of training, since they take long.", least=1)
    memory: float = 0.6  # what is scored and kept is a running mean over epochs: this share of it is the mean before
    rare: int = 1  # words with at most this many tokens go by their class
    noise: float = 0.01  # in the first matrices
    spread: float = 0.1  # standard deviation of the first vectors of words

    def of_pruner(self) -> dict[str, Any]:
        """Tell the options of the grammar that lists the trees."""
        return {name: getattr(self, name) for name in (*(one.name for one in fields(TreeOptions)), "rounds")}


KIND = Kind(
    "cvg",
    "A recursive network of word and phrase vectors that chooses from a grammar's best trees.",
    options=CvgOptions,
    parser="latree.kinds.cvg.model:Cvg",
    report="latree.kinds.cvg.report:report",
    pruners=("lvg",),
)
