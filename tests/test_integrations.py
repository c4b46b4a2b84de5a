"""latree in NLTK, pandas and Hugging Face data sets, beside latree by itself."""

from __future__ import annotations

import math
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from latree.errors import LatreeError
from latree.integrations.common import the_model
from latree.integrations.datasets import parse_column
from latree.kinds.model import Model
from latree.kinds.registry import load
from latree.text.tree import Tree
from tests.command import SLEEPS, SLEEPS_TREE, model

SENTENCES = [SLEEPS.split(), ["the", "girl", "sees", "a", "letter", "on", "Monday", "."]]
TEXT = "the teacher sleeps. the girl sees a letter."


@pytest.fixture(scope="module")
def pcfg() -> Model:
    return load(model("pcfg"))


@pytest.fixture(scope="module")
def hmm() -> Model:
    return load(model("hmm"))


def test_models_go_by_file_by_name_or_as_they_are(pcfg: Model) -> None:
    assert the_model(pcfg) is pcfg
    assert the_model(model("pcfg")).kind == the_model(str(model("pcfg"))).kind == "pcfg"
    with pytest.raises(LatreeError, match="expected a model, a model file or the name of one that ships, not 7"):
        the_model(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("library", "module"), [("spacy", "spacy_trees"), ("spacy", "spacy"), ("nltk", "nltk"), ("pandas", "pandas")]
)
def test_a_library_that_is_missing_is_named(library: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, library, None)
    for ours in (module, "spacy_trees"):
        monkeypatch.delitem(sys.modules, f"latree.integrations.{ours}", raising=False)
    with pytest.raises(LatreeError, match=rf"install it with: pip install 'latree\[{library}\]'"):
        import_module(f"latree.integrations.{module}")


# -- NLTK


@pytest.fixture
def nltk() -> Any:
    return pytest.importorskip("nltk", reason="NLTK is not installed (the extra latree[nltk])")


def test_nltk_s_parser_gives_latree_s_trees(nltk: Any, pcfg: Model) -> None:
    from latree.integrations.nltk import LatreeParser

    parser = LatreeParser(pcfg)
    assert isinstance(parser, nltk.ParserI)
    for words, trees in zip(SENTENCES, parser.parse_sents(SENTENCES), strict=True):
        (tree,), parse = trees, pcfg.parse(words)
        assert isinstance(tree, nltk.ProbabilisticTree)
        assert Tree.from_nltk(tree) == parse.tree
        assert tree.prob() == pytest.approx(parse.probability)
        phrases = [one.prob() for one in tree.subtrees() if isinstance(one, nltk.ProbabilisticTree)]
        assert phrases[1:] == pytest.approx([one.probability for one in parse.constituents[1:]])


def test_nltk_s_parser_lists_the_best_trees(nltk: Any, pcfg: Model) -> None:
    from latree.integrations.nltk import LatreeParser

    listed = LatreeParser(model("pcfg"), k=3).parse_all(SENTENCES[1])
    best = pcfg.kbest(SENTENCES[1], 3)
    assert [Tree.from_nltk(tree) for tree in listed] == [parse.tree for parse in best]
    assert [tree.prob() for tree in listed] == pytest.approx([parse.probability for parse in best])
    assert LatreeParser(pcfg).parse_all([]) == []


def test_nltk_s_grammar_parses_as_well(nltk: Any) -> None:
    from latree import Pcfg
    from latree.integrations.nltk import LatreeParser

    parser = LatreeParser(Pcfg().fit([Tree.read("(S (NP (NN dogs)) (VP (VB bark)))")] * 3))
    (ours,), (theirs,) = parser.parse(["dogs", "bark"]), nltk.ViterbiParser(parser.grammar()).parse(["dogs", "bark"])
    assert ours.leaves() == theirs.leaves()
    assert ours.height() == theirs.height()


def test_nltk_s_parentheses(nltk: Any) -> None:
    from latree import Pcfg
    from latree.integrations.nltk import LatreeParser, LatreeTagger

    small = Pcfg().fit([Tree.read("(S (-LRB- -LRB-) (NN a) (-RRB- -RRB-))")])
    for words in (["(", "a", ")"], ["-LRB-", "a", "-RRB-"]):
        (tree,) = LatreeParser(small).parse(words)
        assert nltk.Tree.fromstring(tree.pformat()).leaves() == ["-LRB-", "a", "-RRB-"]
        assert LatreeTagger(small).tag(words) == list(zip(words, ["-LRB-", "NN", "-RRB-"], strict=True))


def test_a_stand_in_has_no_probability_in_nltk(nltk: Any) -> None:
    from latree.integrations.nltk import LatreeParser

    short = load(model("pcfg"))
    short.max_length = 2
    (tree,) = LatreeParser(short).parse(SENTENCES[0])
    assert tree.leaves() == SENTENCES[0]
    assert [one.prob() for one in tree.subtrees() if isinstance(one, nltk.ProbabilisticTree)] == [None, None]


@pytest.mark.parametrize("kind", ["pcfg", "hmm"])
def test_nltk_s_tagger_gives_latree_s_tags(nltk: Any, kind: str) -> None:
    from latree.integrations.nltk import LatreeTagger

    tagger, own = LatreeTagger(model(kind)), load(model(kind))
    assert isinstance(tagger, nltk.TaggerI)
    wanted = [list(zip(words, own.tag(words), strict=True)) for words in SENTENCES]
    assert tagger.tag_sents(SENTENCES) == wanted
    assert tagger.tag(SENTENCES[0]) == wanted[0]
    assert tagger.tag([]) == []
    assert tagger.accuracy(wanted) == 1.0


def test_what_nltk_asks_in_vain(nltk: Any, hmm: Model) -> None:
    from latree.integrations.nltk import LatreeParser

    with pytest.raises(LatreeError, match="a hmm tags but does not parse"):
        LatreeParser(hmm)
    with pytest.raises(LatreeError, match="ask for one or more"):
        LatreeParser(model("pcfg"), k=0)
    with pytest.raises(LatreeError, match="lists of words; split the text"):
        LatreeParser(model("pcfg")).parse(SLEEPS)


# -- pandas


@pytest.fixture
def tokens_frame() -> Any:
    pytest.importorskip("pandas", reason="pandas is not installed: make test-integrations installs it")
    from latree.integrations.pandas import tokens_frame

    return tokens_frame


def test_a_frame_of_a_parser(tokens_frame: Any, pcfg: Any) -> None:
    frame = tokens_frame(pcfg, SENTENCES)
    assert frame["word"].tolist() == SENTENCES[0] + SENTENCES[1]
    assert frame["token"].tolist() == [*range(1, 5), *range(1, 9)]
    assert "start" not in frame
    for number, words in enumerate(SENTENCES, start=1):
        rows, parse = frame[frame["sentence"] == number], pcfg.parse(words)
        assert rows["tag"].tolist() == parse.tree.tags()
        assert set(rows["status"]) == {"ok"}
        assert rows["parse_probability"].tolist() == pytest.approx([parse.probability] * len(words))
        told = pcfg.surprisal(words)
        assert rows["surprisal"].tolist() == pytest.approx([one.surprisal for one in told])
        assert rows["unknown"].tolist() == [one.unknown for one in told]
    assert "surprisal" not in tokens_frame(pcfg, SENTENCES, surprisal=False)


def test_a_frame_of_a_tagger(tokens_frame: Any, hmm: Model) -> None:
    frame = tokens_frame(hmm, SENTENCES)
    tagging = next(hmm.tag_all(SENTENCES[1:]))
    rows = frame[frame["sentence"] == 2]
    assert rows["tag"].tolist() == list(tagging.tags)
    assert rows["tag_probability"].tolist() == pytest.approx(list(tagging.confidences))
    assert not {"surprisal", "parse_probability"} & set(frame)
    with pytest.raises(LatreeError, match="does not tell what word comes next"):
        tokens_frame(hmm, SENTENCES, surprisal=True)


def test_a_frame_of_running_text_tells_places(tokens_frame: Any, pcfg: Model) -> None:
    frame = tokens_frame(pcfg, TEXT)
    assert [TEXT[start:end] for start, end in zip(frame["start"], frame["end"], strict=True)] == frame["word"].tolist()
    assert frame["sentence"].max() == 2


def test_frames_of_nothing_and_of_stand_ins(tokens_frame: Any) -> None:
    short = load(model("pcfg"))
    short.max_length = 4
    empty, frame = tokens_frame(short, []), tokens_frame(short, [[], *SENTENCES])
    assert len(empty) == 0
    assert list(empty) == list(frame)
    assert set(frame["sentence"]) == {2, 3}
    failed = frame[frame["status"] == "failed"]
    assert failed["word"].tolist() == SENTENCES[1]
    assert failed[["parse_probability", "surprisal"]].isna().all(axis=None)


# -- data sets


def test_a_batch_of_rows(pcfg: Model) -> None:
    batch = parse_column(pcfg, "text")({"text": [TEXT, None, "", SENTENCES[0]], "id": [1, 2, 3, 4]})
    first, second = pcfg.parse_all(TEXT)
    assert batch["trees"] == [[str(first), str(second)], [], [], [SLEEPS_TREE]]
    assert batch["tokens"][0] == [list(first.tokens), list(second.tokens)]
    assert batch["probabilities"][0] == pytest.approx([first.probability, second.probability])
    assert batch["statuses"] == [["ok", "ok"], [], [], ["ok"]]


def test_a_batch_of_a_tagger(hmm: Model) -> None:
    batch = parse_column(hmm, "words", prefix="hmm_")({"words": SENTENCES})
    assert batch["hmm_tags"] == [[hmm.tag(words)] for words in SENTENCES]
    assert set(batch) == {"hmm_tokens", "hmm_tags", "hmm_probabilities", "hmm_statuses"}


def test_columns_that_are_not_there_or_there_already(pcfg: Model) -> None:
    with pytest.raises(LatreeError, match="no column 'txt'; it has id, text"):
        parse_column(pcfg, "txt")({"text": [], "id": []})
    with pytest.raises(LatreeError, match="a column 'trees' already; parse_column takes a prefix"):
        parse_column(pcfg, "text")({"text": [TEXT], "trees": [""]})


def test_a_data_set_is_mapped(pcfg: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: make test-integrations installs it")
    data = datasets.Dataset.from_dict({"text": [TEXT, "", SLEEPS]})
    mapped = data.map(parse_column(pcfg, "text"), batched=True, batch_size=2)
    assert mapped["trees"][0] == [str(parse) for parse in pcfg.parse_all(TEXT)]
    assert mapped["text"][:] == data["text"][:]
    assert mapped["trees"][1:] == [[], [SLEEPS_TREE]]
    same = data.map(parse_column(model("pcfg"), "text"), batched=True, batch_size=2)
    assert same._fingerprint == mapped._fingerprint  # a second run is found again
    assert not math.isnan(mapped["probabilities"][2][0])
