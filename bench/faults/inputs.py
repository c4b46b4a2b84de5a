"""Input files made wrong: each is read or refused with a message, and what was read can be written and read again.

    python -m bench.faults.inputs [--files NAME ...] [--count 20000] [--seed 0] [--first 0]

Treebanks in brackets and CoNLL-U, plain and packed, lists of constituents, head tables, EVALB's parameters, word
vectors, running text, model files, and grammars of the Berkeley parser: small ones that are good, then damaged
(`damage`).  A warning counts as a fault.  A fault is told with the number of its input, which
`--first NUMBER --count 1` makes again.
"""

from __future__ import annotations

import gzip
import lzma
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from bench.faults.damage import damaged
from bench.faults.frame import Campaign, Trial, options, run_inside, see, some, write_log
from latree.cli.constituents import with_lists
from latree.cli.warm import small_model
from latree.data import toy
from latree.importers import import_grammar
from latree.importers.berkeley_text import SUFFIXES
from latree.kinds.cvg.vectors import GivenVectors
from latree.kinds.registry import from_state, load
from latree.scoring.evalb import Parameters
from latree.scoring.score import read_predictions
from latree.text.formats import (
    open_text,
    read_conllu,
    read_conllu_lines,
    read_tagged,
    read_tree_lists,
    read_trees,
    retag,
)
from latree.text.head_table import HeadTable
from latree.text.heads import HeadRules
from latree.text.labels import PRESETS, LabelRules
from latree.text.sentences import paragraphs_in
from latree.text.tree import Tree

TREES = 4  # of the toy treebank, in a sample
BERKELEY = Path(__file__).parents[2].parent / "shared" / "berkeley" / "en-wsj-2.gr"


class Sample(NamedTuple):
    """A good file, and what is done with it; files that it needs beside it stand as they are."""

    name: str
    data: bytes
    read: Callable[[Path], object]
    weight: int = 100  # how often it is chosen, among the others'
    beside: tuple[tuple[str, bytes], ...] = ()


def same(one: object, other: object) -> None:
    """See that what was written is what was read."""
    see(one == other, f"{str(one)[:80]!r} became {str(other)[:80]!r}")


# -- readers


def put(path: Path, data: bytes) -> None:
    """Write a file anew: one that is only emptied is written through to the disk by some file systems, which takes most
    of a campaign's time."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def written_again(path: Path, lines: Sequence[object]) -> Path:
    """A file beside another, with these lines."""
    other = path.with_name("again")
    put(other, "".join(f"{line}\n" for line in lines).encode())
    return other


def use_trees(path: Path) -> None:
    """Trees as they stand, and cleaned by some rules; predictions, which may be empty lines."""
    trees = list(read_trees(path))
    same(trees, list(read_trees(written_again(path, trees))))
    for rules in PRESETS.values():
        for tree in trees:
            cleaned = rules.clean(tree)
            if cleaned is not None:
                same(rules.clean(cleaned), cleaned)
    with open_text(path) as lines:
        list(read_predictions(lines, str(path)))


def use_lists(path: Path) -> None:
    """Trees whose constituents are those that sentences are limited to."""
    lists = list(read_tree_lists(path))
    sentences = [listed[0].tree.words() for listed in lists]
    list(with_lists(sentences, str(path), LabelRules()))


def use_table(path: Path) -> None:
    """Sentences in a table, their tags by either column, and the table with other tags."""
    sentences = list(read_conllu(path))
    lines: list[str] = []
    for rows, sentence in read_conllu_lines(path):
        lines += [*retag(rows, "xpos", ["T"] * len(sentence.words)), ""]
    tagged = list(read_conllu(written_again(path, lines)))
    same([one.words for one in sentences], [one.words for one in tagged])
    same({tag for one in tagged for tag in one.xpos}, {"T"})
    list(read_tagged(path))


def use_heads(path: Path) -> None:
    """A head table, as a model keeps it, and applied."""
    table = HeadTable.read(path)
    same(HeadTable.from_json(table.to_json()), table)
    rules = HeadRules.read(path)
    for tree in sample_trees():
        for node in tree.subtrees():
            if node.children:
                rules.head(node.label, [child.label for child in node])


def use_text(path: Path) -> None:
    """Running text: every token stands where it says."""
    with open_text(path) as lines:
        text = "".join(lines)
    for wrapped in (False, True):
        with open_text(path) as lines:
            for sentence in (one for paragraph in paragraphs_in(lines, wrapped=wrapped) for one in paragraph):
                for token in sentence:
                    see(0 <= token.start < token.end <= len(text), f"{token!r} stands at {token.start}:{token.end}")


def use_grammar(path: Path) -> None:
    """A grammar of another program, as a model file has it."""
    model = import_grammar(path)
    from_state(model.kind, *model.state())


def use_vectors(path: Path) -> None:
    GivenVectors.read(str(path), {word for tree in sample_trees() for word in tree.words()})


# -- samples


@cache
def sample_trees() -> list[Tree]:
    return list(islice(read_trees(toy("dev")), TREES))


def penn() -> bytes:
    """Trees as a treebank has them: several lines each, function tags, traces, an outer bracket without a label."""
    text = "( (S-TPC=1 (NP-SBJ (-NONE- *-1) (NP (DT the) (NN cat)))\n  (VP (VBD sat) (PP-LOC (IN on) (NP (-LRB- -LRB-)"
    return f"{text} (NN mat) (-RRB- -RRB-))))\n  (. .)) )\n\n(TOP (FRAG|X (UH Oh)))\n".encode()


def conllu() -> bytes:
    """Comments, a multiword line and an empty node."""
    head = "# sent_id = 1\n# text = a\n1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_\n"
    rows = [f"{n}\tw{n}\tw\tNOUN\tNN\t_\t{n - 1}\tdep\t_\t_" for n in range(1, 5)]
    return (
        head + "\n".join(rows) + "\n4.1\te\te\tVERB\tVB\t_\t_\t_\t_\t_\n\n1\ta\ta\tX\tXX\t_\t0\t_\t_\t_\n\n"
    ).encode()


BERKELEY_TEXT = {
    ".grammar": b"S_0 -> NP_0 VP_0 0.5\nS_0 -> NP_1 VP_0 0.3\nVP_0 -> V_0 NP_0 0.6\nVP_0 -> V_0 NP_1 0.1\n"
    b"NP_0 -> @NP_0 N_0 0.1\nNP_1 -> @NP_0 N_1 0.2\n@NP_0 -> D_0 N_0 0.7\n@NP_0 -> D_0 N_1 0.3\nTOP_0 -> TOP_0 1.0\n"
    b"TOP_0 -> S_0 1.0\nTOP_0 -> VP_0 0.2\nS_0 -> VP_0 0.2\nVP_0 -> V_0 0.3\nNP_0 -> N_0 0.9\nNP_1 -> N_1 0.8\n",
    ".lexicon": b"N otters [0.4, 0.01]\nN fish [0.3, 0.2]\nN -LRB- [0.001, 0.0]\nV fish [0.25]\nV see [0.5]\n"
    b"D the [0.9]\nN UNK-LC-s [0.02, 0.001]\nV UNK-LC [0.01]\nN UNK-LC [0.01, 0.02]\n",
    ".words": b"otters\nfish\n-LRB-\nsee\nthe\nUNK-LC-s\nUNK-LC\n",
    ".splits": b"S\t(0 0)\nVP\t(0 0)\nNP\t(0 0 1)\n@NP\t(0 0)\nN\t(0 0 1)\nV\t(0 0)\nD\t(0 0)\n",
}
HEADS = b"%minor , . PU*\n%conjunction CC\nNP right NN|NNS POS # so\nNP left NP\nVP left VB*\n%unlisted right\n"
EVALB = b"DEBUG 0\nMAX_ERROR 10\nCUTOFF_LEN 40\nLABELED 1\nDELETE_LABEL TOP\nEQ_LABEL ADVP PRT\nEQ_WORD a b\n# end\n"
TEXT = (
    b"Dr. Who's cat (7.5 kg, \"grey\") can't sit... See http://a.b/c?d=e or x@y.z :-) #cat @me.\n\nWell-known 1. First"
)


def _berkeley() -> Iterator[Sample]:
    for suffix in SUFFIXES:
        beside = tuple((f"grammar{other}", data) for other, data in BERKELEY_TEXT.items() if other != suffix)
        yield Sample(f"grammar{suffix}", BERKELEY_TEXT[suffix], use_grammar, 30, beside)
    begins = BERKELEY.read_bytes() if BERKELEY.exists() else gzip.compress(b"\xac\xed\x00\x05sr\x00\x01A")
    yield Sample("berkeley.gr", begins, use_grammar, 1)


@cache
def samples() -> dict[str, Sample]:
    """All samples by their names."""
    brackets = "".join(f"{tree}\n" for tree in sample_trees()).encode()
    lists = "".join(f"{tree}\n{tree}\n\n" for tree in sample_trees()).encode()
    vectors = "".join(f"{word} 0.5 -1e-3 2\n" for word in sample_trees()[0].words()).encode()
    with TemporaryDirectory() as folder:
        small_model("pcfg").save(Path(folder) / "model")
        model = (Path(folder) / "model").read_bytes()
    found = [
        Sample("trees.mrg", brackets, use_trees, 200),
        Sample("penn.mrg", penn(), use_trees, 200),
        Sample("trees.mrg.gz", gzip.compress(penn()), use_trees),
        Sample("trees.mrg.xz", lzma.compress(penn()), use_trees, 10),
        Sample("lists.mrg", lists, use_lists),
        Sample("table.conllu", conllu(), use_table, 200),
        Sample("heads.txt", HEADS, use_heads),
        Sample("evalb.prm", EVALB, Parameters.read),
        Sample("vectors.txt", vectors, use_vectors),
        Sample("text.txt", TEXT, use_text),
        Sample("model.latree", model, load, 10),
        *_berkeley(),
    ]
    return {sample.name: sample for sample in found}


# -- the campaign


def _try(sample: Sample, data: bytes, folder: Path) -> None:
    path = folder / sample.name
    put(path, data)
    sample.read(path)


def trials(names: Sequence[str], numbers: range, seed: int, folder: Path) -> Iterator[Trial]:
    """The inputs of these numbers."""
    chosen = [samples()[name] for name in names for _ in range(samples()[name].weight)]
    for sample in {one.name: one for one in chosen}.values():
        for name, data in sample.beside:
            put(folder / name, data)
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        sample = some(chosen, rng)
        data, what = damaged(sample.data, rng)
        yield Trial(sample.name, f"{number} {what}", partial(_try_among, sample, data, folder))


def _try_among(sample: Sample, data: bytes, folder: Path) -> None:
    """Try one input, and leave the others as they were."""
    try:
        _try(sample, data, folder)
    finally:
        if sample.name in (f"grammar{suffix}" for suffix in SUFFIXES):
            put(folder / sample.name, sample.data)


def check_samples(folder: Path) -> None:
    """See that all samples are good as they are, else little is tried."""
    for sample in samples().values():
        for name, data in sample.beside:
            put(folder / name, data)
        if not sample.name.endswith((".xz", ".gr")):
            _try(sample, sample.data, folder)


def run(names: Sequence[str], numbers: range, seed: int) -> Campaign:
    """The campaign in a process of its own."""
    where = ("--first", numbers.start, "--count", len(numbers), "--seed", seed)
    return run_inside("bench.faults.inputs", *where, "--files", *names)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options("Read input files that are made wrong.", 20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--files", nargs="+", choices=list(samples()), default=list(samples()))
    given = parser.parse_args(arguments)
    numbers = range(given.first, given.first + given.count)
    if given.inside is None:
        print(f"inputs: {run(given.files, numbers, given.seed).told()}")
        return
    warnings.simplefilter("error")
    with TemporaryDirectory() as folder:
        check_samples(Path(folder))
        write_log(trials(given.files, numbers, given.seed, Path(folder)), given.inside)


if __name__ == "__main__":
    main()
