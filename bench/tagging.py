"""Accuracy of taggers over several seeds, on several tagging sets.

    python -m bench.tagging DIRECTORY... [--kind lvg] [--subtypes 1 2 4 8 16] [--seeds 3] [--unknown neutral|single]
                            [--part test]
    python -m bench.tagging DIRECTORY... --kind lvg-d [--subtypes 1 2 4 8 16] ...
    python -m bench.tagging DIRECTORY... --kind gm-lveg [--options dim=3 ...] ...

Each directory has train.conllu.gz (or train.conllu), dev.conllu and test.conllu.  Prints the means of token / sentence
accuracy, the standard deviation of the first, and CPU seconds a seed: for n subtypes a tag (1 is the plain HMM),
trained generatively or, from there, discriminatively; or for Gaussian mixtures, diagonal and spherical.  What is
trained by gradient is as it was best on dev, which also says whether the mixtures decode together with the HMM.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import latree
from bench.parsing import option_values
from latree.kinds.gm_lveg import Covariance
from latree.kinds.gm_lveg.model import GmLvegTagger
from latree.kinds.hmm.model import Hmm
from latree.kinds.lvg.model import LvgTagger
from latree.kinds.lvg_d.model import LvgDTagger
from latree.kinds.tagger import Tagger
from latree.learning.loop import Training, after_steps

COVARIANCES: tuple[Covariance, ...] = ("diagonal", "spherical")
Sentences = list[tuple[tuple[str, ...], tuple[str, ...]]]


class Score(NamedTuple):
    """Of one part, in per cent."""

    token: float
    sentence: float


class Parts(NamedTuple):
    """Of a tagging set; gold is the part that the table is of."""

    train: Sentences
    dev: Sentences
    gold: Sentences


def read(directory: Path, part: str) -> Sentences:
    path = next(p for p in (directory / f"{part}.conllu.gz", directory / f"{part}.conllu") if p.exists())
    return [(tuple(words), tuple(tags)) for words, tags in latree.read_tagged(path)]


def accuracy(model: Tagger, gold: Sentences) -> Score:
    guesses = [(one.tokens, one.tags) for one in model.tag_all([words for words, _ in gold])]
    scores = latree.score_tags(gold, guesses).to_json()
    return Score(scores["token"], scores["sentence"])


def generative(parts: Parts, seed: int, options: argparse.Namespace) -> list[Score]:
    """Accuracies by the number of subtypes."""
    return [accuracy(model, parts.gold) for model in grammars(parts.train, seed, options, Hmm)]


def discriminative(parts: Parts, seed: int, options: argparse.Namespace) -> list[Score]:
    """Accuracies by the number of subtypes; each model begins at the generative one."""
    best = Training(score=lambda model: accuracy(model, parts.dev).token)
    starts = grammars(parts.train, seed, options, lambda unknown: LvgTagger(subtypes=1, unknown=unknown))
    models = (LvgDTagger(max_length=200, seed=seed, pruner=start) for start in starts)
    return [accuracy(model.fit(parts.train, best), parts.gold) for model in models]


def grammars(
    train: Sentences, seed: int, options: argparse.Namespace, undivided: Callable[..., Tagger]
) -> list[Tagger]:
    """Generative taggers with the wanted numbers of subtypes: the last one as it was on the way, and one without."""
    steps: dict[int, Tagger] = {1: undivided(unknown=options.unknown).fit(train)} if 1 in options.subtypes else {}
    most = max(options.subtypes)
    if most > 1:
        kept = after_steps(lambda progress: steps.update({_subtypes(progress.model): progress.model.snapshot()}))
        LvgTagger(subtypes=most, unknown=options.unknown, seed=seed).fit(train, Training(kept))
    return [steps[number] for number in options.subtypes]


def _subtypes(model: Any) -> int:
    return int(model.subtype_counts().max())


def gaussian(parts: Parts, seed: int, options: argparse.Namespace) -> list[Score]:
    """Accuracies of diagonal and spherical Gaussians."""
    best = Training(score=lambda model: accuracy(model, parts.dev).token)
    values = {"epochs": 8, "max_length": 200, "unknown": options.unknown} | option_values(options.options)
    models = (GmLvegTagger(covariance=covariance, seed=seed, **values) for covariance in COVARIANCES)
    return [accuracy(model.fit(parts.train, best), parts.gold) for model in models]


KINDS = {"lvg": generative, "lvg-d": discriminative, "gm-lveg": gaussian}


def cell(scores: Sequence[Score]) -> str:
    """One figure of the table, of scores by seed."""
    mean, spread = np.mean(scores, axis=0), np.std([one.token for one in scores], ddof=1) if len(scores) > 1 else 0.0
    return f"{mean[0]:.2f} ± {spread:.2f} / {mean[1]:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print accuracies of taggers over several seeds.")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--kind", choices=KINDS, default="lvg")
    parser.add_argument("--subtypes", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--unknown", default="features")
    parser.add_argument("--options", nargs="*", default=[], help="of gm-lveg, as NAME=VALUE")
    parser.add_argument("--part", default="test")
    options = parser.parse_args(arguments)
    names = COVARIANCES if options.kind == "gm-lveg" else [f"n = {number}" for number in options.subtypes]
    print(f"| set | {' | '.join(names)} | CPU s |")
    print("|---" * (len(names) + 2) + "|")
    for directory in options.directories:
        parts = Parts(read(directory, "train"), read(directory, "dev"), read(directory, options.part))
        start = time.process_time()
        rows = [KINDS[options.kind](parts, seed, options) for seed in range(options.seeds)]
        seconds = (time.process_time() - start) / options.seeds
        cells = [cell(column) for column in zip(*rows, strict=True)]
        print(f"| {directory.name} | {' | '.join(cells)} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
