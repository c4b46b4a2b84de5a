"""What commands share that train many models: recipes, examples from files, files that they go on from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from latree.cli import common, training
from latree.cli.recipes import RECIPE_HELP, read_recipe
from latree.cli.status import with_progress
from latree.errors import LatreeError, interrupts_plain
from latree.experiments.recipes import Recipe
from latree.experiments.trials import Result, Watch
from latree.text.formats import Column, Format, detect_format

TREEBANK = typer.Argument(..., metavar="TREES...", help="Treebanks: trees, or CoNLL-U tables for taggers.")
RECIPES = typer.Option(
    None, "--recipe", metavar="RECIPE", help=f"{RECIPE_HELP}  Give it again for others.  [default: lvg]"
)
COLUMN = typer.Option(
    None,
    "--column",
    help="Which tags of CoNLL-U files taggers learn.  [default: upos where the first file has them, else xpos]",
)
HTML = typer.Option(None, "--html", metavar="FILE", help="Also write a page for a browser, with a plot.")
JSON = typer.Option(False, "--json", help="Write all figures as one JSON object.")
DEFAULT = ("lvg",)


class Source:
    """What the files of a command hold, trees or tagged sentences."""

    def __init__(self, paths: Sequence[str], form: Format | None, column: Column | None) -> None:
        formats = {path: detect_format(path, form) for path in paths}
        if len(set(formats.values())) > 1:
            told = ", ".join(f"{path} is {'trees' if one == 'ptb' else 'CoNLL-U'}" for path, one in formats.items())
            raise LatreeError(f"trees and CoNLL-U cannot be learned from together: {told}")
        self.form: Format = formats[paths[0]]
        if column is not None and self.form == "ptb":
            raise typer.BadParameter("--column is for CoNLL-U files; these are trees, of which parsers learn")
        self.column = training.choose_column(paths, self.form, column) if self.form == "conllu" else None

    def recipes(self, texts: Sequence[str] | None) -> list[Recipe]:
        """The recipes that a user asks for, for what the files hold."""
        return [read_recipe(text, self.column) for text in texts or DEFAULT]

    def examples(self, paths: Sequence[str]) -> list[Any]:
        """The trees or tagged sentences of some files."""
        if self.column is not None:
            return list(training.read_all_tagged(paths, self.form, self.column))
        return list(training.read_all_trees(paths, self.form, "parser"))


def check_seeds(recipes: Sequence[Recipe], seeds: int | None) -> None:
    """Refuse seeds where they change nothing."""
    if seeds not in (None, 1) and not any(recipe.draws for recipe in recipes):
        raise typer.BadParameter("--seeds has no effect: none of these models draws at random")


def check_folders(*files: Path | None) -> None:
    """Tell of folders that are not there before the work begins."""
    for file in files:
        if file is not None and not file.parent.is_dir():
            raise LatreeError(f"{file}: the folder {file.parent} does not exist")


def called(paths: Sequence[str]) -> str:
    """What some files are called together."""
    return " + ".join("standard input" if path == "-" else Path(path).name for path in paths)


def progress(quiet: bool) -> Watch:
    """Show how many trainings are done."""

    def watch(results: Iterable[Result], total: int) -> Iterator[Result]:
        return with_progress(results, "trainings", quiet, total)

    return watch


@contextmanager
def telling_how_to_go_on(resume: Path | None, quiet: bool) -> Iterator[None]:
    """After Ctrl-C say what is kept; where kernels are compiled, say that too."""
    try:
        with common.telling_of_compilation(quiet), interrupts_plain():
            yield
    except KeyboardInterrupt:
        kept = "with --resume FILE what is done would have been kept"
        if resume is not None:
            kept = f"{resume} has what was done; the same command goes on from there"
        raise KeyboardInterrupt(f"interrupted; {kept}") from None
