"""latree show: what a model holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from latree.cli import common
from latree.errors import LatreeError

if TYPE_CHECKING:
    from rich.table import Table

    from latree.kinds.gm_lveg.model import GaussianModel
    from latree.kinds.gm_lveg.showcase import VectorShowcase
    from latree.kinds.lvg_d.model import LoglinearModel
    from latree.kinds.lvg_d.showcase import LoglinearShowcase
    from latree.kinds.model import ForestModel
    from latree.kinds.showcase import Rule, Showcase, SplitNode, Subtype, Use, Word
    from latree.kinds.svs.model import Svs
    from latree.kinds.svs.showcase import SvsShowcase

TOP, TOP_ON_PAGE = 5, 8
_BAR = 12  # columns for the largest number of subtypes, components or parameters
_NAME = 30  # letters of a category's name


def show(
    model: Path = common.MODEL,
    symbol: str = typer.Option(None, "--symbol", help="The subtypes of the categories of this name."),
    top: int = typer.Option(None, "--top", min=1, help=f"Rules and words to show: {TOP}, on a page {TOP_ON_PAGE}."),
    summed: bool = typer.Option(False, "--summed", help="Rules whatever the subtypes of the children."),
    html: Path = typer.Option(None, "--html", help="Write all of it to this file, a page for a browser."),
    json_output: bool = typer.Option(False, "--json", help="The header of the model file as JSON."),
) -> None:
    """What the model was made of, its categories with their subtypes, and what each is likely to be.

    Of latent vectors instead of subtypes: where the rules and words of a category lie. Of weights that were trained to
    tell right trees from wrong ones: which of them training moved most, and how finely rules are divided. Of concepts
    that all categories share: how common each is, and its likeliest headwords.
    """
    if sum([symbol is not None, html is not None, json_output]) > 1:
        raise typer.BadParameter("--symbol, --html and --json exclude one another: the page and the header hold all")
    loaded = common.load_model(model)
    exhibit = _exhibit(loaded, summed, top or (TOP if html is None else TOP_ON_PAGE))
    if json_output:
        header, _ = loaded.state()
        typer.echo(json.dumps({"kind": loaded.kind, **header}, ensure_ascii=False, indent=1))
    elif html is not None:
        _write_page(exhibit.page("English" if model is None else model.name), html)
    elif symbol is not None:
        _print_lines(_details(exhibit, symbol))
    else:
        _print_lines(f"{name}: {value}" for name, value in exhibit.facts())
        _print_tables(exhibit.tables())


@dataclass(frozen=True)
class _Exhibit:
    """What there is to show of a model, and how."""

    plain: Showcase  # of the categories by name
    facts: Callable[[], list[tuple[str, str]]]
    tables: Callable[[], Iterable[Table]]  # of all categories
    lines: Callable[[list[int]], Iterator[str]]  # all that there is to say of the categories of one name
    page: Callable[[str], str]  # with this title


@dataclass(frozen=True)
class _Overview:
    """How all categories are listed."""

    showcase: Showcase | VectorShowcase | LoglinearShowcase
    measure: str | None  # what the size of a category is
    columns: tuple[str, ...]
    describe: Callable[[int], tuple[str, ...]]  # a category, for these columns


def _exhibit(model: ForestModel[Any], summed: bool, top: int) -> _Exhibit:
    from latree.kinds.gm_lveg.model import GaussianModel
    from latree.kinds.lvg_d.model import LoglinearModel
    from latree.kinds.svs.model import Svs

    if isinstance(model, GaussianModel | LoglinearModel | Svs) and summed:
        what = "concepts that all categories share" if isinstance(model, Svs) else "weights that are no probabilities"
        what = "latent vectors" if isinstance(model, GaussianModel) else what
        raise LatreeError(f"--summed is for the probabilities of discrete subtypes; this model has {what}")
    if isinstance(model, GaussianModel):
        return _of_vectors(model, top)
    if isinstance(model, LoglinearModel):
        return _of_weights(model, top)
    if isinstance(model, Svs):
        return _of_concepts(model, top)
    return _of_subtypes(model, summed, top)


def _of_subtypes(model: ForestModel[Any], summed: bool, top: int) -> _Exhibit:
    from latree.kinds.showcase import Showcase, facts
    from latree.kinds.showcase_html import page

    showcase = Showcase(model)
    measure = "subtypes" if showcase.has_subtypes else None
    overview = _Overview(showcase, measure, ("likeliest",), lambda symbol: (_likeliest(showcase, symbol, top),))
    return _Exhibit(
        showcase,
        partial(facts, model),
        partial(_tables, overview),
        _one_by_one(lambda symbol: _category(showcase, symbol, top, summed)),
        lambda title: page(model, title, top, summed),
    )


def _of_vectors(model: GaussianModel, top: int) -> _Exhibit:
    from latree.kinds.gm_lveg.showcase import VectorShowcase, category_lines
    from latree.kinds.gm_lveg.showcase_html import vector_page

    showcase = VectorShowcase(model)
    overview = _Overview(showcase, "components", ("likeliest",), lambda symbol: (_heaviest(showcase, symbol, top),))
    return _Exhibit(
        showcase.plain,
        showcase.facts,
        partial(_tables, overview),
        _one_by_one(lambda symbol: category_lines(showcase, symbol, top)),
        lambda title: vector_page(model, title, top),
    )


def _of_weights(model: LoglinearModel, top: int) -> _Exhibit:
    from latree.kinds.lvg_d.showcase import LoglinearShowcase, category_lines
    from latree.kinds.lvg_d.showcase_html import loglinear_page

    showcase = LoglinearShowcase(model)
    columns = ("subtypes", *(name + ", divided" * showcase.has_scales for name in ("rules", "words")))
    overview = _Overview(showcase, "parameters", columns, lambda symbol: _extents(showcase, symbol))
    return _Exhibit(
        showcase.plain,
        showcase.facts,
        partial(_tables, overview),
        _one_by_one(lambda symbol: category_lines(showcase, symbol, top)),
        lambda title: loglinear_page(model, title, top),
    )


def _of_concepts(model: Svs, top: int) -> _Exhibit:
    from latree.kinds.svs.showcase import SvsShowcase, category_lines

    def no_page(title: str) -> str:
        raise LatreeError(
            f"--html: there is no page for a model of kind {model.kind}; `latree show` prints its concepts"
        )

    showcase = SvsShowcase(model)
    return _Exhibit(
        showcase.plain,
        showcase.facts,
        lambda: [_concept_table(showcase, top)],
        lambda symbols: category_lines(showcase, symbols, top),
        no_page,
    )


def _one_by_one(lines: Callable[[int], Iterator[str]]) -> Callable[[list[int]], Iterator[str]]:
    """What is said of each category of a name, with an empty line between them."""

    def told(symbols: list[int]) -> Iterator[str]:
        for place, symbol in enumerate(symbols):
            if place:
                yield ""
            yield from lines(symbol)

    return told


def _write_page(text: str, path: Path) -> None:
    from latree.files import write_atomically

    write_atomically(path, text.encode())
    common.note(f"written to {path}")


# -- all categories


def _print_tables(tables: Iterable[Table]) -> None:
    from rich.console import Console

    for table in tables:
        Console(emoji=False).print("", table)


def _tables(exhibit: _Overview) -> Iterator[Table]:
    """One for each kind of symbol, the largest first by what is measured."""
    from latree.kinds.showcase import GROUPS

    showcase = exhibit.showcase
    most = max(map(showcase.size, showcase.by_size))
    for kinds, title in GROUPS:
        rows = []
        for symbol in (s for s in showcase.by_size if showcase.grammar.symbols[s].kind in kinds):
            size = showcase.size(symbol)
            number = [f"{size}", "━" * max(1, round(size * _BAR / most))] if exhibit.measure else []
            rows.append([_plain(showcase.name(symbol), _NAME), *number, *exhibit.describe(symbol)])
        if rows:
            yield _table(title, exhibit, rows)


def _table(title: str, exhibit: _Overview, rows: list[list[str]]) -> Table:
    """Categories by the number of their subtypes, as in Petrov (2009), figure 2, or of what else is measured; columns
    without a word are left out."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(title, max_width=_NAME, overflow="fold")
    if exhibit.measure:
        table.add_column(exhibit.measure, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True, min_width=1)
    fixed = len(table.columns)
    used = [place < fixed or any(cells) for place, cells in enumerate(zip(*rows, strict=True))]
    for name in compress(exhibit.columns, used[fixed:]):
        table.add_column(name, overflow="fold", min_width=len(name))
    for row in rows:
        table.add_row(*map(Text, compress(row, used)))
    return table


def _concept_table(showcase: SvsShowcase, top: int) -> Table:
    """Concepts by their shares, with the headwords that P(h | i) is largest for, as in the paper's table 1."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    concepts = showcase.by_share()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("concept", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=1)
    table.add_column("headwords", overflow="fold")
    table.add_column("others", justify="right", no_wrap=True)
    for concept in concepts:
        share = float(showcase.share[concept])
        bar = "━" * max(1, round(share * _BAR / float(showcase.share.max())))
        words = ", ".join(f"{_plain(one.word, 30)} {one.share:.3f}" for one in showcase.headwords(concept, top))
        table.add_row(*map(Text, (f"{concept}", f"{share:.1%}", bar, words, f"{showcase.others(concept):.3f}")))
    if len(concepts) < showcase.model.concepts:
        table.caption, table.caption_justify = f"and {showcase.model.concepts - len(concepts)} more", "left"
    return table


def _extents(showcase: LoglinearShowcase, symbol: int) -> tuple[str, ...]:
    """Subtypes, and what the rules and the words have: parameters, and how often they are divided."""
    cells = [str(showcase.model.size[symbol])]
    for extent in (showcase.extent(symbol, of_words) for of_words in (False, True)):
        if not extent.productions:
            cells.append("")
        elif showcase.has_scales:
            cells.append(f"{extent.kept:,} of {extent.dense:,}: {extent.times}")
        else:
            cells.append(f"{extent.kept:,} in {extent.productions:,}")
    return tuple(cells)


def _heaviest(showcase: VectorShowcase, symbol: int, top: int) -> str:
    kinds = (cloud.heaviest(top) for cloud in (showcase.words(symbol), showcase.rules(symbol)) if len(cloud))
    told = ((f"{_plain(showcase.right_side(owner), 60)} {share:.3f}" for owner, share in kind) for kind in kinds)
    return " | ".join(map(", ".join, told))


def _likeliest(showcase: Showcase, symbol: int, top: int) -> str:
    words, rules = showcase.words(symbol, None, top), showcase.rules(symbol, None, top)
    told = [_words(words), ", ".join(f"{_children(showcase, rule)} {rule.weight:.3f}" for rule in rules)]
    return " | ".join(part for part in told if part)


# -- one category


def _details(exhibit: _Exhibit, name: str) -> Iterator[str]:
    yield from exhibit.lines(_found(exhibit.plain, name))


def _category(showcase: Showcase, symbol: int, top: int, summed: bool) -> Iterator[str]:
    yield _title(showcase, symbol)
    for subtype in showcase.subtypes(symbol, top, summed):
        yield ""
        yield from _subtype(showcase, symbol, subtype)
    if showcase.size(symbol) > 1:
        yield ""
        yield from _drawing(showcase, symbol)


def _found(showcase: Showcase, name: str) -> list[int]:
    symbols = showcase.find(name)
    if not symbols:
        names = sorted({known.label for known in showcase.grammar.symbols})
        raise LatreeError(f"the model has no category {name!r}; it has {', '.join(names)}")
    return symbols


def _title(showcase: Showcase, symbol: int) -> str:
    size, count = showcase.size(symbol), showcase.count(symbol)
    parts = [f"{_name(showcase, symbol)}: {showcase.grammar.symbols[symbol].kind}"]
    parts += [f"{size} subtypes"] if size > 1 else []
    parts += [_times(count)] if count is not None else []
    return ", ".join(parts)


def _subtype(showcase: Showcase, symbol: int, subtype: Subtype) -> Iterator[str]:
    name = _name(showcase, symbol, subtype.number)
    if showcase.size(symbol) > 1:
        yield f"{name}  {subtype.share:.1%}" + (f", {_times(subtype.count)}" if subtype.count is not None else "")
    if subtype.words:
        yield f"  {_words(subtype.words)}"
    rights = [_children(showcase, rule) for rule in subtype.rules]
    width = max(map(len, rights), default=0)
    for right, rule in zip(rights, subtype.rules, strict=True):
        yield f"  {name} -> {right:<{width}}  {rule.weight:.3f}"
    if subtype.uses:
        yield "  in " + ", ".join(f"{_use(showcase, use)} {use.share:.2f}" for use in subtype.uses)
    if subtype.samples:
        yield f"  as in: {' | '.join(subtype.samples)}"


def _drawing(showcase: Showcase, symbol: int) -> Iterator[str]:
    """The split tree, one subtype a line."""
    stack = [(showcase.split_tree(symbol), "", "")]  # with what leads a node's own line, and the lines below it
    while stack:
        node, lead, below = stack.pop()
        yield lead + (_descent(showcase, symbol, node) if lead else f"{_name(showcase, symbol)}  {_when(node)}")
        for child in reversed(node.children):
            last = child is node.children[-1]
            stack.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))


def _descent(showcase: Showcase, symbol: int, node: SplitNode) -> str:
    if not node.children:
        (only,) = node.members
        return f"{_name(showcase, symbol, only)}  {node.share:.1%}  {_plain(showcase.gloss(symbol, only), 60)}"
    return f"{node.share:.1%}  {_when(node)}"


def _when(node: SplitNode) -> str:
    return f"split in round {node.round}" if node.round is not None else "split"


# -- text


def _print_lines(lines: Iterable[str]) -> None:
    """As they are: a long line is left to the terminal, so that what is piped stays whole."""
    for line in lines:
        typer.echo(_plain(line, len(line)))


def _plain(text: str, most: int) -> str:
    from latree.kinds.showcase import legible

    return legible(text, most)


def _name(showcase: Showcase, symbol: int, subtype: int | None = None) -> str:
    return _plain(showcase.name(symbol, subtype), _NAME)


def _times(count: float) -> str:
    """Imported models know how often a category occurs in a sentence, others in a treebank."""
    return f"{count:,.0f} times" if count >= 10 else f"{count:.2g} times"


def _words(words: list[Word]) -> str:
    return ", ".join(f"{_plain(one.word, 30)} {one.share:.3f}" for one in words)


def _children(showcase: Showcase, rule: Rule) -> str:
    return " ".join(_name(showcase, *child) for child in rule.children) or "(end)"


def _use(showcase: Showcase, use: Use) -> str:
    parent, *children = (_name(showcase, s) for s in showcase.grammar.rules[use.rule].tolist() if s >= 0)
    children[use.place] = f"[{children[use.place]}]"
    return f"{parent} -> {' '.join(children)}"
