"""Subtypes against functions: what a grammar that never saw function labels has learned of subjects and objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.compare.agreement import Agreement
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg.subtypes_in_trees import Place, Posterior, posteriors_in_tree
from latree.report.value import Cell, Column, Paragraph, Report, Section, Table
from latree.scoring.functions import functions_of
from latree.text.labels import LabelRules, category
from latree.text.tree import Tree

Totals = dict[str, dict[str, dict[str, float]]]  # by category, subtype and function
NO_FUNCTION = "(none)"
SHOWN = 8  # functions of a category that have a column of their own
LEAST = 20  # nodes of a category, of which something can be said


class Uses(NamedTuple):
    """How often each subtype of a category is expected to have each function, in trees that the model was given."""

    label: str
    subtypes: list[str]  # their names, the commonest first
    functions: list[str]  # the commonest first
    counts: Floats  # [subtypes, functions]

    @property
    def agreement(self) -> Agreement:
        return Agreement.of(self.counts)


def functions_by_place(tree: Tree, rules: LabelRules) -> dict[Place, list[str]]:
    """The functions of every phrase, by place, chains of one category from the lowest up; those of one joined."""
    cleaned = rules.with_functions().clean(tree)
    places: dict[Place, list[str]] = defaultdict(list)
    for label, start, end in reversed(list(cleaned.spans())) if cleaned is not None else ():
        places[category(label), start, end].append("-".join(functions_of(label)) or NO_FUNCTION)
    return places


class Study(NamedTuple):
    """What came of looking at trees."""

    uses: list[Uses]  # of every category that has functions, the commonest first
    trees: int
    derived: int  # of these by the model; the others say nothing


def study_functions(model: Lvg, trees: Iterable[Tree]) -> Study:
    """Count how often which subtypes have which functions, over trees as they are in a treebank."""
    totals: Totals = defaultdict(lambda: defaultdict(lambda: defaultdict(float)))
    seen = derived = 0
    for tree in trees:
        seen += 1
        for binary in model.prepare_data([tree]):  # none of a tree that has no words
            nodes = posteriors_in_tree(model, binary)
            derived += bool(nodes)
            _add(totals, model, nodes, functions_by_place(tree, model.labels))
    found = (_uses(label, table) for label, table in totals.items())
    uses = sorted((one for one in found if len(one.functions) > 1), key=lambda one: -one.counts.sum())
    return Study(uses, seen, derived)


def _add(
    totals: Totals, model: Lvg, nodes: Mapping[Place, Sequence[Posterior]], functions: Mapping[Place, list[str]]
) -> None:
    """Add what one tree tells."""
    for place, chain in nodes.items():
        for (symbol, shares), function in _paired(chain, functions.get(place, [])):
            for subtype, share in enumerate(shares.tolist()):
                totals[place[0]][f"{model.grammar.symbols[symbol]}-{subtype}"][function] += share


def _paired(nodes: Sequence[Posterior], functions: list[str]) -> Iterator[tuple[Posterior, str]]:
    """Give each node of a chain its function.

    Where the model's rules made one node of several, the one that is left has what any of them has.
    """
    if functions and len(nodes) < len(functions):
        named = [function for function in functions if function != NO_FUNCTION] or [NO_FUNCTION]
        functions = [*functions[: len(nodes) - 1], named[-1]]
    yield from zip(nodes, functions, strict=False)


def _uses(label: str, table: dict[str, dict[str, float]]) -> Uses:
    """Bring the counts of a category into order."""
    totals: dict[str, float] = defaultdict(float)
    for row in table.values():
        for function, count in row.items():
            totals[function] += count
    functions = sorted(totals, key=lambda name: -totals[name])
    subtypes = sorted(table, key=lambda name: -sum(table[name].values()))
    counts = np.array([[table[subtype].get(function, 0.0) for function in functions] for subtype in subtypes])
    return Uses(label, subtypes, functions, counts)


# -- the report


def functions_report(study: Study, file: str) -> Report:
    """Tell of each category which of its subtypes has which functions."""
    told = [one for one in study.uses if one.counts.sum() >= LEAST]
    if not told:
        return Report(blocks=(Paragraph(f"{file}: no category with functions has {LEAST} nodes or more."),))
    about = "how much of the uncertainty about a phrase's function its subtype takes away, and the other way round"
    heads = ("category", "nodes", "subtypes", "functions", "bits of function", "told by subtype", "told by function")
    columns = (Column(heads[0]), *(Column(head, "{:,.0f}", "figure") for head in heads[1:4]))
    columns += (Column(heads[4], "{:.2f}", "figure"), *(Column(head, "{:.0f} %", "figure") for head in heads[5:]))
    overview = Table(columns, tuple(_overview_row(one) for one in told), f"subtypes and functions: {about}")
    return Report(
        "Subtypes against functions",
        (
            ("trees", f"{study.derived:,} of {study.trees:,} in {file}, those that the grammar derives"),
            ("functions", "what stands after the category; the grammar never saw them"),
        ),
        (overview,),
        tuple(Section(one.label, f"f{k}", _about(one), (_shares(one),)) for k, one in enumerate(told)),
    )


def _overview_row(uses: Uses) -> tuple[Cell, ...]:
    agreement = uses.agreement
    sizes = (float(uses.counts.sum()), len(uses.subtypes), len(uses.functions))
    return (uses.label, *sizes, agreement.columns, agreement.of_columns, agreement.of_rows)


def _about(uses: Uses) -> str:
    return f"{uses.counts.sum():,.0f} nodes; of each subtype, how many of a hundred have each function"


def _shares(uses: Uses) -> Table:
    """A row a subtype, the commonest functions in columns, the others in one more where there are any."""
    shown = uses.functions[:SHOWN]
    heads = [*shown, "others"] if len(uses.functions) > SHOWN else shown
    columns = (Column("subtype"), Column("nodes", "{:,.0f}", "figure"))
    rows = (_share_row(*pair) for pair in zip(uses.subtypes, uses.counts, strict=True))
    return Table((*columns, *(Column(head, "{:.0f}", "figure") for head in heads)), tuple(rows))


def _share_row(subtype: str, counts: Floats) -> tuple[Cell, ...]:
    total = float(counts.sum())
    shares = (100 * counts / max(total, 1e-300)).tolist()
    others = (sum(shares[SHOWN:]),) if len(shares) > SHOWN else ()
    return (subtype, total, *shares[:SHOWN], *others)
