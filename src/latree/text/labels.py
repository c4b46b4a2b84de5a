"""The rules that clean a treebank's labels: settings of the user, with a name for the common ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

from latree.errors import LatreeError
from latree.options import option
from latree.text.tree import Tree


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
    empties: tuple[str, ...] = ("-NONE-",)  # tags of words that are not there; nodes that they leave empty go too
    collapse: bool = True  # whether a phrase that is the only child of a phrase of the same label goes
    wrappers: tuple[str, ...] = ("", "ROOT", "TOP", "top", "S1", "VROOT")  # labels of outer brackets that say nothing
    root: str = "ROOT"  # the label on top of every cleaned tree, in place of a wrapper

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
            return Tree(self.tag(node.label), word=node.word)
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
        return _clean_label(label, self.phrase_cuts, self.prefix_end)

    def tag(self, label: str) -> str:
        """The clean label of a word."""
        return _clean_label(label, self.tag_cuts, self.prefix_end)


PRESETS: dict[str, LabelRules] = {
    "penn": LabelRules(),
    "floresta": LabelRules(prefix_end="+"),
    "cess": LabelRules(phrase_cuts="-=."),
    "raw": LabelRules(phrase_cuts="", empties=(), collapse=False),
    "no-punctuation": LabelRules(empties=("-NONE-", ",", ".", ":", "``", "''")),
}


@lru_cache(maxsize=1 << 16)
def _clean_label(label: str, cuts: str, prefix_end: str) -> str:
    if prefix_end:
        label = label.rpartition(prefix_end)[2] or label
    end = next((i for i, character in enumerate(label) if character in cuts), None)
    return label[:end] if end else label
