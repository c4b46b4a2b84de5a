"""The JSON API of `latree serve`, over real connections to a server of toy models."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.cli.serve import _listening
from latree.experiments.ranking import rank_sentences
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg.subtypes_in_trees import posteriors_in_tree
from latree.kinds.registry import load
from latree.text.partial_trees import Bracket, PartialTree
from latree.text.tree import Tree
from latree.web.limits import Limits
from latree.web.routes import ENDPOINTS
from tests.command import SLEEPS, SLEEPS_TREE, done, latree, model, process, toy_trees
from tests.server import Running, running, split_model
from tests.test_web_worker import Held

WORDS = SLEEPS.split()
AMBIGUOUS = "the teachers walk if Tom paints the lamp ."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(model("pcfg"), model("hmm"), folder=tmp_path_factory.mktemp("saved")) as one:
        one.service.offer([WORDS])
        yield one


def sentence_of(server: Running, path: str, value: Any) -> Any:
    answer = server.post(path, value)
    assert answer.status == 200, answer.body
    (only,) = answer.json["sentences"]
    return only


# -- answers


def test_text_is_split_and_parsed(server: Running) -> None:
    told = server.post("/parse", {"text": "The teacher sleeps. The dog sleeps."}).json
    assert told["model"] == "pcfg"
    assert [one["tokens"] for one in told["sentences"]] == [
        ["The", "teacher", "sleeps", "."],
        ["The", "dog", "sleeps", "."],
    ]
    assert told["sentences"][1]["offsets"][0] == [20, 23]


def test_an_answer_is_what_the_command_writes(server: Running) -> None:
    written = done("parse", "-m", model("pcfg"), "--json", stdin=f"{SLEEPS}\n{AMBIGUOUS}\n")
    told = server.post("/parse", {"sentences": [WORDS, AMBIGUOUS.split()]}).json["sentences"]
    assert told == [json.loads(line) for line in written.lines]
    assert told[0]["tree"] == SLEEPS_TREE
    tagged = done("tag", "-m", model("hmm"), "--json", stdin=f"{SLEEPS}\n")
    assert sentence_of(server, "/tag", {"sentences": [WORDS], "model": "hmm"}) == json.loads(tagged.out)
    surprising = done("surprisal", "-m", model("pcfg"), "--json", stdin=f"{SLEEPS}\n")
    assert sentence_of(server, "/surprisal", {"sentences": [WORDS]}) == json.loads(surprising.out)
    ranked = done("parse", "-m", model("pcfg"), "--json", "--kbest", "3", stdin=f"{AMBIGUOUS}\n")
    parses = sentence_of(server, "/kbest", {"sentences": [AMBIGUOUS.split()], "k": 3})["parses"]
    assert parses == [json.loads(line) for line in ranked.lines]


def test_a_parser_tags_too(server: Running) -> None:
    told = sentence_of(server, "/tag", {"sentences": [WORDS]})
    assert told["tags"] == Tree.read(SLEEPS_TREE).tags()


def test_posteriors_are_those_of_the_model(server: Running) -> None:
    parser, tagger = load(model("pcfg")), load(model("hmm"))
    told = sentence_of(server, "/posteriors", {"text": AMBIGUOUS, "least": 0.2})
    assert told["constituents"] == [list(one) for one in parser.posteriors(AMBIGUOUS.split(), 0.2)]
    told = sentence_of(server, "/posteriors", {"sentences": [WORDS], "model": "hmm"})
    assert told["tags"] == tagger.posteriors(WORDS, 0.01)


def test_constraints_are_met(server: Running) -> None:
    words = AMBIGUOUS.split()
    free = sentence_of(server, "/parse", {"sentences": [words]})
    label, start, end, _ = next(one for one in free["constituents"] if 0 < one[3] < 0.999)
    bracket = {"label": label, "start": start, "end": end, "forbidden": True}
    told = sentence_of(server, "/parse", {"sentences": [words], "constraints": [[bracket]]})
    known = PartialTree(tuple(words), (Bracket(label, start, end, forbidden=True),))
    assert told["tree"] == str(load(model("pcfg")).parse(known).tree)
    assert [label, start, end] not in [one[:3] for one in told["constituents"]]


def test_a_tree_is_drawn(server: Running) -> None:
    assert server.post("/draw", {"tree": SLEEPS_TREE}).json["drawing"].startswith("<svg")
    assert "\\begin{forest}" in server.post("/draw", {"tree": SLEEPS_TREE, "format": "latex"}).json["drawing"]


def test_trees_are_saved_one_a_line(server: Running) -> None:
    assert server.post("/save", {"tree": SLEEPS_TREE}).json == {"saved": 1}
    assert server.post("/save", {"tree": f" {SLEEPS_TREE}\n"}).json == {"saved": 2}
    assert server.service.folder is not None
    assert (server.service.folder / "saved.mrg").read_text() == f"{SLEEPS_TREE}\n" * 2


def test_no_words_no_answer(server: Running) -> None:
    assert server.post("/parse", {"text": " \n"}).json["sentences"] == []
    assert server.post("/parse", {"sentences": [[]]}).json["sentences"][0]["status"] == "empty"


# -- subtypes, and the page about a model


@pytest.fixture(scope="module")
def split() -> Iterator[Running]:
    with running(split_model(), model("pcfg")) as one:
        yield one


def test_nodes_have_their_likeliest_subtypes(split: Running) -> None:
    grammar, tree = load(split_model()), Tree.read(SLEEPS_TREE)
    assert isinstance(grammar, Lvg)
    told = split.post("/subtypes", {"tree": SLEEPS_TREE}).json["nodes"]
    assert len(told) == len(tree.subtrees())
    assert told[0] is None  # the root
    (binary,) = grammar.prepare_data([tree])
    found = posteriors_in_tree(grammar, binary)
    for node, (start, end), one in zip(tree.subtrees()[1:], [(0, 4), (0, 2), (0, 1), (1, 2)], told[1:], strict=False):
        ((symbol, shares),) = found[node.label, start, end]
        subtype = int(shares.argmax())
        assert (one["name"], one["place"]) == (f"{node.label}-{subtype}", f"c{symbol}-{subtype}")
        assert one["probability"] == pytest.approx(shares[subtype])
        assert bool(one["words"]) == node.is_leaf
        assert bool(one["rules"]) != node.is_leaf


@pytest.mark.parametrize(
    "request_",
    [
        {"tree": SLEEPS_TREE, "model": "pcfg"},
        {"tree": "(ROOT (XX (YY a)))"},  # which the grammar does not derive
        {"tree": "(ROOT (S (-NONE- *) (NN teacher)))"},  # whose words have other places for the model
    ],
)
def test_where_there_is_nothing_to_tell_nothing_is(split: Running, request_: Any) -> None:
    told = split.post("/subtypes", request_)
    assert told.status == 200
    assert not any(told.json["nodes"])


def test_chains_of_one_label_have_each_their_own(split: Running) -> None:
    grammar = load(split_model())
    assert isinstance(grammar, Lvg)
    tree = next(tree for tree in toy_trees("dev") if np.isfinite(grammar.log_prob_tree(tree)))
    told = split.post("/subtypes", {"tree": str(tree)}).json["nodes"]
    names = [node.label for node in tree.subtrees()[1:]]
    assert [one["name"].rpartition("-")[0] or one["name"] for one in told[1:]] == names


def test_the_page_about_a_model(split: Running) -> None:
    answer = split.get("/explore/split")
    while answer.status == 202:
        assert b"being made" in answer.body
        answer = split.get("/explore/split")
    assert answer.status == 200
    policy, text = answer.headers["content-security-policy"], answer.body.decode()
    assert "unsafe" not in policy
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert not re.search(r"<script|\sstyle=|\son\w+=", text)
    for node in split.post("/subtypes", {"tree": SLEEPS_TREE}).json["nodes"][1:]:
        assert f'id="{node["place"]}"' in text
    assert split.get("/explore/nosuch").status == 404
    assert split.get("/explore/..%2f..%2fetc").status == 404


# -- sentences to annotate


QUEUE = [tuple(tree.words()) for tree in toy_trees("test")[:12]]


def waited_for(server: Running, after: int = 0) -> Any:
    """What is offered, once the ranking is done."""
    while (told := server.post("/next", {"after": after}).json)["state"] == "ranking":
        assert told["next"] is None
        assert 0 <= told["ranked"] <= told["sentences"]
    return told


def test_sentences_are_offered_by_rank_until_they_are_saved(tmp_path: Path) -> None:
    ranked = [list(one.tokens) for one in rank_sentences(load(model("pcfg")), QUEUE)]
    flat = {words: str(Tree("S", [Tree("X", word=word) for word in words])) for words in QUEUE}
    with running(model("pcfg"), folder=tmp_path) as server:
        server.service.offer([*QUEUE, (), ("long",) * 200])
        assert server.get("/models").json["queue"]
        told = waited_for(server)
        assert (told["sentences"], told["left"]) == (len(QUEUE), len(QUEUE))
        assert told["next"] == {"rank": 1, "tokens": ranked[0]}
        assert waited_for(server, after=1)["next"]["tokens"] == ranked[1]
        server.post("/save", {"tree": flat[tuple(ranked[0])]})
        assert waited_for(server)["next"]["tokens"] == ranked[1]
    with running(model("pcfg"), folder=tmp_path) as again:
        again.service.offer(QUEUE)
        assert waited_for(again)["next"]["tokens"] == ranked[1]
        for words in ranked[1:]:
            again.post("/save", {"tree": flat[tuple(words)]})
        told = waited_for(again)
        assert (told["left"], told["next"]) == (0, None)


def test_words_with_brackets_are_known_again(tmp_path: Path) -> None:
    (tmp_path / "saved.mrg").write_text("(S (X -LRB-) (X a_b))\n")
    with running(model("pcfg"), folder=tmp_path) as server:
        server.service.offer([("(", "a b"), ("c",)])
        assert waited_for(server)["next"]["tokens"] == ["c"]


def test_without_a_queue_there_is_no_next_sentence(narrow: Running) -> None:
    assert narrow.error("/next", {}, 404).startswith("this server has no sentences to annotate")
    assert not narrow.get("/models").json["queue"]


def test_a_queue_needs_a_place_to_save(tmp_path: Path) -> None:
    assert "--queue needs --save" in latree("serve", "--queue", tmp_path / "any.txt").err
    assert "--tokenize is for the text of --queue" in latree("serve", "--tokenize").err


# -- what the API says of itself


REQUESTS: dict[str, Any] = {
    "/parse": {"text": f"{AMBIGUOUS} xyzzy ."},
    "/tag": {"sentences": [WORDS], "objective": "viterbi"},
    "/kbest": {"text": AMBIGUOUS, "k": 3},
    "/posteriors": {"text": AMBIGUOUS},
    "/surprisal": {"text": SLEEPS},
    "/draw": {"tree": SLEEPS_TREE, "format": "terminal"},
    "/subtypes": {"tree": SLEEPS_TREE},
    "/save": {"tree": SLEEPS_TREE},
    "/next": {"after": 0},
}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.path)
def test_answers_are_as_described(server: Running, endpoint: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, to check answers")
    told = server.get("/openapi.json").json["paths"][endpoint.path][endpoint.method.lower()]
    request = REQUESTS.get(endpoint.path)
    answer = server.get(endpoint.path) if request is None else server.post(endpoint.path, request)
    ((media, content),) = told["responses"]["200"]["content"].items()
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(media)
    jsonschema.validate(answer.json if media == "application/json" else answer.body.decode(), content["schema"])
    if request is not None:
        jsonschema.validate(request, told["requestBody"]["content"]["application/json"]["schema"])


def test_models_are_told(server: Running) -> None:
    told = server.get("/models").json
    names = [one["name"] for one in told["models"]]
    assert names[:2] == ["pcfg", "hmm"]
    assert "english" in names
    assert told["default"] == "pcfg"
    assert told["saves"]
    assert {"NP", "VP"} <= set(told["models"][0]["phrases"])
    assert not told["models"][1]["parses"]


def test_counts_are_told(server: Running) -> None:
    server.post("/parse", {"sentences": [WORDS]})
    text = server.get("/metrics").body.decode()
    assert re.search(r'^latree_requests_total\{path="/parse",status="200"\} [1-9]', text, re.MULTILINE)
    assert re.search(r'^latree_sentences_total\{model="pcfg",task="parse"\} [1-9]', text, re.MULTILINE)
    within = [int(count) for count in re.findall(r"_bucket\{.*\} (\d+)", text)]
    assert within == sorted(within)
    assert f"latree_request_seconds_count {within[-1]}" in text


# -- requests that are refused


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "give either 'text' or 'sentences'"),
        ({"text": "a", "sentences": []}, "give either 'text' or 'sentences'"),
        ({"text": 1}, "text: expected string, not 1"),
        ([], "the request: expected object, not []"),
        ({"sentences": [["a"], "b"]}, "sentences[1]: expected array, not 'b'"),
        ({"sentences": [["a", ""]]}, "sentences[0][1] is empty; leave it out"),
        ({"sentences": [["a"] * 21]}, "sentences[0] has 21 items; the limit is 20"),
        ({"text": "a " * 21}, "sentence 1 has 21 words; the limit is 20"),
        ({"sentences": [["a"]] * 5}, "sentences has 5 items; the limit is 4"),
        ({"text": "A dog sleeps.\n" * 5}, "the text has 5 sentences; the limit is 4"),
        ({"text": "a", "model": "nosuch"}, "there is no model 'nosuch'; there are pcfg"),
        ({"text": "a", "model": "../../etc/passwd"}, "there is no model '../../etc/passwd'"),
        ({"text": "a", "objective": "best"}, "objective: 'best' is none of max-rule"),
        ({"text": "a", "k": 3}, "the request has 'k', which is none of text"),
        ({"text": "a b", "constraints": []}, "there are constraints for 0 sentences, and 1 sentences"),
        ({"text": "a b", "constraints": [[{"start": 0}]]}, "constraints[0][0] has no 'end'"),
        ({"text": "a b", "constraints": [[{"start": -1, "end": 2}]]}, "constraints[0][0].start: -1 is not between 0"),
        ({"text": "a b", "constraints": [[{"start": 1, "end": 9}]]}, "there are no words 1 to 8 in 2"),
        ({"text": "a", "wrapped": 1}, "wrapped: expected boolean, not 1"),
        ({"sentences": [["a"]], "wrapped": True}, "'wrapped' is about 'text'"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(narrow: Running, request_: Any, message: str) -> None:
    assert message in narrow.error("/parse", request_)


@pytest.fixture(scope="module")
def narrow() -> Iterator[Running]:
    with running(
        model("pcfg"),
        model("hmm"),
        limits=Limits(words=20, exact_words=5, sentences=4, body=2_000),
        hosts=frozenset({"localhost", "127.0.0.1"}),
    ) as one:
        yield one


def test_what_takes_most_has_limits_of_its_own(narrow: Running) -> None:
    exact = {"sentences": [["a"] * 6], "objective": "viterbi"}
    assert narrow.error("/kbest", exact) == "sentence 1 has 6 words; the limit is 5"
    assert narrow.post("/parse", exact).status == 200  # the best tree alone is no matter
    assert "least: 1e-05 is not between 0.0001 and 1" in narrow.error("/posteriors", {"text": "a", "least": 1e-5})


def test_other_refusals(narrow: Running) -> None:
    post = narrow.ask
    kind = {"Content_Type": "application/json"}
    assert narrow.error("/parse", {"text": "a" * 3_000}, 413) == "the request has more than 2000 bytes"
    assert post("POST", "/parse", b"{", **kind).status == 400
    assert post("POST", "/parse", b"[" * 1_900, **kind).status == 400
    assert post("POST", "/parse", b'{"text": NaN}', **kind).json["error"].endswith("NaN is no number in JSON")
    assert post("POST", "/parse", b'{"text": "\\ud800"}', **kind).json == {"error": "the request is not valid Unicode"}
    assert post("POST", "/parse", b"\xff\xfe{", **kind).status == 400
    assert post("POST", "/parse", b"text=a", Content_Type="application/x-www-form-urlencoded").status == 415
    assert narrow.get("/nosuch").json == {"error": "there is no such path"}
    assert narrow.get("/nosuch").status == 404
    assert narrow.get("/parse").json == {"error": "GET is not answered here"}
    assert narrow.get("/parse").headers["allow"] == "POST"
    assert narrow.error("/save", {"tree": SLEEPS_TREE}, 404).startswith("this server keeps no trees")
    assert narrow.error("/draw", {"tree": "(S (NN a)"}).startswith("tree: 1:1: 1 bracket never closed")
    assert "tags but does not parse" in narrow.error("/parse", {"text": "a", "model": "hmm"})
    assert "brackets are for parsers" in narrow.error(
        "/tag", {"text": "a", "model": "hmm", "constraints": [[{"start": 0, "end": 1}]]}
    )


def test_who_calls_it_by_another_name_is_refused(narrow: Running) -> None:
    assert narrow.ask("GET", "/models", Host="evil.example").status == 421
    assert narrow.ask("GET", "/health", Host="localhost:80").status == 200


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/", "/static//etc/passwd"])
def test_only_files_of_the_page_are_given(narrow: Running, path: str) -> None:
    assert narrow.get(path).status == 404


def test_the_list_of_files_is_whole(narrow: Running) -> None:
    from latree.web import pages  # needs starlette, which `narrow` has seen to

    folder = Path(pages.__file__).parent / "static"
    assert {path.name for path in folder.iterdir()} == {*pages.NAMES, *pages.SCRIPTS, pages.WAITING}


def test_the_page_keeps_to_itself(narrow: Running) -> None:
    from latree.web import pages  # needs starlette, which `narrow` has seen to

    weight = 0
    for path in pages.responses():
        answer = narrow.get(path)
        assert answer.status == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        text = answer.body.decode()
        assert not re.search(r"""(src|href|from|import|url\()\s*[=(]?\s*["']?(https?:)?//""", text), path
        weight += len(answer.body)
    assert weight <= 300_000


# -- many requests at once


def test_many_clients_get_what_they_would_get_alone(server: Running) -> None:
    sentences = [WORDS, AMBIGUOUS.split(), ["xyzzy", "."], ["the", "dog", "."]] * 8
    alone = [sentence_of(server, "/parse", {"sentences": [one]}) for one in sentences[:4]]
    bad = {"sentences": [WORDS], "constraints": [[{"start": 0, "end": 2}, {"start": 1, "end": 3}]]}
    with ThreadPoolExecutor(16) as clients:
        faults = [clients.submit(server.error, "/parse", bad) for _ in range(4)]
        answers = clients.map(lambda one: sentence_of(server, "/parse", {"sentences": [one]}), sentences)
        assert list(answers) == alone * 8
    assert all("crosses" in fault.result() for fault in faults)


def test_a_request_is_given_up_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Held()
    monkeypatch.setattr("latree.web.service.SurprisalTask", lambda: task)
    with running(model("pcfg"), limits=Limits(seconds=0.3)) as slow:
        told = slow.error("/surprisal", {"sentences": [WORDS]}, 504)
        assert told == "no answer within 0.3 seconds; ask for less at a time"
        task.go.set()
        assert slow.post("/parse", {"sentences": [WORDS]}).status == 200


def test_a_body_that_never_comes_is_given_up(server: Running) -> None:
    with (
        running(model("pcfg"), limits=Limits(seconds=0.3)) as slow,
        socket.create_connection(("127.0.0.1", slow.port)) as line,
    ):
        line.sendall(
            b"POST /parse HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        )
        assert line.recv(100).startswith(b"HTTP/1.1 504")


def test_heads_that_come_byte_by_byte_keep_nobody_waiting() -> None:
    with running(model("pcfg"), limits=Limits(head_seconds=0.3)) as slow, ExitStack() as lines:
        dripping = [lines.enter_context(socket.create_connection(("127.0.0.1", slow.port))) for _ in range(100)]
        ended = 0
        for byte in itertools.chain(b"GET /health HTTP/1.1\r\nX: ", itertools.repeat(ord("x"))):
            assert slow.get("/health").status == 200
            ended = sum(_has_ended(line, bytes([byte])) for line in dripping)
            if ended == len(dripping):
                break
        assert slow.post("/parse", {"sentences": [WORDS]}).status == 200


def _has_ended(line: socket.socket, byte: bytes) -> bool:
    """Whether the server has closed a connection; where it has not, send it one more byte."""
    line.setblocking(False)
    try:
        if line.recv(100) == b"":
            return True
        raise AssertionError("half a head was answered")
    except BlockingIOError:
        with suppress(BlockingIOError, OSError):
            line.send(byte)
        return False
    except ConnectionError:
        return True


def test_a_connection_is_used_again_and_ends_when_nothing_comes() -> None:
    with (
        running(model("pcfg"), limits=Limits(head_seconds=0.5)) as slow,
        closing(HTTPConnection("127.0.0.1", slow.port)) as line,
    ):
        for _ in range(3):
            line.request("GET", "/health")
            assert line.getresponse().read().startswith(b'{"status":"ok"')
        line.sock.sendall(b"GET /health HT")
        assert line.sock.recv(100) == b""


def test_a_flood_of_body_is_refused_before_it_is_read(narrow: Running) -> None:
    with socket.create_connection(("127.0.0.1", narrow.port)) as line:
        head = (
            "POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999999999"
        )
        line.sendall(f"{head}\r\n\r\n".encode() + b" " * 10_000)
        assert line.recv(1_000).startswith(b"HTTP/1.1 413")


# -- the command


def test_what_is_wrong_is_told_before_it_serves(tmp_path: Path) -> None:
    assert "no such folder" in latree("serve", "--save", tmp_path / "nosuch").err
    assert "no such model file" in latree("serve", "-m", tmp_path / "nosuch.latree").err
    twice = latree("serve", "-m", model("pcfg"), "-m", model("pcfg"))
    assert "there is a model called pcfg already" in twice.err
    with _listening("127.0.0.1", 0) as taken:
        taken.listen()
        outcome = latree("serve", "-m", model("pcfg"), "--port", str(taken.getsockname()[1]))
    assert outcome.code == 1
    assert "cannot listen at 127.0.0.1:" in outcome.err


def test_asked_to_end_it_ends_well() -> None:
    with process("serve", "-m", model("pcfg"), "--port", "0") as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        port = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert port is not None, line
        with socket.create_connection(("127.0.0.1", int(port[1]))) as client:
            client.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(20) == 0
        assert server.stderr.read() == "latree: stopped\n"
