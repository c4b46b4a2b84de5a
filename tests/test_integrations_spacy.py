"""latree as a spaCy pipe, beside latree by itself: the same trees over spaCy's own sentences and tokens."""

from __future__ import annotations

import math
import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest

from latree.errors import LatreeError
from latree.kinds.parser import Parser
from latree.kinds.registry import at_place, load
from tests.command import SLEEPS, SLEEPS_TREE, model
from tests.kernel_cache import ROOT

spacy = pytest.importorskip("spacy", reason="spaCy is not installed: make test-integrations installs it")

TEXT = "the teacher sleeps . the girl sees a letter on Monday ."


def pipeline(**config: Any) -> Any:
    """A pipeline whose tokens are what stands between spaces, as in the toy treebank."""
    from spacy.tokenizer import Tokenizer

    import latree.integrations.spacy  # noqa: F401  (what the entry point does where latree is installed)

    nlp = spacy.blank("en")
    nlp.tokenizer = Tokenizer(nlp.vocab)
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("latree", config={"model": str(model("pcfg")), **config})
    return nlp


@pytest.fixture(scope="module")
def nlp() -> Any:
    return pipeline()


@pytest.fixture(scope="module")
def parser() -> Parser:
    loaded = load(model("pcfg"))
    assert isinstance(loaded, Parser)
    return loaded


def inner(tree: object) -> str:
    """A tree without its root, as spaCy's users have it."""
    return str(tree).removeprefix("(ROOT ").removesuffix(")")


def words(sentence: Any) -> list[str]:
    return [token.text for token in sentence if not token.is_space]


def test_trees_tags_and_probabilities_are_those_of_latree(nlp: Any, parser: Parser) -> None:
    doc = nlp(TEXT)
    sentences = list(doc.sents)
    assert len(sentences) == 2
    for sentence in sentences:
        parse = parser.parse(words(sentence))
        assert sentence._.parse_string == inner(parse)
        assert sentence._.parse_probability == pytest.approx(parse.probability)
        assert sentence._.parse_status == "ok"
        assert parse.tree is not None
        assert [token.tag_ for token in sentence] == parse.tree.tags()
        for one in parse.constituents[1:]:
            span = sentence[one.start : one.end]
            assert one.label in span._.labels
            if one.label == span._.labels[0]:
                assert span._.probability == pytest.approx(one.probability)


def test_a_constituent_tells_what_benepar_s_users_ask(nlp: Any) -> None:
    (sentence,) = nlp(SLEEPS).sents
    assert sentence._.parse_string == inner(SLEEPS_TREE)
    assert sentence._.labels == ("S",)
    assert sentence._.parent is None
    subject, predicate, stop = sentence._.children
    assert [subject.text, predicate.text, stop.text] == ["the teacher", "sleeps", "."]
    assert (subject._.labels, predicate._.labels, stop._.labels) == (("NP",), ("VP",), ())
    assert (subject._.parent, list(stop._.children)) == (sentence, [])
    assert [span.text for span in subject._.constituents] == ["the teacher", "the", "teacher"]
    assert subject._.parse_string == "(NP (DT the) (NN teacher))"
    token = sentence[2]
    assert (token._.labels, token._.parse_string, token._.parent) == (("VP",), "(VP (VB sleeps))", sentence)


# As people write them for benepar: by its pipe's name, with one of its models.
SCRIPT = """
import spacy

nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")
nlp.add_pipe("benepar", config={"model": "benepar_en3", "disable_tagger": False})
doc = nlp("The cat sat on the mat. It slept.")
for sent in doc.sents:
    print(sent._.parse_string)
    print(*sent._.labels)
    for phrase in sent._.constituents:
        if "NP" in phrase._.labels:
            print(phrase, "in", phrase._.parent._.labels[0], "of", len(list(phrase._.children)))
print(doc[0]._.parse_string, doc[0]._.labels, doc[0]._.parent, doc[0].tag_)
try:
    print(doc[0:8]._.labels)
except Exception as error:
    print(type(error).__name__)
"""
PRINTED = [
    "(S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .))",
    "S",
    "The cat in S of 2",
    "the mat in PP of 2",
    "(S (NP (PRP It)) (VP (VBD slept)) (. .))",
    "S",
    "It in S of 0",
    "(DT The) () The cat DT",
    "NotAConstituentError",
]


def test_a_script_for_benepar_runs_with_the_name_of_the_pipe_changed(capsys: pytest.CaptureFixture[str]) -> None:
    import latree.integrations.spacy  # noqa: F401

    with pytest.warns(UserWarning, match="benepar_en3 is a model of benepar's; english"):
        exec(SCRIPT.replace('"benepar"', '"latree"'), {})
    assert capsys.readouterr().out.splitlines() == PRINTED


def test_constituents_are_each_other_s_parents_and_children(nlp: Any) -> None:
    for sentence in nlp(TEXT).sents:
        listed = list(sentence._.constituents)
        assert listed[0] == sentence
        assert {token.i for token in sentence} <= {span.start for span in listed if len(span) == 1}
        for span in listed:
            assert all(child._.parent == span for child in span._.children)
            assert span == sentence or span in list(span._.parent._.children)
            assert [token for child in span._.children for token in child] in ([], list(span))


def test_a_unary_chain_is_one_constituent() -> None:
    from latree import Pcfg, Tree

    nlp = pipeline()
    nlp.get_pipe("latree").parser = Pcfg().fit([Tree.read("(ROOT (S (VP (VB go) (NP (NN home)))))")])
    (sentence,) = nlp("go home").sents
    assert sentence._.labels == ("S", "VP")
    assert sentence._.parse_string == "(S (VP (VB go) (NP (NN home))))"
    assert [span.text for span in sentence._.constituents] == ["go home", "go", "home"]
    assert math.isnan(sentence[0:1]._.probability)


def test_what_is_no_constituent_is_told(nlp: Any) -> None:
    from latree.integrations.spacy_trees import NotAConstituentError

    doc = nlp(TEXT)
    for span in (doc[1:3], doc[2:6]):
        with pytest.raises(NotAConstituentError, match="no constituent of its sentence's tree"):
            _ = span._.labels


def test_white_space_is_no_word(nlp: Any) -> None:
    (sentence,) = nlp(f"\n  {SLEEPS.replace(' ', '   ')}").sents
    assert any(token.is_space for token in sentence)
    assert sentence._.parse_string == inner(SLEEPS_TREE)
    assert [words(child) for child in sentence._.children] == [["the", "teacher"], ["sleeps"], ["."]]
    (empty,) = nlp("  \n").sents
    assert (empty._.parse_string, list(empty._.constituents), empty._.parse_status) == ("", [], "empty")
    assert list(nlp("").sents) == []


def test_brackets_are_escaped_in_strings_alone(nlp: Any) -> None:
    (sentence,) = nlp("the ( sleeps ] }").sents
    assert all(escaped in sentence._.parse_string for escaped in ("-LRB-", "-RSB-", "-RCB-"))
    assert [span.text for span in sentence._.constituents if len(span) == 1] == ["the", "(", "sleeps", "]", "}"]


def test_the_best_trees_are_listed_in_order(parser: Parser) -> None:
    nlp = pipeline(kbest=3)
    sentence = list(nlp(TEXT).sents)[1]
    wanted = [(inner(parse), pytest.approx(parse.probability)) for parse in parser.kbest(words(sentence), 3)]
    assert [tuple(one) for one in sentence._.kbest] == wanted
    assert sentence._.kbest[0] == (sentence._.parse_string, sentence._.parse_probability)


def test_a_stand_in_is_flagged(nlp: Any) -> None:
    parser = nlp.get_pipe("latree").parser
    before, parser.max_length = parser.max_length, 2
    try:
        (sentence,) = nlp(SLEEPS).sents
    finally:
        parser.max_length = before
    assert sentence._.parse_status == "failed"
    assert math.isnan(sentence._.parse_probability)
    assert math.isnan(next(sentence._.children)._.probability)


def test_tags_are_left_alone_where_that_is_asked_for() -> None:
    for config in ({"set_tags": False}, {"disable_tagger": True}):
        assert {token.tag_ for token in pipeline(**config)(SLEEPS)} == {""}


def test_batches_give_what_single_documents_give(nlp: Any) -> None:
    texts = [TEXT, "", SLEEPS, " "]
    piped = [[sentence._.parse_string for sentence in doc.sents] for doc in nlp.pipe(texts, batch_size=3)]
    assert piped == [[sentence._.parse_string for sentence in nlp(text).sents] for text in texts]


def test_documents_keep_their_trees_in_bytes(nlp: Any) -> None:
    from spacy.tokens import Doc

    doc = nlp(TEXT)
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    for one, other in zip(doc.sents, again.sents, strict=True):
        assert one._.parse_string == other._.parse_string
        assert list(map(str, one._.constituents)) == list(map(str, other._.constituents))
    alone = list(doc.sents)[1].as_doc(copy_user_data=True)
    assert next(alone.sents)._.parse_string == list(doc.sents)[1]._.parse_string


@pytest.fixture
def moved(tmp_path: Path) -> Any:
    """A pipeline whose model file is gone by the time it is used again."""
    path = tmp_path / "my.latree"
    path.write_bytes(model("pcfg").read_bytes())
    nlp = pipeline(model=str(path))
    nlp(SLEEPS)
    path.unlink()
    return nlp


def test_the_model_goes_with_the_pipeline(moved: Any, tmp_path: Path) -> None:
    moved.to_disk(tmp_path / "pipeline")
    blank = pipeline(model="gone.latree").from_bytes(moved.to_bytes())
    for nlp in (spacy.load(tmp_path / "pipeline"), blank):
        assert next(nlp(SLEEPS).sents)._.parse_string == inner(SLEEPS_TREE)
    pipe = pickle.loads(pickle.dumps(moved.get_pipe("latree")))
    assert next(pipe(moved(SLEEPS)).sents)._.labels == ("S",)


def test_the_model_is_loaded_when_it_is_needed() -> None:
    assert not hasattr(pipeline(model="gone.latree").get_pipe("latree"), "model")  # spaCy would look into it


def test_faults_are_told() -> None:
    with pytest.raises(LatreeError, match="ask for one or more"):
        pipeline(kbest=0)
    with pytest.raises(LatreeError, match="neither a model file nor one of those"):
        pipeline(model="nosuch")(SLEEPS)
    with pytest.raises(LatreeError, match="benepar_zh2 is a model of benepar's, and latree comes with none"):
        pipeline(model="benepar_zh2")(SLEEPS)
    with pytest.raises(LatreeError, match="a hmm tags but does not parse; name a parser"):
        pipeline(model=str(model("hmm")))(SLEEPS)
    nlp = pipeline()
    doc = nlp.make_doc(SLEEPS)
    with pytest.raises(LatreeError, match="sets sentence boundaries; add before it"):
        nlp.get_pipe("latree")(doc)
    parsed = nlp(SLEEPS)
    with parsed.retokenize() as retokenizer:
        retokenizer.merge(parsed[0:2])
    with pytest.raises(LatreeError, match="tokens of this sentence have changed"):
        _ = next(parsed.sents)._.labels
    nlp.disable_pipe("latree")
    with pytest.raises(LatreeError, match="this sentence has no parse"):
        _ = next(nlp(SLEEPS).sents)._.labels


def test_errors_in_a_stream_are_the_pipeline_s(nlp: Any) -> None:
    met: list[str] = []
    pipe = nlp.get_pipe("latree")
    pipe.set_error_handler(lambda name, component, docs, error: met.append(f"{name}: {type(error).__name__}"))
    try:
        assert list(pipe.pipe([nlp.make_doc(SLEEPS)])) == []
    finally:
        pipe.set_error_handler(spacy.util.raise_error)
    assert met == ["latree: LatreeError"]


def test_attributes_of_others_are_not_overwritten() -> None:
    from spacy.tokens import Span

    from latree.integrations.spacy_trees import register_attributes

    register_attributes()
    _, _, ours, _ = Span.remove_extension("labels")
    Span.set_extension("labels", getter=lambda span: ())
    try:
        with pytest.raises(LatreeError, match=r"span\._\.labels is taken by something else"):
            register_attributes()
    finally:
        Span.set_extension("labels", getter=ours, force=True)


def test_the_entry_point_leads_to_the_factory() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    assert callable(at_place(points["latree"]))
