"""latree parse: one tokenised sentence a line in, or ordinary text; one tree a line out."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from latree.cli import common
from latree.cli.constituents import with_lists
from latree.cli.rehearsal import compiled_beside
from latree.cli.status import note
from latree.cli.tally import Tally
from latree.errors import LatreeError
from latree.inference.prune import ACCURATE
from latree.inference.results import Objective, Parse
from latree.kinds.model import ForestModel
from latree.kinds.parser import Parser
from latree.kinds.sentences import Sentence
from latree.kinds.svs import Choice
from latree.text.formats import read_partial_trees

if TYPE_CHECKING:
    from latree.kinds.svs.model import Svs
    from latree.kinds.svs.vectors import ConstituentVector
    from latree.parallel import Jobs

_DIGITS = 4  # of a concept's probability
SHARD = 10_000  # sentences in a file of --output-dir


_KBEST = typer.Option(
    0,
    "--kbest",
    min=0,
    metavar="N",
    help="List so many trees of each sentence, the best first, and then a blank line; 0: only the best, without.",
)
_SCORES = typer.Option(
    False,
    "--scores",
    help="Write before each tree, with tabs between: the log probability of tree and words, that of the words, the "
    "probability of the tree given the words, and whether all went well.",
)
_DRAW = typer.Option(
    False,
    "--draw",
    help="Draw the trees, for people to look at; with --vectors each node has its relation to the node above, ID for a "
    "head and MOD for a modifier, and its likeliest concept.",
)
_ACCURATE = typer.Option(False, "--accurate", help="Consider more trees: slower, for models with subtypes.")
_CONSTITUENTS = typer.Option(
    None,
    "--constituents",
    metavar="FILE",
    help="Consider only phrases and tags that are in the trees of this file, in place of the model's pruning: lists "
    "of trees in brackets with an empty line after each, a list a sentence, as --kbest writes them.",
)
_CONSTRAINTS = typer.Option(
    None,
    "--constraints",
    metavar="FILE",
    help="Read the sentences from this file, one a line, with what is known of their trees: (NP the old man) saw "
    "( it ) (NN today) has an NP, a bracket of any label and a tag that the tree must have; (!NP ...) or (! ...) is a "
    "bracket that it must not have.",
)
_CHOICE = typer.Option(
    None,
    "--choice",
    help="For svs with --objective viterbi: what the single likeliest derivation is.  vector: one analysis of a phrase "
    "for all its concepts; concept: the best one for each concept, whatever concepts are below; maximum: the likeliest "
    "with one concept at every node.  [default: vector]",
)
_VECTORS = typer.Option(
    False,
    "--vectors",
    help="For svs: write under each tree a line for every constituent, with tabs between: its label, its first word "
    "(from 0) and the word after its last, the probability of every concept; then a blank line.  With --json these are "
    "under the key vectors.",
)


_OUTPUT_DIR = typer.Option(
    None,
    "--output-dir",
    metavar="FOLDER",
    help="Write trees into files of this folder, some thousand sentences each, instead of standard output: for bulk. "
    "With --json as lines of JSON, with --parquet as tables.  A manifest tells what is done.",
)
_PARQUET = typer.Option(False, "--parquet", help="With --output-dir: write Parquet files (needs pyarrow).")
_SHARD = typer.Option(
    None, "--shard", min=1, metavar="N", help=f"With --output-dir: sentences in a file.  [default: {SHARD}]"
)
_RESUME = typer.Option(False, "--resume", help="With --output-dir: go on with a run that was cut short.")


def parse(
    context: typer.Context,
    inputs: list[str] = common.INPUTS,
    model: list[Path] = common.MODELS,
    kbest: int = _KBEST,
    scores: bool = _SCORES,
    json_lines: bool = common.JSON,
    draw: bool = _DRAW,
    tokenize: bool = common.TOKENIZE,
    wrapped: bool = common.WRAPPED,
    form: common.InputFormat = common.FORMAT,
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    max_length: int = common.max_length_option(ForestModel.max_length),
    objective: Objective = common.OBJECTIVE,
    accurate: bool = _ACCURATE,
    alone: bool = common.ALONE,
    device: str = common.DEVICE,
    choice: Choice = _CHOICE,
    vectors: bool = _VECTORS,
    constituents: str = _CONSTITUENTS,
    constraints: str = _CONSTRAINTS,
    output_dir: Path = _OUTPUT_DIR,
    parquet: bool = _PARQUET,
    shard: int = _SHARD,
    resume: bool = _RESUME,
) -> None:
    """Parse tokenised sentences, one a line, or with --tokenize ordinary text; trees come out one a line.

    A sentence that the grammar cannot derive gets a flat stand-in tree and a message, and no vectors; an empty line
    stays empty.  Of millions of sentences, --output-dir takes the trees.
    """
    if json_lines and draw:
        raise typer.BadParameter("--json excludes --draw: one is for programs, the other for people")
    _check_constituents(constituents, inputs, accurate)
    if constraints is not None:
        _refuse_with_constraints(inputs=inputs, constituents=constituents, tokenize=tokenize, format=form)
        inputs = [constraints]
    context.with_resource(compiled_beside(model or [None], kbest, objective))
    parser = _parser(model, max_length)
    _adjust(parser, accurate, alone, device, choice, objective)
    read = partial(_sentences_of, parser, form, tokenize, wrapped)
    if output_dir is not None:
        sole = {"kbest": kbest, "scores": scores, "draw": draw, "vectors": vectors, "constituents": constituents}
        _refuse_with_output_dir(**sole, constraints=constraints)
        workers, writing = common.workers(jobs, cluster), "parquet" if parquet else "jsonl" if json_lines else "mrg"
        _parse_in_bulk(parser, objective, writing, shard or SHARD, workers, output_dir, inputs, read, resume)
        return
    if parquet or shard is not None or resume:
        raise typer.BadParameter("--parquet, --shard and --resume have no effect without --output-dir")
    writer = _Writer(parser, _with_vectors(parser) if vectors else None, scores, json_lines, draw)
    sentences = _limited(parser, read(inputs), constituents) if constraints is None else read_partial_trees(constraints)
    tally = Tally(parser, inputs)
    if kbest:
        _tell_of_one_process(jobs, cluster)
        _show_lists(tally.watch(_lists(parser, sentences, kbest, objective)), writer)
    else:
        analyses = common.analyse(parser, inputs, sentences, common.workers(jobs, cluster), objective)
        _show_each(tally.watch(analyses), writer)
    tally.close()


def _limited(parser: Parser, sentences: Iterator[Any], constituents: str | None) -> Iterator[Sentence]:
    """Give sentences the lists of constituents that they are limited to, where there are such."""
    return sentences if constituents is None else with_lists(sentences, constituents, parser.labels)


def _tell_of_one_process(jobs: int, cluster: str | None) -> None:
    if jobs > 1 or cluster is not None:
        note(f"--kbest runs in one process; {'--jobs' if cluster is None else '--cluster'} is left aside")


def _show_each(analyses: Generator[Parse, None, None], writer: _Writer) -> None:
    with closing(analyses) as results:
        for one in results:
            writer.show(one)


def _check_constituents(constituents: str | None, inputs: list[str] | None, accurate: bool) -> None:
    if constituents == "-" and "-" in (inputs or ["-"]):
        raise typer.BadParameter("standard input cannot be both the sentences and --constituents; name a file")
    if constituents is not None and accurate:
        raise typer.BadParameter("--constituents is in place of pruning; --accurate has no effect with it")


def _adjust(
    parser: Parser, accurate: bool, alone: bool, device: str | None, choice: Choice | None, objective: Objective
) -> None:
    """Have the parser do as the options say."""
    if accurate:
        _prune_less(parser)
    if alone:
        common.leave_out_pruner(parser)
    if device is not None:
        common.use_device(parser, device)
    if choice is not None:
        _choose_by(parser, choice, objective)


def _show_lists(lists: Generator[list[Parse], None, None], writer: _Writer) -> None:
    with closing(lists) as ranked:
        for best in ranked:
            for rank, one in enumerate(best, start=1):
                writer.show(one, rank)
            if not writer.json_lines:
                common.emit("")


def _parse_in_bulk(
    parser: Parser,
    objective: Objective,
    writing: Any,
    shard: int,
    workers: Jobs,
    folder: Path,
    inputs: list[str] | None,
    read: Callable[[list[str] | None], Iterator[Sentence]],
    resume: bool,
) -> None:
    # Not for who parses a sentence: it takes time to import.
    from latree.bulk.run import Bulk
    from latree.cli.bulk import run_bulk

    task = Bulk(parser, objective, writing, shard, workers)
    run_bulk(task, folder, inputs, lambda path: read([path]), resume=resume)


def _sentences_of(
    parser: Parser, form: common.InputFormat | None, tokenize: bool, wrapped: bool, paths: list[str] | None
) -> Iterator[Sentence]:
    split = common.splitter(parser, tokenize, wrapped)
    return common.read_sentences(paths, form, split=split, labels=parser.labels)


def _refuse_with_constraints(**values: Any) -> None:
    for name, value in values.items():
        if value:
            what = "a file of sentences" if name == "inputs" else f"--{name}"
            raise typer.BadParameter(f"{what} has no effect with --constraints, whose words are the sentences")


def _refuse_with_output_dir(**values: Any) -> None:
    for name, value in values.items():
        if value:
            raise typer.BadParameter(f"--{name} has no effect with --output-dir, which has one tree a sentence")


def _lists(
    parser: Parser, sentences: Iterator[Sentence], k: int, objective: Objective
) -> Generator[list[Parse], None, None]:
    for tokens in sentences:
        yield parser.kbest(tokens, k, objective)


def _parser(paths: list[Path] | None, max_length: int | None) -> Parser:
    """The named parser, or the product of several."""
    model = common.load_together(paths, max_length)
    if not isinstance(model, Parser):
        name = " and ".join(map(str, paths or ()))
        raise LatreeError(f"{name}: a {model.kind} model tags but does not parse; use `latree tag`")
    return model


def _prune_less(parser: Parser) -> None:
    if parser.cascade is None:
        raise LatreeError(f"--accurate is for models with subtypes; this is a {parser.kind}")
    parser.cascade = ACCURATE


def _choose_by(parser: Parser, choice: Choice, objective: Objective) -> None:
    """Have an svs take its best derivation by what the user wants."""
    if "choice" not in parser.run_options:
        raise LatreeError(f"--choice is for svs; this is a {parser.kind}")
    if objective != "viterbi":
        raise LatreeError("--choice has no effect without --objective viterbi; give both, or neither")
    cast("Svs", parser).choice = choice


def _with_vectors(parser: Parser) -> Svs:
    """The model that `--vectors` asks."""
    if not hasattr(parser, "vectors"):
        raise LatreeError(f"--vectors is for svs; this is a {parser.kind}")
    return cast("Svs", parser)


@dataclass(frozen=True)
class _Writer:
    """Writes parses as the user wants them."""

    parser: Parser
    semantic: Svs | None  # the parser, where vectors are wanted
    scores: bool
    json_lines: bool
    draw: bool

    def show(self, one: Parse, rank: int | None = None) -> None:
        vectors = None if self.semantic is None else _vectors(self.semantic, one)
        if self.json_lines:
            place = {} if rank is None else {"rank": rank}
            concepts = {} if vectors is None else {"vectors": [_vector_json(vector) for vector in vectors]}
            facts = self.parser.facts(one) | place | concepts
            common.emit(json.dumps(facts, ensure_ascii=False))
            return
        lines = [] if vectors is None else [*map(_vector_line, vectors), *([] if rank is not None else [""])]
        common.emit("\n".join([self._text(one), *lines]))

    def _text(self, one: Parse) -> str:
        numbers = f"{one.log_joint:.6f}\t{one.log_marginal:.6f}\t{one.probability:.6g}\t{one.status}"
        if self.draw and one.tree is not None:
            picture = one.draw() if self.semantic is None or one.status != "ok" else self.semantic.draw(one.tree)
            return f"{numbers}\n{picture}\n" if self.scores else f"{picture}\n"
        return f"{numbers}\t{one}" if self.scores else str(one)


# -- vectors over concepts


def _vectors(model: Svs, one: Parse) -> list[ConstituentVector]:
    """List the vectors of all constituents; a stand-in has none, since it is not the model's."""
    return model.vectors(one.tree) if one.status == "ok" and one.tree is not None else []


def _vector_json(vector: ConstituentVector) -> dict[str, Any]:
    concepts = [round(value, _DIGITS) for value in vector.posterior.tolist()]
    return {"label": vector.label, "start": vector.start, "end": vector.end, "concepts": concepts}


def _vector_line(vector: ConstituentVector) -> str:
    concepts = (f"{value:.{_DIGITS}f}" for value in vector.posterior)
    return "\t".join([vector.label, str(vector.start), str(vector.end), *concepts])
