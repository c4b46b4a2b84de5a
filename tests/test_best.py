"""The search for the best model: what is tried, what is chosen, and that nothing done is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from latree import load
from latree.best.plans import CONTEXT_SHARE, MARGIN, ParserPlan, Step, TaggerPlan
from latree.best.search import BestModelSearch
from latree.best.trials import Outcome, Task, Trial, make
from latree.data import toy
from latree.kinds.registry import Kind
from latree.text.tree import Tree
from tests.command import latree, toy_trees

ROUNDS: dict[str, Any] = {"unit": "round", "kept": 3, "scores": [1.0, 2.0, 3.0, 2.0]}
TIME = 60.0  # seconds; too few for an encoder
PARTED = [Tree("S", [Tree(f"N-{case}", word="a"), Tree(f"V-{case}", word="b")]) for case in "ABCD"]


def outcome(trial: Trial, score: float, seconds: float = 10.0) -> Outcome:
    return Outcome(trial, score, seconds, 1.0, ROUNDS if trial.name == "first" else {})


def after(plan: ParserPlan, **scores: float) -> dict[str, Outcome]:
    """Trials that are done, the first among them, with their scores; words of names are joined by underscores."""
    done = {"first": outcome(plan.first, 80.0)}
    for name, score in scores.items():
        step = next(one for one in plan.steps(done, ()) if one.trial.name == name.replace("_", " "))
        done[step.trial.name] = outcome(step.trial, score)
    return done


def check_encoders(
    plan: ParserPlan | TaggerPlan, done: dict[str, Outcome], size: tuple[int, int] | None, patch: pytest.MonkeyPatch
) -> None:
    """Encoders of this width, with so many epochs, come next; none where there is no size, nor without the library."""
    found = {step.trial.name: step.trial for step in plan.steps(done, ())}
    assert ("context 0" in found) == (size is not None)
    if size is not None:
        trial = found["context 0"]
        assert (trial.changes["width"], trial.changes["epochs"], trial.pruner) == (*size, "first")
        assert plan.expected(trial, done) <= CONTEXT_SHARE * plan.seconds
    patch.setattr(Kind, "is_usable", False)
    assert not any(step.trial.kind == "neural" for step in plan.steps(done, ()))


# -- plans


def test_a_parser_begins_with_as_many_rounds_as_help() -> None:
    assert [step.trial for step in ParserPlan(PARTED, TIME).steps({}, ())] == [
        Trial("first", "lvg", {"rounds": "auto"})
    ]


def test_parts_of_tags_are_tried_where_there_are_any() -> None:
    names = [
        [step.trial.name for step in plan.steps(after(plan), ())]
        for plan in (ParserPlan(PARTED, TIME), ParserPlan([], TIME))
    ]
    assert "parts of tags" in names[0]
    assert "parts of tags" not in names[1]


@pytest.mark.parametrize(("gain", "taken"), [(MARGIN + 0.01, True), (MARGIN - 0.01, False), (-1.0, False)])
def test_a_setting_must_be_better_by_a_margin(gain: float, taken: bool) -> None:
    plan = ParserPlan(PARTED, TIME)
    done = after(plan, parts_of_tags=80.0 + gain)
    seeds = [step.trial for step in plan.steps(done, ()) if step.trial.name.startswith("seed")]
    assert {trial.changes.get("fine", "none") for trial in seeds} == {"auto" if taken else "none"}
    assert {trial.changes["rounds"] for trial in seeds} == {ROUNDS["kept"] + 1}
    assert [one.trial.name for one in plan.members(done)] == ["parts of tags" if taken else "first"]


def test_members_wait_for_settings_that_are_tried() -> None:
    plan = ParserPlan(PARTED, TIME)
    steps = list(plan.steps(after(plan), ["parents"]))
    assert not [step for step in steps if step.trial.name.startswith("seed")]
    steps = list(plan.steps(after(plan, seed_1=79.0), []))  # and settings come no more when members were begun
    assert not [step for step in steps if step.trial.name == "parents"]


def test_seeds_are_counted_from_one_that_is_given() -> None:
    task, other = (Task((), "", Path("trials"), seed=seed) for seed in (0, 20))
    for trial, seed in ((Trial("first", "lvg"), 0), (Trial("seed 3", "lvg", {"seed": 3}), 3)):
        assert [make(trial, one).options.seed for one in (task, other)] == [seed, seed + 20]


def test_what_prunes_is_there_before() -> None:
    plan = ParserPlan([], TIME)
    for done in (after(plan), after(plan, seed_1=79.0)):
        for step in plan.steps(done, ()):
            assert step.trial.pruner is None or step.trial.pruner in done


def test_vectors_come_first_and_then_those_of_other_seeds() -> None:
    plan = ParserPlan([], TIME)
    done = after(plan, vectors_0=81.0, seed_1=79.0)
    trials = {step.trial.name: step.trial for step in plan.steps(done, ())}
    assert list(trials)[:2] == ["first", "vectors 0"]
    assert [trials[name].pruner for name in ("vectors 0", "vectors 1")] == ["first", "seed 1"]
    assert "vectors 2" not in trials


@pytest.mark.parametrize(
    ("seconds", "size"), [(TIME, None), (330.0, (150, 6)), (600.0, (150, 12)), (1200.0, (300, 16)), (6000.0, (300, 25))]
)
def test_an_encoder_is_as_large_and_has_as_many_epochs_as_there_is_time_for(
    seconds: float, size: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kind, "is_usable", True)
    plan = ParserPlan([], seconds)
    done = after(plan)
    check_encoders(plan, done, size, monkeypatch)


def test_encoders_alternate_with_vectors_and_take_as_long_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kind, "is_usable", True)
    plan = ParserPlan([], 6000.0)
    done = after(plan, context_0=82.0, seed_1=79.0)
    names = [step.trial.name for step in plan.steps(done, ())]
    order = [names.index(name) for name in ("vectors 0", "context 0", "seed 1", "vectors 1", "context 1", "seed 2")]
    assert order == sorted(order)
    done["context 0"] = done["context 0"]._replace(seconds=77.0)
    trial = next(step.trial for step in plan.steps(done, ()) if step.trial.name == "context 1")
    assert trial.changes["seed"] == 1
    assert plan.expected(trial, done) == 77.0


def test_more_rounds_and_other_kinds_are_expected_to_take_longer() -> None:
    plan = ParserPlan([], TIME)
    done = after(plan)
    seconds = [plan.expected(Trial("", "lvg", {"rounds": rounds}), done) for rounds in (1, 3, len(ROUNDS["scores"]))]
    assert seconds == sorted(seconds)
    assert seconds[-1] == pytest.approx(done["first"].seconds)
    assert plan.expected(Trial("", "gm-lveg"), done) > seconds[1]


def test_taggers_of_all_kinds_are_tried_and_multiplied_where_the_best_can_be() -> None:
    plan, done = TaggerPlan(TIME), dict[str, Outcome]()
    while fresh := [step.trial for step in plan.steps(done, ()) if step.trial.name not in done]:
        done[fresh[0].name] = outcome(fresh[0], float(len(done)))
    assert {one.trial.kind for one in done.values()} == {"hmm", "lvg", "lvg-d", "gm-lveg"}
    assert [one.score for one in plan.members(done)] == [
        float(k) for k in range(len(done) - 1, 0, -1)
    ]  # all but the hmm
    done["first"] = outcome(Trial("first", "hmm"), 100.0)
    assert [one.trial.name for one in plan.members(done)] == ["first"]


@pytest.mark.parametrize(
    ("seconds", "size"), [(TIME, None), (300.0, (100, 9)), (600.0, (200, 13)), (6000.0, (200, 25))]
)
def test_taggers_that_read_in_context_have_as_many_epochs_as_there_is_time_for(
    seconds: float, size: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kind, "is_usable", True)
    plan, done = TaggerPlan(seconds), dict[str, Outcome]()
    for name in ("first", "4 subtypes", "16 subtypes"):
        done[name] = outcome(next(step.trial for step in plan.steps(done, ()) if step.trial.name == name), 90.0)
    check_encoders(plan, done, size, monkeypatch)


# -- the command


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed beside the first, and no settings: what is measured is not how long it takes."""
    monkeypatch.setattr("latree.best.plans.SETTINGS", {})
    monkeypatch.setattr(ParserPlan, "_others", lambda self, done: self._seeds(done)[:1])
    monkeypatch.setattr(ParserPlan, "expected", lambda self, trial, done: 0.0)


def best(output: Path, *more: str) -> Any:
    files = (toy("dev"), "--dev", toy("test"))
    return latree("train", "best", *files, "-o", output, "--minutes", "5", *more)


@pytest.mark.usefixtures("quick")
def test_what_was_done_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, trials = tmp_path / "best.latree", tmp_path / "best.latree.trials"

    def stop(search: BestModelSearch) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BestModelSearch, "_compose", stop)
        cut_short = best(output)
    assert (cut_short.code, output.exists()) == (130, False)
    assert sorted(path.name for path in trials.iterdir()) == ["first.latree", "seed-1.latree"]
    assert f"interrupted; {trials} has what was done; to go on: latree train best" in cut_short.err
    assert cut_short.err.rstrip().endswith("--resume")

    done = best(output, "--resume")
    assert done.code == 0, done.err
    assert done.err.count("done before") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["best.latree"]
    model = load(output)
    training = model.training
    assert set(training["trials"]) == {"first", "seed 1"}
    assert model.kind == ("product" if len(training["members"]) > 1 else "lvg")
    assert training["score"] >= max(one["score"] for one in training["trials"].values()) + ParserPlan.first_gain
    assert training["dev"]["f1"] == pytest.approx(training["score"])  # all of dev was the sample
    shown = latree("show", "-m", output).out
    assert "seed 1" in shown
    assert "identity" not in shown


@pytest.mark.usefixtures("quick")
def test_a_trial_that_fails_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    impossible = Trial("seed 1", "lvg", {"subtypes": 3})
    monkeypatch.setattr(ParserPlan, "_others", lambda self, done: [impossible])
    outcome = best(tmp_path / "best.latree")
    assert outcome.code == 0, outcome.err
    assert "seed 1: left out: 3 subtypes cannot be reached by doubling" in outcome.err
    assert load(tmp_path / "best.latree").training["members"] == ["first"]


def test_faults_are_told_before(tmp_path: Path) -> None:
    outcome = best(tmp_path / "no" / "best.latree")
    assert (outcome.code, outcome.out) == (1, "")
    assert "does not exist" in outcome.err
    outcome = latree("train", "best", "-", "--dev", toy("dev"), "-o", tmp_path / "m")
    assert outcome.code == 1
    outcome = best(tmp_path / "m", "--column", "upos")
    assert outcome.code == 2
    assert "--column is for taggers" in outcome.err
    outcome = best(tmp_path / "m", "--labels", "none")
    assert outcome.code == 1
    assert "unknown label rules 'none'" in outcome.err


def test_a_tagger_from_tagged_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaggerPlan, "steps", lambda self, done, running: iter([Step(Trial("first", "hmm"))]))
    table = tmp_path / "toy.conllu"
    rows = [zip(tree.words(), tree.tags(), strict=True) for tree in toy_trees("dev")]
    blocks = ("".join(f"{n}\t{w}\t_\t{t}" + "\t_" * 6 + "\n" for n, (w, t) in enumerate(row, 1)) for row in rows)
    table.write_text("\n".join(blocks) + "\n", encoding="utf-8")
    outcome = latree("train", "best", table, "--dev", table, "-o", tmp_path / "best.latree", "--minutes", "5")
    assert outcome.code == 0, outcome.err
    model = load(tmp_path / "best.latree")
    assert model.kind == "hmm"
    assert model.training["dev"]["token"] == pytest.approx(model.training["score"])
