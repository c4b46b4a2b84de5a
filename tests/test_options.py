"""The options of all kinds: one place says each default, files keep them, and the command line offers them."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import latree
from latree.cli import COMMANDS
from latree.cli.kind_options import options_from, settings_of
from latree.data import toy
from latree.errors import LatreeError
from latree.kinds.lvg import LvgOptions
from latree.kinds.neural import NeuralOptions
from latree.kinds.options import ModelOptions
from latree.kinds.registry import Kind, all_kinds, model_class, trained_kinds
from latree.lexicon.options import LexiconOptions
from latree.text.labels import LabelRules
from tests.command import done, toy_trees
from tests.command import latree as run

TRAINED = [pytest.param(kind, id=kind.name) for kind in trained_kinds()]


def test_names_that_users_import_are_known_to_type_checkers() -> None:
    source = ast.parse(Path(latree.__file__).read_text(encoding="utf-8"))
    (guarded,) = (node for node in source.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    checked = {alias.asname: f"{node.module}:{alias.name}" for node in imports for alias in node.names}
    lazy = {name: f"latree.{home}:{name}" for name, home in latree._HOME.items()}
    assert checked == lazy
    places = {place for kind in all_kinds().values() for place in kind.places().values()}
    assert places <= set(lazy.values())


# -- defaults


@pytest.mark.parametrize("kind", TRAINED)
def test_python_and_the_command_line_have_the_same_defaults(kind: Kind) -> None:
    if not kind.is_usable:
        pytest.skip(f"{kind.needs} is not installed (extra {kind.name})")
    for name in kind.places():
        tags = name == kind.tagger_name and kind.tagger is not None
        assert model_class(name)().options == options_from(kind, {}, tags=tags)


def test_the_pruner_is_what_the_options_say() -> None:
    raw = LabelRules.named("raw")
    for make in (latree.LvgD, latree.GmLveg):
        model: Any = make(seed=3, labels=raw)
        shared = model.pruner.options
        assert (shared.rounds, shared.seed, shared.labels) == (LvgOptions().rounds, 3, raw)
    assert latree.LvgDTagger(column="xpos").pruner.options == LvgOptions.for_tagger(subtypes=4, column="xpos")
    assert latree.GmLvegTagger(column="xpos").pruner.column == "xpos"
    assert latree.LvgD(scales=True, rounds=2).pruner.options.subtypes == 4  # nothing is merged at several scales


def test_changes_come_on_top_of_options() -> None:
    options = LvgOptions(rounds=2, noise=3.0)
    model = latree.Lvg(options, rounds=5)
    assert model.options == replace(options, rounds=5)
    with pytest.raises(TypeError, match="roundz"):
        latree.Lvg(roundz=5)


def test_a_tagger_has_defaults_of_its_own() -> None:
    options = LvgOptions.for_tagger(seed=1)
    assert (options.subtypes, options.lexicon.rare, options.seed) == (8, 3, 1)
    assert (LvgOptions().subtypes, LvgOptions().lexicon.rare) == (None, 20)


# -- files


@pytest.mark.parametrize("kind", TRAINED)
def test_json_and_back(kind: Kind) -> None:
    options = kind.trained_options
    for one in (options(), options.for_tagger(), options(seed=4, lexicon=LexiconOptions(rare=2))):
        assert options.from_json(one.to_json()) == one
    assert options.from_json({}) == options()
    with pytest.raises(LatreeError, match="unknown option colour"):
        options.from_json({"colour": 1})


def test_a_file_keeps_the_options(tmp_path: Path) -> None:
    labels = LabelRules(tag_cuts="-", wrappers=("TOP",))
    model = latree.Pcfg(labels=labels, unknown="english").fit(toy_trees("dev")[:5])
    model.save(tmp_path / "m")
    again: Any = latree.load(tmp_path / "m")
    assert (again.options, again.labels) == (model.options, labels)


# -- the command line


def options_of_help(text: str) -> set[str]:
    return {word.rstrip(",") for line in text.splitlines() for word in line.split()[:2] if word.startswith("--")}


@pytest.mark.parametrize("kind", TRAINED)
def test_help_tells_a_kinds_options_and_no_others(kind: Kind) -> None:
    help_text = done("train", kind.name, "-h").out
    shared = {"--output", "--dev", "--format", "--jobs", "--resume", "--quiet", "--help"}
    mine = {setting.flag for setting in settings_of(kind).values()}
    assert mine | shared <= options_of_help(help_text)
    others = {setting.flag for other in trained_kinds() for setting in settings_of(other).values()} - mine
    assert not {flag for flag in others if f"{flag} <" in help_text}
    assert f"Example: latree train {kind.name} " in help_text


@pytest.mark.parametrize("kind", TRAINED)
def test_every_option_says_what_it_is_for(kind: Kind) -> None:
    for setting in settings_of(kind).values():
        assert setting.about.help.endswith("."), setting.flag
        assert setting.kind is bool or "[default: " in setting.help, setting.flag


@pytest.mark.parametrize("kind", TRAINED)
def test_every_option_of_another_kind_is_refused(kind: Kind, tmp_path: Path) -> None:
    others = {name: one for other in trained_kinds() for name, one in settings_of(other).items()}
    for name, setting in others.items():
        if name not in settings_of(kind):
            value = [] if setting.kind is bool else ["1"]
            outcome = run("train", kind.name, toy("dev"), "-o", tmp_path / "m", setting.flag, *value)
            assert outcome.code == 2
            assert f"; {kind.name} has no use for it" in outcome.err
            assert setting.flag in outcome.err


def test_what_a_user_writes_becomes_options() -> None:
    kinds = all_kinds()
    lvg: Any = options_from(kinds["lvg"], {"labels": "raw", "tag_cuts": "-", "rare": 5, "merge": 0.0}, tags=False)
    assert lvg.labels == replace(LabelRules.named("raw"), tag_cuts="-")
    assert (lvg.lexicon, lvg.merge_fraction) == (LexiconOptions(rare=5), 0.0)
    svs: Any = options_from(kinds["svs"], {"heads": "penn", "refine": 0}, tags=False)
    assert (svs.heads.name, svs.refinements) == ("penn", 0)
    tagger: Any = options_from(kinds["gm-lveg"], {"dim": 5}, tags=True)
    assert (tagger.dim, tagger.components, tagger.lexicon.rare) == (5, 4, 3)


def test_options_for_parsers_are_not_for_taggers() -> None:
    lvg = all_kinds()["lvg"]
    for values, tags in (({"rounds": 2}, True), ({"labels": "raw"}, True), ({"column": "xpos"}, False)):
        with pytest.raises(Exception, match="has no use for it"):
            options_from(lvg, values, tags=tags)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_an_example(command: str) -> None:
    help_text = done(command, "--help").out
    assert done(command, "-h").out == help_text
    assert f"Example: latree {command}" in help_text


def test_asking_for_options_compiles_nothing() -> None:
    show = "import sys, latree.cli as c\ntry: c.main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", show, "train", "svs", "-h"], capture_output=True, text=True, check=True)
    assert not {"numba", "scipy"} & set(ran.stderr.split())


def test_shells_are_told_how_to_complete() -> None:
    environment = {"_LATREE_COMPLETE": "complete_bash", "COMP_WORDS": "latree train l", "COMP_CWORD": "2"}
    start = "import sys; sys.argv[0] = 'latree'; from latree.cli import app; app(prog_name='latree')"
    ran = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, env=environment, check=False)
    assert ran.stdout.split() == ["lvg", "lvg-d"]


def test_options_are_frozen() -> None:
    names = {one.name for one in fields(ModelOptions)}
    assert names == {"seed", "unknown", "lexicon"}
    with pytest.raises(AttributeError):
        LvgOptions().rounds = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", ["dim", "components", "layers", "width", "hidden", "characters", "word_vector"])
@pytest.mark.parametrize("size", [-1, 0, 10**9])
def test_sizes_that_no_network_has(name: str, size: int) -> None:
    """A file may ask for them, and must not be given the memory or the time."""
    with pytest.raises(LatreeError, match=f"{name}, {size}, must lie between 1 and"):
        NeuralOptions.from_json({name: size})
