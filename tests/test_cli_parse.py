"""`latree parse` and `latree tag` on the toy treebank, when nothing is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from latree.data import toy
from latree.kinds.registry import load
from latree.text.tree import Tree, unescape
from tests.command import SLEEPS, SLEEPS_TREE, done, latree, model, toy_trees, write_conllu


def test_sentences_from_everywhere(tmp_path: Path) -> None:
    text, table = tmp_path / "a.txt", write_conllu(tmp_path / "a.conllu", [Tree.read(SLEEPS_TREE)])
    text.write_text(SLEEPS)  # no line break at the end
    trees = tmp_path / "a.mrg"
    trees.write_text("( (S (NP-SBJ (DT the) (NN teacher)) (VP (VB sleeps) (NP (-NONE- *))) (. .)) )\n")
    outcome = done("parse", "-m", model("pcfg"), text, table, "-", trees, stdin=f"{SLEEPS}\n")
    assert outcome.lines == [SLEEPS_TREE] * 4
    assert done("parse", "-m", model("pcfg"), "--format", "conllu", stdin=table.read_text()).lines == [SLEEPS_TREE]


def test_an_empty_line_stays_empty() -> None:
    assert done("parse", "-m", model("pcfg"), stdin=f"\n{SLEEPS}\n \t\n").lines == ["", SLEEPS_TREE, ""]
    assert done("tag", "-m", model("hmm"), stdin=f"\n{SLEEPS}\n").lines == ["", "the/DT teacher/NN sleeps/VB ./."]
    assert done("parse", "-m", model("pcfg"), stdin="").out == ""
    empty = json.loads(done("parse", "-m", model("pcfg"), "--json", stdin="\n").out)
    assert (empty["status"], empty["tokens"], empty["tree"], empty["log_marginal"]) == ("empty", [], "", None)
    assert done("parse", "-m", model("pcfg"), "--draw", stdin="\n").out == "\n"


def test_scores_before_the_tree() -> None:
    outcome = done("parse", "-m", model("pcfg"), "--scores", stdin=SLEEPS)
    joint, marginal, probability, status, tree = outcome.out.split("\t")
    best = load(model("pcfg")).kbest(SLEEPS.split(), 1)[0]
    assert float(joint) == pytest.approx(best.log_joint, abs=1e-5)
    assert float(marginal) == pytest.approx(best.log_marginal, abs=1e-5)
    assert float(probability) == pytest.approx(best.probability, abs=1e-5)
    assert (status, tree) == ("ok", f"{SLEEPS_TREE}\n")


def test_lists_of_the_best() -> None:
    options = ["--kbest", "3", "--scores", "--objective", "viterbi"]
    outcome = done("parse", "-m", model("pcfg"), *options, stdin=f"{SLEEPS}\n\n")
    first, second, third, blank, empty, last = outcome.lines
    joint = [float(line.split("\t")[0]) for line in (first, second, third)]
    assert joint == sorted(joint, reverse=True)
    assert len({line.split("\t")[4] for line in (first, second, third)}) == 3
    assert first.endswith(SLEEPS_TREE)
    assert (blank, last) == ("", "")
    assert empty.split("\t")[3] == "empty"


def test_lists_in_json_are_numbered_and_nothing_but_json() -> None:
    lines = done("parse", "-m", model("pcfg"), "--kbest", "2", "--json", stdin=f"{SLEEPS}\n{SLEEPS}").lines
    assert [json.loads(line)["rank"] for line in lines] == [1, 2, 1, 2]


def test_lists_take_one_job_and_say_so() -> None:
    outcome = latree("parse", "-m", model("pcfg"), "--kbest", "2", "--jobs", "2", stdin=SLEEPS)
    assert (outcome.code, outcome.err) == (0, "latree: --kbest runs in one process; --jobs is left aside\n")


@pytest.mark.parametrize("objective", ["max-rule", "max-rule-sum", "viterbi"])
def test_json_a_sentence(objective: str) -> None:
    lines = done("parse", "-m", model("pcfg"), "--json", "--objective", objective, toy("test")).lines
    found = [json.loads(line) for line in lines]
    assert [one["tokens"] for one in found] == [tree.words() for tree in toy_trees("test")]
    for one in found:
        assert set(one) == {
            *("tokens", "status", "reason", "log_joint", "log_marginal", "probability", "tree", "constituents"),
            "unknown",
        }
        assert Tree.read(one["tree"]).words() == one["tokens"]
        assert one["log_joint"] <= one["log_marginal"] < 0
        assert all(0 <= probability <= 1 for *_, probability in one["constituents"])


def test_drawings() -> None:
    drawn = done("parse", "-m", model("pcfg"), "--draw", stdin=SLEEPS).out
    assert drawn.splitlines()[0].strip() == "ROOT"
    assert "teacher" in drawn.splitlines()[-2]
    scored = done("parse", "-m", model("pcfg"), "--draw", "--scores", stdin=SLEEPS).out
    assert scored.split("\n", 1)[1] == drawn
    assert scored.split("\n", 1)[0].endswith("\tok")


def test_running_text() -> None:
    tree = done("parse", "-m", model("pcfg"), "--tokenize", stdin="the teacher doesn't sleep (much).").out
    assert Tree.read(tree).words() == ["the", "teacher", "does", "n't", "sleep", "(", "much", ")", "."]


@pytest.mark.parametrize(("command", "kind"), [("parse", "pcfg"), ("tag", "hmm"), ("tag", "pcfg")])
@pytest.mark.parametrize("options", [[], ["--jobs", "2"], ["--wrapped"]])
def test_places_of_words_in_running_text(command: str, kind: str, options: list[str]) -> None:
    text = "The teacher sleeps. The girl -LRB-a\nletter-RRB- doesn't!\n\n" * 20
    results = [
        json.loads(line)
        for line in done(command, "-m", model(kind), "--tokenize", "--json", *options, stdin=text).lines
    ]
    assert sum(1 for one in results if one["tokens"]) == 20 * (2 if "--wrapped" in options else 3)
    words = [word for one in results for word in one["tokens"]]
    places = [place for one in results for place in one.get("offsets", [])]
    assert "".join(words) == "".join(text.replace("-LRB-", "(").replace("-RRB-", ")").split())
    assert [unescape(text[start:end]) for start, end in places] == words


def test_wrapped_lines_are_of_ordinary_text() -> None:
    outcome = latree("parse", "-m", model("pcfg"), "--wrapped", stdin=SLEEPS)
    assert (outcome.code, outcome.err) == (1, "latree: --wrapped is for ordinary text; add --tokenize\n")


def test_text_to_sentences_a_line(tmp_path: Path) -> None:
    text = "She didn't; he did. OK?\n\nA well-known\nman."
    sentences = ["She did n't ; he did .", "OK ?", "A well - known", "man ."]
    assert done("tokenize", stdin=text).lines == sentences
    path = tmp_path / "story.txt"
    path.write_text(text)
    assert done("tokenize", path, "--wrapped").lines == [*sentences[:2], "A well - known man ."]
    results = [json.loads(line) for line in done("tokenize", "--json", path).lines]
    assert [one["tokens"] for one in results] == [sentence.split() for sentence in sentences]
    assert [[text[slice(*place)] for place in one["offsets"]] for one in results] == [one["tokens"] for one in results]


def test_parentheses_and_other_scripts_go_through() -> None:
    words = ["the", "(", "teacher", ")", "sleeps(now)", "."]
    for text in (" ".join(words), "the -LRB- teacher -RRB- sleeps-LRB-now-RRB- ."):
        tree = done("parse", "-m", model("pcfg"), stdin=text).out
        assert "-LRB-" in tree
        assert Tree.read(tree).words() == words
    unseen = ["the", "teacher", "Müßiggänger", "眠る", "."]
    assert Tree.read(done("parse", "-m", model("pcfg"), stdin=" ".join(unseen)).out).words() == unseen


def test_several_jobs_give_the_same(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("".join(f"{' '.join(tree.words())}\n" for tree in toy_trees("test")) + "\n(\n")
    for command, kind, option in (("parse", "pcfg", "--scores"), ("tag", "hmm", "--json")):
        one, two = (latree(command, "-m", model(kind), option, text, "--jobs", jobs) for jobs in "12")
        assert one == two
        assert len(one.lines) == 102


def test_too_long_is_flagged_and_passed_over() -> None:
    long = " ".join(["teacher"] * 6)
    outcome = latree("parse", "-m", model("pcfg"), "--max-length", "5", stdin=f"{long}\n{SLEEPS}\n")
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        "latree: sentence 1: failed: 6 words; the limit is 5 (--max-length); a stand-in is given",
        "latree: 1 of 2 sentences have a stand-in",
    ]
    assert Tree.read(outcome.lines[0]).words() == long.split()
    assert outcome.lines[1] == SLEEPS_TREE
    tagged = latree("tag", "-m", model("hmm"), "--max-length", "5", stdin=f"{long}\n{SLEEPS}\n")
    assert (tagged.code, tagged.err, len(tagged.lines)) == (0, outcome.err, 2)


def test_the_underivable_is_flagged_and_has_a_stand_in(tmp_path: Path) -> None:
    flat = "(ROOT (S (DT the) (NN cat) (VB sleeps)))"  # sentences of three words, and no others
    (tmp_path / "flat.mrg").write_text(flat)
    done("train", "pcfg", tmp_path / "flat.mrg", "-o", tmp_path / "m", "--quiet")
    outcome = latree("parse", "-m", tmp_path / "m", "--scores", stdin="the cat sleeps\ncat ( the sleeps\ncat\n")
    assert outcome.code == 0
    good, *stand_ins = (line.split("\t") for line in outcome.lines)
    assert good[3:] == ["ok", flat]
    assert [line[:4] for line in stand_ins] == [["-inf", "-inf", "nan", "recovered"]] * 2
    assert Tree.read(stand_ins[0][4]).words() == ["cat", "(", "the", "sleeps"]
    assert stand_ins[1][4] == "(ROOT (S (NN cat)))"
    reason = "recovered: the grammar derives nothing for these words; a stand-in is given"
    assert outcome.err.splitlines() == [
        f"latree: sentence 2: {reason}",
        f"latree: sentence 3: {reason}",
        "latree: 2 of 3 sentences have a stand-in",
    ]


def test_trees_taken_for_text_are_asked_about() -> None:
    outcome = latree("parse", "-m", model("pcfg"), stdin=f"\n{SLEEPS_TREE}\n{SLEEPS_TREE}\n")
    assert outcome.code == 0
    assert outcome.err.count("is it --format ptb?") == 1
    assert "is it --format conllu?" in latree("tag", "-m", model("hmm"), stdin="1\tthe\tthe\tDET\n").err
    done("parse", "-m", model("pcfg"), stdin="( teacher )\n")


# --- tag


CONLLU = """\
# sent_id = 1
# a comment
# note = one
# note = two
1-2\tdoesn't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdoes\tdo\tAUX\tOLD\tB=2|A=1\t3\taux\t3:aux|1:x\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\tfree text|SpaceAfter=No
2.1\tghost\t_\t_\t_\t_\t_\t_\t3:dep\t_
3\tsleep\tsleep\tVERB\tOLD\t_\t0\troot\t_\t_
"""


THE = "1\tthe" + 8 * "\t_" + "\n"


def test_conllu_comes_back_with_one_column_changed() -> None:
    lines = done("tag", "-m", model("hmm"), "--format", "conllu", stdin=f"{CONLLU}\n{THE}").out
    first, second, end = lines.split("\n\n")
    before, after = CONLLU.splitlines(), first.splitlines()
    assert len(before) == len(after)
    changed = [line for line in range(len(before)) if before[line] != after[line]]
    assert changed == [5, 6, 8]
    tags = done("tag", "-m", model("hmm"), "--separator", "\t", stdin="does n't sleep").out.split()[1::2]
    for line, tag in zip(changed, tags, strict=True):
        old, new = before[line].split("\t"), after[line].split("\t")
        assert new == [*old[:4], tag, *old[5:]]  # trained on brackets: XPOS
    assert second.split("\t")[4] == "DT"
    assert end == ""


def test_tags_as_json_and_from_trees_and_by_a_parser() -> None:
    one = json.loads(done("tag", "-m", model("hmm"), "--json", stdin=SLEEPS).out)
    assert (one["tokens"], one["tags"], one["status"]) == (SLEEPS.split(), ["DT", "NN", "VB", "."], "ok")
    assert all(0 < confidence <= 1 for confidence in one["confidences"])
    table = done("tag", "-m", model("hmm"), "--json", "--format", "conllu", stdin=THE).out
    assert json.loads(table)["tags"] == ["DT"]
    from_tree = done("tag", "-m", model("hmm"), "--format", "ptb", "--separator", "_", stdin=SLEEPS_TREE).out
    assert from_tree == "the_DT teacher_NN sleeps_VB ._.\n"
    assert done("tag", "-m", model("pcfg"), stdin=f"{SLEEPS}\n\n").lines == ["the/DT teacher/NN sleeps/VB ./.", ""]
