"""What rare and unknown words cost and bring: a tagger or parser on one treebank.

    python -m bench.unknown_words DIRECTORY [--kind hmm] [--options rounds=3 ...]

The directory has train.mrg.gz and dev.mrg; kind and options are those of `latree train`.  Prints CPU seconds of
training, how many of dev's tags are right, how many of those of words that training does not have, and the most memory
used.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.parsing import Trees, option_values, read_part
from latree.cli.kind_options import options_from
from latree.kinds.parser import Parser
from latree.kinds.registry import kind_named, model_class


def tags_of(model: Any, gold: Trees) -> list[Sequence[str]]:
    """The tags that a model gives the words of some trees."""
    sentences, parses = [tree.words() for tree in gold], isinstance(model, Parser)
    if parses:
        return [parse.tree.tags() for parse in model.parse_all(sentences)]
    return [tagging.tags for tagging in model.tag_all(sentences)]


def row(directory: Path, model: Any) -> str:
    trees = read_part(directory, "train")
    start = time.process_time()
    model.fit(trees)
    trained = time.process_time() - start
    gold = read_part(directory, "dev", model if isinstance(model, Parser) else None)
    known = {word for tree in trees for word in tree.words()}
    right: dict[bool, list[bool]] = {True: [], False: []}
    for tree, tags in zip(gold, tags_of(model, gold), strict=True):
        for word, tag, guess in zip(tree.words(), tree.tags(), tags, strict=True):
            right[word in known].append(tag == guess)
    every, unknown = right[True] + right[False], right[False]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shares = f"{100 * sum(every) / len(every):.2f} | {100 * sum(unknown) / len(unknown):.2f}"
    return f"| {directory.name} | {trained:.1f} | {shares} | {memory:.0f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print what rare and unknown words cost and bring.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kind", default="hmm")
    parser.add_argument("--options", nargs="*", default=[], help="of the training, as NAME=VALUE")
    options = parser.parse_args(arguments)
    kind = kind_named(options.kind)
    chosen = options_from(kind, option_values(options.options), tags=kind.name == "hmm")
    print("| treebank | training CPU s | tags | of unknown words | MB |")
    print("|---|---|---|---|---|")
    print(row(options.directory, model_class(kind.name)(chosen)))


if __name__ == "__main__":
    main()
