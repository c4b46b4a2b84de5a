"""latree train: a treebank in, a model file out."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from latree.cli import common
from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.labels import LabelRules
    from latree.models.base import ForestModel
    from latree.treebank import Format, TaggedSentence
    from latree.words import LexiconOptions


class Kind(StrEnum):
    pcfg = "pcfg"
    hmm = "hmm"


# The options that only one kind has a use for.
_OPTIONS_OF = {
    Kind.pcfg: ("labels", "phrase_cuts", "tag_cuts", "prefix_end", "binarize", "horizontal", "vertical"),
    Kind.hmm: ("column",),
}


def train(
    context: typer.Context,
    kind: Kind = typer.Argument(..., help="The kind of model.", metavar="MODEL-KIND"),
    treebank: list[str] = typer.Argument(..., help="Bracket files train a parser, CoNLL-U files a tagger."),
    output: Path = typer.Option(..., "-o", "--output", help="The model file to write."),
    dev: str = typer.Option(None, "--dev", help="A file to score the trained model on."),
    form: Literal["ptb", "conllu"] = typer.Option(None, "--format", help="Format of the files; else by name."),
    column: Literal["upos", "xpos"] = typer.Option(None, "--column", help="Tags: UPOS where filled, else XPOS."),
    labels: str = typer.Option("penn", "--labels", help="Label rules: penn, floresta, cess or raw."),
    phrase_cuts: str = typer.Option(None, "--phrase-cuts", help="Characters that end a phrase label."),
    tag_cuts: str = typer.Option(None, "--tag-cuts", help="Characters that end a tag."),
    prefix_end: str = typer.Option(None, "--prefix-end", help="What stands before this in a label is dropped."),
    binarize: Literal["right", "left"] = typer.Option("right", "--binarize", help="Side whose child comes off first."),
    horizontal: int = typer.Option(0, "--horizontal", min=-1, help="Siblings that a part remembers; -1: all."),
    vertical: int = typer.Option(1, "--vertical", min=1, help="1: labels alone; 2: with the parent's; and so on."),
    unknown: str = typer.Option(
        "neutral", "--unknown", help="Unknown-word classes: neutral, english, english4, single."
    ),
    rare: int = typer.Option(None, "--rare", min=1, help="Words up to this count stand in for the unseen ones."),
    seed: int = typer.Option(0, "--seed", help="Seed of all randomness (these kinds have none)."),
    jobs: int = common.JOBS,
    resume: bool = typer.Option(False, "--resume", help="Go on from a checkpoint (these kinds train in one pass)."),
    quiet: bool = typer.Option(False, "--quiet", help="Say nothing but errors."),
) -> None:
    """Train a model on a treebank and write it to one file."""
    started = time.process_time()
    _check_options(context, kind)
    _check_output(output)
    _check_dev(kind, dev, form)
    if resume and not quiet:
        common.note(f"a {kind} trains in one pass: there is nothing to resume, training from the start")
    lexicon = _lexicon_options(rare)
    if kind is Kind.hmm:
        model: Any = _train_hmm(treebank, form, column, unknown, lexicon, quiet)
    else:
        rules = _label_rules(labels, phrase_cuts, tag_cuts, prefix_end)
        shape = {"direction": binarize, "horizontal": horizontal, "vertical": vertical}
        model = _train_pcfg(treebank, form, rules, shape, unknown, lexicon, quiet)
    model.training = {
        "command": shlex.join(["latree", *sys.argv[1:]]),
        "data": [Path(path).name for path in treebank],
        "seed": seed,
    }
    model.save(output)  # before the dev score, which is not worth losing a model for
    if not quiet:
        common.note(f"{_size(model)}; {time.process_time() - started:.1f} CPU seconds; written to {output}")
    if dev is not None:
        model.training["dev"] = {"data": Path(dev).name, **_score(model, dev, form, jobs, quiet)}
        model.save(output)


def _check_options(context: typer.Context, kind: Kind) -> None:
    """An option without effect is a misunderstanding."""
    for other, names in _OPTIONS_OF.items():
        for name in names if other is not kind else ():
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise typer.BadParameter(f"--{name.replace('_', '-')} is for {other}; {kind} has no use for it")


def _check_dev(kind: Kind, dev: str | None, form: Format | None) -> None:
    """Nor is a mistyped file to be told after the training."""
    from latree.treebank import detect_format, open_text

    if dev is None:
        return
    with open_text(dev):
        pass
    if kind is Kind.pcfg and detect_format(dev, form) != "ptb":
        raise LatreeError(f"{dev}: CoNLL-U has no trees to score a pcfg on")


def _check_output(output: Path) -> None:
    """A mistyped folder is told before the training, not after."""
    if not output.parent.is_dir():
        raise LatreeError(f"{output}: the folder {output.parent} does not exist")
    if output.is_dir():
        raise LatreeError(f"{output}: this is a directory; name a file")
    if not os.access(output.parent, os.W_OK):
        raise LatreeError(f"{output}: no permission to write into the folder {output.parent}")


def _lexicon_options(rare: int | None) -> LexiconOptions | None:
    if rare is None:
        return None
    from latree.words import LexiconOptions

    return LexiconOptions(rare=rare)


def _label_rules(preset: str, phrase_cuts: str | None, tag_cuts: str | None, prefix_end: str | None) -> LabelRules:
    from dataclasses import replace

    from latree.labels import LabelRules

    given = {"phrase_cuts": phrase_cuts, "tag_cuts": tag_cuts, "prefix_end": prefix_end}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(LabelRules.named(preset), **changes)


def _train_pcfg(
    treebank: list[str],
    form: Format | None,
    rules: LabelRules,
    shape: dict[str, Any],
    unknown: str,
    lexicon: LexiconOptions | None,
    quiet: bool,
) -> ForestModel[Any]:
    from latree.binary import Binarization
    from latree.models.pcfg import Pcfg
    from latree.treebank import detect_format, read_trees

    for path in treebank:
        if detect_format(path, form) != "ptb":
            raise LatreeError(f"{path}: CoNLL-U has no trees to train a pcfg on; `latree train hmm` trains a tagger")
    trees = (tree for path in treebank for tree in read_trees(path))
    model = Pcfg(labels=rules, binarization=Binarization(**shape), unknown=unknown, lexicon=lexicon)
    return model.fit(common.with_progress(trees, "reading", quiet))


def _train_hmm(
    treebank: list[str],
    form: Format | None,
    column: Literal["upos", "xpos"] | None,
    unknown: str,
    lexicon: LexiconOptions | None,
    quiet: bool,
) -> ForestModel[Any]:
    from latree.models.hmm import Hmm
    from latree.treebank import detect_format

    tables = [path for path in treebank if detect_format(path, form) == "conllu"]
    chosen = column or (_filled_column(tables[0]) if tables else "xpos")
    sentences = (sentence for path in treebank for sentence in read_tagged_any(path, form, chosen))
    return Hmm(column=chosen, unknown=unknown, lexicon=lexicon).fit(common.with_progress(sentences, "reading", quiet))


def _filled_column(path: str) -> Literal["upos", "xpos"]:
    from latree.treebank import read_conllu

    if path == "-":
        raise LatreeError("standard input can be read only once; name the column: --column upos or xpos")
    return "upos" if any(sentence.fills("upos") for sentence in read_conllu(path)) else "xpos"


def read_tagged_any(path: str, form: Format | None, column: Literal["upos", "xpos"] | None) -> Iterator[TaggedSentence]:
    """Tagged sentences from CoNLL-U, or from the leaves of trees."""
    from latree.labels import LabelRules
    from latree.treebank import TaggedSentence, detect_format, read_tagged, read_trees

    if detect_format(path, form) == "conllu":
        yield from read_tagged(path, column)
    else:
        trees = read_trees(path, LabelRules())
        yield from (TaggedSentence(tuple(tree.words()), tuple(tree.tags())) for tree in trees)


def _size(model: ForestModel[Any]) -> str:
    grammar = model.grammar
    return (
        f"{model.kind}: {len(grammar.symbols)} symbols, {len(grammar.rules)} rules, "
        f"{len(model.lexicon.vocabulary)} words"
    )


def _score(model: ForestModel[Any], dev: str, form: Format | None, jobs: int, quiet: bool) -> dict[str, float]:
    """Score on a held-out file; the figures go into the model's header."""
    from latree.models.parser import Parser
    from latree.score import score_tags, score_trees

    if isinstance(model, Parser):
        from latree.treebank import read_trees

        gold = list(read_trees(dev, model.labels))
        analyses = model.parse_all((tree.words() for tree in gold), jobs)
        with common.telling_of_compilation(quiet):
            parses = list(common.with_progress(analyses, "parsing dev", quiet, len(gold)))
        scores = score_trees(gold, [one.tree if one.status == "ok" else None for one in parses]).to_json()
        names = ["f1", "f1_strict", "exact", "tag_accuracy", "sentences", "skipped", "failed"]
    else:
        tagged = list(read_tagged_any(dev, form, model.column))  # type: ignore[attr-defined]
        found = model.tag_all((words for words, _ in tagged), jobs)  # type: ignore[attr-defined]
        with common.telling_of_compilation(quiet):
            taggings = list(common.with_progress(found, "tagging dev", quiet, len(tagged)))
        predicted = [(one.tokens, one.tags) for one in taggings]
        scores = score_tags(tagged, predicted, set(model.lexicon.vocabulary)).to_json()
        names = ["token", "sentence", "known", "unknown", "sentences"]
    picked = {name: scores[name] for name in names}
    if not quiet:
        figures = ", ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in picked.items())
        common.note(f"dev ({Path(dev).name}): {figures}")
    return picked
