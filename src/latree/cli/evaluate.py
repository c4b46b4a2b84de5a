"""latree eval: EVALB's count and a strict one, or tagging accuracy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import typer

from latree.cli import common
from latree.cli.status import note
from latree.errors import LatreeError
from latree.report.console import Console
from latree.scoring.evalb import COLLINS, Parameters, format_table
from latree.scoring.functions import FunctionScores, render_functions, score_functions
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
    score_trees,
)
from latree.text.formats import Column, Format, detect_format, open_text, read_tagged
from latree.text.labels import PRESETS, LabelRules
from latree.text.tree import Tree

MOST = 0.5  # share of sentences with other words, above which the files seem to be of different texts
LISTED = 10  # sentences that are left out, of each sort


def evaluate(
    gold: str = typer.Argument(..., help="The file of right trees, or of right tags (CoNLL-U)."),
    predicted: str = typer.Argument(..., help="The file to score, with the same sentences in the same order."),
    prm: Path = typer.Option(
        None,
        "--prm",
        help="A parameter file of EVALB, which says what is left out of the count.  [default: COLLINS.prm, built in]",
    ),
    max_length: int = typer.Option(
        None, "--max-length", min=1, help="Count only sentences of up to so many words.  [default: all]"
    ),
    json_output: bool = typer.Option(False, "--json", help="Write all figures as one JSON object."),
    table: bool = typer.Option(False, "--table", help="Write EVALB's own table, sentence by sentence."),
    by_label: bool = typer.Option(False, "--by-label", help="Also write the figures of each label."),
    functions: bool = typer.Option(
        False, "--functions", help="Also score function labels, such as SBJ in NP-SBJ, which brackets leave out."
    ),
    raw: bool = typer.Option(False, "--raw", help="Compare labels as they are, with function tags and traces."),
    labels: str = typer.Option(
        "penn", "--labels", help=f"How the labels of both files are read: {', '.join(PRESETS)}."
    ),
    against: str = typer.Option(
        None, "--against", help="A second file to score: tells whether the difference between the two is significant."
    ),
    form: Format = common.TREEBANK_FORMAT,
    column: Literal["upos", "xpos"] = typer.Option(
        None,
        "--column",
        help="Which tags of CoNLL-U files are compared.  [default: upos where the file has them, else xpos]",
    ),
    model: Path = typer.Option(
        None,
        "-m",
        "--model",
        help="A model file: labels are read as it reads them, and words that it knows are counted apart.",
    ),
) -> None:
    """Score predicted trees against gold ones as EVALB does, and strictly; or tags.

    Strictly: no sentence is skipped, punctuation is deleted by the gold tags, a failed parse has no brackets.
    """
    files = [predicted] if against is None else [predicted, against]
    scored: Any
    labelled: list[FunctionScores] = []
    if (form or _format(gold, *files)) == "conllu":
        given = {"prm": prm, "max-length": max_length, "table": table, "by-label": by_label, "raw": raw}
        given["functions"] = functions
        if unused := [f"--{name}" for name, value in given.items() if value]:
            raise typer.BadParameter(f"{', '.join(unused)}: for trees only, and these files are CoNLL-U")
        known = set(common.load_model(model).lexicon.vocabulary) if model else None
        scored = [_score_tags(gold, path, column, known) for path in files]
    else:
        rules = None if raw else _label_rules(labels, model)
        scored = [_score_trees(gold, path, rules, _parameters(prm), max_length) for path in files]
        if functions:
            keeping = None if rules is None else rules.with_functions()
            labelled = [score_functions(*_sides(gold, path, keeping), _parameters(prm)) for path in files]
            for path, one in zip(files, labelled, strict=True):
                if one.gold and not one.test:
                    note(f"{path}: no function labels there; a grammar has them if trained with --labels functions")
    test = None if against is None else _compare(*scored)
    if json_output:
        told = [scores.to_json() for scores in scored]
        for figures, one in zip(told, labelled, strict=False):
            figures["functions"] = one.to_json()
        more = {} if test is None else {"against": {**test.to_json(), "scores": told[1]}}
        typer.echo(json.dumps(told[0] | more, ensure_ascii=False))
        return
    for path, scores in zip(files, scored, strict=True):
        _render(scores, _parameters(prm), title=None if test is None else path, table=table, by_label=by_label)
    for path, one in zip(files, labelled, strict=False):
        Console().print("" if test is None else f"\n{path}, functions:", render_functions(one))
    if test is not None:
        _render_difference(test)


def _label_rules(preset: str, model: Path | None) -> LabelRules:
    """The rules that clean both sides: those of a model, or a preset."""
    rules = LabelRules.named(preset)
    if model is not None:
        rules = getattr(common.load_model(model), "labels", rules)
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


def _score_trees(
    gold: str, predicted: str, rules: LabelRules | None, parameters: Parameters, max_length: int | None
) -> Scores:
    wrapper = rules.root if rules else None
    right, guesses = _sides(gold, predicted, rules)
    scores = score_trees(right, guesses, parameters, wrapper=wrapper, max_length=max_length)
    if scores.strangers > MOST * len(scores.rows):
        many = f"{scores.strangers} of {len(scores.rows)} sentences"
        note(f"{predicted}: {many} have other words than in {gold}; are these the same sentences?")
    return scores


def _sides(gold: str, predicted: str, rules: LabelRules | None) -> tuple[list[Tree], list[Tree | None]]:
    """The right trees that have words, and what was predicted for each."""
    right, guesses = list(_read_trees(gold, rules)), list(_read_trees(predicted, rules))
    kept = [tree for tree in right if tree is not None]
    if len(kept) < len(right):
        note(f"{gold}: {len(right) - len(kept)} trees without words are left out")
        if len(guesses) == len(right):  # else they are left out there already, as `latree parse` does
            guesses = [guess for guess, tree in zip(guesses, right, strict=True) if tree is not None]
    return kept, guesses


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
