"""Grammar files (`.gr`) of the Berkeley parser: gzipped Java serialisation.

Rules, split trees, counts and smoothing weights are all there, so nothing is lost.  What latree does otherwise than
that program is in the search, not in the model.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latree.arrays import NONE, Floats
from latree.errors import LatreeError
from latree.importers.common import Parts, SplitTree, Words, assemble, symbol_of
from latree.kinds.lvg.model import Lvg
from latree.lexicon.options import LexiconOptions
from latree.text.binary import Binarization, Symbol

GZIP, JAVA = b"\x1f\x8b", b"\xac\xed"  # how such files begin
_SCHEMES = {5: "english", 4: "english4"}


def read_gr(path: str | Path) -> Lvg:
    """The model of a `.gr` file."""
    data = _fields(_load(path))
    try:
        return assemble(_parts(data))
    except KeyError as error:
        raise LatreeError(f"{path}: no Berkeley grammar of a known version: it lacks {error}") from None
    except LatreeError as error:
        raise LatreeError(f"{path}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LatreeError(f"{path}: no Berkeley grammar of a known version, or damaged: {error}") from None


def _load(path: str | Path) -> Any:
    """The object graph; nothing in the file is run."""
    try:
        from javaobj.v2.main import load
    except ImportError:
        raise LatreeError(f"{path}: reading it needs javaobj-py3: pip install latree[import]") from None
    try:
        data = Path(path).read_bytes()
        return load(io.BytesIO(gzip.decompress(data) if data.startswith(GZIP) else data))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LatreeError(f"{path}: the file is damaged: {error}") from None
    except OSError as error:
        raise LatreeError(f"{path}: cannot be read: {error.strerror or error}") from None
    except Exception as error:  # javaobj raises whatever comes its way
        raise LatreeError(f"{path}: not Java serialisation, or damaged: {error}") from None


def _fields(instance: Any) -> dict[str, Any]:
    """List the fields of a Java object by name, those of its superclasses among them."""
    if not hasattr(instance, "field_data"):
        raise LatreeError(f"expected a Java object and found {type(instance).__name__}")
    return {field.name: value for fields in instance.field_data.values() for field, value in fields.items()}


def _class_name(instance: Any) -> str:
    return str(instance.classdesc.name).rpartition(".")[2]


def _parts(data: Mapping[str, Any]) -> Parts:
    grammar = _fields(data["gr"])
    if grammar["logarithmMode"]:
        raise LatreeError(
            "a discriminatively trained grammar, whose weights are no probabilities; it has no place here"
        )
    symbols = _symbols(grammar)
    size = [int(n) for n in grammar["numSubStates"]]
    trees = {k: _split_tree(tree) for k, tree in enumerate(grammar["splitTrees"]) if tree is not None}
    return Parts(
        symbols,
        {k: tree for k, tree in trees.items() if size[k] > 1 or symbols[k].kind != "root"},
        dict(_rules(grammar, size)),
        _binarization(data),
        _words(data["lex"], size),
    )


def _binarization(data: Mapping[str, Any]) -> Binarization:
    name, horizontal, vertical = str(data["bin"].constant), int(data["h_markov"]), int(data["v_markov"])
    if name not in ("RIGHT", "LEFT") or horizontal != 0 or vertical != 1:
        raise LatreeError(
            f"binarised {name}, horizontal {horizontal}, vertical {vertical}; "
            "only RIGHT or LEFT with horizontal 0 and vertical 1 can be imported"
        )
    return Binarization("right" if name == "RIGHT" else "left", horizontal, vertical)


def _symbols(grammar: Mapping[str, Any]) -> list[Symbol]:
    """By number.  Phrases are marked `^g` against tags of the same name; parts begin with `@`."""
    numberer = _fields(grammar["tagNumberer"])
    names = {int(_fields(number)["i"]): str(name) for number, name in numberer["intToObject"].items()}
    return [symbol_of(names[k], k == 0, bool(grammar["isGrammarTag"][k])) for k in range(len(names))]


def _split_tree(tree: Any) -> SplitTree:
    """The children of a leaf are an empty list of Java's own, which javaobj does not take for a list."""
    fields = _fields(tree)
    children = fields["children"] if isinstance(fields["children"], list) else []
    return SplitTree(int(_fields(fields["label"])["value"]), [_split_tree(child) for child in children])


def _rules(grammar: Mapping[str, Any], size: Sequence[int]) -> Iterator[tuple[tuple[int, int, int], Floats]]:
    """Tensors [parent, left, right]; the file's are [left][right][parent], with nothing where all would be zero."""
    for rule in map(_fields, grammar["binaryRuleMap"]):
        a, b, c = int(rule["parentState"]), int(rule["leftChildState"]), int(rule["rightChildState"])
        tensor = np.zeros((size[b], size[c], size[a]))
        for y, row in enumerate(rule["scores"]):
            for z, scores in enumerate(row if row is not None else ()):
                if scores is not None:
                    tensor[y, z] = scores
        yield (a, b, c), tensor.transpose(2, 0, 1)
    for rule in map(_fields, grammar["unaryRuleMap"]):
        a, b = int(rule["parentState"]), int(rule["childState"])
        if a == b or _is_chain(grammar, a, b):
            continue
        matrix = np.zeros((size[b], size[a]))
        for y, scores in enumerate(rule["scores"]):
            if scores is not None:
                matrix[y] = scores
        yield (a, b, NONE), matrix.T[:, :, None]


def _is_chain(grammar: Mapping[str, Any], parent: int, child: int) -> bool:
    """Whether a unary rule stands for a chain: the program writes its chains among the rules they were made from.

    Of each it notes a symbol in between, which is never the root (number 0); of a true rule it notes -1.
    """
    between = grammar["closedSumPaths"]
    return between is not None and int(between[parent][child]) > 0


# --- the lexicon


def _words(instance: Any, size: Sequence[int]) -> Words:
    if _class_name(instance) != "SophisticatedLexicon":
        raise LatreeError(f"its lexicon is a {_class_name(instance)}; only the usual one can be imported")
    lexicon = _fields(instance)
    level = int(lexicon["unknownLevel"])
    if level not in _SCHEMES:
        raise LatreeError(f"unknown words are classed at level {level}; only levels 4 and 5 can be imported")
    words = _vectors(lexicon["wordToTagCounters"])
    unknown, known = (float(weight) for weight in lexicon["smooth"])
    options = LexiconOptions(
        rare=_rare(words, float(lexicon["totalUnseenTokens"])),
        known=known,
        often=int(lexicon["smoothInUnknownsThreshold"]),
        unknown=unknown,
    )
    signatures = _vectors(lexicon["unseenWordToTagCounters"])
    return Words(words, signatures, _SCHEMES[level], options, _smoothing(lexicon["smoother"], size))


def _vectors(by_tag: Any) -> dict[int, dict[str, Floats]]:
    return {
        tag: {str(item): np.array(list(counts), np.float64) for item, counts in table.items()}
        for tag, table in enumerate(by_tag)
        if table is not None
    }


def _rare(words: Mapping[int, Mapping[str, Floats]], unseen: float) -> int:
    """The count up to which words are rare is not in the file, but the number of their tokens is."""
    totals: dict[str, float] = {}
    for table in words.values():
        for word, counts in table.items():
            totals[word] = totals.get(word, 0.0) + float(counts.sum())
    tokens = np.bincount(np.rint(list(totals.values())).astype(np.int64), weights=list(totals.values()))
    return int(np.argmin(np.abs(np.cumsum(tokens) - unseen)))


def _smoothing(smoother: Any, size: Sequence[int]) -> dict[int, Floats]:
    """How P(w | t_x) is mixed.  A subtype alone on its side of the first split loses mass there, as in the original."""
    name = _class_name(smoother)
    if name == "NoSmoothing":
        return {tag: np.eye(n) for tag, n in enumerate(size)}
    if name != "SmoothAcrossParentBits":
        raise LatreeError(f"words are smoothed by {name}, which is not known here")
    weights = _fields(smoother)["diffWeights"]
    return {tag: np.array([list(row) for row in matrix], np.float64) for tag, matrix in enumerate(weights)}
