"""A model to be trained as often as an experiment asks for: its kind and its options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from latree.errors import LatreeError
from latree.kinds.model import ForestModel
from latree.kinds.options import ModelOptions
from latree.kinds.registry import kind_named, model_class
from latree.kinds.tagger import Tagger
from latree.learning.loop import Training
from latree.options import about
from latree.text.labels import LabelRules


@dataclass(frozen=True)
class Recipe:
    """What `latree train` would be told, without the files."""

    text: str  # as a user writes it, such as "lvg --rounds 3"
    kind: str
    options: ModelOptions
    tags: bool = False  # whether a tagger is trained

    @classmethod
    def of(cls, model: Any) -> Recipe:
        """What would make a model like this one, which need not be trained."""
        if isinstance(model, Recipe):
            return model
        if not isinstance(model, ForestModel):
            raise LatreeError(f"an experiment takes models such as latree.Lvg(rounds=3), not {model!r}")
        tags = isinstance(model, Tagger)
        text = " ".join([model.kind, *_changes(model.options, model.default_options())])
        return cls(text, kind_named(model.kind).name, model.options, tags)

    @property
    def draws(self) -> bool:
        """Whether trainings differ by their seeds."""
        return any(one.name == "seed" and about(one) is not None for one in fields(self.options))

    def seeds(self, count: int) -> list[int]:
        """So many seeds, the first of them the recipe's own; one where they change nothing."""
        return [self.options.seed + k for k in range(count if self.draws else 1)]

    def untrained(self, seed: int | None = None) -> Any:
        """The model before it learns; another seed takes the place of the recipe's own."""
        kind = kind_named(self.kind)
        return model_class(kind.tagger_name if self.tags else kind.name)(self._with_seed(seed))

    def trained(self, examples: Iterable[Any], seed: int | None = None) -> Any:
        """The model that learned from trees as they are in a treebank, or from tagged sentences."""
        model = self.untrained(seed)
        model.fit(examples, Training())
        return model

    def identity(self, seed: int | None = None) -> list[Any]:
        """All that decides what is learned from given examples, as JSON."""
        return [self.kind, self.tags, self._with_seed(seed).to_json()]

    def _with_seed(self, seed: int | None) -> ModelOptions:
        return self.options if seed is None else replace(self.options, seed=seed)


def recipes_of(models: Any) -> list[Recipe]:
    """One recipe a model: no two the same, and all such that the same analyses are right for them."""
    recipes = [Recipe.of(one) for one in (models if isinstance(models, Sequence) else [models])]
    texts = [recipe.text for recipe in recipes]
    if twice := next((text for text in texts if texts.count(text) > 1), None):
        raise LatreeError(f"{twice!r} is given twice; once is enough")
    if not recipes:
        raise LatreeError("there is nothing to train; give one model or more")
    if len({recipe.tags for recipe in recipes}) > 1:
        raise LatreeError("parsers and taggers cannot be scored on the same examples")
    if not recipes[0].tags and len({_scoring_rules(recipe) for recipe in recipes}) > 1:
        raise LatreeError("these models read labels by different rules; no gold tree is right for all of them")
    return recipes


def _scoring_rules(recipe: Recipe) -> LabelRules:
    rules: LabelRules = recipe.untrained().labels.for_scoring()
    return rules


def _changes(options: ModelOptions, defaults: ModelOptions) -> list[str]:
    """The options that are not the defaults."""
    values = ((one.name, getattr(options, one.name)) for one in fields(options))
    return [f"{name}={value}" for name, value in values if value != getattr(defaults, name)]
