"""Score a model on examples that it did not learn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from latree.kinds.parser import Parser
from latree.scoring.score import Scores, TagScores, score_tags, score_trees
from latree.text.labels import LabelRules
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs


def gold_trees(trees: Iterable[Tree], labels: LabelRules) -> list[Tree]:
    """The trees as they are scored; what has no words left is left out."""
    cleaned = (labels.for_scoring().clean(tree) for tree in trees)
    return [tree for tree in cleaned if tree is not None]


def score(model: Any, examples: Sequence[Any], jobs: Jobs = 1) -> Scores | TagScores:
    """Brackets of trees, or tags; a parse that failed has no brackets."""
    if isinstance(model, Parser):
        gold = gold_trees(examples, model.labels)
        parses = model.parse_all((tree.words() for tree in gold), jobs)
        return score_trees(gold, [one.tree if one.status == "ok" else None for one in parses])
    tagged = model.tag_all((words for words, _ in examples), jobs)
    return score_tags(examples, [(one.tokens, one.tags) for one in tagged])


def figure(scores: Scores | TagScores) -> float:
    """The one figure that a model is judged by, in per cent: strict F1 of brackets, or tags that are right.

    EVALB's F1 leaves out sentences whose punctuation got other tags, and so speaks well of bad ones.
    """
    return float(scores.to_json()["f1_strict" if isinstance(scores, Scores) else "token"])
