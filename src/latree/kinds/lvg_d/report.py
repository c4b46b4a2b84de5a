"""The report on a log-linear grammar: of each category what training moved most, and what it divided most."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latree.kinds.lvg_d.changes import GROUPS, Changes, Sketch
from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.report import Ask, Facts, Overview, assemble, facts, place_of, refuse_sums
from latree.report.value import Branch, Cell, Column, Outline, Paragraph, Report, Section, Table

MOVED = (Column(), Column(kind="figure"), Column(pattern="weight {:.3g}", kind="figure"))
LEGEND = (
    "Beside each production stand delta, what training added to its log weight, and its weight, the mean over all the "
    "subtypes that it stands for. Weights need not sum to one. NP-* is NP of any subtype, NP-2..3 of subtypes 2 to 3. "
    "Spans, where they have features, are told by their first and last words and those before and after."
)


def report(model: LoglinearModel, ask: Ask) -> Report:
    """The report on a log-linear grammar."""
    refuse_sums(ask, "weights that are no probabilities")
    changes = Changes(model)
    heads = ("subtypes", *(name + ", divided" * changes.has_scales for name in ("rules", "words")))
    columns = tuple(map(Column, heads))
    overview = Overview(changes.names, changes.size, "parameters", columns, lambda s: _extents(changes, s))
    return assemble(ask, overview, lambda s: _section(changes, s, ask.top), lambda: _facts(changes), LEGEND)


def _facts(changes: Changes) -> Facts:
    own = [("weights", f"exp(base + delta); the base is {_base(changes)}")]
    for of_words, name, productions in ((False, "rule", "rules"), (True, "word", "lexical rules")):
        extent = changes.extent(None, of_words)
        share = f"{extent.kept / max(extent.dense, 1):.1%} of a dense grammar's"
        own.append((f"{name} parameters", f"{extent} {productions}, {share}"))
        own += [(f"{productions} divided", extent.times)] if changes.has_scales else []
    if changes.model.spans is not None:
        moved = np.count_nonzero(changes.delta[len(changes.production) :])
        own.append(("span features", f"{len(changes.model.spans.key):,}, of which {moved:,} moved"))
    return facts(changes.model, own)


def _base(changes: Changes) -> str:
    if changes.model.options.start == "zero":
        return "the same for all rules and words"
    return "the generative grammar" + (", as finely as productions are divided" if changes.has_scales else "")


def _extents(changes: Changes, symbol: int) -> tuple[Cell, ...]:
    """Subtypes, and what the rules and the words have: parameters, and how often they are divided."""
    cells = [str(changes.model.size[symbol])]
    for extent in (changes.extent(symbol, of_words) for of_words in (False, True)):
        if not extent.productions:
            cells.append("")
        elif changes.has_scales:
            cells.append(f"{extent.kept:,} of {extent.dense:,}: {extent.times}")
        else:
            cells.append(f"{extent.kept:,} in {extent.productions:,}")
    return tuple(cells)


def _section(changes: Changes, symbol: int, top: int) -> Section:
    size, place = int(changes.model.size[symbol]), place_of(symbol)
    sketch = changes.sketch(symbol)
    divided = () if sketch is None else (Outline(_branch(changes, sketch), "the most divided"),)
    return Section(
        changes.names.name(symbol),
        place,
        changes.names.about(symbol, f"{size} subtypes" if size > 1 else ""),
        (*map(Paragraph, _parameters(changes, symbol)), *divided),
        tuple(_cards(changes, symbol, top)),
    )


def _parameters(changes: Changes, symbol: int) -> Iterator[str]:
    for of_words, name in ((False, "rules"), (True, "lexical rules")):
        extent = changes.extent(symbol, of_words)
        if extent.productions:
            yield f"parameters: {extent} {name}" + (f", divided: {extent.times}" if changes.has_scales else "")
    if of_spans := np.count_nonzero((changes.owner == symbol) & (changes.kind == GROUPS.index("spans"))):
        yield f"parameters: {of_spans:,} features of spans"


def _cards(changes: Changes, symbol: int, top: int) -> Iterator[Section]:
    """What moved most, by kind and direction; nothing of what there is none of."""
    for number, kind in enumerate(GROUPS):
        for up, where in ((True, "up"), (False, "down")):
            moved = changes.moved(symbol, kind, up, top)
            rows = tuple((changes.describe(one.number), f"delta {one.signed_delta}", one.weight) for one in moved)
            if rows:
                card = place_of(symbol, 2 * number + up)
                yield Section(f"{kind} moved {where}", card, blocks=(Table(MOVED, rows),))


def _branch(changes: Changes, sketch: Sketch) -> Branch:
    """The nodes that moved most."""
    below = [_branch(changes, child) for child in sketch.children]
    below += [Branch(f"({sketch.omitted} that moved less)")] if sketch.omitted else []
    return Branch(f"{changes.describe(sketch.node.number)}  {sketch.node.signed_delta}", tuple(below))
