"""Accuracy of taggers with n subtypes a tag, on several tagging sets.

    python -m bench.tagging DIRECTORY... [--subtypes N] [--discriminative | --gaussian] [--unknown neutral|single]
                            [--part test]

Each directory has train.conllu.gz (or train.conllu), dev.conllu and test.conllu.  Prints token / sentence accuracy and
CPU seconds, for n = 1 (the plain HMM), 2, 4, ... N, trained generatively or discriminatively; or for Gaussian mixtures,
diagonal and spherical.  What is trained by gradient is as it was best on dev, which also says whether the mixtures
decode together with the HMM.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import latree
from latree.kinds.gm_lveg import Covariance
from latree.kinds.gm_lveg.model import GmLvegTagger
from latree.kinds.hmm.model import Hmm
from latree.kinds.lvg import doublings
from latree.kinds.lvg.model import LvgTagger
from latree.kinds.lvg_d.model import LvgDTagger
from latree.kinds.tagger import Tagger
from latree.learning.loop import Training, after_steps

COVARIANCES: tuple[Covariance, ...] = ("diagonal", "spherical")
Sentences = list[tuple[tuple[str, ...], tuple[str, ...]]]


def read(directory: Path, part: str) -> Sentences:
    path = next(p for p in (directory / f"{part}.conllu.gz", directory / f"{part}.conllu") if p.exists())
    return [(tuple(words), tuple(tags)) for words, tags in latree.read_tagged(path)]


def accuracy(model: Tagger, gold: Sentences) -> str:
    guesses = [(one.tokens, one.tags) for one in model.tag_all([words for words, _ in gold])]
    scores = latree.score_tags(gold, guesses).to_json()
    return f"{scores['token']:.2f} / {scores['sentence']:.2f}"


def discrete(train: Sentences, gold: Sentences, subtypes: int, unknown: str) -> list[str]:
    """Accuracies by the number of subtypes."""
    cells = [accuracy(Hmm(unknown=unknown).fit(train), gold)]
    how = Training(after_steps(lambda progress: cells.append(accuracy(progress.model, gold))))
    LvgTagger(subtypes=subtypes, unknown=unknown).fit(train, how)
    return cells


def discriminative(train: Sentences, dev: Sentences, gold: Sentences, subtypes: int, unknown: str) -> list[str]:
    """Accuracies by the number of subtypes; each model begins at the generative one."""
    starts = [LvgTagger(subtypes=1, unknown=unknown).fit(train)]
    how = Training(after_steps(lambda progress: starts.append(progress.model.snapshot())))
    LvgTagger(subtypes=subtypes, unknown=unknown).fit(train, how)
    best = Training(score=lambda model: share_right(model, dev))
    return [accuracy(LvgDTagger(max_length=200, pruner=start).fit(train, best), gold) for start in starts]


def gaussian(train: Sentences, dev: Sentences, gold: Sentences, unknown: str) -> list[str]:
    """Accuracies of diagonal and spherical Gaussians."""
    how = Training(score=lambda model: share_right(model, dev))
    cells = []
    for covariance in COVARIANCES:
        model = GmLvegTagger(covariance=covariance, epochs=8, max_length=200, unknown=unknown)
        cells.append(accuracy(model.fit(train, how), gold))
    return cells


def share_right(model: Tagger, gold: Sentences) -> float:
    return float(accuracy(model, gold).split(" / ")[0])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print accuracies of taggers by the number of subtypes.")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--subtypes", type=int, default=16)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--discriminative", action="store_true")
    kind.add_argument("--gaussian", action="store_true")
    parser.add_argument("--unknown", default="features")
    parser.add_argument("--part", default="test")
    options = parser.parse_args(arguments)
    names = COVARIANCES if options.gaussian else [f"n = {2**k}" for k in range(doublings(options.subtypes) + 1)]
    print(f"| set | {' | '.join(names)} | CPU s |")
    print("|---" * (len(names) + 2) + "|")
    for directory in options.directories:
        train, gold, start = read(directory, "train"), read(directory, options.part), time.process_time()
        if options.gaussian:
            cells = gaussian(train, read(directory, "dev"), gold, options.unknown)
        elif options.discriminative:
            dev = read(directory, "dev")
            cells = discriminative(train, dev, gold, options.subtypes, options.unknown)
        else:
            cells = discrete(train, gold, options.subtypes, options.unknown)
        print(f"| {directory.name} | {' | '.join(cells)} | {time.process_time() - start:.0f} |", flush=True)


if __name__ == "__main__":
    main()
