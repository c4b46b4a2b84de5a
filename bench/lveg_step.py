"""What a training step and a parse of a Gaussian-mixture grammar cost by the length of a sentence.

    python -m bench.lveg_step TRAIN [--lengths 10 15 20 40] [--p-min 1e-5] [--components 4] [--dim 3]

The pruner is the treebank's PCFG, as in the paper.  A step is the forest, its slots, both sweeps and the gradient, and
the same for the gold tree; a parse is the chart, the forest, both sweeps and the best tree.  One sentence at a time,
CPU milliseconds, median over up to 20 training sentences of each length.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median

import latree
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.gm_lveg.training import Mirror, Weights, gradient


def milliseconds(work: Callable[[], object]) -> float:
    work()
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print what a step and a parse cost by length.")
    parser.add_argument("train")
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 15, 20, 40])
    parser.add_argument("--p-min", type=float, default=1e-5)
    parser.add_argument("--components", type=int, default=4)
    parser.add_argument("--dim", type=int, default=3)
    options = parser.parse_args(arguments)
    trees = list(latree.read_trees(options.train))
    pruner = latree.Pcfg().fit(trees)
    pruner.threshold = options.p_min
    constants = GmLvegOptions(
        dim=options.dim, components=options.components, word_components=options.components, looseness=1.0, epochs=0
    )
    model = GmLveg(options=constants, pruner=pruner).fit(trees)
    model.joint = False
    mirror = Mirror(model.components, Weights(model.mixtures), constants)
    print("| words | sentences | edges | step, its forest included | step, forest kept | parse |")
    print("|---|---|---|---|---|---|")
    for length in options.lengths:
        chosen = [tree for tree in trees if len(tree.words()) == length][:20]
        examples = model.examples(model.prepare_data(chosen))
        batches = [model.batch([one]) for one in examples]
        whole = median(milliseconds(lambda one=one: gradient(model.batch([one]), mirror)) for one in examples)  # type: ignore[misc]
        kept = median(milliseconds(lambda batch=batch: gradient(batch, mirror)) for batch in batches)  # type: ignore[misc]
        parse = median(milliseconds(lambda one=one: model.parse(one.words)) for one in examples)  # type: ignore[misc]
        edges = median(batch.all.edges for batch in batches)
        print(f"| {length} | {len(examples)} | {edges:.0f} | {whole:.1f} | {kept:.1f} | {parse:.1f} |", flush=True)


if __name__ == "__main__":
    main()
