"""Every open treebank at hand: it reads, writes, cleans, binarises and back, and counts as its table says."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from latree.text.binary import Binarization, undo
from latree.text.formats import open_text, read_conllu, read_tagged, read_trees
from latree.text.labels import LabelRules
from latree.text.tree import Tree
from tests.command import done

DATA = (Path(__file__).parents[1] / ".." / "shared" / "data").resolve()
TABLE = DATA / "stats.tsv"
if not TABLE.exists():
    pytest.skip("the treebanks are not at ../shared/data", allow_module_level=True)

Row = dict[str, str]
with TABLE.open(encoding="utf-8") as table:
    ROWS: list[Row] = list(csv.DictReader(table, delimiter="\t"))
TREEBANKS = [row for row in ROWS if row["kind"] == "constituency"]
TAGGED = [row for row in ROWS if row["kind"] == "tagging"]
PRESET = {"pt-floresta": "floresta", "es-cess": "cess"}
MOST_TREES = 1000  # for the slower tests; more than most dev and test parts have


def name(row: Row) -> str:
    return f"{row['set']}/{row['part']}"


def file(row: Row) -> Path:
    (path,) = (DATA / row["kind"] / row["set"]).glob(f"{row['part']}.*")
    return path


def lengths(sentences: Iterable[int]) -> dict[str, str]:
    counts = list(sentences)
    mean = sum(counts) / len(counts)
    return {
        "sentences": str(len(counts)),
        "tokens": str(sum(counts)),
        "mean_length": f"{mean:.1f}",
        "max_length": str(max(counts)),
    }


def assert_counts(row: Row, counts: dict[str, str]) -> None:
    assert counts == {key: row[key] for key in counts}


def base(label: str) -> str:
    """The table's own rule: up to the first "-", "=" or "|"; a label that starts with one of them is left whole."""
    match = re.match(r"[^-=|]+", label)
    return match.group() if match else label


@pytest.mark.parametrize("row", TREEBANKS, ids=name)
def test_tree_counts(row: Row) -> None:
    sizes: list[int] = []
    phrases: set[str] = set()
    tags: set[str] = set()
    forms: set[str | None] = set()
    empties = 0
    for tree in read_trees(file(row)):
        phrases.update(node.label for node in tree.subtrees() if not node.is_leaf)
        leaves = list(tree.leaves())
        words = [leaf for leaf in leaves if leaf.label != "-NONE-"]
        empties += len(leaves) - len(words)
        sizes.append(len(words))
        tags.update(leaf.label for leaf in words)
        forms.update(leaf.word for leaf in words)
    phrases.discard("")
    counts: dict[str, set[Any]] = {
        "phrase_labels": phrases,
        "base_labels": {base(label) for label in phrases},
        "tags_or_upos": tags,
        "forms": forms,
    }
    expected = {key: str(len(values)) for key, values in counts.items()}
    assert_counts(row, {**lengths(sizes), **expected, "empty_categories": str(empties)})


@pytest.mark.parametrize("row", TREEBANKS, ids=name)
def test_trees_are_written_as_they_were(row: Row) -> None:
    with open_text(file(row)) as original:
        assert [f"{tree}\n" for tree in islice(read_trees(file(row)), MOST_TREES)] == list(islice(original, MOST_TREES))


@pytest.mark.parametrize("row", TREEBANKS, ids=name)
def test_trees_clean_and_binarise_and_back(row: Row) -> None:
    rules = LabelRules.named(PRESET.get(row["set"], "penn"))
    for tree in islice(read_trees(file(row)), MOST_TREES):
        cleaned = rules.clean(tree)
        assert cleaned is not None
        assert_clean(cleaned, tree)
        for options in (Binarization(), Binarization("left", horizontal=2, vertical=3)):
            assert undo(options.apply(cleaned)) == cleaned


def assert_clean(cleaned: Tree, tree: Tree) -> None:
    assert cleaned.label == "ROOT"
    assert cleaned.words() == [leaf.word for leaf in tree.leaves() if leaf.label != "-NONE-"]
    for node in cleaned.subtrees():
        assert not (len(node.children) == 1 and node.label == node.children[0].label and not node.children[0].is_leaf)
        assert node.is_leaf or not re.match(r".+[-=]", node.label) or node.label.startswith("-")


@pytest.mark.parametrize("row", TAGGED, ids=name)
def test_tagged_counts(row: Row) -> None:
    sentences = list(read_conllu(file(row)))
    with open_text(file(row)) as lines:
        multiword = sum(1 for line in lines if re.match(r"\d+-\d+\t", line))
    counts = {
        "forms": {word for sentence in sentences for word in sentence.words},
        "tags_or_upos": filled(tag for sentence in sentences for tag in sentence.upos),
        "xpos": filled(tag for sentence in sentences for tag in sentence.xpos),
    }
    expected = {key: str(len(values)) for key, values in counts.items()}
    sizes = (len(sentence.words) for sentence in sentences)
    assert_counts(row, {**lengths(sizes), **expected, "multiword_tokens": str(multiword)})


def filled(tags: Iterable[str]) -> set[str]:
    """The values of a column; none where it is "_" throughout."""
    found = set(tags)
    return set() if found == {"_"} else found


@pytest.mark.parametrize("row", [row for row in TAGGED if row["part"] != "train"], ids=name)
def test_default_column_is_upos_where_filled(row: Row) -> None:
    tags = {tag for sentence in read_tagged(file(row)) for tag in sentence.tags}
    assert str(len(tags)) == (row["xpos"] if row["tags_or_upos"] == "0" else row["tags_or_upos"])


def test_text_of_the_web_is_split_as_its_treebank_does(tmp_path: Path) -> None:
    folder, split = DATA / "tokenization", tmp_path / "dev.tokens"
    split.write_text(done("tokenize", folder / "en-ewt" / "dev.txt").out, encoding="utf-8")
    command = [sys.executable, folder / "score.py", folder / "en-ewt" / "dev.tokens", split]
    scores = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout.split()
    assert float(scores[scores.index("tokens") + 1]) >= 98.5
    assert float(scores[scores.index("sentences") + 1]) >= 75
