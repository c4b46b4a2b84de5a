"""Files in and out."""

from __future__ import annotations

import io
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from latree.errors import InputError, LatreeError
from latree.text.formats import (
    Column,
    TaggedSentence,
    detect_format,
    format_by_name,
    open_text,
    read_conllu,
    read_conllu_lines,
    read_tagged,
    read_trees,
    retag,
)
from latree.text.labels import LabelRules
from latree.text.tree import Tree

BY_EXTENSION = {"gzip": "zlib", "bz2": "_bz2", "lzma": "_lzma"}  # with which some Pythons were not built
PACKERS = {name: import_module(name).compress for name, needed in BY_EXTENSION.items() if find_spec(needed)}


def conllu_file(folder: Path, *sentences: str) -> Path:
    """A CoNLL-U file; a sentence is lines of id, form, UPOS and XPOS."""
    path = folder / "file.conllu"
    blocks = ["\n".join(expand(line) for line in sentence.split("\n")) for sentence in sentences]
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return path


def expand(line: str) -> str:
    parts = line.split(" ")
    return "\t".join([*parts[:2], "_", *parts[2:], *"_____"]) if len(parts) == 4 else line


# Text files


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_open_text_unpacks_by_content(tmp_path: Path, pack: type[bytes], mark: bytes) -> None:
    path = tmp_path / "any-name"
    path.write_bytes(pack(mark + "é\r\n\n日本".encode()))
    with open_text(path) as lines:
        assert list(lines) == ["é\n", "\n", "日本"]


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, pack: type[bytes]) -> None:
    raw = io.BufferedReader(io.BytesIO(pack(b"(NN a)")))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
    assert list(map(str, read_trees("-"))) == ["(NN a)"]
    assert not raw.closed


def test_faults_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n(NN a")))
    with pytest.raises(InputError, match="<stdin>:2:1: 1 bracket never closed"):
        list(read_trees("-"))


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(LatreeError, match=re.escape(f"{tmp_path / 'no'}: cannot be read: No such file")):
        list(read_trees(tmp_path / "no"))
    with pytest.raises(LatreeError, match="this is a directory"):
        list(read_trees(tmp_path))


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.mrg"
    path.write_bytes("(NN a)\n(NN né)\n".encode("latin-1"))
    with pytest.raises(InputError, match=re.escape(f"{path}:2:6: not UTF-8 (byte 0xe9)")):
        list(read_trees(path))


@pytest.mark.parametrize("name", PACKERS)
def test_packed_files_that_are_cut_short(tmp_path: Path, name: str) -> None:
    path = tmp_path / "short.mrg"
    path.write_bytes(PACKERS[name](b"(NN a)\n" * 9)[:-9])
    with pytest.raises(InputError, match=f"the {name} file is damaged or cut short"):
        list(read_trees(path))


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("kept", [10, 16], ids=["head", "body"])
def test_packed_files_that_are_damaged(tmp_path: Path, name: str, kept: int) -> None:
    path = tmp_path / "bad.mrg"
    path.write_bytes(PACKERS[name](b"(NN a)")[:kept] + b"\xff" * 40)
    with pytest.raises(InputError, match=f"the {name} file is damaged or cut short"):
        list(read_trees(path))


def test_a_python_that_cannot_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mrg.xz"
    path.write_bytes(b"\xfd7zXZ\x00")
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(LatreeError, match=r"a.mrg.xz: this Python was built without lzma; unpack the file first"):
        list(read_trees(path))


@pytest.mark.parametrize("name", ["a.mrg", "a.mrg.gz", "A.MRG.BZ2", "a.mrg.xz"])
def test_the_end_of_a_packed_name_is_looked_past(name: str) -> None:
    assert format_by_name(name) == "ptb"


# Bracket files


def test_written_trees_are_read(tmp_path: Path) -> None:
    trees = [Tree("S", [Tree("NN", word="日 (本)")]), Tree("UH", word="oh")]
    path = tmp_path / "out.mrg"
    path.write_text("".join(f"{tree}\n" for tree in trees), "utf-8")
    assert list(map(str, read_trees(path))) == ["(S (NN 日_-LRB-本-RRB-))", "(UH oh)"]


def test_read_trees_cleans_and_skips(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("( (NP (-NONE- *)))\n( (NP-SBJ (NN a)))\n")
    assert list(map(str, read_trees(path, LabelRules()))) == ["(ROOT (NP (NN a)))"]
    assert len(list(read_trees(path))) == 2


def test_read_trees_is_lazy(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("(NN a)\n)\n")
    assert str(next(read_trees(path))) == "(NN a)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        (" \n\n", "file is empty"),
        ("(-NONE- *)", "nothing but empty"),
        ("\ufeff", "file is empty"),
    ],
)
def test_bracket_file_without_trees(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.mrg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LatreeError, match=f"a.mrg: no trees: .*{message}"):
        list(read_trees(path, LabelRules()))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.mrg", "", "ptb"),
        ("a.PSD.GZ", "", "ptb"),
        ("a.conllu", "", "conllu"),
        ("a.conllu.gz", "", "conllu"),
        ("a.txt", "\n \n( (S", "ptb"),
        ("a", "\ufeff# text = (S", "conllu"),
        ("a.gz", "1-2\tdu\t_", "conllu"),
    ],
)
def test_detect_format(tmp_path: Path, name: str, text: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert detect_format(path) == expected


def test_detect_format_when_it_cannot(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("A plain sentence .\n")
    with pytest.raises(LatreeError, match=re.escape("a.txt: neither its name nor its start")):
        detect_format(path)
    with pytest.raises(LatreeError, match="<stdin>: neither"):
        detect_format("-")
    assert detect_format(path, "conllu") == "conllu"
    assert detect_format("a.mrg", "conllu") == "conllu"


# CoNLL-U


def test_numbered_words_only(tmp_path: Path) -> None:
    sentences = ("# c = d\n1-2 du _ _\n1 de ADP P\n2 le DET D\n2.1 x X X\n3 _ SYM _", "1 oui INTJ I")
    path = conllu_file(tmp_path, *sentences)
    assert list(read_tagged(path)) == [
        TaggedSentence(("de", "le", "_"), ("ADP", "DET", "SYM")),
        TaggedSentence(("oui",), ("INTJ",)),
    ]
    assert [sentence.tags for sentence in read_tagged(path, "xpos")] == [("P", "D", "_"), ("I",)]


def test_conllu_with_bom_crlf_gzip_and_no_last_blank_line(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu.gz"
    lines = ["\ufeff# sent_id = 1", expand("1 a\u2028b X _"), "", "", "# only a comment", "", expand("1 c X _")]
    path.write_bytes(PACKERS["gzip"]("\r\n".join(lines).encode()))
    assert [sentence.words for sentence in read_conllu(path)] == [("a\u2028b",), ("c",)]


@pytest.mark.parametrize(
    ("column", "sentences", "tags"),
    [
        (None, ["1 a _ N", "1 b _ V"], ["N", "V"]),
        (None, ["1 a _ N", "1 b VERB V"], ["_", "VERB"]),
        ("upos", ["1 a _ N", "1 b VERB V"], ["_", "VERB"]),
        ("xpos", ["1 a NOUN _", "1 b VERB V"], ["_", "V"]),
    ],
)
def test_columns(tmp_path: Path, column: Column | None, sentences: list[str], tags: list[str]) -> None:
    found = read_tagged(conllu_file(tmp_path, *sentences), column)
    assert [tag for sentence in found for tag in sentence.tags] == tags


@pytest.mark.parametrize(
    ("column", "line", "message"),
    [
        ("upos", "1 a _ N", "column upos is empty throughout; use column xpos, which is filled"),
        ("xpos", "1 a N _", "column xpos is empty throughout; use column upos, which is filled"),
        ("xpos", "1 a _ _", "column xpos is empty throughout; and so is column upos"),
        (None, "1 a _ _", "column upos is empty throughout; and so is column xpos"),
    ],
)
def test_empty_columns(tmp_path: Path, column: Column | None, line: str, message: str) -> None:
    with pytest.raises(LatreeError, match=message):
        list(read_tagged(conllu_file(tmp_path, line), column))


@pytest.mark.parametrize(
    ("sentence", "line", "message"),
    [
        ("# c\n1 a X X\nsecond", 5, "Invalid line format"),
        ("1 a X X\n# c\nb b X X\n3 c X X", 5, "'b' is not a valid ID"),
        ("1 a X X\n3 b X X", 4, "expected word 2, found 3"),
        ("1 a X X\n_ b X X", 4, "expected word 2, found _"),
        ("1 a X X\n1 b X X", 4, "is a blank line missing"),
        ("1 a X X\n2\tb\t_\tX", 4, "4 columns; expected 10"),
    ],
)
def test_malformed_conllu_names_the_line(tmp_path: Path, sentence: str, line: int, message: str) -> None:
    path = conllu_file(tmp_path, "1 good X X", sentence, "1 good X X")
    sentences = read_conllu(path)
    assert next(sentences).words == ("good",)
    with pytest.raises(InputError, match=message) as caught:
        next(sentences)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_a_line_that_begins_with_spaces_is_tagged_too(tmp_path: Path) -> None:
    """They are no column: what is read as a word is a word when it is written."""
    path = tmp_path / "a.conllu"
    path.write_text("  1\ta\t_\tX\tY\n 2\tb\t_\tX\tY\n\n", encoding="utf-8")
    ((lines, sentence),) = read_conllu_lines(path)
    assert sentence.words == ("a", "b")
    assert retag(lines, "xpos", ["T", "U"]) == ["  1\ta\t_\tX\tT", " 2\tb\t_\tX\tU"]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n\n"])
def test_conllu_file_without_sentences(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(text)
    with pytest.raises(LatreeError, match=r"a\.conllu: no sentences: the file is empty"):
        list(read_tagged(path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("9" * 5000 + "\tx" + "\t_" * 8, "the line does not begin with a word's number"),
        ("1\t" + "\t_" * 8, "word 1 is empty"),
    ],
    ids=["a long number", "no form"],
)
def test_conllu_lines_that_are_no_words(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(f"# a comment\n{line}\n\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{path}:2:") + f".*{message}"):
        list(read_conllu(path))
