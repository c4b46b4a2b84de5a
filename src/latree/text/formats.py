"""From files to trees and tagged sentences: brackets and CoNLL-U, plain or packed.

Everything is read in one pass and nothing is kept, so that standard input ("-") serves as well as a file.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Self, TextIO, cast

import conllu
from conllu.exceptions import ParseException
from conllu.parser import parse_line

from latree.errors import InputError, LatreeError
from latree.text.labels import LabelRules
from latree.text.partial_trees import PartialTree
from latree.text.standard_input import standard_input
from latree.text.tree import Tree, TreeAt, read_bracket_lists, read_brackets

Format = Literal["ptb", "conllu"]
Column = Literal["upos", "xpos"]

_SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".mrg", ".ptb", ".psd", ".brackets", ".tree"), "ptb"),
    **dict.fromkeys((".conllu", ".conll"), "conllu"),
}
_PACKED = {
    rb"\x1f\x8b": "gzip",
    rb"BZh[1-9]1AY&SY": "bz2",
    rb"\xfd7zXZ\x00": "lzma",
}  # how files begin, who unpacks them
_PACKED_SUFFIXES = (".gz", ".bz2", ".xz")
_CONLLU_START = re.compile(r"#|\d+([-.]\d+)?\t")
_LONGEST_NUMBER = 40  # characters of a word's, or of a range's
_BETWEEN = re.compile(r"(\t| {2,})")  # as conllu splits
_COLUMNS = ("id", "form", "lemma", "upos", "xpos")


def _name(path: str | Path) -> str:
    return "<stdin>" if str(path) == "-" else str(path)


@contextmanager
def open_text(path: str | Path) -> Iterator[Iterator[str]]:
    """The lines of a UTF-8 file, plain or packed by its content; "-" is standard input."""
    if str(path) == "-":
        yield _decode(standard_input(), _name(path))
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115 (closed by the `with` below, outside this `try`)
    except IsADirectoryError:
        raise LatreeError(f"{path}: this is a directory; name the files in it") from None
    except OSError as error:
        raise LatreeError(f"{path}: cannot be read: {error.strerror or error}") from None
    with raw:
        yield _decode(raw, _name(path))


def _decode(raw: IO[bytes], file: str) -> Iterator[str]:
    """Lines of text; each is decoded by itself, so that a fault is known by its line."""
    for number, line in enumerate(_unpacked(raw, file), start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            message = f"not UTF-8 (byte {error.object[error.start]:#04x}); convert the file to UTF-8"
            raise InputError(file, number, message, error.start + 1) from None


def _unpacked(raw: IO[bytes], file: str) -> Iterator[bytes]:
    """The lines of a file, plain, gzip, bzip2 or xz by how it begins."""
    start = raw.peek(16) if isinstance(raw, io.BufferedReader) else b""
    name = next((name for mark, name in _PACKED.items() if re.match(mark, start)), None)
    if name is None:
        yield from raw
        return
    try:
        unpacker = import_module(name)
    except ImportError:
        raise LatreeError(f"{file}: this Python was built without {name}; unpack the file first") from None
    number, faults = 0, (EOFError, OSError, zlib.error, getattr(unpacker, "LZMAError", OSError))
    try:
        with unpacker.open(raw) as lines:
            for line in lines:
                number += 1
                yield line
    except faults as error:
        raise InputError(file, number + 1, f"the {name} file is damaged or cut short: {error}") from None


def read_trees(path: str | Path, rules: LabelRules | None = None) -> Iterator[Tree]:
    """The trees of a bracket file, cleaned by `rules` (None: as written); those with nothing left are skipped."""
    any_tree = any_left = False
    with open_text(path) as lines:
        for tree in read_brackets(lines, _name(path)):
            any_tree = True
            cleaned = rules.clean(tree) if rules else tree
            if cleaned is not None:
                any_left = True
                yield cleaned
    if not any_left:
        reason = "nothing but empty categories" if any_tree else "the file is empty"
        raise LatreeError(f"{_name(path)}: no trees: {reason}")


def read_tree_lists(path: str | Path) -> Iterator[list[TreeAt]]:
    """The lists of trees in a bracket file, as written, with an empty line after each."""
    with open_text(path) as lines:
        yield from read_bracket_lists(lines, _name(path))


def read_partial_trees(path: str | Path) -> Iterator[PartialTree]:
    """The partial trees in a file, one a line; an empty line is a sentence without words."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            yield PartialTree.read(line, _name(path), number)


def format_by_name(path: str | Path) -> Format | None:
    """What the ending of the name tells."""
    plain = str(path).lower()
    for suffix in _PACKED_SUFFIXES:
        plain = plain.removesuffix(suffix)
    return _SUFFIXES.get(Path(plain).suffix)


def detect_format(path: str | Path, override: Format | None = None) -> Format:
    """Brackets or CoNLL-U: as the user says, else by the file's name, else by how it starts."""
    by_name = override or format_by_name(path)
    if by_name:
        return by_name
    start = ""
    if str(path) != "-":
        with open_text(path) as lines:
            start = next((line.strip() for line in lines if not line.isspace()), "")
    if start.startswith("("):
        return "ptb"
    if _CONLLU_START.match(start):
        return "conllu"
    unclear = "neither its name nor its start tells brackets from CoNLL-U"
    raise LatreeError(f"{_name(path)}: {unclear}; say --format ptb or --format conllu")


class TaggedSentence(NamedTuple):
    """The words of a sentence and a tag for each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]

    @classmethod
    def of_tree(cls, tree: Tree) -> Self:
        """Take the leaves of a cleaned tree."""
        return cls(tuple(tree.words()), tuple(tree.tags()))


class ConlluSentence(NamedTuple):
    """The numbered words of a CoNLL-U sentence with both tag columns; "_" where a column is not filled."""

    words: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]

    def fills(self, column: Column) -> bool:
        return any(tag != "_" for tag in getattr(self, column))

    def tagged(self, column: Column) -> TaggedSentence:
        return TaggedSentence(self.words, getattr(self, column))


def read_tagged(path: str | Path, column: Column | None = None, form: Format | None = None) -> Iterator[TaggedSentence]:
    """Words and tags of a CoNLL-U file, from `column`, or without one from UPOS where that is filled, else XPOS.

    Of a bracket file they are the leaves of its trees.
    """
    if detect_format(path, form) == "conllu":
        return _read_column(path, column)
    return map(TaggedSentence.of_tree, read_trees(path, LabelRules()))


def _read_column(path: str | Path, column: Column | None) -> Iterator[TaggedSentence]:
    """Have sentences wait for the first one that fills the column, which in most files is the first of all."""
    wanted: Column = column or "upos"
    other: Column = "xpos" if wanted == "upos" else "upos"
    sentences = read_conllu(path)
    waiting: list[ConlluSentence] = []
    for sentence in sentences:
        waiting.append(sentence)
        if sentence.fills(wanted):
            break
    else:
        other_fills = any(sentence.fills(other) for sentence in waiting)
        if column or not other_fills:
            hint = f"use column {other}, which is filled" if other_fills else f"and so is column {other}"
            raise LatreeError(f"{_name(path)}: column {wanted} is empty throughout; {hint}")
        wanted = other
    for sentence in waiting:
        yield sentence.tagged(wanted)
    for sentence in sentences:
        yield sentence.tagged(wanted)


def read_conllu(path: str | Path) -> Iterator[ConlluSentence]:
    """Read sentences of a CoNLL-U file: numbered words only, neither multiword lines (3-4) nor empty nodes (8.1)."""
    return (sentence for _, sentence in read_conllu_lines(path))


def retag(lines: Iterable[str], column: Column, tags: Sequence[str]) -> list[str]:
    """The lines of a sentence with one column filled; all else goes through as it came."""
    place, names = _COLUMNS.index(column), iter(tags)
    changed = []
    for line in lines:
        begin = line[: len(line) - len(line.lstrip())]  # which conllu passes over
        fields = _BETWEEN.split(line[len(begin) :])  # with what stands between them
        if fields[0].strip().isdecimal():  # neither a comment, nor a multiword line (3-4), nor an empty node (8.1)
            fields[2 * place] = next(names)
        changed.append(begin + "".join(fields))
    return changed


def read_conllu_lines(path: str | Path) -> Iterator[tuple[tuple[str, ...], ConlluSentence]]:
    """Read sentences with all their lines as they stand, comments too, to be changed and written again."""
    any_sentence = False
    with open_text(path) as lines:
        source = _SentenceLines(lines, _name(path))
        try:
            for tokens in conllu.parse_incr(cast(TextIO, source), fields=_COLUMNS):
                sentence = source.sentence(tokens)
                if sentence.words:
                    any_sentence = True
                    yield tuple(source.all), sentence
        except ParseException as error:
            raise source.fault(error) from None
    if not any_sentence:
        raise LatreeError(f"{_name(path)}: no sentences: the file is empty")


class _SentenceLines:
    """Lines for conllu that remember where the sentence being read stands, since conllu does not tell."""

    read = None  # conllu asks whether a file has it, and then only iterates

    def __init__(self, lines: Iterator[str], file: str) -> None:
        self.lines, self.file = lines, file
        self.all: list[str] = []  # the sentence's lines, without their ends
        self.tokens: list[tuple[int, str]] = []  # the same with their numbers, comments left out

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self.lines, start=1):
            if line.isspace():
                yield line  # upon which conllu parses the sentence, before it asks for more
                self.all.clear()
                self.tokens.clear()
                continue
            self.all.append(line.rstrip("\r\n"))
            if not line.lstrip().startswith("#"):
                if len(line.partition("\t")[0]) > _LONGEST_NUMBER:  # which conllu would take for a number
                    raise InputError(self.file, number, "not CoNLL-U: the line does not begin with a word's number")
                self.tokens.append((number, line))
            yield line

    def sentence(self, tokens: Iterable[Mapping[str, Any]]) -> ConlluSentence:
        """The numbered words of `tokens`; there is one token for each remembered line."""
        rows: list[tuple[str, str, str]] = []
        for token, (line, _) in zip(tokens, self.tokens, strict=True):
            number = token.get("id")
            if isinstance(number, tuple):
                continue
            if number != len(rows) + 1:
                hint = " (is a blank line missing between two sentences?)" if number == 1 else ""
                raise InputError(self.file, line, f"expected word {len(rows) + 1}, found {number or '_'}{hint}")
            if "form" not in token or "xpos" not in token:
                raise InputError(self.file, line, f"{len(token)} columns; expected 10, with tabs between them")
            if not token["form"]:
                raise InputError(self.file, line, f"word {number} is empty; write _ for a word that is not there")
            rows.append((token["form"], token["upos"] or "_", token["xpos"] or "_"))
        words, upos, xpos = zip(*rows, strict=True) if rows else ((), (), ())
        return ConlluSentence(words, upos, xpos)

    def fault(self, error: ParseException) -> InputError:
        """conllu's complaint with the line that it is about."""
        number = next((number for number, line in self.tokens if not _parses(line)), self.tokens[0][0])
        return InputError(self.file, number, f"not CoNLL-U: {error} Expected 10 columns with tabs between them.")


def _parses(line: str) -> bool:
    try:
        parse_line(line.strip(), _COLUMNS)
    except ParseException:
        return False
    return True
