"""Pages of the documentation site that are made when it is built: the command line, and the cards of the models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from latree import data
from latree.cli import COMMANDS, app

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

CARDS = ("english", "biology")
_LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"?(\w+:[^\s\">]+)")


# -- what mkdocs calls


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    from mkdocs.structure.files import File  # an extra, which the tests of these pages do without

    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_post_page(output: str, page: Any, config: MkDocsConfig) -> str:
    """Refuse a page that a browser without a network would not show whole."""
    if outside := outside_resources(output):
        raise SystemExit(f"{page.file.src_uri} loads from elsewhere: {', '.join(outside)}")
    return output


def outside_resources(html: str) -> list[str]:
    """The addresses of what a page loads from other places; what it merely links to is none of it."""
    return [address for address in _LOADED.findall(html) if not address.startswith("data:")]


# -- the pages


def pages() -> dict[str, str]:
    """All pages that are made, by their names."""
    folder = Path(data.__file__).parent
    cards = {name: (folder / f"{name}.md").read_text(encoding="utf-8") for name in CARDS}
    return {"commands": _commands_page(), "train": _train_page()} | cards


def _commands_page() -> str:
    told = (
        "`latree COMMAND --help` prints the same for a command. Exit codes: 0 done, 1 the input or a file is at fault, "
        "2 the command line is, 130 interrupted."
    )
    names = [name for name in COMMANDS if name != "train"]
    contents = "\n".join(f"- [latree {name}](#latree-{name}): {COMMANDS[name].summary}" for name in names)
    train = f"- [latree train](train.md): {COMMANDS['train'].summary}"
    sections = (_section(f"latree {name}", _loaded(name)) for name in names)
    return "\n\n".join(["# Commands", told, f"{train}\n{contents}", *sections])


def _train_page() -> str:
    group = _loaded("train")
    sections = (_section(f"latree train {name}", command) for name, command in group.commands.items())
    return "\n\n".join(["# latree train", _plain(group.help), *sections])


def _loaded(name: str) -> Any:
    """A command itself, which the command line loads only when it is called."""
    return typer.main.get_command(app).commands[name]._load()  # type: ignore[attr-defined]


def _section(title: str, command: Any) -> str:
    """What a command does, how it is called, and each of its arguments and options."""
    context = command.make_context(title, [], resilient_parsing=True)
    usage = f"```\n{title} {' '.join(command.collect_usage_pieces(context))}\n```"
    example = f"```\n{command.epilog.removeprefix('Example: ')}\n```" if command.epilog else ""
    listed = "\n\n".join(_entries(command, context))
    return "\n\n".join(part for part in (f"## {title}", _plain(command.help), usage, listed, example) if part)


def _entries(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            name, told = record
            yield f"`{name}`\n:   {_plain(told)}"


def _plain(text: str | None) -> str:
    """A help text as Markdown: words between backticks stay, and nothing else is markup."""
    parts = re.split(r"(`[^`]*`)", " ".join((text or "").split(" ")))
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<>\[\]#|])", r"\\\1", part) for part in parts)
