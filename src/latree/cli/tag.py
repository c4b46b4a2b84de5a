"""latree tag: tokens or CoNLL-U in, word/TAG lines or CoNLL-U out."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from latree.cli import common
from latree.cli.rehearsal import compiled_beside
from latree.cli.tally import Tally
from latree.inference.results import Objective, Parse, Tagging
from latree.inference.sequences import likely_tags
from latree.jit import is_kept
from latree.kinds.model import ForestModel, Model
from latree.text.formats import read_conllu_lines, retag

if TYPE_CHECKING:
    from latree.parallel import Jobs


def tag(
    context: typer.Context,
    inputs: list[str] = common.INPUTS,
    model: list[Path] = common.MODELS,
    json_lines: bool = common.JSON,
    tokenize: bool = common.TOKENIZE,
    wrapped: bool = common.WRAPPED,
    form: common.InputFormat = common.FORMAT,
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    max_length: int = common.max_length_option(ForestModel.max_length),
    objective: Objective = common.OBJECTIVE,
    alone: bool = common.ALONE,
    device: str = common.DEVICE,
    separator: str = typer.Option("/", "--separator", help="What is written between a word and its tag."),
) -> None:
    """Tag sentences with a tagger, or with the tags of a parser's best trees.

    CoNLL-U in gives CoNLL-U out, all other columns kept; text in gives a line of word/TAG pairs; --json gives neither.
    """
    if not is_kept(likely_tags):  # where a tagger was at work before, it is hardly a parser that is meant
        context.with_resource(compiled_beside(model or [None], 0, objective))
    tagger = common.load_together(model, max_length)
    if alone:
        common.leave_out_pruner(tagger)
    if device is not None:
        common.use_device(tagger, device)
    split = common.splitter(tagger, tokenize, wrapped)
    tally, workers = Tally(tagger, inputs), common.workers(jobs, cluster)
    for path in inputs or ["-"]:
        if not json_lines and (form or common.format_of(path)) == "conllu":
            _tag_conllu(tagger, path, tally, workers, objective)
            continue
        sentences = common.read_sentences([path], form, split=split, labels=getattr(tagger, "labels", None))
        with closing(tally.watch(_taggings(tagger, path, sentences, workers, objective))) as results:
            for one in results:
                if json_lines:
                    common.emit(json.dumps(tagger.facts(one), ensure_ascii=False))
                else:
                    pairs = zip(one.tokens, one.tags, strict=True)
                    common.emit(" ".join(f"{word}{separator}{name}" for word, name in pairs))
    tally.close()


def _taggings(
    model: Model, path: str, sentences: Iterable[Sequence[str]], jobs: Jobs, objective: Objective
) -> Generator[Tagging, None, None]:
    with closing(common.analyse(model, [path], sentences, jobs, objective)) as analyses:
        for one in analyses:
            yield one.tagging() if isinstance(one, Parse) else one


def _tag_conllu(model: Model, path: str, tally: Tally, jobs: Jobs, objective: Objective) -> None:
    """Fill the model's column; everything else goes through as it came."""
    column: Any = getattr(model, "column", "xpos")
    kept, source = tee(read_conllu_lines(path))
    words = (sentence.words for _, sentence in source)
    with closing(tally.watch(_taggings(model, path, words, jobs, objective))) as results:
        for (lines, _), one in zip(kept, results, strict=True):
            common.emit("\n".join(retag(lines, column, one.tags)) + "\n")
