"""The rules that clean a treebank's labels: settings of the user, with a name for the common ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

from latree.errors import LatreeError
from latree.options import option
from latree.text.tree import Tree

TRACE = "-NONE-"  # the Penn treebank's tag of words that are not there
FUNCTION_MARKS = "-="  # what functions and indices stand after
NO_TAGS = "none"


@dataclass(frozen=True)
class LabelRules:
    """How a treebank's labels are cleaned.  A label that would be cut at its first character keeps itself."""

    phrase_cuts: str = option(
        "-=",
        "Characters at which the label of a phrase is cut off: with -= the label NP-SBJ=2 is read as NP.",
        shown="-= ; another where --labels says so",
    )
    tag_cuts: str = option(
        "",
        "Characters at which the label of a word is cut off, where a dash is no part of the tag.",
        shown="none: tags are kept whole",
    )
    prefix_end: str = option(
        "",
        "Character up to which the beginning of a label is dropped: with + the label SUBJ+np is read as np.",
        shown="none, unless --labels says so",
    )
    empties: tuple[str, ...] = option(
        (TRACE,),
        "Tags of words that are not there, such as traces: these go, and phrases that they leave empty.  Names with "
        "spaces between them, or none.",
        shown="-NONE-, unless --labels says so",
        read=lambda text: () if text == NO_TAGS else tuple(text.split()),
    )
    collapse: bool = True  # whether a phrase that is the only child of a phrase of the same label goes
    wrappers: tuple[str, ...] = ("", "ROOT", "TOP", "top", "S1", "VROOT")  # labels of outer brackets that say nothing
    root: str = "ROOT"  # the label on top of every cleaned tree, in place of a wrapper
    index_marks: str = ""  # characters after which a number is no part of a phrase's label, nor of a trace

    def to_json(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LabelRules:
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise LatreeError(f"unknown label rule {', '.join(sorted(unknown))}")
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        for one in fields(cls):
            value = values.get(one.name, one.default)
            named = all(isinstance(name, str) for name in value) if isinstance(value, tuple) else True
            if type(value) is not type(one.default) or not named:
                raise LatreeError(f"the label rule {one.name} cannot be {value!r}")
        return cls(**values)

    @classmethod
    def named(cls, name: str) -> LabelRules:
        """The preset of this name, one of `PRESETS`."""
        if name not in PRESETS:
            raise LatreeError(f"unknown label rules {name!r}; expected one of {', '.join(PRESETS)}")
        return PRESETS[name]

    def for_scoring(self) -> LabelRules:
        """Make the rules for gold and predicted trees: EVALB counts a phrase over a phrase of the same label twice."""
        return replace(self, collapse=False)

    def with_functions(self) -> LabelRules:
        """Make the rules that leave functions, such as SBJ in NP-SBJ, where these would cut them off."""
        cuts = "".join(one for one in self.phrase_cuts if one not in FUNCTION_MARKS)
        return replace(self, phrase_cuts=cuts, index_marks=FUNCTION_MARKS)

    def clean(self, tree: Tree) -> Tree | None:
        """The tree with one root on top and clean labels below; None where only empty categories were."""
        top = tree.fold(self._clean_node)
        if top is None:
            return None
        while self._is_wrapper(top) and len(top.children) == 1 and self._is_wrapper(top.children[0]):
            top = top.children[0]
        return Tree(self.root, top.children if self._is_wrapper(top) else [top])

    def _clean_node(self, node: Tree, cleaned: list[Tree | None]) -> Tree | None:
        if node.word is not None:
            if node.label in self.empties:
                return None
            word = self._without_index(node.word) if node.label == TRACE else node.word
            return Tree(self.tag(node.label), word=word)
        children = [child for child in cleaned if child is not None]
        label = self.phrase(node.label)
        if self.collapse and len(children) == 1 and children[0].label == label and not children[0].is_leaf:
            return children[0]
        return Tree(label, children) if children else None

    def _is_wrapper(self, node: Tree) -> bool:
        return not node.is_leaf and self.says_nothing(node.label)

    def says_nothing(self, label: str) -> bool:
        """Whether a label on top of a tree is that of the root, or of a bracket that it replaces."""
        return label in self.wrappers or label == self.root

    def phrase(self, label: str) -> str:
        """The clean label of a phrase."""
        return self._without_index(_clean_label(label, self.phrase_cuts, self.prefix_end))

    def _without_index(self, label: str) -> str:
        return _drop_index(label, self.index_marks) if self.index_marks else label

    def tag(self, label: str) -> str:
        """The clean label of a word."""
        return _clean_label(label, self.tag_cuts, self.prefix_end)


PRESETS: dict[str, LabelRules] = {
    "penn": LabelRules(),
    "floresta": LabelRules(prefix_end="+"),
    "cess": LabelRules(phrase_cuts="-=."),
    "raw": LabelRules(phrase_cuts="", empties=(), collapse=False),
    "functions": LabelRules().with_functions(),
    "no-punctuation": LabelRules(empties=("-NONE-", ",", ".", ":", "``", "''")),
}


@lru_cache(maxsize=1 << 16)
def _clean_label(label: str, cuts: str, prefix_end: str) -> str:
    if prefix_end:
        label = label.rpartition(prefix_end)[2] or label
    end = next((i for i, character in enumerate(label) if character in cuts), None)
    return label[:end] if end else label


def category(label: str) -> str:
    """What stands before functions and indices: NP of NP-SBJ-1."""
    return _clean_label(label, FUNCTION_MARKS, "")


@lru_cache(maxsize=1 << 16)
def _drop_index(label: str, marks: str) -> str:
    """Leave out the parts of a label that are numbers, with the marks before them; the first part stays."""
    parts = re.split(f"(?<=.)([{re.escape(marks)}])", label)
    kept = [mark + part for mark, part in zip(parts[1::2], parts[2::2], strict=True) if not part.isdecimal()]
    return parts[0] + "".join(kept)
