"""latree eval: EVALB's count and a strict one, or tagging accuracy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from latree.cli import common, diagnosis
from latree.cli.diagnosis import WORST, Counting, Details, Sides
from latree.cli.status import note
from latree.errors import LatreeError
from latree.report.console import Console
from latree.scoring.evalb import COLLINS, Parameters, format_table
from latree.scoring.functions import FunctionScores, score_functions
from latree.scoring.score import (
    Comparison,
    Scores,
    TagScores,
    compare,
    read_predictions,
    render_labels,
    render_tags,
    render_trees,
    score_tags,
)
from latree.text.formats import Column, Format, detect_format, open_text, read_tagged
from latree.text.labels import PRESETS, LabelRules
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.kinds.model import Model

MOST = 0.5  # share of sentences with other words, above which the files seem to be of different texts
LISTED = 10  # sentences that are left out, of each sort


PREDICTED = typer.Argument(
    None,
    metavar="[PREDICTED]",
    help="The file to score, with the same sentences in the same order.  Without it the model (-m) parses them.",
    show_default=False,
)
MAX_LENGTH = typer.Option(
    None, "--max-length", min=1, help="Count only sentences of up to so many words.  [default: all]"
)
LABELS = typer.Option("penn", "--labels", help=f"How the labels of both files are read: {', '.join(PRESETS)}.")
PRM = typer.Option(
    None,
    "--prm",
    help="A parameter file of EVALB, which says what is left out of the count.  [default: COLLINS.prm, built in]",
)
AGAINST = typer.Option(
    None, "--against", help="A second file to score: tells whether the difference between the two is significant."
)
COLUMN = typer.Option(
    None,
    "--column",
    help="Which tags of CoNLL-U files are compared.  [default: upos where the file has them, else xpos]",
)
MODEL = typer.Option(
    None,
    "-m",
    "--model",
    help="A model file: labels are read as it reads them, words that it knows are counted apart, and where there is no "
    "file to score it parses the gold file's sentences.",
)


def evaluate(
    gold: str = typer.Argument(..., help="The file of right trees, or of right tags (CoNLL-U)."),
    predicted: str = PREDICTED,
    prm: Path = PRM,
    max_length: int = MAX_LENGTH,
    json_output: bool = typer.Option(False, "--json", help="Write all figures as one JSON object."),
    table: bool = typer.Option(False, "--table", help="Write EVALB's own table, sentence by sentence."),
    by_label: bool = typer.Option(False, "--by-label", help="Also write the figures of each label."),
    functions: bool = diagnosis.FUNCTIONS,
    errors: bool = diagnosis.ERRORS,
    worst: int = diagnosis.SHOWN,
    calibration: bool = diagnosis.CALIBRATION,
    html: Path = diagnosis.HTML,
    raw: bool = typer.Option(False, "--raw", help="Compare labels as they are, with function tags and traces."),
    labels: str = LABELS,
    against: str = AGAINST,
    form: Format = common.TREEBANK_FORMAT,
    column: Literal["upos", "xpos"] = COLUMN,
    model: Path = MODEL,
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    quiet: bool = common.QUIET,
) -> None:
    """Score predicted trees against gold ones as EVALB does, and strictly; or tags.

    Strictly: no sentence is skipped, punctuation is deleted by the gold tags, a failed parse has no brackets.
    """
    files = [path for path in (predicted, against) if path is not None]
    new: dict[str, Any] = {"functions": functions, "errors": errors, "worst": worst is not None, "html": html}
    new |= {"calibration": calibration, "jobs": jobs != 1, "cluster": cluster}
    if (form or _format(gold, *files)) == "conllu":
        given = {"prm": prm, "max-length": max_length, "table": table, "by-label": by_label, "raw": raw, **new}
        _evaluate_tags(gold, files, column, model, given, json_output)
        return
    diagnosis.check_choices(predicted, model, {**new, "against": against, "raw": raw})
    common.check_folder(html)
    loaded = None if model is None else common.load_model(model)
    rules = None if raw else _label_rules(labels, loaded)
    sides = [_read_sides(gold, path, rules) for path in files]
    if predicted is None:
        sides = [diagnosis.parsed_by_model(gold, loaded, max_length, common.workers(jobs, cluster), quiet)]
    count = Counting(_parameters(prm), rules.root if rules else None, max_length)
    scored = [count.scores(one) for one in sides]
    _tell_strangers(gold, files, scored)
    details = Details(
        _functions(gold, predicted, rules, count.parameters) if functions and predicted is not None else None,
        count.errors(sides[0]) if errors else None,
        sides[0].calibration if calibration else None,
        WORST if worst is None else worst,
    )
    if html is not None:
        details.write_page(html, gold, predicted or str(model), scored[0], quiet)
    if json_output:
        _write_json(scored, details.to_json())
    else:
        _write(files, scored, count.parameters, table=table, by_label=by_label)
        details.print()


def _evaluate_tags(
    gold: str, files: list[str], column: Column | None, model: Path | None, given: Mapping[str, Any], json_output: bool
) -> None:
    """Score files of tags; `given` are options for trees."""
    if unused := [f"--{name}" for name, value in given.items() if value]:
        raise typer.BadParameter(f"{', '.join(unused)}: for trees only, and these files are CoNLL-U")
    if not files:
        raise typer.BadParameter("name a file of tags to score; `latree tag` writes one")
    known = set(common.load_model(model).lexicon.vocabulary) if model else None
    scored = [_score_tags(gold, path, column, known) for path in files]
    if json_output:
        _write_json(scored, {})
    else:
        _write(files, scored, COLLINS, table=False, by_label=False)


def _write_json(scored: Sequence[Any], more: dict[str, Any]) -> None:
    """Write the scores of the first file, and how the second differs from it."""
    if len(scored) > 1:
        more = more | {"against": {**_compare(*scored).to_json(), "scores": scored[1].to_json()}}
    typer.echo(json.dumps(scored[0].to_json() | more, ensure_ascii=False))


def _write(files: Sequence[str], scored: Sequence[Any], parameters: Parameters, *, table: bool, by_label: bool) -> None:
    """Write the scores for people."""
    titles = files if len(scored) > 1 else [None]
    for title, scores in zip(titles, scored, strict=True):
        _render(scores, parameters, title=title, table=table, by_label=by_label)
    if len(scored) > 1:
        _render_difference(_compare(*scored))


def _label_rules(preset: str, model: Model | None) -> LabelRules:
    """The rules that clean both sides: those of a model, or a preset."""
    rules: LabelRules = getattr(model, "labels", LabelRules.named(preset))
    return rules.for_scoring()


def _format(*paths: str) -> Format:
    """What the files hold; standard input holds what the others do."""
    formats = {path: detect_format(path) for path in paths if path != "-" or set(paths) == {"-"}}
    if len(set(formats.values())) > 1:
        kinds = ", ".join(f"{path} is {'trees' if form == 'ptb' else 'CoNLL-U'}" for path, form in formats.items())
        raise LatreeError(f"trees and CoNLL-U cannot be compared: {kinds}")
    return next(iter(formats.values()))


def _parameters(prm: Path | None) -> Parameters:
    return COLLINS if prm is None else Parameters.read(prm)


def _read_sides(gold: str, predicted: str, rules: LabelRules | None) -> Sides:
    right, guesses = list(_read_trees(gold, rules)), list(_read_trees(predicted, rules))
    kept = [tree for tree in right if tree is not None]
    if len(kept) < len(right):
        note(f"{gold}: {len(right) - len(kept)} trees without words are left out")
        if len(guesses) == len(right):  # else they are left out there already, as `latree parse` does
            guesses = [guess for guess, tree in zip(guesses, right, strict=True) if tree is not None]
    return Sides(kept, guesses)


def _functions(gold: str, predicted: str, rules: LabelRules | None, parameters: Parameters) -> FunctionScores:
    """Score function labels, which the rules for brackets may have cut off."""
    sides = _read_sides(gold, predicted, None if rules is None else rules.with_functions())
    scores = score_functions(sides.gold, sides.guesses, parameters)
    if scores.gold and not scores.test:
        note(f"{predicted}: no function labels there; a grammar has them if trained with --labels functions")
    return scores


def _tell_strangers(gold: str, files: Sequence[str], scored: Sequence[Scores]) -> None:
    """Tell of files that seem to be of other sentences."""
    for path, scores in zip(files, scored, strict=bool(files)):
        if scores.strangers > MOST * len(scores.rows):
            many = f"{scores.strangers} of {len(scores.rows)} sentences"
            note(f"{path}: {many} have other words than in {gold}; are these the same sentences?")


def _read_trees(path: str, rules: LabelRules | None) -> Iterator[Tree | None]:
    """The trees of a file, cleaned; None for a failed parse, so that sentences stay in step."""
    with open_text(path) as lines:
        for tree in read_predictions(lines, "<stdin>" if path == "-" else path):
            yield rules.clean(tree) if rules and tree is not None else tree


def _score_tags(gold: str, predicted: str, column: Column | None, known: set[str] | None) -> TagScores:
    return score_tags(read_tagged(gold, column, "conllu"), read_tagged(predicted, column, "conllu"), known)


def _compare(first: Any, second: Any) -> Comparison:
    if isinstance(first, Scores):
        return compare(first.bracket_counts(), second.bracket_counts())
    return compare(first.tag_counts(), second.tag_counts())


def _render_difference(test: Comparison) -> None:
    interval = f"95 % interval {test.low:+.2f} to {test.high:+.2f}"
    typer.echo(f"difference {test.difference:+.2f} ({interval}), p = {test.p_value:.4f}")


def _render(
    scored: Scores | TagScores, parameters: Parameters, *, title: str | None, table: bool, by_label: bool
) -> None:
    console = Console()
    if title is not None:
        typer.echo(f"{title}:")
    if isinstance(scored, TagScores):
        console.print(render_tags(scored))
        return
    if table:
        typer.echo(format_table([row.evalb for row in scored.rows], parameters), nl=False)
    else:
        console.print(render_trees(scored))
    if by_label:
        console.print("", render_labels(scored))
    for name, rows in (("skipped by EVALB", scored.skipped), ("failed", scored.failed)):
        for number, reason in rows[:LISTED]:
            typer.echo(f"sentence {number}: {name}: {reason}", err=table)  # the table is EVALB's to the letter
        if len(rows) > LISTED:
            typer.echo(f"{len(rows) - LISTED} more sentences {name}; --json lists them all", err=table)
