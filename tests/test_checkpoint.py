"""Trainings cut short and taken up again: the same model to the last bit."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree import LatreeError, Tree, files, load
from latree.cli.training import Reporter
from latree.data import toy
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg, LvgTagger, Subtyped
from latree.learning.checkpoint import Checkpoint, Standing
from latree.learning.loop import Progress, Training, after_steps
from tests.command import latree, toy_trees, write_conllu

QUICK = LvgOptions(split_iterations=6, merge_iterations=3, smooth_iterations=2)
CLI = ("--split-iterations", "6", "--smooth-iterations", "2")


def trees() -> list[Tree]:
    return toy_trees("dev")


def parser(**changes: Any) -> Lvg:
    options: dict[str, Any] = {"rounds": 3, "seed": 5, "options": QUICK}
    return Lvg(**options | changes)


def tagger(**changes: Any) -> LvgTagger:
    options: dict[str, Any] = {"subtypes": 8, "seed": 5, "split_iterations": 6, "smooth_iterations": 2}
    return LvgTagger(**options | changes)


def fit(model: Any, how: Training | None = None, data: list[Tree] | None = None) -> Any:
    data = data or trees()
    return model.fit(data if isinstance(model, Lvg) else [(tree.words(), tree.tags()) for tree in data], how)


def cut_short(model: Any, path: Path, after: int = 2) -> Checkpoint:
    """Train, and interrupt in the midst of the round that follows `after`."""
    seen: list[int] = []

    def watch(progress: Progress) -> None:
        if progress.model is not None:
            seen.append(progress.step)
        elif len(seen) == after and progress.done == 2:
            raise KeyboardInterrupt

    checkpoint = Checkpoint(path, model.identity())
    with pytest.raises(KeyboardInterrupt):
        fit(model, Training(watch, checkpoint=checkpoint))
    assert seen == list(range(1, after + 1))
    return checkpoint


def assert_same(one: Subtyped, other: Subtyped) -> None:
    (header, arrays), (other_header, other_arrays) = one.state(), other.state()
    assert {**header, "training": {}} == {**other_header, "training": {}}
    np.testing.assert_array_equal(one.theta, other.theta)
    assert arrays.keys() == other_arrays.keys() >= {"size", "frequency", "lexicon.pair_count", "history.2"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


@pytest.mark.parametrize("make", [parser, tagger])
@pytest.mark.parametrize("after", [1, 2])
def test_a_training_taken_up_again_ends_where_it_would_have(
    make: Callable[[], Any], after: int, tmp_path: Path
) -> None:
    checkpoint = cut_short(make(), tmp_path / "checkpoint", after)
    rounds: list[int] = []
    how = Training(after_steps(lambda progress: rounds.append(progress.step)), checkpoint=checkpoint, resume=True)
    resumed = fit(make(), how)
    assert rounds == list(range(after + 1, 4))
    assert_same(resumed, fit(make()))


def test_an_interrupt_between_rounds(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    checkpoint = Checkpoint(tmp_path / "checkpoint", parser().identity())
    with pytest.raises(KeyboardInterrupt):
        fit(parser(), Training(after_steps(stop), checkpoint=checkpoint))
    assert_same(fit(parser(), Training(checkpoint=checkpoint, resume=True)), fit(parser()))


def test_without_resume_a_checkpoint_is_written_anew(tmp_path: Path) -> None:
    checkpoint = cut_short(parser(), tmp_path / "checkpoint", 2)
    again = fit(parser(rounds=1), Training(checkpoint=checkpoint))
    assert again.history.rounds == 1
    loaded = load(checkpoint.path)
    assert isinstance(loaded, Lvg)
    assert loaded.history.rounds == 1


def test_a_checkpoint_is_a_model(tmp_path: Path) -> None:
    checkpoint = cut_short(parser(), tmp_path / "checkpoint", 2)
    loaded, model = load(checkpoint.path), fit(parser(rounds=2))
    assert isinstance(loaded, Lvg)
    sentences = [tree.words() for tree in trees()[:20]]
    assert list(loaded.parse_all(sentences)) == list(model.parse_all(sentences))


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 6},
        {"options": replace(QUICK, merge_fraction=0.4)},
        {"options": replace(QUICK, split_iterations=7)},
        {"subtypes": 8, "rounds": QUICK.rounds},  # rounds as by default: they have no effect beside subtypes
        {"unknown": "english"},
    ],
    ids=["seed", "merging", "iterations", "subtypes", "unknown words"],
)
def test_other_options_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    cut_short(parser(), tmp_path / "checkpoint", 1)
    other = parser(**change)
    with pytest.raises(LatreeError, match="other options or another treebank"):
        fit(other, Training(checkpoint=Checkpoint(tmp_path / "checkpoint", other.identity()), resume=True))


@pytest.mark.parametrize("data", [trees()[1:], [*trees()[1:], trees()[0]]], ids=["fewer", "another order"])
def test_another_treebank_is_refused(data: list[Tree], tmp_path: Path) -> None:
    checkpoint = cut_short(parser(), tmp_path / "checkpoint", 1)
    with pytest.raises(LatreeError, match="other options or another treebank"):
        fit(parser(), Training(checkpoint=checkpoint, resume=True), data)


def test_a_model_is_no_checkpoint(tmp_path: Path) -> None:
    fit(parser(rounds=1)).save(tmp_path / "model")
    with pytest.raises(LatreeError, match="other options or another treebank"):
        fit(parser(), Training(checkpoint=Checkpoint(tmp_path / "model", parser().identity()), resume=True))


@pytest.mark.parametrize(
    "path",
    [("part",), ("treebank",), ("rng",), ("done",), ("notes",), ("notes", "judged"), ("notes", "scores")],
    ids=".".join,
)
def test_a_checkpoint_of_another_version_is_told_to_be_one(path: tuple[str, ...], tmp_path: Path) -> None:
    """It lacks what is looked for, or has something else there."""
    checkpoint = cut_short(parser(), tmp_path / "checkpoint", 1)
    header, arrays = files.load(checkpoint.path)
    *outer, last = ("checkpoint", *path)
    inside = header
    for step in outer:
        inside = inside[step]
    del inside[last]
    files.save(checkpoint.path, header["kind"], header, arrays)
    with pytest.raises(LatreeError, match=rf"checkpoint: no training of this version .*lacks '{last}'.*remove it"):
        fit(parser(), Training(checkpoint=checkpoint, resume=True))


def test_a_checkpoint_without_its_arrays_is_told(tmp_path: Path) -> None:
    checkpoint = cut_short(parser(), tmp_path / "checkpoint", 1)
    header, arrays = files.load(checkpoint.path)
    del arrays["size"]
    files.save(checkpoint.path, header["kind"], header, arrays)
    with pytest.raises(LatreeError, match=r"no training of this version .*lacks 'size'"):
        fit(parser(), Training(checkpoint=checkpoint, resume=True))


# -- the command line


def see_layouts(patched: pytest.MonkeyPatch) -> None:
    """Check that what a checkpoint keeps is laid out as it is read: sums over another layout have other last bits."""
    write = Checkpoint.write

    def checked(self: Checkpoint, model: Any, treebank: str, standing: Standing) -> None:
        assert [name for name, array in standing.arrays.items() if not array.flags.c_contiguous] == []
        write(self, model, treebank, standing)

    patched.setattr(Checkpoint, "write", checked)


def stop_after(step: int, inside: str, patched: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C after a step, in this part of the model."""
    watch = Reporter.watch

    def stop(self: Reporter, progress: Progress) -> None:
        watch(self, progress)
        if progress.model is not None and (progress.step, progress.inside) == (step, inside):
            raise KeyboardInterrupt

    patched.setattr(Reporter, "watch", stop)


@pytest.mark.parametrize("kind", ["trees", "tags"])
def test_resume(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = toy("dev") if kind == "trees" else write_conllu(tmp_path / "dev.conllu", trees())
    size = ("--rounds", "2", "--merge-iterations", "3") if kind == "trees" else ("--subtypes", "4")
    command = ("train", "lvg", source, *size, *CLI)
    whole = latree(*command, "-o", tmp_path / "whole", "--quiet")
    assert (whole.code, whole.err) == (0, "")
    output, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    with monkeypatch.context() as patched:
        stop_after(1, "", patched)
        outcome = latree(*command, "-o", output)
    assert outcome.code == 130
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"latree: interrupted; {checkpoint} is kept; to go on: latree train ")
    assert last.endswith(f"-o {checkpoint.with_suffix('')} --resume")
    assert checkpoint.exists()
    assert not output.exists()
    shutil.copy(checkpoint, tmp_path / "kept")
    outcome = latree(*command, "-o", output, "--resume")
    assert outcome.code == 0
    assert "round 2 of 2" in outcome.err
    assert "round 1 of 2" not in outcome.err
    assert not checkpoint.exists()
    one, other = load(output), load(tmp_path / "whole")
    assert isinstance(one, Subtyped)
    assert isinstance(other, Subtyped)
    assert one.theta.tolist() == other.theta.tolist()
    assert one.size.tolist() == other.size.tolist()
    assert one.lexicon.pair_count.tolist() == other.lexicon.pair_count.tolist()
    shutil.copy(tmp_path / "kept", checkpoint)
    refused = latree(*command, "-o", output, "--resume", "--seed", "9")
    assert refused.code == 1
    assert "model.checkpoint: made with other options" in refused.err


def test_nothing_to_resume(tmp_path: Path) -> None:
    outcome = latree("train", "lvg", toy("dev"), "--rounds", "1", *CLI, "-o", tmp_path / "model", "--resume")
    assert outcome.code == 0
    assert "model.checkpoint: no checkpoint there; training from the start" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


PRUNER = ("--rounds", "2", "--epochs", "2")


@pytest.mark.parametrize(
    ("kind", "part", "options"),
    [
        ("gm-lveg", "pruner", (*PRUNER, "--dim", "2")),
        ("gm-lveg", "", (*PRUNER, "--dim", "2")),
        ("cvg", "pruner", (*PRUNER, "--folds", "1", "--list", "5")),
        ("cvg", "", (*PRUNER, "--folds", "2", "--list", "5")),
        ("lvg-d", "pruner", (*PRUNER, "--iterations", "3")),
        ("svs", "", ("--clusters", "3", "--refine", "12")),
    ],
)
def test_any_part_of_a_training_is_taken_up_again(
    kind: str, part: str, options: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the model has a pruner, which is trained first; the dev file does not matter."""
    command: tuple[str | Path, ...] = ("train", kind, toy("dev"), *options, "--dev", toy("test"))
    whole, model, checkpoint = tmp_path / "whole", tmp_path / "model", tmp_path / "model.checkpoint"
    with monkeypatch.context() as patched:
        see_layouts(patched)
        told = latree(*command, "-o", whole).err
    place = f"{part}: " if part else ""
    unit = "step" if kind == "svs" else "round" if part else "epoch"
    assert f"latree: {place}{unit} 1 of " in told
    for step in (1, 11) if kind == "svs" else (1,):  # clustering of headwords, and EM over the trees
        with monkeypatch.context() as patched:
            stop_after(step, part, patched)
            outcome = latree(*command, "-o", model, *(["--resume"] if checkpoint.exists() else []))
        assert (outcome.code, model.exists()) == (130, False)
        assert f"interrupted; {checkpoint} is kept; to go on: latree train {kind} " in outcome.err
        assert outcome.err.count("--resume") == 1  # also where it was a resumed training
        load(checkpoint)
    outcome = latree(*command, "-o", model, "--resume")
    assert outcome.code == 0
    assert f"latree: {place}{unit} 1 of " not in outcome.err
    assert f"latree: {place}{unit} {step + 1} of " in outcome.err
    (header, arrays), (other, others) = files.load(whole), files.load(model)
    command_told = header["training"].pop("command").replace(str(whole), str(model))
    assert command_told == other["training"].pop("command")  # --resume is no part of how the model came about
    assert header == other
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    assert not checkpoint.exists()


def test_an_interrupt_before_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of an earlier training is no place to go on from."""

    def stop(self: Reporter, progress: Progress) -> None:
        raise KeyboardInterrupt

    fit(parser(rounds=1)).save(tmp_path / "model.checkpoint")
    monkeypatch.setattr(Reporter, "watch", stop)
    outcome = latree("train", "lvg", toy("dev"), "--rounds", "1", *CLI, "-o", tmp_path / "model")
    assert (outcome.code, outcome.err) == (
        130,
        "latree: interrupted before anything was finished that a training could go on from\n",
    )
