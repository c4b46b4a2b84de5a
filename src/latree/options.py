"""Options as fields of frozen dataclasses: the field says the default, the help, the bounds, and when it has an effect.

What an option belongs to may hold groups of options, which are dataclasses in turn (`walk`).  Fields without help are
constants, for Python alone.  A field that has no effect on parsers, or on taggers, or unless another option is set,
says so (`Use`), and whoever gives it in vain is told (`hindrance`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from latree.errors import LatreeError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Group = TypeVar("Group", bound="DataclassInstance")
Model = Literal["parser", "tagger"]
SAME: Any = object()  # as a tagger's default: it is everybody's
SET: Any = object()  # as the value that another option needs: any but None, 0 and False
CHANGED: Any = object()  # the same: any but the default


@dataclass(frozen=True)
class Use:
    """When a field has an effect; what it says of a group holds for all that is in it."""

    only: Model | None = None  # on whom
    needs: Mapping[str, Any] = field(default_factory=dict)  # fields of the outermost dataclass, and their values


@dataclass(frozen=True, eq=False)
class Preset:
    """Values of other fields that come with a switch; whatever else is given goes before them."""

    parser: Mapping[str, Any]
    tagger: Mapping[str, Any]


@dataclass(frozen=True)
class About:
    """What is known about an option beside its type and default."""

    help: str
    name: str | None = None  # on the command line, where it is not the field's
    least: float | None = None
    most: float | None = None
    shown: str | None = None  # the default in words
    tagger: Any = SAME  # a tagger's default
    read: Callable[[str], Any] | None = None  # makes the value of what the user writes
    metavar: str | None = None  # what stands for a value in the help, where its type does not say it
    preset: Preset | None = None  # of a switch: what it sets beside itself


def option(default: Any, help: str, *, only: Model | None = None, needs: Mapping[str, Any] = {}, **more: Any) -> Any:
    """Make a field that people can set; `more` are the other fields of `About`."""
    return field(default=default, metadata={"about": About(help, **more), "use": Use(only, needs)})


def constant(default: Any, *, tagger: Any = SAME, only: Model | None = None, needs: Mapping[str, Any] = {}) -> Any:
    """Make a field for Python alone, or a group: with another default for taggers, or of use to some."""
    return field(default=default, metadata={"tagger": tagger, "use": Use(only, needs)})


def about(one: Field[Any]) -> About | None:
    """What `option` was told of a field; None for a constant."""
    found: About | None = one.metadata.get("about")
    return found


def walk(group: Any) -> Iterator[tuple[tuple[str, ...], Field[Any]]]:
    """Every field of a dataclass and of the groups in it, with the names that lead there; a group before its fields."""
    for one in fields(group):
        yield (one.name,), one
        if is_dataclass(one.default):
            yield from (((one.name, *path), inner) for path, inner in walk(one.default))


def changed(group: Group, changes: Mapping[tuple[str, ...], Any]) -> Group:
    """Copy a dataclass with other values, given by the names that lead to them; fields go on top of their group's."""
    values = {path[0]: value for path, value in changes.items() if len(path) == 1}
    for name in {path[0] for path in changes if len(path) > 1}:
        inner = {path[1:]: value for path, value in changes.items() if path[0] == name and len(path) > 1}
        values[name] = changed(values.get(name, getattr(group, name)), inner)
    return replace(group, **values)


# -- options without effect


def uses_of(group: Any, path: tuple[str, ...]) -> Iterator[Use]:
    """What the field at a path, and the groups that it is in, say of when they have an effect."""
    for name in path:
        (one,) = (one for one in fields(group) if one.name == name)
        yield one.metadata.get("use", Use())
        group = one.default


def hindrance(
    options: Any, path: tuple[str, ...], *, tags: bool, spell: Callable[[tuple[str, ...]], str] = lambda path: path[-1]
) -> str | None:
    """Say why the option at a path has no effect among the others, and what to do; None: it has one.

    `tags` tells options for a tagger; `spell` writes the name of an option.
    """
    name, mine, default = spell(path), "tagger" if tags else "parser", type(options)()
    for use in uses_of(options, path):
        if use.only not in (None, mine):
            return f"{name} is for {use.only}s; a {mine} has no use for it"
        for other, needed in use.needs.items():
            value, usual = getattr(options, other), getattr(default, other)
            if value == needed or (needed is SET and value) or (needed is CHANGED and value != usual):
                continue
            if value == usual:
                wanted = "" if needed in (SET, CHANGED) else f" {needed}"
                return f"{name} has no effect without {spell((other,))}{wanted}; give both, or neither"
            return f"{name} has no effect with {spell((other,))} {value}; leave out one of the two"
    return None


def refuse_idle(options: Any, defaults: Any, names: Iterable[str], *, tags: bool) -> None:
    """Refuse options that have no effect among the others, of these names, unless they have their defaults."""
    for name in names:
        if getattr(options, name) != getattr(defaults, name) and (why := hindrance(options, (name,), tags=tags)):
            raise LatreeError(why)


@dataclass(frozen=True)
class Options:
    """A frozen dataclass of plain values and of groups of such, which a file keeps as JSON."""

    def to_json(self) -> dict[str, Any]:
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value.to_json() if hasattr(value, "to_json") else value for name, value in values.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Make the value that `to_json` described; what is not there has its default."""
        known, kinds = {one.name: one for one in fields(cls)}, get_type_hints(cls)
        if unknown := set(data) - set(known):
            raise LatreeError(f"unknown option {', '.join(sorted(unknown))}")
        values = {name: _read_json(known[name], value) for name, value in data.items()}
        if wrong := next((name for name in values if not _is_of(kinds[name], values[name])), None):
            raise LatreeError(f"the option {wrong} cannot be {data[wrong]!r}")
        return cls(**values)

    @classmethod
    def for_tagger(cls, **changes: Any) -> Self:
        """Make options for a tagger, whose defaults differ here and there."""
        defaults = {path: other for path, one in walk(cls) if (other := _tagger_default(one)) is not SAME}
        return replace(changed(cls(), defaults), **changes)

    def given(self, changes: Mapping[str, Any], *, tags: bool) -> Self:
        """Copy with other values; presets among them come first, so that the rest goes before what they set."""
        start: dict[str, Any] = {}
        for one in fields(self):
            described = about(one)
            if described is not None and described.preset is not None and changes.get(one.name):
                start |= described.preset.tagger if tags else described.preset.parser
        return replace(self, **start | dict(changes))


def _read_json(one: Field[Any], value: Any) -> Any:
    read: Callable[[Any], Any] | None = getattr(one.default, "from_json", None)
    return value if read is None else read(value)


def _is_of(kind: Any, value: Any) -> bool:
    """Whether a value is of the type that a field has; of other types than JSON's it is not asked."""
    origin = get_origin(kind)
    if origin is Literal:
        return value in get_args(kind)
    if origin in (Union, UnionType):
        return any(_is_of(one, value) for one in get_args(kind))
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, (int, float)) and math.isfinite(value)
    return not isinstance(kind, type) or isinstance(value, kind)


def _tagger_default(one: Field[Any]) -> Any:
    described = about(one)
    return one.metadata.get("tagger", SAME) if described is None else described.tagger
