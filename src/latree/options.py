"""Options as fields of frozen dataclasses: the field says the default, the help, the bounds, and for whom it is.

What an option belongs to may hold groups of options, which are dataclasses in turn (`walk`).  Fields without help are
constants, for Python alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from latree.errors import LatreeError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Group = TypeVar("Group", bound="DataclassInstance")
Model = Literal["parser", "tagger"]
SAME: Any = object()  # as a tagger's default: it is everybody's


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
    only: Model | None = None  # who has a use for it
    needs: tuple[str, str] | None = None  # another option, and the value without which this has no effect
    read: Callable[[str], Any] | None = None  # makes the value of what the user writes
    preset: Preset | None = None  # of a switch: what it sets beside itself


def option(default: Any, help: str, **more: Any) -> Any:
    """Make a field that people can set; `more` are the other fields of `About`."""
    return field(default=default, metadata={"about": About(help, **more)})


def constant(default: Any, tagger: Any) -> Any:
    """Make a field for Python alone, whose default is another one for taggers."""
    return field(default=default, metadata={"tagger": tagger})


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
    """Copy a dataclass with other values, given by the names that lead to them; a group comes before its fields."""
    for path, value in changes.items():
        inner = value if len(path) == 1 else changed(getattr(group, path[0]), {path[1:]: value})
        group = replace(group, **{path[0]: inner})
    return group


@dataclass(frozen=True)
class Options:
    """A frozen dataclass of plain values and of groups of such, which a file keeps as JSON."""

    def to_json(self) -> dict[str, Any]:
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value.to_json() if hasattr(value, "to_json") else value for name, value in values.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Make the value that `to_json` described; what is not there has its default."""
        known = {one.name: one for one in fields(cls)}
        if unknown := set(data) - set(known):
            raise LatreeError(f"unknown option {', '.join(sorted(unknown))}")
        return cls(**{name: _read_json(known[name], value) for name, value in data.items()})

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


def _tagger_default(one: Field[Any]) -> Any:
    described = about(one)
    return one.metadata.get("tagger", SAME) if described is None else described.tagger
