"""Gaussian-mixture latent vector grammars: continuous subtypes (Zhao, Zhang & Tu 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from latree.errors import LatreeError
from latree.kinds.gm_lveg.paper import PRESET
from latree.kinds.options import TreebankOptions, fine_option, spans_option
from latree.kinds.registry import Kind
from latree.options import CHANGED, SET, option

_TREEBANK, _LIMIT = {"start": "treebank"}, {"k_max": SET}
Covariance = Literal["diagonal", "spherical"]
Apart = Literal["edges", "all"]  # which equal Gaussians of a mixture are kept apart


@dataclass(frozen=True)
class GmLvegOptions(TreebankOptions):
    """The constants of the model and its training.

    Rare words are the paper's; of the rate it says nothing.  The paper's dimension is 3, and its components 4, as a
    tagger has them: more dimensions, growth and wider forests, which help parsers, cost taggers time and gain them
    little.  Components are few at first and grow.  Batches are smaller, for smaller treebanks; the start is exactly the
    treebank's grammar unless `alpha` is given (the paper's is 8); epochs are averaged.
    """

    paper: bool = option(
        False,
        "As in the paper: its values for all options that are not given.  Trees: vectors of 3 numbers, 4 Gaussians, "
        "15 epochs, pruning by the treebank's grammar (pcfg) at 1e-5 and of Gaussians; then parse with --constituents, "
        "200 trees a sentence.  Tags: 20 epochs, nothing pruned.",
        preset=PRESET,
    )
    rounds: int = option(
        4,
        "Rounds of split and merge of the grammar with subtypes (lvg) that says what is worth considering.",
        least=1,
        only="parser",
        needs={"pruner": "lvg"},
    )
    dim: int = option(
        8, "Numbers in the latent vector of a phrase or word (d in the paper).", least=1, tagger=3, needs=_TREEBANK
    )
    components: int = option(
        1, "Gaussians that the mixture of a rule begins with (K in the paper).", least=1, tagger=4, needs=_TREEBANK
    )
    grow: int = option(
        2,
        "After each of so many first passes, rules that would gain from it get more Gaussians.",
        least=0,
        tagger=0,
        needs=_TREEBANK,
    )
    covariance: Covariance = option(
        "spherical", "Shape of each Gaussian: spherical has one width for all dimensions, diagonal one for each."
    )
    start: Literal["treebank", "subtypes"] = option(
        "treebank",
        "Where training begins: at the treebank's own rules, or at a grammar with subtypes (lvg), which then says how "
        "many dimensions and Gaussians there are.",
        only="parser",
    )
    spans: bool = spans_option()
    generative: float = option(
        0.0,
        "Share of log P(T,w), trees with their words, in what training raises; the rest is log P(T|w), trees given "
        "words.  Above 0 the mixtures are a grammar whose P(T,w) sum to one over all sentences, which can be drawn; at "
        "1 they learn to predict words too, and nothing of how to choose between trees.",
        least=0.0,
        most=1.0,
        only="parser",
        needs={"spans": False, "k_max": 0},
    )
    epochs: int = option(
        10, "Passes over the treebank; after each the model is scored on --dev, and the best one is kept.", least=1
    )
    batch: int = option(32, "Sentences in one step of training.", least=1)
    parts: int = option(
        2, "Parts of a step that --jobs can share; more of them make more work in all.", least=1, tagger=1
    )
    rate: float = option(0.01, "Length of the steps of training (Adam).", least=0.0)
    max_length: int = option(50, "Sentences of more words are left out of training, since they take long.", least=1)
    looseness: float = option(
        0.1,
        "How much more of each sentence is considered than the model that prunes would: its thresholds are multiplied "
        "by this, so that 0.1 prunes less and 1 as much; in training, and in parsing with a grammar with subtypes "
        "unless --p-min is given.",
        least=1e-9,
        most=1.0,
        tagger=1.0,
    )
    k_min: int = option(
        0,
        "Mixtures of at most so many Gaussians are never cut; for speed.",
        least=0,
        needs=_LIMIT | {"theta": CHANGED},
    )
    k_max: int = option(
        0, "Cut every mixture that comes up in a sentence to so many Gaussians, for speed; 0: none is cut.", least=0
    )
    parse_k_min: int | None = option(
        None, "--k-min in parsing.", least=0, shown="--k-min", only="parser", needs=_LIMIT | {"theta": CHANGED}
    )
    theta: float = option(
        1.0,
        "How much is cut between --k-min and --k-max: of k Gaussians about k-min + k ** theta stay.",
        least=0.0,
        most=1.0,
        needs=_LIMIT,
    )
    unmerged: Literal["no", "edges", "all"] = option(
        "no",
        "Cut mixtures as the paper does, for reference: equal Gaussians are not merged before, and gold trees are cut "
        "too.  edges: those of other split points are apart, as in the authors' program; all: also those of other "
        "Gaussians of the children, as in the paper's equations.  For short sentences: it is very slow.",
        only="parser",
        needs=_LIMIT,
    )
    pruner: Literal["lvg", "pcfg"] = option(
        "lvg",
        "The model that says what is worth considering: a grammar with subtypes (lvg), or the treebank's rules (pcfg).",
        only="parser",
    )
    p_min: float | None = option(
        None,
        "Drop what has a smaller probability than this in the first pass of pruning, in training (where --looseness "
        "multiplies it) and after; 0: nothing.",
        least=0.0,
        most=1.0,
        shown="0.001, with --pruner pcfg 0.005, for a tagger 0.0001",
    )
    subtypes: int = option(
        4,
        "Subtypes of each tag, a power of two, in the smaller tagger that says what is worth considering and has a say "
        "in the choice; 1: it has none (hmm).",
        least=1,
        only="tagger",
    )
    fine: str = fine_option(needs={"pruner": "lvg"})
    alone: bool = option(False, "Decide by the mixtures alone, not together with the model that prunes.")
    alpha: float | None = option(
        None,
        "Mixtures begin with so many times the probability of their rule in each Gaussian.",
        least=1e-9,
        shown="such that the grammar begins as the treebank's",
        needs=_TREEBANK,
    )
    word_components: int = option(
        1, "Gaussians that the mixture of a word under a tag begins with.", least=1, tagger=2, needs=_TREEBANK
    )
    start_rounds: int = 3  # of the grammar with subtypes, where training begins there
    spread: float = 0.05  # means begin within this of zero
    memory: float = 0.6  # what is scored and kept is a running mean over epochs: this share of it is the mean before
    clip: float = 5.0  # no part of a batch's mean gradient exceeds this
    rare: int = 1  # words with at most this many tokens go by their class
    least_log_sd: float = -2.0  # standard deviations stay between exp(-2) and exp(2): none collapses
    most_log_sd: float = 2.0

    def __post_init__(self) -> None:
        for k_min in (self.k_min, self.parse_k_min or 0):
            if self.k_max and not 0 <= k_min <= self.k_max:
                raise LatreeError(f"k_min, {k_min}, must lie between 0 and k_max, {self.k_max}")
        if not 0 <= self.theta <= 1:
            raise LatreeError(f"theta, {self.theta}, must lie between 0 and 1")

    @property
    def apart(self) -> Apart | None:
        """Which equal Gaussians are kept apart; None: they are merged."""
        return None if self.unmerged == "no" else self.unmerged

    @property
    def wide(self) -> int:
        """Numbers in a Gaussian's log standard deviation."""
        vectors = self.start_rounds if self.start == "subtypes" else self.dim
        return vectors if self.covariance == "diagonal" else 1

    def grows_after(self, epoch: int) -> bool:
        """Whether rules get components after this epoch: subtypes have been split and merged already."""
        return self.start == "treebank" and epoch <= self.grow


KIND = Kind(
    "gm-lveg",
    "Continuous subtypes: Gaussian mixtures over latent vectors.",
    options=GmLvegOptions,
    parser="latree.kinds.gm_lveg.model:GmLveg",
    tagger="latree.kinds.gm_lveg.model:GmLvegTagger",
    report="latree.kinds.gm_lveg.report:report",
    multiplies=True,
    joins_pruner=True,
    pruners=("lvg", "pcfg", "hmm"),
)
