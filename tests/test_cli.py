"""The whole command line on the toy treebank: what train, show and bench do when nothing is wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from latree import __version__
from latree.data import toy
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.model import GmLvegTagger
from latree.kinds.registry import load
from tests.command import SLEEPS, done, latree, model, toy_trees, write_conllu


def test_version_and_help() -> None:
    assert done("--version").out == f"latree {__version__}\n"
    help_text = done("--help").out
    assert all(command in help_text for command in ("train", "parse", "tag", "eval", "show", "bench"))


# --- train


def test_training_tells_what_came_of_it(tmp_path: Path) -> None:
    path = tmp_path / "m.latree"
    outcome = latree("train", "pcfg", toy("train"), "--dev", toy("dev"), "-o", path, "--jobs", "2")
    assert (outcome.code, outcome.out) == (0, "")
    dev, size = outcome.err.splitlines()
    assert size.startswith("latree: pcfg: ")
    assert size.endswith(f"CPU seconds; written to {path}")
    assert dev.startswith("latree: dev (dev.mrg): f1 ")
    training = load(path).training
    assert training["command"].startswith(f"latree train pcfg {toy('train')} --dev ")
    assert (training["data"], training["dev"]["data"]) == (["train.mrg"], "dev.mrg")
    assert f"f1 {training['dev']['f1']:.2f}" in dev
    assert training["dev"]["sentences"] == 100


def test_the_dev_score_is_what_eval_gives(tmp_path: Path) -> None:
    parses = tmp_path / "dev.parses.mrg"
    parses.write_text(done("parse", "-m", model("pcfg"), toy("dev")).out)
    scores = json.loads(done("eval", toy("dev"), parses, "--json").out)
    dev = load(model("pcfg")).training["dev"]
    assert {name: scores[name] for name in dev if name != "data"} == {k: v for k, v in dev.items() if k != "data"}


def test_options_of_a_pcfg(tmp_path: Path) -> None:
    shape = ["--binarize", "left", "--horizontal", "1", "--vertical", "2", "--unknown", "english", "--rare", "5"]
    labels = ["--labels", "raw", "--phrase-cuts", "-", "--tag-cuts", "|", "--prefix-end", "+"]
    done("train", "pcfg", toy("train"), "-o", tmp_path / "m", *shape, *labels, "--resume", "--quiet")
    header = json.loads(done("show", "-m", tmp_path / "m", "--json").out)
    assert header["kind"] == "pcfg"
    assert header["options"]["binarization"] == {"direction": "left", "horizontal": 1, "vertical": 2}
    cuts = {"phrase_cuts": "-", "tag_cuts": "|", "prefix_end": "+", "empties": [], "collapse": False}
    labels_read = header["options"]["labels"]
    assert labels_read | cuts == labels_read
    assert header["lexicon"]["options"]["rare"] == 5
    assert (
        header["lexicon"]["scheme"] != json.loads(done("show", "-m", model("pcfg"), "--json").out)["lexicon"]["scheme"]
    )
    assert any(symbol[2] for symbol in header["symbols"])  # some remember their parents


def test_resuming_what_has_no_rounds_is_told(tmp_path: Path) -> None:
    outcome = latree("train", "hmm", toy("dev"), "-o", tmp_path / "m", "--resume")
    assert outcome.code == 0
    assert "no checkpoint there; training from the start" in outcome.err


def test_several_files_and_formats(tmp_path: Path) -> None:
    plain = tmp_path / "trees"  # no ending tells the format, the content does
    plain.write_bytes(gzip.compress(toy("dev").read_bytes()))
    done("train", "pcfg", toy("train"), plain, "-o", tmp_path / "a", "--quiet")
    done("train", "pcfg", toy("train"), "-o", tmp_path / "b", "--quiet")
    both, one = (sum(load(tmp_path / name).lexicon.word_count) for name in "ab")
    assert both == one + sum(len(tree.words()) for tree in toy_trees("dev"))
    odd = tmp_path / "odd.conllu"
    odd.write_bytes(toy("train").read_bytes())
    done("train", "pcfg", odd, "--format", "ptb", "--dev", odd, "-o", tmp_path / "c", "--quiet")
    assert load(tmp_path / "c").training["dev"]["sentences"] == 600


@pytest.mark.parametrize("upos", [True, False])
def test_a_tagger_from_conllu(tmp_path: Path, upos: bool) -> None:
    train = write_conllu(tmp_path / "train.conllu", toy_trees("train"), upos)
    dev = write_conllu(tmp_path / "dev.conllu", toy_trees("dev"), upos)
    done("train", "hmm", train, "--dev", dev, "-o", tmp_path / "m", "--quiet")
    tagger = load(tmp_path / "m")
    assert getattr(tagger, "column", None) == ("upos" if upos else "xpos")  # UPOS where filled, else XPOS
    assert tagger.training["dev"] == load(model("hmm")).training["dev"] | {"data": "dev.conllu"}
    assert done("tag", "-m", tmp_path / "m", stdin=SLEEPS).out == "the/DT teacher/NN sleeps/VB ./.\n"


def test_the_column_by_name(tmp_path: Path) -> None:
    train = write_conllu(tmp_path / "train.conllu", toy_trees("dev"))
    done("train", "hmm", train, "--column", "xpos", "-o", tmp_path / "m", "--quiet")
    assert getattr(load(tmp_path / "m"), "column", None) == "xpos"
    stdin = train.read_text()
    done("train", "hmm", "-", "--format", "conllu", "--column", "upos", "-o", tmp_path / "n", "--quiet", stdin=stdin)
    assert getattr(load(tmp_path / "n"), "column", None) == "upos"


# --- show and bench


def test_show_tells_what_the_model_holds() -> None:
    shown = done("show", "-m", model("pcfg"), "--top", "1").out
    assert shown.startswith("kind: pcfg\n")
    assert "\ndata: train.mrg\n" in shown
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.split()}
    assert rows["ROOT"] == ["S", "1.000"]
    one = done("show", "-m", model("pcfg"), "--top", "2", "--symbol", "DT").out.splitlines()
    assert one[0].startswith("DT: tag, ")
    assert one[1].split()[0] == "the"
    assert len(one[1].split()) == 4
    assert not any("ROOT" in line for line in one)
    assert "kind: hmm" in done("show", "-m", model("hmm")).out


def test_bench_tells_speeds() -> None:
    outcome = done("bench", toy("dev"), "-m", model("pcfg"), "--jobs", "1", "--lengths", "2,5", "--repeat", "1")
    assert [line.split()[0] for line in outcome.lines] == ["reading", "pcfg,", "words", "2", "5", "largest"]
    assert all(float(number) > 0 for line in outcome.lines[3:5] for number in line.split()[1:2])
    tagger = done("bench", toy("dev"), "-m", model("hmm"), "--jobs", "1", "--repeat", "1")
    assert [line.split()[0] for line in tagger.lines] == ["reading", "hmm,", "largest"]


def test_train_a_gm_lveg_tagger(tmp_path: Path) -> None:
    """Its own defaults, and after the epochs one more score: together with the HMM."""
    train = write_conllu(tmp_path / "train.conllu", toy_trees("train")[:80])
    dev = write_conllu(tmp_path / "dev.conllu", toy_trees("dev")[:40])
    told = latree("train", "gm-lveg", train, "--dev", dev, "--epochs", "1", "--dim", "2", "-o", tmp_path / "m").err
    assert told.count("dev (dev.conllu): token") == 2
    found = load(tmp_path / "m")
    assert isinstance(found, GmLvegTagger)
    assert found.options == GmLvegOptions.for_tagger(epochs=1, dim=2)
    tagged = done("tag", "-m", tmp_path / "m", "--alone", stdin=SLEEPS).out.split()
    assert [pair.rpartition("/")[0] for pair in tagged] == SLEEPS.split()


def test_train_gm_lveg(tmp_path: Path) -> None:
    """Epochs are told, a checkpoint comes and goes, the best epoch on dev is in the header; the model parses."""
    path, part = tmp_path / "g.latree", tmp_path / "part.mrg"
    part.write_text("".join(toy("train").read_text(encoding="utf-8").splitlines(keepends=True)[:120]), encoding="utf-8")
    sizes = ["--dim", "2", "--components", "2", "--epochs", "2", "--rounds", "1", "--batch", "16"]
    told = latree("train", "gm-lveg", part, "--dev", toy("dev"), *sizes, "-o", path).err
    assert "epoch 1 of 2: " in told
    assert told.count("dev (dev.mrg): f1") == 2
    assert not (tmp_path / "g.latree.learning.checkpoint").exists()
    found = load(path)
    assert f"f1 {found.training['dev']['f1']:.2f}" in told  # that of the better epoch
    assert done("parse", "-m", path, stdin="the girl sees a letter .\n").lines[0].startswith("(ROOT (")
    assert done("parse", "-m", path, "--alone", stdin="the girl sees a letter .\n").lines[0].startswith("(ROOT (")
    wrong = latree("parse", "-m", model("pcfg"), "--alone", stdin="the girl sees a letter .\n")
    assert (wrong.code, wrong.err) == (1, "latree: --alone is for gm-lveg, neural; this is a pcfg\n")
    wrong = latree("tag", "-m", model("hmm"), "--alone", stdin="the girl sees a letter .\n")
    assert (wrong.code, wrong.err) == (1, "latree: --alone is for gm-lveg, neural; this is a hmm\n")
    wrong = latree("train", "gm-lveg", part, "--scales", "-o", path)
    assert wrong.code == 2
    assert "--scales is for lvg-d; gm-lveg has no use for it" in " ".join(wrong.err.split())
    wrong = latree("train", "gm-lveg", part, "--subtypes", "4", "-o", path)
    assert wrong.code == 2
    assert "--subtypes is for taggers" in " ".join(wrong.err.split())


def test_train_lvg_d(tmp_path: Path) -> None:
    """Legs are told as epochs are; at several scales those of every stage; taggers too; products with other kinds."""
    path, part = tmp_path / "d.latree", tmp_path / "part.mrg"
    part.write_text("".join(toy("train").read_text(encoding="utf-8").splitlines(keepends=True)[:120]), encoding="utf-8")
    small = ["--epochs", "1", "--iterations", "3"]
    scales = ["--subtypes", "2", "--scales", "--penalty", "l1", "--strength", "0.1", "--jobs", "2"]
    told = latree("train", "lvg-d", part, "--dev", toy("dev"), *small, *scales, "-o", path).err
    assert "leg 1 of 1: " in told
    assert 0 <= load(path).training["dev"]["f1"] <= 100
    assert done("parse", "-m", path, stdin="the girl sees a letter .\n").lines[0].startswith("(ROOT (")
    other = tmp_path / "g.latree"
    done("train", "lvg", part, "--rounds", "1", "-o", other, "--quiet")
    assert done("parse", "-m", path, "-m", other, stdin="the girl sees a letter .\n").lines[0].startswith("(ROOT (")
    tagged = write_conllu(tmp_path / "t.conllu", toy_trees("dev")[:60])
    done("train", "lvg-d", tagged, *small, "--subtypes", "2", "-o", tmp_path / "t.latree", "--quiet")
    assert done("tag", "-m", tmp_path / "t.latree", stdin="the girl sees a letter .\n").lines[0].startswith("the/DT")
    wrong = latree("train", "lvg-d", part, "--start", "treebank", "-o", path)
    assert wrong.code == 2
    assert "'treebank' is not one of 'generative', 'zero'" in " ".join(wrong.err.split())
