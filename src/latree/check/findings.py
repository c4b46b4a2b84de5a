"""What is told of a place in a treebank that may be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

Kind = Literal["label", "tag", "attachment", "extra", "missing", "rule", "variation"]
NO_BRACKET = "no bracket"  # a text that no label is: labels have no spaces


@dataclass(frozen=True)
class Finding:
    """A place that may be wrong; the higher its score, the likelier that it is.

    Scores are log odds, in nats: by how much the model prefers another annotation to the one that is there.
    """

    kind: Kind
    start: int  # its first word, from 0
    end: int  # the word after its last
    gold: str  # the label that is there
    expected: str  # the label that should be
    score: float
    expected_span: tuple[int, int] | None = None  # where that is not the same
    given_words: float | None = None  # log odds by the words alone
    given_rest: float | None = None  # log odds where the rest of the tree is right; None where there is no telling
    tree: str = ""  # the sentence's
    suggestion: str = ""  # a tree that the model would have instead
    note: str = ""
    elsewhere: tuple[str, ...] = ()  # of variation: how and where the same words are annotated otherwise
    file: str = ""
    sentence: int = 0  # from 1, in its file

    def at(self, file: str, sentence: int) -> Finding:
        """The same of a known sentence."""
        return replace(self, file=file, sentence=sentence)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not known is null."""
        first = {"sentence": self.sentence, "file": self.file, "score": round(self.score, 4)}
        return first | {name: value for name, value in asdict(self).items() if name not in first}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        values = {field.name: data[field.name] for field in fields(cls)}
        for name in ("expected_span", "elsewhere"):
            values[name] = None if values[name] is None else tuple(values[name])
        return cls(**values)


def worst_first(findings: list[Finding]) -> list[Finding]:
    """By score; of equal ones, in the order of the treebank."""
    return sorted(findings, key=lambda one: -one.score)
