"""Structured vectorial semantics: the tables and the figure of its paper, on any treebank.

    python -m bench.svs TRAIN DEV [--headwords 10 50 100] [--clustered 50 100 500 1000 5000] [--clusters 10]
                        [--refine N] [--smooth-rules TOKENS] [--smooth-words SHARE] [--head-relation one]
                        [--no-punctuation] [--max-length 40] [--seeds 3]
    python -m bench.svs TRAIN DEV --curve ...
    python -m bench.svs TRAIN DEV --speed [--clustered 500] [--loop-length 20] [--plot FILE.svg]

Prints, for syntax alone, for headwords and for clusters of headwords (the paper's table 3), recall, precision and F1 on
dev sentences up to --max-length by the vectorised choice, F1 by the exact one (their difference is the paper's table
2), by that with one concept at every node and by max-rule, how many sentences the vectorised choice left without a
derivation, and CPU seconds of training; of clusters, which depend on their random start, the means over --seeds.  With
--no-punctuation marks are taken out of all trees first, as in the paper's tables, and with --head-relation one all
heads have one relation, as in the paper.

With --curve: F1 by the vectorised choice of the same models after training on every eighth tree, every fourth, every
second, and all; of clusters the mean over --seeds and the standard deviation.

With --speed (the paper's figure 2): CPU seconds to compose the vectors of all that a sentence can be, and the constants
of n^3 that fit them best, in three ways.  "vectors" is eqn 10, as latree has it; "loops" is the sum of eqn 4 as it is
printed, over all pairs of the children's concepts for each of the parent's, in the same program and compiled alike, so
that their ratio is of vectors alone; "interpreted" is the plain loops of `tests.svs_loops`, which choose a tree too,
and are cut off at --loop-length as the paper's are.  Forests are whole: nothing is pruned, as in the paper, since what
is left after pruning is not cubic.  Making them is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from tests import svs_loops

import latree
from bench import svg
from latree.arrays import Floats, Ints, Longs
from latree.inference.forest import Forest, assemble
from latree.inference.forms.factored import NO_RELATION, Factored, down, room_of, up
from latree.inference.results import Objective
from latree.inference.sweep import inside_only, register
from latree.jit import lean
from latree.kinds.svs import Choice, SvsOptions
from latree.kinds.svs.choice import chosen_edges
from latree.kinds.svs.model import Svs

Trees = list[latree.Tree]
Points = list[tuple[int, float]]  # words, and CPU seconds
SYNTAX_ONLY = "syntax only"


Result = TypeVar("Result")


def seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """CPU seconds that it takes, and what comes of it."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


# --- tables 2 and 3


def models(options: argparse.Namespace) -> Iterator[tuple[str, SvsOptions]]:
    """The rows of the table, each with its name."""
    common = {"rule_smoothing": options.smooth_rules, "word_smoothing": options.smooth_words}
    common |= {"labels": options.labels, "head_relation": options.head_relation}
    yield SYNTAX_ONLY, SvsOptions(headwords=0, clusters=0, **common)
    for size in options.headwords:
        yield f"{size} headwords", SvsOptions(headwords=size, clusters=0, **common)
    for size in options.clustered:
        name = f"{size} headwords in {options.clusters} clusters"
        yield name, SvsOptions(headwords=size, clusters=options.clusters, refinements=options.refine, **common)


def scores(model: Svs, gold: Trees, objective: Objective, choice: Choice = "vector") -> dict[str, float]:
    """Recall, precision and F1 of a model, and the sentences that have a tree of last resort."""
    model.choice = choice
    parses = list(model.parse_all([tree.words() for tree in gold], objective=objective))
    figures = latree.score_trees(gold, [parse.tree for parse in parses]).to_json()
    missing = sum(parse.status != "ok" for parse in parses)
    return {name: figures[name] for name in ("recall", "precision", "f1")} | {"missing": missing}


def trained_models(options: SvsOptions, seeds: int, train: Trees) -> Iterator[tuple[float, Svs]]:
    """Models of these options with the CPU seconds that they took: as many as seeds, where these make a difference."""
    for seed in range(seeds if options.clusters else 1):
        yield seconds(lambda seed=seed: Svs(options=options, seed=seed).fit(train))  # type: ignore[misc]


def row(name: str, options: SvsOptions, seeds: int, train: Trees, gold: Trees) -> str:
    tries = []
    for trained, model in trained_models(options, seeds, train):
        vector = scores(model, gold, "viterbi", "vector")
        others = [scores(model, gold, "viterbi", choice)["f1"] for choice in ("concept", "maximum")]
        tries.append([*vector.values(), *others, scores(model, gold, "max-rule")["f1"], trained])
    recall, precision, f1, missing, exact, maximum, max_rule, trained = np.mean(tries, axis=0)
    by_vectors = f"{recall:.2f} | {precision:.2f} | {f1:.2f}"
    by_others = f"{exact:.2f} | {f1 - exact:+.2f} | {maximum:.2f} | {max_rule:.2f}"
    return f"| {name} | {by_vectors} | {by_others} | {missing:.0f} | {trained:.1f} |"


def print_table(options: argparse.Namespace, train: Trees, gold: Trees) -> None:
    print_head(
        *("model", "LR vectorised", "LP", "F1", "F1 exact", "difference", "F1 maximum", "F1 max-rule"),
        *("not derived", "training CPU s"),
    )
    for name, chosen in models(options):
        print(row(name, chosen, options.seeds, train, gold), flush=True)


def print_head(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")


# --- learning curve


def print_curve(options: argparse.Namespace, train: Trees, gold: Trees) -> None:
    parts = [train[::step] for step in (8, 4, 2, 1)]
    print_head("model", *(f"{len(part)} trees" for part in parts))
    for name, chosen in models(options):
        cells = []
        for part in parts:
            models_of_part = trained_models(chosen, options.seeds, part)
            f1 = [scores(model, gold, "viterbi")["f1"] for _, model in models_of_part]
            cells.append(f"{np.mean(f1):.2f}" + (f" ± {np.std(f1, ddof=1):.2f}" if len(f1) > 1 else ""))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


# --- figure 2


class Unfactored(NamedTuple):
    """The factored form's numbers, composed by the sum that they stand for."""

    rule: Floats
    relation: Floats
    label: Ints
    entry: Floats
    entry_start: Longs


@lean
def up_by_loops(weights: Unfactored, rules: Ints, left: Floats, right: Floats, out: Floats, room: Floats) -> None:
    """The sum of eqn 4; where there is one child or none, there is nothing to factor."""
    rule = rules[0]
    if rule >= len(weights.label) or weights.label[rule, 1] == NO_RELATION:
        up(weights, rules, left, right, out, room)  # type: ignore[arg-type]  # the same fields
        return
    number, (first, second) = weights.rule[rule], weights.label[rule]
    for m in range(len(rules)):
        for x in range(out.shape[0]):
            total = 0.0
            for y in range(left.shape[0]):
                for z in range(right.shape[0]):
                    related = weights.relation[first, x, y] * weights.relation[second, x, z]
                    total += number[x] * related * left[y, m] * right[z, m]
            out[x, m] = total


register(Unfactored, up=up_by_loops, down=down, room=room_of)


class Times(NamedTuple):
    """CPU seconds for one sentence; None where the interpreter was not tried."""

    words: int
    edges: int
    vectors: float
    loops: float
    interpreted: float | None


def whole_forest(model: Svs, words: Sequence[str]) -> tuple[Forest, Factored]:
    """All that the grammar derives for a sentence, and the weights."""
    reading = model.read(words)
    forest = assemble([model.prune(model.coarse(reading), 0.0)], len(model.grammar.rules))
    return forest, model.weights(reading)


def measure(model: Svs, words: Sequence[str], loop_length: int) -> Times | None:
    """None where the grammar derives nothing."""
    forest, weights = whole_forest(model, words)
    if not len(forest.rule):
        return None
    width, prior = model.widths(), model.priors
    vectors, (one, _) = seconds(lambda: inside_only(forest, weights, width))
    loops, (other, _) = seconds(lambda: inside_only(forest, Unfactored(*weights), width))
    np.testing.assert_allclose(one, other)
    if len(words) > loop_length:
        return Times(len(words), len(forest.rule), vectors, loops, None)
    interpreted, edges = seconds(lambda: svs_loops.parse(forest, weights, width, prior, exact=False))
    if sorted(edges) != sorted(chosen_edges(forest, weights, width, prior, "vector")):
        print(f"loops choose another tree for: {' '.join(words)}")
    return Times(len(words), len(forest.rule), vectors, loops, interpreted)


def by_length(gold: Trees, most: int, each: int) -> Iterator[list[str]]:
    """Up to `each` sentences of every length, short ones first."""
    sentences = sorted((tree.words() for tree in gold), key=len)
    for length in range(1, most + 1):
        yield from [words for words in sentences if len(words) == length][:each]


class Fit(NamedTuple):
    """seconds = constant n^3, and the share of the variance that this explains."""

    constant: float
    r2: float


def cubic(points: Points) -> Fit:
    """By least squares; two lengths at least."""
    cubes, times = np.array([n**3 for n, _ in points], np.float64), np.array([t for _, t in points])
    constant = float(cubes @ times / (cubes @ cubes))
    rest, all_of_it = ((times - constant * cubes) ** 2).sum(), ((times - times.mean()) ** 2).sum()
    return Fit(constant, float(1 - rest / all_of_it))


def print_speed(options: argparse.Namespace, train: Trees, gold: Trees) -> None:
    size = options.clustered[0]
    model = Svs(headwords=size, clusters=options.clusters, refinements=0, labels=options.labels).fit(train)
    measure(model, gold[0].words()[:3], 0)  # compiles
    print(f"{size} headwords in {options.clusters} clusters, whole forests\n")
    print_head("words", "edges", "CPU s, vectors", "CPU s, loops", "CPU s, interpreted")
    times = []
    for words in by_length(gold, options.max_length, options.each):
        if (one := measure(model, words, options.loop_length)) is not None:
            times.append(one)
            last = "" if one.interpreted is None else f"{one.interpreted:.3f}"
            print(f"| {one.words} | {one.edges} | {one.vectors:.4f} | {one.loops:.4f} | {last} |", flush=True)
    series = {
        "vectors": [(one.words, one.vectors) for one in times],
        "loops": [(one.words, one.loops) for one in times],
        "interpreted": [(one.words, one.interpreted) for one in times if one.interpreted is not None],
    }
    fits = {name: cubic(points) for name, points in series.items()}
    print(
        "\n" + "\n".join(f"{name}: {fit.constant:.3g} n^3 CPU seconds (R^2 {fit.r2:.2f})" for name, fit in fits.items())
    )
    for name in ("loops", "interpreted"):
        print(f"{name} to vectors: {fits[name].constant / fits['vectors'].constant:.0f}")
    if options.plot is not None:
        plot(series, fits, options.plot)


def plot(series: dict[str, Points], fits: dict[str, Fit], path: Path, floor: float = 1e-4) -> None:
    """Seconds against words, both on log scales, where n^3 is a straight line; as SVG."""
    width, height, edge = 480, 320, 44
    longest = max(n for points in series.values() for n, _ in points)
    slowest = max(t for points in series.values() for _, t in points)

    def place(n: float, t: float) -> tuple[float, float]:
        x = np.log(n) / np.log(longest)
        y = np.log(max(t, floor) / floor) / np.log(slowest / floor)
        return edge + x * (width - 2 * edge), height - edge - y * (height - 2 * edge)

    parts = [svg.text(width / 2, 16, "CPU seconds a sentence against its words; lines are fits of n^3")]
    for n in [n for n in (1, 2, 5, 10, 20, 40, 80) if n <= longest]:
        parts.append(svg.text(place(n, floor)[0], height - edge + 16, f"{n}"))
    for power in range(-4, int(np.floor(np.log10(slowest))) + 1):
        parts.append(svg.text(edge - 6, place(1, 10.0**power)[1] + 4, f"{10.0**power:g}", anchor="end"))
    for (name, points), fill in zip(series.items(), ("black", "gray", "white"), strict=True):
        constant, last = fits[name].constant, max(n for n, _ in points)
        first = max(1.0, (floor / constant) ** (1 / 3))
        (x0, y0), (x1, y1) = place(first, constant * first**3), place(last, constant * last**3)
        parts.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="gray"/>')
        dots = [place(*point) for point in points]
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" stroke="black" fill="{fill}"/>' for x, y in dots]
        parts.append(svg.text(x1 + 4, y1 - 6, name, anchor="end"))
    svg.write(path, width, height, parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print scores and times of structured vectorial semantics.")
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--headwords", nargs="*", type=int, default=[10, 50, 100], help="each a concept of its own")
    parser.add_argument("--clustered", nargs="*", type=int, default=[50, 100, 500, 1000, 5000])
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--refine", type=int, default=0, help="iterations of EM over the trees")
    parser.add_argument("--smooth-rules", type=float, default=0.0)
    parser.add_argument("--smooth-words", type=float, default=0.0)
    parser.add_argument("--head-relation", choices=["context", "one"], default="context")
    parser.add_argument("--no-punctuation", action="store_true", help="take punctuation out of all trees")
    parser.add_argument("--seeds", type=int, default=3, help="of clusters")
    parser.add_argument("--max-length", type=int, default=40, help="of dev sentences")
    parser.add_argument("--curve", action="store_true", help="F1 by the size of the treebank")
    parser.add_argument("--speed", action="store_true", help="times, of a model with the first of --clustered")
    parser.add_argument("--loop-length", type=int, default=20, help="longer ones are not interpreted")
    parser.add_argument("--each", type=int, default=1, help="sentences of every length that are timed")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(arguments)
    train = list(latree.read_trees(options.train))
    options.labels = latree.LabelRules.named("no-punctuation" if options.no_punctuation else "penn")
    gold = list(latree.read_trees(options.dev, options.labels.for_scoring()))
    gold = [tree for tree in gold if len(tree.words()) <= options.max_length]
    show = print_speed if options.speed else print_curve if options.curve else print_table
    show(options, train, gold)


if __name__ == "__main__":
    main()
