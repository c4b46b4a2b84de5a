"""The options of a kind of model on the command line, made from the fields that its folder declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from inspect import Parameter, Signature
from typing import Any, NamedTuple, get_type_hints

import typer

from latree.kinds.options import ModelOptions, TreebankOptions
from latree.kinds.registry import Kind, trained_kinds
from latree.options import CHANGED, SAME, SET, About, about, changed, hindrance, uses_of, walk


class Setting(NamedTuple):
    """One option of a kind."""

    path: tuple[str, ...]  # the names of the fields that lead to it
    about: About
    kind: Any  # the type of what the user writes
    default: Any
    tagger_default: Any  # None where no tagger has another, or is not of this kind
    use: str  # in words, for whom and with which others it has an effect; empty: always

    @property
    def name(self) -> str:
        return self.about.name or self.path[-1]

    @property
    def flag(self) -> str:
        return flag_named(self.name)

    @property
    def help(self) -> str:
        """The help with the default, and a tagger's where it is another."""
        shown = self.about.shown
        if self.is_often_on and not self.default:
            shown = "on for a tagger"
        if shown is None and self.default is not None and self.default is not False:
            shown = str(self.default)
            if self.tagger_default is not None:
                shown += f", for a tagger {self.tagger_default}"
        notes = [*filter(None, [shown and f"default: {shown}", self.use])]
        return f"{self.about.help}  [{'; '.join(notes)}]" if notes else self.about.help

    @property
    def metavar(self) -> str | None:
        """What stands for a value in the help; None where typer lists the choices."""
        words = {int: "N", float: "X", str: "NAME"}
        by_type = (word for kind, word in words.items() if self.kind in (kind, kind | None))
        return self.about.metavar or next(by_type, None)

    @property
    def is_often_on(self) -> bool:
        """Whether it is a switch that parsers or taggers have on, and users can turn off."""
        return self.kind is bool and bool(self.default or self.tagger_default)

    def parameter(self) -> Parameter:
        """The parameter that typer makes an option of; its value is None, or that of a switch False, where the user
        says nothing."""
        unsaid = False if self.kind is bool and not self.is_often_on else None
        option = typer.Option(
            unsaid,
            f"{self.flag}/{flag_named(f'no_{self.name}')}" if self.is_often_on else self.flag,
            help=self.help,
            metavar=self.metavar,
            min=self.about.least,
            max=self.about.most,
            show_default=False,
        )
        kind = bool | None if self.is_often_on else self.kind
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=option, annotation=kind)

    def hidden_parameter(self) -> Parameter:
        """The parameter by which a kind without this option notices that it is asked for it."""
        switch = self.kind is bool
        option = typer.Option(False if switch else None, self.flag, hidden=True)
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=option, annotation=bool if switch else str)


@cache
def settings_of(kind: Kind) -> dict[str, Setting]:
    """The options that a kind has, by their names."""
    options, settings = kind.trained_options, {}
    for path, one in walk(options):
        if (described := about(one)) is not None:
            group: Any = options()
            for name in path[:-1]:
                group = getattr(group, name)
            hint = str if described.read is not None else get_type_hints(type(group))[one.name]
            default, other = one.default, None if described.tagger is SAME else described.tagger
            if other is not None and kind.parser is None:
                default, other = other, None
            other = other if kind.tagger is not None else None
            setting = Setting(path, described, hint, default, other, _use_in_words(kind, path))
            settings[setting.name] = setting
    return settings


def _use_in_words(kind: Kind, path: tuple[str, ...]) -> str:
    """For whom, and with which other options, one has an effect."""
    options, words = kind.trained_options(), []
    for use in uses_of(options, path):
        if use.only is not None and None not in (kind.parser, kind.tagger):
            words.append(f"for {use.only}s")
        for other, value in use.needs.items():
            flag = _flag_at(kind, (other,))
            if value is None:
                words.append(f"without {flag}")
            elif value is SET and getattr(options, other):
                words.append(f"unless {flag} 0")
            elif value in (SET, CHANGED):
                words.append(f"with {flag}")
            else:
                words.append(f"with {flag} {value}")
    return ", ".join(words)


def _flag_at(kind: Kind, path: tuple[str, ...]) -> str:
    """The option whose field has this path."""
    one = next(one for place, one in walk(kind.trained_options) if place == path)
    described = about(one)
    return flag_named((described and described.name) or path[-1])


def flag_named(name: str) -> str:
    """An option's name as the user writes it."""
    return "--" + name.replace("_", "-")


def parameters_for(kind: Kind) -> list[Parameter]:
    """The parameters of a kind's command: its options, and hidden those that only other kinds have."""
    mine, shared = settings_of(kind), {one.name for one in fields(TreebankOptions)}
    first = sorted(mine.values(), key=lambda one: one.path[0] in shared)  # what the kind has for itself
    others = {name: one for other in trained_kinds() for name, one in settings_of(other).items()}
    hidden = [one.hidden_parameter() for name, one in others.items() if name not in mine]
    return [*(one.parameter() for one in first), *hidden]


def with_parameters(command: Callable[..., None], parameters: Sequence[Parameter]) -> Callable[..., None]:
    """Have a function that takes any values be called with these, as typer reads them off its signature."""
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _read(setting: Setting, value: Any) -> Any:
    """The value of what a user wrote; what is no text is one already."""
    make = setting.about.read
    return value if make is None or not isinstance(value, str) else make(value)


def options_from(kind: Kind, values: Mapping[str, Any], *, tags: bool) -> ModelOptions:
    """Make the options of a parser or a tagger from what the user wrote; what has no effect is a misunderstanding."""
    mine = settings_of(kind)
    off = {name for name, value in values.items() if value is False and not (name in mine and mine[name].is_often_on)}
    said = {name: value for name, value in values.items() if value is not None and name not in off}
    for name in said:
        if name not in mine:
            having = [other for other in trained_kinds() if name in settings_of(other)]
            flag, names = settings_of(having[0])[name].flag, ", ".join(other.name for other in having)
            raise typer.BadParameter(f"{flag} is for {names}; {kind.name} has no use for it")
    start = kind.trained_options.for_tagger() if tags else kind.trained_options()
    start = start.given({name: True for name in said if mine[name].about.preset is not None}, tags=tags)
    changes = {mine[name].path: _read(mine[name], value) for name, value in said.items()}
    options = changed(start, changes)
    for path in changes:
        if why := hindrance(options, path, tags=tags, spell=partial(_flag_at, kind)):
            raise typer.BadParameter(why)
    return options
