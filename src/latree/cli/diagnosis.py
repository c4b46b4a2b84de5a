"""What `latree eval` tells beside scores: errors by kind, and how far a model's probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from latree.cli import common
from latree.cli.status import note, with_progress
from latree.report.text import print_report
from latree.report.value import Report, Section
from latree.scoring.evalb import COLLINS, Parameters
from latree.scoring.functions import FunctionScores
from latree.scoring.parse_errors import ParseErrors, classify_errors
from latree.scoring.score import Scores, score_trees
from latree.text.formats import read_trees
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.diagnosis.calibration import Calibration
    from latree.parallel import Jobs

WORST = 3  # sentences that are shown

FUNCTIONS = typer.Option(
    False, "--functions", help="Also score function labels, such as SBJ in NP-SBJ, which brackets leave out."
)
ERRORS = typer.Option(
    False, "--errors", help="Also tell the errors by kind, such as wrong attachments, and show the worst sentences."
)
SHOWN = typer.Option(
    None, "--worst", min=0, metavar="N", help=f"With --errors, how many sentences to show.  [default: {WORST}]"
)
CALIBRATION = typer.Option(
    False,
    "--calibration",
    help="Also tell how far the probabilities of the model (-m) can be trusted: whether of all that it gives 0.8, 80 % "
    "are right.",
)
HTML = typer.Option(
    None,
    "--html",
    metavar="FILE",
    help="Also write what these tell to this file, as a page for a browser.",
)


@dataclass(frozen=True)
class Sides:
    """Gold trees, and those that are scored against them; where a model made these, what it said with them."""

    gold: list[Tree]
    guesses: list[Tree | None]
    calibration: Calibration | None = None


@dataclass(frozen=True)
class Counting:
    """How trees are compared."""

    parameters: Parameters
    wrapper: str | None
    max_length: int | None

    def scores(self, sides: Sides) -> Scores:
        return score_trees(sides.gold, sides.guesses, self.parameters, wrapper=self.wrapper, max_length=self.max_length)

    def errors(self, sides: Sides) -> ParseErrors:
        return classify_errors(
            sides.gold, sides.guesses, self.parameters, wrapper=self.wrapper, max_length=self.max_length
        )


@dataclass(frozen=True)
class Details:
    """What is told beside scores."""

    functions: FunctionScores | None
    errors: ParseErrors | None
    calibration: Calibration | None
    worst: int

    def sections(self) -> Iterator[Section]:
        """Tell all of it; what only scores has no need of drawings, nor of compiled code."""
        if self.functions is not None:
            from latree.diagnosis.function_report import function_section

            yield function_section(self.functions)
        if self.errors is not None:
            from latree.diagnosis.error_report import error_sections

            yield from error_sections(self.errors, self.worst)
        if self.calibration is not None:
            from latree.diagnosis.calibration_report import calibration_section

            yield calibration_section(self.calibration)

    def print(self) -> None:
        """Write all of it for people, after the scores."""
        if sections := tuple(self.sections()):
            print()
            print_report(Report(sections=sections))

    def to_json(self) -> dict[str, Any]:
        return {name: part.to_json() for name, part in self._parts().items()}

    def _parts(self) -> dict[str, Any]:
        """What is told, by its names."""
        parts = {"functions": self.functions, "errors": self.errors, "calibration": self.calibration}
        return {name: part for name, part in parts.items() if part is not None}

    def write_page(self, path: Path, gold: str, scored: str, scores: Scores, quiet: bool) -> None:
        """Write all of it as a page."""
        figures = scores.to_json()
        told = {"F1": f"{figures['f1']:.2f}", "F1, strict": f"{figures['f1_strict']:.2f}"}
        facts = (("gold", gold), ("scored", scored), ("sentences", f"{figures['sentences']:,}"), *told.items())
        title = ", ".join(self._parts()).capitalize()
        common.write_page(Report(title, facts, sections=tuple(self.sections())), path, quiet)


def check_choices(predicted: str | None, model: Path | None, given: Mapping[str, Any]) -> None:
    """Refuse options, by their names, that have no effect together."""
    chosen = {name for name, value in given.items() if value}

    def refuse(names: set[str], reason: str) -> None:
        if told := ", ".join(f"--{name}" for name in sorted(names & chosen)):
            raise typer.BadParameter(f"{told}: {reason}")

    if predicted is None and model is None:
        raise typer.BadParameter("name a file to score, or a model (-m) that parses the gold file's sentences")
    if predicted is None:
        refuse(
            {"against", "functions", "raw"},
            "for files that are scored; here the model parses the gold sentences",
        )
    else:
        refuse({"calibration"}, "it takes the probabilities of a model: leave out the file to score, and name -m")
        refuse({"jobs", "cluster"}, "nothing is parsed here: these share the work where a model (-m) parses")
    if "against" in chosen:
        refuse({"errors", "functions", "html"}, "of one file at a time; leave out --against")
    if "errors" not in chosen:
        refuse({"worst"}, "it goes with --errors")
    if not chosen & {"functions", "errors", "calibration"}:
        refuse({"html"}, "the page has what --functions, --errors and --calibration tell; name one of them")


def parsed_by_model(gold: str, model: Any, max_length: int | None, jobs: Jobs, quiet: bool) -> Sides:
    """Parse the sentences of a gold file anew; those that are too long to be counted are left alone."""
    from latree.diagnosis.calibration import calibration, checked_parser, judge

    parser = checked_parser(model)
    rules = parser.labels.for_scoring()
    pairs = [(rules.clean(tree), parser.labels.clean(tree)) for tree in read_trees(gold)]
    trees = [(scored, learned) for scored, learned in pairs if scored is not None and learned is not None]
    if len(trees) < len(pairs):
        note(f"{gold}: {len(pairs) - len(trees)} trees without words are left out")
    is_short = [max_length is None or COLLINS.length(scored) <= max_length for scored, _ in trees]
    short = [learned for keep, (_, learned) in zip(is_short, trees, strict=True) if keep]
    with common.telling_of_compilation(quiet):
        judged = list(with_progress(judge(parser, short, jobs), "parsing", quiet, len(short)))
    found = iter(judged)
    guesses = [next(found)[0].tree if keep else None for keep in is_short]
    return Sides([scored for scored, _ in trees], guesses, calibration(judged, parser.temperature))
