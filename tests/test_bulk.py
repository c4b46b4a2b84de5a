"""Bulk runs: shards that are whole, a manifest that tells what is done, and runs that go on where they were."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from latree.bulk import run as bulk
from latree.bulk.manifest import NAME, Manifest
from latree.data import toy
from latree.errors import LatreeError
from latree.inference.results import Constituent, Parse
from latree.kinds.sentences import Sentence
from latree.text.formats import read_trees
from latree.text.tree import Tree
from tests.command import latree, model


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """Two files of sentences, one of them compressed."""
    lines = [" ".join(tree.words()) + "\n" for tree in read_trees(toy("dev"))]
    first, second = tmp_path / "first.txt", tmp_path / "second.txt.gz"
    first.write_text("".join(lines[:45]))
    second.write_bytes(gzip.compress("".join(lines[45:70]).encode()))
    return [first, second]


def run(texts: list[Path], folder: Path, *more: str) -> Any:
    return latree("parse", "-m", model("pcfg"), "--output-dir", folder, "--shard", "20", *more, *texts)


def manifest(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()]


def shards(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != NAME}


def test_every_sentence_is_there_once(texts: list[Path], tmp_path: Path) -> None:
    done = run(texts, tmp_path / "out")
    assert done.code == 0, done.err
    assert "70 sentences in 5 shards" in done.err
    names = ["first-00001.mrg", "first-00002.mrg", "first-00003.mrg", "second-00001.mrg", "second-00002.mrg"]
    assert list(shards(tmp_path / "out")) == names
    plain = latree("parse", "-m", model("pcfg"), *texts)
    assert b"".join(shards(tmp_path / "out").values()).decode() == plain.out
    lines = manifest(tmp_path / "out")[1:]
    assert [(line["first"], line["sentences"]) for line in lines] == [(1, 20), (21, 20), (41, 5), (1, 20), (21, 5)]


def test_jobs_change_nothing(texts: list[Path], tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        assert run(texts, tmp_path / jobs, "--json", "--jobs", jobs).code == 0
    assert shards(tmp_path / "1") == shards(tmp_path / "2")
    rows = [json.loads(line) for line in shards(tmp_path / "1")["first-00003.jsonl"].splitlines()]
    assert [row["sentence"] for row in rows] == list(range(41, 46))
    assert all(0 <= row["probability"] <= 1 for row in rows)


@pytest.mark.parametrize("cut", range(6))
def test_a_run_goes_on(texts: list[Path], tmp_path: Path, cut: int) -> None:
    """From a manifest that ends anywhere, with a last line that is not whole."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert run(texts, whole).code == 0
    shutil.copytree(whole, part)
    lines = (part / NAME).read_text().splitlines(keepends=True)
    (part / NAME).write_text("".join(lines[: cut + 1]) + '{"input": "fir')
    for path in sorted(part.glob("*.mrg"))[cut:]:
        path.unlink()
    if cut:
        assert run(texts, part).code == 1  # without --resume
    assert run(texts, part, "--resume").code == 0
    assert shards(part) == shards(whole)
    assert manifest(part) == manifest(whole)


@pytest.mark.parametrize("name", ["first-00002.mrg", "second-00002.mrg"])
def test_a_shard_that_was_changed_is_done_again(texts: list[Path], tmp_path: Path, name: str) -> None:
    run(texts, tmp_path / "out")
    before = shards(tmp_path / "out")
    (tmp_path / "out" / name).write_text("(ROOT")
    assert run(texts, tmp_path / "out", "--resume").code == 0
    assert shards(tmp_path / "out") == before


def test_another_run_is_refused(texts: list[Path], tmp_path: Path) -> None:
    run(texts, tmp_path / "out")
    again = run(texts, tmp_path / "out", "--resume", "--json")
    assert again.code == 1
    assert "this was another run (writing)" in again.err


@pytest.mark.parametrize("option", ["--draw", "--kbest=2", "--scores"])
def test_what_has_no_effect_is_refused(texts: list[Path], tmp_path: Path, option: str) -> None:
    assert run(texts, tmp_path / "out", option).code == 2


def test_inputs_must_have_names_of_their_own(texts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    twin = shutil.copy(texts[0], tmp_path / "more" / "first.txt")
    found = run([*texts, Path(twin)], tmp_path / "out")
    assert found.code == 1
    assert "the same names" in found.err


class Stubborn:
    """A parser that some sentences break, and of which nothing but the tree can be had."""

    def analyse(self, batch: list[list[str]], objective: str) -> Iterator[Parse]:
        for sentence in batch:
            if "bad" in sentence:
                raise ZeroDivisionError("no way")
            tree = Tree("X", [Tree("X", word=word) for word in sentence])
            yield Parse(tuple(sentence), -1.0, -1.0, tree=tree, look_up=self.look_up)

    def look_up(self, tree: Tree) -> list[Constituent]:
        raise AssertionError("nobody writes these")


def test_a_failure_is_recorded_and_not_fatal() -> None:
    batch: tuple[int, list[Sentence]] = (7, [["good"], ["a", "bad", "one"], ["good"]])
    rows = bulk._rows(Stubborn(), batch, "max-rule", "parquet")
    assert [(row.sentence, row.status) for row in rows] == [(7, "ok"), (8, "failed"), (9, "ok")]
    assert rows[1].content["reason"] == "ZeroDivisionError: no way"
    assert rows[1].content["tokens"] == ["a", "bad", "one"]
    brackets = bulk._rows(Stubborn(), batch, "max-rule", "mrg")
    assert [(row.status, row.content) for row in brackets] == [
        ("ok", "(X (X good))"),
        ("failed", ""),
        ("ok", "(X (X good))"),
    ]
    told = bulk._rows(Stubborn(), batch, "max-rule", "jsonl")
    assert [row.status for row in told] == ["failed"] * 3  # phrases are written there, and cannot be


def test_parquet(texts: list[Path], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    assert run(texts, tmp_path / "out", "--parquet").code == 0
    table = parquet.read_table(tmp_path / "out" / "first-00001.parquet").to_pylist()
    assert [row["sentence"] for row in table] == list(range(1, 21))
    assert table[0]["tokens"] == texts[0].read_text().splitlines()[0].split()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("{}\n[3]\n", "line 2 is no JSON object"),
        ('{}\n{"x": 1}\n', "of this version"),
        ("\xff\n", "line 1"),
    ],
)
def test_manifests_that_are_none(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / NAME).write_bytes(text.encode("latin-1"))
    with pytest.raises(LatreeError, match=told):
        Manifest(tmp_path, {}, resume=True)
