"""The kinds of models: each folder beside this file that has a `KIND` is one, and says there all that others must know.

Nothing is compiled, nor a model's module imported, before a model of that kind is asked for.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latree import kinds
from latree.data import DEFAULT, shipped
from latree.errors import LatreeError
from latree.kinds.options import ModelOptions

if TYPE_CHECKING:
    from latree.files import Arrays, Header
    from latree.kinds.model import Model
    from latree.kinds.report import Ask
    from latree.report.value import Report

TAGGER = "-tagger"  # ends the names of taggers in model files, where a kind has parsers too


@dataclass(frozen=True)
class Kind:
    """What is known about a kind of model; places are written "module:name" and imported when they are needed."""

    name: str  # as in `latree train NAME`
    summary: str  # one line for `latree train --help`
    options: type[ModelOptions] | None = None  # what `latree train` asks for; None: it does not make this kind
    parser: str | None = None  # the place of its parser's class
    tagger: str | None = None  # the place of its tagger's class
    report: str = "latree.kinds.report:report"  # the place of the function that makes a model's report
    multiplies: bool = False  # whether its parsers can be members of a product, and its taggers
    joins_pruner: bool = False  # whether it can decide together with its pruner, by the product of both
    generates: bool = False  # whether its parsers' weights are probabilities of rules, which tell what word comes next
    pruners: tuple[str, ...] = ()  # the kinds whose code it may import, since its pruners are of these
    needs: str | None = None  # a library that latree comes without, and the extra of the kind's name brings

    @property
    def trained_options(self) -> type[ModelOptions]:
        """The options of a kind that `latree train` makes."""
        if self.options is None:
            raise LatreeError(f"a {self.name} is not trained, but made of trained models")
        return self.options

    @property
    def is_usable(self) -> bool:
        """Whether the library that it needs is there."""
        return self.needs is None or find_spec(self.needs) is not None

    @property
    def tagger_name(self) -> str:
        """What model files call its tagger."""
        return self.name if self.parser is None else self.name + TAGGER

    def places(self) -> dict[str, str]:
        """The places of its classes by the names that model files have for them."""
        places = {self.name: self.parser, self.tagger_name: self.tagger}
        return {name: place for name, place in places.items() if place is not None}


@cache
def all_kinds() -> dict[str, Kind]:
    """Every kind by its name."""
    folders = (entry.name for entry in pkgutil.iter_modules(kinds.__path__) if entry.ispkg)
    modules = (import_module(f"{kinds.__name__}.{name}") for name in folders)
    registered = [module.KIND for module in modules if hasattr(module, "KIND")]
    return {kind.name: kind for kind in sorted(registered, key=lambda kind: kind.name)}


def trained_kinds() -> list[Kind]:
    """The kinds that `latree train` makes."""
    return [kind for kind in all_kinds().values() if kind.options is not None]


def kind_named(name: str) -> Kind:
    """The kind of this name, or of a model file that has it."""
    for kind in all_kinds().values():
        if name in (kind.name, *kind.places()):
            return kind
    raise LatreeError(f"unknown kind of model {name!r}; this latree has {', '.join(all_kinds())}")


def at_place(place: str) -> Any:
    """What "module:name" names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def model_class(name: str) -> type[Model]:
    """The class of the models that model files call so."""
    kind = kind_named(name)
    if not kind.is_usable:
        raise LatreeError(f"{kind.name} needs {kind.needs}; install it with: pip install 'latree[{kind.name}]'")
    chosen: type[Model] = at_place(kind.places()[name])
    return chosen


def report_on(model: Model, ask: Ask) -> Report:
    """What there is to say of a model, as its kind has it."""
    made: Report = at_place(kind_named(model.kind).report)(model, ask)
    return made


def from_state(kind: str, header: Header, arrays: Arrays) -> Model:
    """A model from its header and arrays."""
    try:
        model = model_class(kind).from_state(header, arrays)
        model.take_calibration(header)
        return model
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LatreeError(f"the {kind} model is damaged: {type(error).__name__} {error}") from error


def load(path: str | Path | None = None) -> Model:
    """The model in a file that `save` wrote, or one that comes with latree, by its name.

    Without either it is the English grammar.
    """
    from latree import files  # not before a file is to be read: this module is asked for names, and must be light

    name, models = str(path or DEFAULT), shipped()
    path = models.get(name, Path(name))
    if name == path.stem and not path.exists():  # a name by its looks
        raise LatreeError(f"{name}: neither a model file nor one of those that come with latree: {', '.join(models)}")
    header, arrays = files.load(path)
    try:
        return from_state(header["kind"], header, arrays)
    except LatreeError as error:
        raise LatreeError(f"{path}: {error}") from None
