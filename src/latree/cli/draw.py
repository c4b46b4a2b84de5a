"""latree draw: trees in brackets in, pictures out; no model is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from latree.cli import common
from latree.cli.status import note
from latree.errors import LatreeError
from latree.files import write_atomically
from latree.text.draw import Format, Picture, format_named, render, terminal_width
from latree.text.draw import draw as draw_tree
from latree.text.formats import format_by_name, read_trees
from latree.text.tree import Tree


def draw(
    trees: list[str] = common.INPUTS,
    form: Format = typer.Option(
        None,
        "--format",
        help="What to draw for: the terminal, or as svg, html (a page for a browser), or latex (for its package "
        "forest).  [default: as the name of --output says, else terminal]",
        show_default=False,
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="The file to write, all pictures in one.", show_default=False
    ),
    width: int = typer.Option(
        None,
        "--width",
        min=1,
        metavar="N",
        help="Columns of the terminal; wider trees are folded into parts.  [default: the terminal's, else no limit]",
        show_default=False,
    ),
    ascii_only: bool = typer.Option(False, "--ascii", help="On a terminal, draw lines with plain characters: | - +."),
) -> None:
    """Draw trees that are written in brackets, as they are written, with all their labels.

    To draw what a model makes of sentences, use `latree parse --draw`.
    """
    chosen = form or (format_named(output) if output is not None else "terminal")
    if chosen != "terminal" and (width is not None or ascii_only):
        raise typer.BadParameter(f"--width and --ascii are for the terminal, not for {chosen}")
    texts = _texts(_all_trees(trees), chosen, width or (terminal_width() if output is None else None), ascii_only)
    if output is None:
        for text in texts:
            common.emit(text)
    else:
        write_atomically(output, "".join(f"{text}\n" for text in texts).encode())
        note(f"written to {output}")


def _all_trees(inputs: list[str] | None) -> Iterator[Tree]:
    for path in common.paths_to_read(inputs):
        if format_by_name(path) == "conllu":
            raise LatreeError(
                f"{path}: CoNLL-U holds no trees in brackets; to draw what a model makes of its sentences: "
                f"latree parse --draw {path}"
            )
        yield from read_trees(path)


def _texts(trees: Iterator[Tree], form: Format, width: int | None, ascii_only: bool) -> Iterator[str]:
    """What is written: for a terminal a text a tree, as soon as it is read; else one text with all of them."""
    if form == "terminal":
        yield from (f"{draw_tree(tree, width, ascii_only=ascii_only)}\n" for tree in trees)
    else:
        yield render(map(Picture, trees), form)
