"""latree train KIND: a treebank in, a model file out.  Every kind has a command of its own, made from its options."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from inspect import Parameter
from pathlib import Path
from typing import Any

import typer

from latree.cli import STYLE, common, kind_options, training
from latree.errors import LatreeError
from latree.kinds.options import TagOptions
from latree.kinds.registry import Kind, model_class, trained_kinds
from latree.text.formats import Column, Format, detect_format, open_text

HELP = """Train a model on a treebank and write it to one file.

`latree train KIND --help` tells the options of a kind of model."""
EXAMPLE = "Example: latree train lvg train.mrg --dev dev.mrg -o my.latree"
app = typer.Typer(no_args_is_help=True, help=HELP, epilog=EXAMPLE, **STYLE)


def train(
    kind: Kind,
    treebank: list[str],
    output: Path,
    dev: str | None,
    form: Format | None,
    jobs: int,
    cluster: str | None,
    resume: bool,
    quiet: bool,
    constituents: str | None = None,
    **values: Any,
) -> None:
    """Train a model; the values are those of the kind's own options."""
    _check_output(output)
    tags = kind.parser is None or (kind.tagger is not None and _is_conllu(treebank, form))
    _check_dev(treebank, dev, form)
    _check_lists(constituents, dev, tags)
    options = kind_options.options_from(kind, values, tags=tags)
    source: Iterator[Any]
    if isinstance(options, TagOptions) and tags:
        options = replace(options, column=training.choose_column(treebank, form, values["column"]))
        source = training.read_all_tagged(treebank, form, options.column)
    else:
        source = training.read_all_trees(treebank, form, kind.name)
    fresh = model_class(kind.tagger_name if tags else kind.name)(options)
    about = {"data": [Path(path).name for path in treebank], "seed": options.seed}
    workers = common.workers(jobs, cluster)
    training.run(fresh, source, training.Plan(output, about, dev, form, resume, quiet, workers, constituents))


# -- one command a kind

_OUTPUT = typer.Option(..., "-o", "--output", metavar="FILE", help="The model file to write.")
_DEV = typer.Option(None, "--dev", metavar="FILE", help="Trees or tagged sentences kept apart, to score the model on.")
_CONSTITUENTS = typer.Option(
    None,
    "--constituents",
    metavar="FILE",
    help="Score on --dev as `latree parse --constituents` parses it: with the phrases and tags of these trees alone.",
)
_RESUME = typer.Option(False, "--resume", help="Go on with a training of the same options that was cut short.")
_QUIET = typer.Option(False, "--quiet", help="Say nothing but errors.")


def _shared_parameters(kind: Kind) -> list[Parameter]:
    """The parameters that all kinds have."""
    files = {
        (True, False): "Files of trees in brackets (.mrg).",
        (False, True): "CoNLL-U files, or trees whose tags are learned.",
        (True, True): "Files of trees in brackets (.mrg) train a parser, CoNLL-U files a tagger.",
    }[kind.parser is not None, kind.tagger is not None]
    table: list[tuple[str, Any, Any]] = [
        ("treebank", list[str], typer.Argument(..., metavar="TREEBANK", help=files)),
        ("output", Path, _OUTPUT),
        ("dev", str, _DEV),
        ("form", Format, common.TREEBANK_FORMAT),
        ("jobs", int, common.JOBS),
        ("cluster", str, common.CLUSTER),
        ("resume", bool, _RESUME),
        ("quiet", bool, _QUIET),
    ]
    if kind.parser is not None:
        table.append(("constituents", str, _CONSTITUENTS))
    return [Parameter(name, Parameter.KEYWORD_ONLY, default=one, annotation=hint) for name, hint, one in table]


def _add_command(kind: Kind) -> None:
    """Give a kind its command, with the options of that kind alone."""

    def command(**values: Any) -> None:
        train(kind, **values)

    parameters = [*_shared_parameters(kind), *kind_options.parameters_for(kind)]
    name, end = kind.name, "mrg" if kind.parser is not None else "conllu"
    example = f"Example: latree train {name} train.{end} --dev dev.{end} -o {name}.latree"
    app.command(name, help=kind.summary, epilog=example)(kind_options.with_parameters(command, parameters))


for _kind in trained_kinds():
    _add_command(_kind)


# -- the best of several kinds

_NEEDED_DEV = typer.Option(
    ..., "--dev", metavar="FILE", help="Trees or tagged sentences kept apart, which decide what is best."
)
_MINUTES = typer.Option(10.0, "--minutes", min=0.1, metavar="M", help="How long it may take.")
_FROM_SEED = typer.Option(0, "--seed", min=0, metavar="S", help="What the seeds of all trials are counted from.")
_LABELS = typer.Option(
    "penn", "--labels", metavar="NAME", help="How the treebank's labels are read, as for other kinds of parsers."
)
_COLUMN = typer.Option(None, "--column", help="Which tags of a CoNLL-U file a tagger learns.")
_TRIALS = typer.Option(False, "--resume", help="Go on with trials that were cut short; the time they took counts.")
_BEST_CLUSTER = typer.Option(
    None,
    "--cluster",
    metavar="ADDRESS",
    help="Have the trials go on side by side on a Ray cluster, whose machines see the same files and folders.",
)
_BEST_EXAMPLE = "Example: latree train best train.mrg --dev dev.mrg -o best.latree --minutes 30 --jobs 2"


@app.command("best", epilog=_BEST_EXAMPLE)
def best(
    treebank: list[str] = typer.Argument(..., metavar="TREEBANK", help="Files of trees in brackets, or of CoNLL-U."),
    output: Path = _OUTPUT,
    dev: str = _NEEDED_DEV,
    minutes: float = _MINUTES,
    seed: int = _FROM_SEED,
    jobs: int = typer.Option(1, "--jobs", min=1, metavar="N", help="Trials that go on side by side."),
    cluster: str | None = _BEST_CLUSTER,
    form: Format | None = common.TREEBANK_FORMAT,
    column: Column | None = _COLUMN,
    labels: str = _LABELS,
    resume: bool = _TRIALS,
    quiet: bool = _QUIET,
) -> None:
    """The best model in a given time, of several kinds and seeds.

    Trains one after the other, says what each does on --dev, and writes what is best there: for trees the product of
    all that help, for tags a tagger."""
    from latree.cli.best import train_best  # compiled code is not for who asks for help

    _check_output(output)
    _check_dev(treebank, dev, form)
    tags = _is_conllu(treebank, form)
    if column is not None and not tags:
        raise typer.BadParameter("--column is for taggers; a parser has no use for it")
    workers = common.workers(jobs, cluster)
    train_best(treebank, output, dev, minutes, seed, workers, form, column, labels, resume, quiet, tags)


# -- what is checked before the training, and not after


def _is_conllu(treebank: list[str], form: Format | None) -> bool:
    forms = {detect_format(path, form) for path in treebank}
    if len(forms) > 1:
        raise LatreeError("brackets train a parser and CoNLL-U a tagger; give files of one format")
    return forms == {"conllu"}


def _check_dev(treebank: list[str], dev: str | None, form: Format | None) -> None:
    """Nor is a file that is mistyped, or of another sort than the treebank, to be told after the training."""
    if dev is None:
        return
    with open_text(dev):
        pass
    names = {"ptb": "trees", "conllu": "CoNLL-U"}
    mine, theirs = names[detect_format(dev, form)], {names[detect_format(path, form)] for path in treebank}
    if mine not in theirs:
        raise LatreeError(f"{dev}: this is {mine}, but the treebank {' and '.join(theirs)}; --dev takes the same sort")


def _check_lists(constituents: str | None, dev: str | None, tags: bool) -> None:
    if constituents is None:
        return
    if tags:
        raise typer.BadParameter("--constituents is for parsers; a tagger has no use for it")
    if dev is None:
        raise typer.BadParameter("--constituents has no effect without --dev; give both, or neither")
    with open_text(constituents):
        pass


def _check_output(output: Path) -> None:
    """A mistyped folder is told before the training, not after."""
    if not output.parent.is_dir():
        raise LatreeError(f"{output}: the folder {output.parent} does not exist")
    if output.is_dir():
        raise LatreeError(f"{output}: this is a directory; name a file")
    if not os.access(output.parent, os.W_OK):
        raise LatreeError(f"{output}: no permission to write into the folder {output.parent}")
