"""What Gaussian-mixture latent vector grammars share, whether they parse or tag (Zhao, Zhang & Tu 2018).

Another model, the pruner, says which constituents a sentence may have; on the forest that it leaves, everything is
exact, unless the options limit the components of messages.  The pruner is a grammar with subtypes, or with none: the
paper's two techniques are of this kind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from latree import decode
from latree.arrays import Floats, Longs
from latree.checkpoint import Checkpoint, Standing
from latree.errors import LatreeError
from latree.forest import Forest, Piece, anchors, assemble
from latree.forms.gaussian import GaussianInference, gaussian_infer, gaussian_log_z
from latree.forms.mixtures import Components, Mixtures, no_statistics
from latree.grammar import NONE
from latree.lexical_rules import LexicalRules
from latree.lveg_start import Start, from_treebank, make_components
from latree.lveg_training import Batch, EpochReport, Learner, LvegOptions, Watch
from latree.models.base import ForestModel, Trouble
from latree.search import Objective, Search
from latree.slots import SlotForest, slot_forest

UNSEEN = 0.05  # an unseen tag of a known word is so much less likely than that of a word about which nothing is known


class Example(NamedTuple):
    """A sentence to learn from: its gold derivation as a forest, lexical entries numbered word * tags + tag."""

    words: tuple[str, ...]
    tags: list[int]
    gold: Piece


@dataclass(frozen=True)
class GradientTraining:
    """How a training in epochs is watched."""

    watch: Watch = lambda done, batches, log_likelihood: None
    after_epoch: Callable[[Any, EpochReport], None] = lambda model, report: None
    score: Callable[[Any], float] | None = None  # on held-out data: the best epoch's weights are kept
    checkpoint: Checkpoint | None = None
    resume: bool = False  # go on from the checkpoint, where there is one

    def standing(self, treebank: str) -> Standing | None:
        return self.checkpoint.read(treebank) if self.checkpoint is not None and self.resume else None


class Best:
    """The weights of the best epoch."""

    def __init__(self, weights: Mixtures, score: float = -np.inf) -> None:
        self.weights, self.score = weights, score

    def offer(self, weights: Mixtures, score: float) -> None:
        if score > self.score:
            self.weights, self.score = Mixtures(*(part.copy() for part in weights)), score


class GaussianModel(ForestModel[Any]):
    """Mixed into a parser or a tagger."""

    pruner: Any  # a fitted model of the same grammar
    joint: bool = False  # decode by the product with the pruner's posteriors
    options: LvegOptions
    seed: int
    lexical: LexicalRules
    components: Components
    mixtures: Mixtures

    # -- training

    def identity(self) -> dict[str, Any]:
        """The options that make a training what it is, as JSON; more epochs may follow."""
        options = self.options.to_json()
        del options["epochs"]
        pruner = {name: getattr(self.pruner, name, None) for name in ("kind", "rounds", "subtypes", "seed", "unknown")}
        return {"kind": self.kind, "seed": self.seed, "options": options, "pruner": pruner}

    def prepare_training(self, examples: Sequence[Example], standing: Standing | None) -> np.random.Generator:
        """Lexical rules and weights to begin with, or as a checkpoint has them."""
        if standing is not None:
            self.take_over(standing.header, standing.model)
            self.mixtures = Mixtures(**_named("now.", standing.arrays))
            return standing.rng
        scheme, tags = self.pruner.lexicon.scheme, len(self.grammar.tags)
        tagged = [list(zip(one.words, one.tags, strict=True)) for one in examples]
        self.lexical = LexicalRules.of(tagged, scheme, tags, self.options.rare)
        rng = np.random.default_rng(self.seed)
        self.components, self.mixtures = self.start(rng)
        return rng

    def train_epochs(
        self, examples: Sequence[Example], treebank: str, how: GradientTraining, standing: Standing | None
    ) -> None:
        """Adam on log P(T | w); without held-out data the last epoch's weights are kept."""
        rng = self.prepare_training(examples, standing)
        learner = Learner(self.components, self.mixtures, self.options)
        best = Best(self.mixtures)
        if standing is not None:
            learner.adam.restore(_named("adam.", standing.arrays))
            learner.mean = Mixtures(**_named("mean.", standing.arrays))
            best = Best(Mixtures(**_named("best.", standing.arrays)), standing.notes["score"])
        batches = self.batches([one for one in examples if len(one.words) <= self.options.max_length])
        for epoch in range(standing.done + 1 if standing else 1, self.options.epochs + 1):
            log_likelihood = learner.epoch(batches, rng, how.watch)
            self.mixtures = learner.average()
            how.after_epoch(self, EpochReport(epoch, log_likelihood, sum(batch.sentences for batch in batches)))
            best.offer(self.mixtures, float(epoch) if how.score is None else how.score(self))
            if how.checkpoint is not None:
                parts = {"now": learner.weights._asdict(), "best": best.weights._asdict()}
                parts["mean"] = self.mixtures._asdict()
                parts["adam"] = learner.adam.to_arrays()
                own = {f"{name}.{key}": array for name, part in parts.items() for key, array in part.items()}
                how.checkpoint.write(self, treebank, Standing(epoch, rng, own, {"score": best.score}))
        # As a file keeps them, so that a model is the same before and after.
        self.mixtures = Mixtures(*(part.astype(np.float32).astype(np.float64) for part in best.weights))

    def adopt(self, pruner: Any) -> None:
        """Take over what the pruner's model of the treebank is made of."""
        self.grammar, self.lexicon, self.theta = pruner.grammar, pruner.lexicon, pruner.theta

    def start(self, rng: np.random.Generator) -> Start:
        """The grammar to begin with: the treebank's."""
        options, rules = self.options, len(self.grammar.rules)
        size = np.repeat([options.components, options.word_components], [rules, len(self.lexical.tag)])
        components = make_components(self.grammar, self.lexical, size.astype(np.int64))
        mixtures = from_treebank(
            components,
            self._probabilities(),
            self.meetings(),
            options.dim,
            options.wide,
            options.alpha,
            options.spread,
            rng,
        )
        return Start(components, mixtures)

    def _probabilities(self) -> Floats:
        """P(r) of all rules: the pruner's, with one subtype a symbol; lexical ones as its lexicon smooths them."""
        lexical = self.lexical
        words = self.pruner.unit_emissions(lexical.named_units())[lexical.unit, lexical.tag]
        words[lexical.is_unseen] *= UNSEEN
        return np.append(self.pruner.coarse_theta(), np.maximum(words, 1e-12))

    @abstractmethod
    def meetings(self) -> Longs:
        """For every rule: how many Gaussians meet on its parent's latent vector, 0 where another rule sees to that."""

    def batches(self, examples: Sequence[Example]) -> list[Batch]:
        """Sentences of like length together; made once."""
        order = sorted(range(len(examples)), key=lambda k: len(examples[k].words))
        groups = [order[k : k + self.options.batch] for k in range(0, len(order), self.options.batch)]
        return [self._batch([examples[k] for k in group]) for group in groups]

    def _batch(self, examples: Sequence[Example]) -> Batch:
        gold = assemble([one.gold for one in examples], len(self.grammar.rules))
        size = max(len(one.words) for one in examples) + 1
        emissions = [self.pruner.emissions(one.words) for one in examples]
        coarse = [self.pruner.coarse(part) for part in emissions]
        pieces = [self._prune_around(one, part) for one, part in zip(examples, coarse, strict=True)]
        forest = assemble(pieces, len(self.grammar.rules))
        forest = self.pruner.refine(forest, np.concatenate(emissions), 1.0, (anchors(gold, size), size))
        entry_rule = np.concatenate([self._rule_numbers(one.words, seen=True).ravel() for one in examples])
        slots = [slot_forest(one, entry_rule, self.components.size) for one in (gold, forest)]
        return Batch.of(slots[0], slots[1], self.components)

    def _prune_around(self, example: Example, coarse: Any) -> Piece:
        """What the coarse pass leaves, with a threshold so low that the gold derivation is among it."""
        threshold, size = self.pruner.threshold, len(example.words) + 1
        gold = anchors(assemble([example.gold], len(self.grammar.rules)), size)
        while True:
            piece: Piece = self.pruner.prune(coarse, threshold)
            if len(piece.symbol):
                found = anchors(assemble([piece], len(self.grammar.rules)), size)
                if np.isin(gold, found).all():
                    return piece
            if threshold == 0.0:
                raise LatreeError(f"the pruner does not derive the gold analysis of: {' '.join(example.words)}")
            threshold = threshold * 1e-2 if threshold > 1e-15 else 0.0

    def _rule_numbers(self, words: Sequence[str], *, seen: bool = False) -> Longs:
        """[words, tags] the lexical rule of each, numbered after the grammar's rules; NONE where there is none."""
        rules = self.lexical.rules_of(words, seen=seen)
        return np.where(rules == NONE, NONE, rules + len(self.grammar.rules))

    # -- search: emissions are the pruner's, with the lexical rules' numbers beside them

    def emissions(self, tokens: Sequence[str]) -> Floats:
        return np.concatenate([self.pruner.emissions(tokens), self._rule_numbers(tokens)], axis=1)

    def _pruners(self, emissions: Floats) -> Floats:
        return np.ascontiguousarray(emissions[:, : -len(self.grammar.tags)])

    def coarse(self, emissions: Floats) -> Any:
        return self.pruner.coarse(self._pruners(emissions))

    def prune(self, coarse: Any, threshold: float) -> Piece:
        piece: Piece = self.pruner.prune(coarse, threshold)
        return piece

    def refine(
        self, forest: Forest, emissions: Floats, looseness: float, gold: tuple[Longs, int] | None = None
    ) -> Forest:
        refined: Forest = self.pruner.refine(forest, self._pruners(emissions), looseness, gold)
        return refined

    def _slots(self, forest: Forest, emissions: Floats) -> SlotForest:
        entry_rule = emissions[:, -len(self.grammar.tags) :].astype(np.int64).ravel()
        return slot_forest(forest, entry_rule, self.components.size)

    def infer(self, forest: Forest, emissions: Floats) -> Any:
        slots, nothing = self._slots(forest, emissions), no_statistics(self.mixtures)
        found: GaussianInference = gaussian_infer(slots, self.components, self.mixtures, nothing, self.options.limit)
        return found

    def log_inside(self, forest: Forest, emissions: Floats) -> Floats:
        """Exact, since it is asked of single trees: with a limit on components it may be above log Z of all."""
        return gaussian_log_z(self._slots(forest, emissions), self.components, self.mixtures)

    def log_z(self, search: Search) -> Floats:
        """Over what the pruner leaves, where the weights need not sum to one: P(T | w) is what has a meaning."""
        return search.inference.log_z

    def edge_scores(self, search: Search, objective: Objective) -> Floats:
        """As in the base; jointly, max-rule takes the product with the pruner's posteriors."""
        scores = super().edge_scores(search, objective)
        if self.joint and objective == "max-rule":
            pruner = self.pruner.infer(search.forest, self._pruners(search.all_emissions))
            scores = scores + decode.max_rule_scores(search.forest, pruner.posterior)
        return scores

    def viterbi_scores(self, search: Search) -> Floats:
        raise LatreeError("continuous subtypes have no single best derivation; use another objective")

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Any:
        """What the pruner says, where the mixtures have nothing to say."""
        if trouble.status != "recovered":
            return self.pruner.stand_in(tokens, trouble)
        found = next(self.pruner.analyse([tokens]))
        if found.status != "ok":
            return found
        reason = "the mixtures derive nothing for these words; this is the pruner's analysis"
        return replace(found, status="recovered", reason=reason)

    # -- files

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = self.pruner.state()
        own = {"pruner": {"kind": self.pruner.kind, **header}, "options": self.options.to_json(), "seed": self.seed}
        own |= {"training": self.training, "scheme": self.lexical.scheme.header()}
        parts = {f"pruner.{name}": array for name, array in arrays.items()}
        parts |= {f"lexical.{name}": array for name, array in self.lexical.to_arrays().items()}
        parts["components"] = self.components.size
        parts |= {f"mixtures.{name}": part.astype(np.float32) for name, part in self.mixtures._asdict().items()}
        return own, parts

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        model = cls()
        model.training, model.seed = dict(header["training"]), int(header["seed"])
        model.options = LvegOptions(**header["options"])
        model.take_over(header, arrays)
        return model

    def take_over(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Everything that was learned, from a model file."""
        from latree.models import from_state

        pruner = header["pruner"]
        self.adopt(from_state(pruner["kind"], pruner, _named("pruner.", arrays)))
        tags = len(self.grammar.tags)
        self.lexical = LexicalRules.from_arrays(_named("lexical.", arrays), tags, header["scheme"])
        self.components = make_components(self.grammar, self.lexical, arrays["components"])
        self.mixtures = Mixtures(**{k: a.astype(np.float64) for k, a in _named("mixtures.", arrays).items()})


def _named(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
