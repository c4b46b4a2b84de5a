"""The command line when something is wrong: one line on standard error, no traceback, an exit code."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from latree import files
from latree.data import shipped, toy
from latree.kinds.registry import load
from tests.command import (
    INTERRUPTED,
    SLEEPS_TREE,
    Outcome,
    done,
    latree,
    model,
    toy_trees,
    write_conllu,
)


def assert_told(outcome: Outcome, message: str, code: int = 1, out: str = "") -> None:
    assert (outcome.code, outcome.out) == (code, out)
    assert message in outcome.err
    assert "Traceback" not in outcome.err


# --- files


def test_missing_files(tmp_path: Path) -> None:
    missing = tmp_path / "missing.mrg"
    complaint = f"latree: {missing}: cannot be read: No such file or directory\n"
    assert_told(latree("parse", "-m", model("pcfg"), missing), complaint)
    assert_told(latree("tag", "-m", model("hmm"), missing), complaint)
    assert_told(latree("eval", toy("dev"), missing), complaint)
    assert_told(latree("train", "pcfg", missing, "-o", tmp_path / "m"), complaint)
    assert_told(latree("parse", "-m", missing), f"latree: {missing}: no such model file\n")
    shipping = ", ".join(shipped())
    unknown = f"latree: englsh: neither a model file nor one of those that come with latree: {shipping}\n"
    assert_told(latree("parse", "-m", "englsh"), unknown)
    assert not (tmp_path / "m").exists()


def test_malformed_brackets_are_told_by_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.mrg"
    path.write_text(f"{SLEEPS_TREE}\n(ROOT (S (NP (DT the) cat)))\n")
    complaint = f"latree: {path}:2:23: word 'cat' beside a bracket; give every word its own tag\n"
    assert_told(latree("train", "pcfg", path, "-o", tmp_path / "m"), complaint)
    assert_told(latree("parse", "-m", model("pcfg"), path), complaint, out=f"{SLEEPS_TREE}\n")
    assert_told(latree("eval", path, path), complaint)


def test_models_that_are_none(tmp_path: Path) -> None:
    assert_told(latree("parse", "-m", model("hmm")), f"latree: {model('hmm')}: a hmm model tags but does not parse")
    whole, damaged = model("pcfg").read_bytes(), tmp_path / "damaged"
    for data in (whole[: len(whole) // 2], whole[:-1], b"", b"nonsense" * 100):
        damaged.write_bytes(data)
        assert_told(latree("parse", "-m", damaged), f"latree: {damaged}: not a latree model, or cut short")
    damaged.write_bytes(whole.replace(b'\\"symbols\\"', b'\\"symbolx\\"'))
    assert_told(latree("parse", "-m", damaged), f"latree: {damaged}: the pcfg model is damaged")


def test_output_that_cannot_be_written_is_told_before_training(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "m"
    assert_told(latree("train", "pcfg", toy("train"), "-o", missing), f"the folder {missing.parent} does not exist")
    assert_told(latree("train", "pcfg", toy("train"), "-o", tmp_path), "this is a directory; name a file")


def test_a_full_disk_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    done("train", "hmm", toy("dev"), "-o", path, "--quiet")
    before = path.read_bytes()

    def full(_: int) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert_told(
            latree("train", "hmm", toy("train"), "-o", path), f"{path}: cannot be written: No space left on device"
        )
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_a_bad_dev_file_costs_neither_training_nor_model(tmp_path: Path) -> None:
    path, table = tmp_path / "m", write_conllu(tmp_path / "dev.conllu", toy_trees("dev"))
    for kind, treebank, dev, complaint in (
        ("pcfg", toy("train"), tmp_path / "no", "cannot be read"),
        ("pcfg", toy("train"), table, "this is CoNLL-U, but the treebank trees; --dev takes the same sort"),
        ("lvg", toy("train"), table, "this is CoNLL-U, but"),
        ("lvg", table, toy("dev"), "this is trees, but the treebank CoNLL-U"),
        ("hmm", table, toy("dev"), "this is trees, but"),
    ):
        assert_told(latree("train", kind, treebank, "--dev", dev, "-o", path), f"latree: {dev}: {complaint}")
        assert not path.exists()
    bad = tmp_path / "bad.mrg"
    bad.write_text("(S (NN")
    assert_told(latree("train", "pcfg", toy("dev"), "--dev", bad, "-o", path, "--quiet"), f"{bad}:1:1: ")
    assert load(path).training["data"] == ["dev.mrg"]  # the model is there, only unscored


def test_conllu_for_a_parser_and_columns_from_a_pipe(tmp_path: Path) -> None:
    table = write_conllu(tmp_path / "a.conllu", toy_trees("dev"))
    assert_told(latree("train", "pcfg", table, "-o", tmp_path / "m"), "`latree train hmm` trains a tagger")
    piped = latree("train", "hmm", "-", "--format", "conllu", "-o", tmp_path / "m", stdin=table.read_text())
    assert_told(piped, "name the column: --column upos or xpos")


# --- the command line itself


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "lvgx", toy("dev"), "-o", "m"], "lvgx"),
        (["train", "hmm", toy("dev"), "-o", "m", "--vertical", "2"], "lvg-d, neural, pcfg; hmm has no use for it"),
        (
            ["train", "pcfg", toy("dev"), "-o", "m", "--column", "xpos"],
            "--column is for gm-lveg, hmm, lvg, lvg-d, neural; pcfg",
        ),
        (["train", "pcfg", toy("dev")], "--output"),
        (["parse", "--jobs", "0"], "--jobs"),
        (["parse", "--json", "--draw"], "--json excludes --draw"),
        (["parse", "--objective", "best"], "--objective"),
        (["bench", toy("dev"), "--lengths", "10,x"], "--lengths takes numbers of words"),
        (["bench", toy("dev"), "--lengths", "0"], "--lengths takes numbers of words"),
        (["nonsense"], "nonsense"),
    ],
)
def test_usage(arguments: list[str | Path], message: str) -> None:
    assert_told(latree(*arguments), message, code=2)


def test_names_that_do_not_exist(tmp_path: Path) -> None:
    assert_told(latree("train", "pcfg", toy("dev"), "-o", tmp_path / "m", "--labels", "pen"), "expected one of penn, ")
    assert_told(latree("train", "pcfg", toy("dev"), "-o", tmp_path / "m", "--unknown", "x"), "'x'")
    assert_told(latree("show", "-m", model("pcfg"), "--symbol", "XP"), "no category 'XP'; it has ")
    assert_told(latree("bench", "-", "-m", model("pcfg")), "name a file")


@pytest.mark.parametrize(
    ("fault", "message", "code"),
    [
        (KeyboardInterrupt(), INTERRUPTED, 130),
        (MemoryError(), "latree: out of memory; shorter sentences or fewer processes need less\n", 1),
        (OSError(errno.EIO, "Input/output error"), "latree: Input/output error\n", 1),
    ],
)
def test_other_faults(monkeypatch: pytest.MonkeyPatch, fault: BaseException, message: str, code: int) -> None:
    def fail(path: str) -> NoReturn:
        raise fault

    monkeypatch.setattr(files, "load", fail)
    outcome = latree("show", "-m", toy("dev"))
    assert outcome == Outcome(code, "", message)
