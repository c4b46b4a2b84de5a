"""latree train: a treebank in, a model file out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from latree.cli import common, model_options, training
from latree.cli.model_options import Kind
from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.text.formats import Format


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
    rounds: int = typer.Option(
        4, "--rounds", min=1, help="lvg, lvg-d: rounds of split and merge; gm-lveg: of the grammar that prunes."
    ),
    subtypes: int = typer.Option(None, "--subtypes", min=1, help="lvg, lvg-d: so many a symbol, none merged."),
    merge: float = typer.Option(0.5, "--merge", min=0.0, max=1.0, help="lvg: share of the splits taken back."),
    split_iterations: int = typer.Option(50, "--split-iterations", min=1, help="lvg: EM after splitting."),
    merge_iterations: int = typer.Option(20, "--merge-iterations", min=1, help="lvg: EM after merging."),
    smooth_iterations: int = typer.Option(10, "--smooth-iterations", min=1, help="lvg: EM with smoothing."),
    tolerance: float = typer.Option(0.0, "--tolerance", min=0.0, help="lvg: gain a word that ends EM early."),
    estimator: Literal["em", "variational"] = typer.Option(
        "em", "--estimator", help="lvg: EM with split and merge, or a prior that finds how many subtypes are of use."
    ),
    truncation: int = typer.Option(16, "--truncation", min=2, help="variational: subtypes of a symbol at most."),
    concentration: float = typer.Option(
        1.0, "--concentration", min=1e-6, help="variational: the larger, the more subtypes are expected."
    ),
    dim: int = typer.Option(None, "--dim", min=1, help="gm-lveg: dimensions of the latent vectors; 8, for tagging 3."),
    components: int = typer.Option(
        None, "--components", min=1, help="gm-lveg: Gaussians of a rule at first; 1, for tagging 4."
    ),
    grow: int = typer.Option(
        None, "--grow", min=0, help="gm-lveg: epochs after which rules that gain get more of these; 2, for tagging 0."
    ),
    covariance: Literal["diagonal", "spherical"] = typer.Option("spherical", "--covariance", help="gm-lveg: of these."),
    looseness: float = typer.Option(
        None,
        "--looseness",
        min=1e-9,
        max=1.0,
        help="gm-lveg: pruning thresholds in training, times; 0.1, for tagging 1.",
    ),
    epochs: int = typer.Option(
        None, "--epochs", min=1, help="gm-lveg: passes over the treebank (10); lvg-d: legs (3); dev picks the best."
    ),
    batch: int = typer.Option(None, "--batch", min=1, help="Sentences in a step (gm-lveg: 32, lvg-d: 128)."),
    rate: float = typer.Option(None, "--rate", min=0.0, help="Length of a step of Adam (gm-lveg: 0.01, lvg-d: 0.05)."),
    start: Literal["treebank", "subtypes", "generative", "zero"] = typer.Option(
        None,
        "--start",
        help="gm-lveg: begin as the treebank grammar, or one with subtypes; lvg-d: as the generative one, or at zero.",
    ),
    penalty: Literal["l1", "l2"] = typer.Option(None, "--penalty", help="lvg-d: on how far weights move (l1)."),
    strength: float = typer.Option(None, "--strength", min=0.0, help="lvg-d: of the penalty (0.5)."),
    scales: bool = typer.Option(False, "--scales", help="lvg-d: each production as fine as it needs to be."),
    spans: bool = typer.Option(False, "--spans", help="lvg-d, parsers: weights for what lies at a span's edges."),
    iterations: int = typer.Option(None, "--iterations", min=1, help="lvg-d: of OWL-QN or L-BFGS in a leg (8)."),
    stochastic: int = typer.Option(None, "--stochastic", min=0, help="lvg-d: passes of Adam that come first."),
    max_length: int = typer.Option(50, "--max-length", min=1, help="By gradient: longer sentences are left out."),
    k_min: int = typer.Option(0, "--k-min", min=0, help="gm-lveg: mixtures of at most so many Gaussians stay whole."),
    k_max: int = typer.Option(0, "--k-max", min=0, help="gm-lveg: Gaussians kept of a mixture at most; 0: all, exact."),
    theta: float = typer.Option(
        1.0, "--theta", min=0.0, max=1.0, help="gm-lveg: of k more than k-min, k-min + k ** theta are kept."
    ),
    headwords: int = typer.Option(None, "--headwords", min=0, help="svs: words told apart as heads of phrases (5000)."),
    clusters: int = typer.Option(
        None, "--clusters", min=0, help="svs: concepts that these are clustered into (20); 0: each is one."
    ),
    refine: int = typer.Option(None, "--refine", min=0, help="svs: iterations of EM over the trees that follow (50)."),
    heads: str = typer.Option(None, "--heads", help="svs: a head table by name, or a file; else chosen by the labels."),
    rule_smoothing: float = typer.Option(
        None, "--rule-smoothing", min=0.0, help="svs: tokens' worth of a rule's frequency for all concepts (5)."
    ),
    word_smoothing: float = typer.Option(
        None, "--word-smoothing", min=0.0, max=1.0, help="svs: share of a word's probability for all concepts (0)."
    ),
    seed: int = typer.Option(0, "--seed", help="Seed of all randomness (pcfg and hmm have none)."),
    jobs: int = common.JOBS,
    resume: bool = typer.Option(False, "--resume", help="Go on from the checkpoint of a training cut short."),
    quiet: bool = typer.Option(False, "--quiet", help="Say nothing but errors."),
) -> None:
    """Train a model on a treebank and write it to one file."""
    model_options.check_options(context, kind)
    model_options.check_estimator(context, estimator)
    _check_output(output)
    _check_dev(kind, dev, form)
    tags = kind is Kind.hmm or (kind in model_options.LONG and _is_conllu(treebank, form))
    tag_column = training.choose_column(treebank, form, column) if tags else None
    options = model_options.made_with(kind, tag_column, context.params)  # most parameters above are read there
    source: Iterator[Any]
    if tag_column is not None:
        source = training.read_all_tagged(treebank, form, tag_column)
    else:
        source = training.read_all_trees(treebank, form, kind)
    fresh = _model_class(kind, tags)(**options)
    about = {"data": [Path(path).name for path in treebank], "seed": seed}
    training.run(fresh, source, training.Plan(output, about, dev, form, resume, quiet, jobs))


def _is_conllu(treebank: list[str], form: Format | None) -> bool:
    from latree.text.formats import detect_format

    kinds = {detect_format(path, form) for path in treebank}
    if len(kinds) > 1:
        raise LatreeError("brackets train a parser and CoNLL-U a tagger; give files of one format")
    return kinds == {"conllu"}


def _model_class(kind: Kind, tags: bool) -> Any:
    from latree.kinds.registry import model_class

    return model_class(f"{kind}-tagger" if kind in model_options.LONG and tags else kind)


def _check_dev(kind: Kind, dev: str | None, form: Format | None) -> None:
    """Nor is a mistyped file to be told after the training."""
    from latree.text.formats import detect_format, open_text

    if dev is None:
        return
    with open_text(dev):
        pass
    if kind in (Kind.pcfg, Kind.svs) and detect_format(dev, form) != "ptb":
        raise LatreeError(f"{dev}: CoNLL-U has no trees to score a {kind} on")


def _check_output(output: Path) -> None:
    """A mistyped folder is told before the training, not after."""
    if not output.parent.is_dir():
        raise LatreeError(f"{output}: the folder {output.parent} does not exist")
    if output.is_dir():
        raise LatreeError(f"{output}: this is a directory; name a file")
    if not os.access(output.parent, os.W_OK):
        raise LatreeError(f"{output}: no permission to write into the folder {output.parent}")
