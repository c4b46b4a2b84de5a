"""The Berkeley parser's text format, as its WriteGrammarToTextFile has it; `importers.berkeley_text` reads it.

Unary rules are written with what two of them come to, where that is likelier, and every subtype stays itself.  Words
are written under the tags that they were seen with, and classes of unknown words as the likelihood of one such word.
The Berkeley parser knows the classes of English words alone: train with `--unknown english` for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from latree.errors import LatreeError
from latree.exporters.listing import Listing, Rule, Subtype, Words

CLASS = "UNK"  # how the names of classes begin


def texts(listing: Listing) -> Mapping[str, str]:
    """The four files."""
    _refuse_doubles(listing)
    words = list(listing.words())
    classes = [one._replace(name=_class_name(one.name)) for one in listing.classes()]
    names = dict.fromkeys(one.name for one in (*words, *classes))
    return {
        ".grammar": "".join(f"{line}\n" for line in _grammar(listing)),
        ".lexicon": "".join(f"{_entry(listing, one)}\n" for one in (*words, *classes)),
        ".words": "".join(f"{name}\n" for name in names),
        ".splits": "".join(f"{line}\n" for line in _splits(listing)),
    }


def _refuse_doubles(listing: Listing) -> None:
    """A phrase and a tag of the same name are two symbols here, and would be one there."""
    names = defaultdict(list)
    for symbol in listing.grammar.symbols:
        names[str(symbol)].append(symbol.kind)
    if doubles := sorted(name for name, kinds in names.items() if len(kinds) > 1):
        raise LatreeError(
            f"{', '.join(doubles)}: both a phrase and a tag, which this format cannot tell apart; export as nltk or tsv"
        )


def _class_name(name: str) -> str:
    return name if name.startswith(CLASS) else f"{CLASS}-{name}"


def _name(listing: Listing, subtype: Subtype) -> str:
    symbol, number = subtype
    return f"{listing.grammar.symbols[symbol]}_{number}"


def _grammar(listing: Listing) -> Iterator[str]:
    """Binary rules, then unary ones."""
    unary: list[Rule] = []
    for rule in listing.rules():
        if len(rule.children) == 1:
            unary.append(rule)
        else:
            yield _rule_line(listing, rule)
    yield from (_rule_line(listing, rule) for rule in _closed(listing, unary))


def _rule_line(listing: Listing, rule: Rule) -> str:
    names = " ".join(_name(listing, child) for child in rule.children)
    return f"{_name(listing, rule.parent)} -> {names} {rule.probability!r}"


def _closed(listing: Listing, unary: list[Rule]) -> Iterator[Rule]:
    """Unary rules as the likelier of one step and of two, and of every phrase the rule that it stays itself."""
    steps: dict[Subtype, dict[Subtype, float]] = defaultdict(dict)
    for rule in unary:
        steps[rule.parent][rule.children[0]] = rule.probability
    for symbol, size in enumerate(listing.layout.size[: listing.grammar.first_tag].tolist()):
        for parent in ((symbol, number) for number in range(size)):
            best = dict(steps.get(parent, {}))
            for middle, first in steps.get(parent, {}).items():
                for child, second in steps.get(middle, {}).items():
                    best[child] = max(best.get(child, 0.0), first * second)
            best[parent] = 1.0
            yield from (Rule(parent, (child,), probability) for child, probability in best.items())


def _entry(listing: Listing, words: Words) -> str:
    numbers = ", ".join(map(repr, words.probabilities.tolist()))
    return f"{listing.grammar.symbols[words.tag]} {words.name} [{numbers}]"


def _splits(listing: Listing) -> Iterator[str]:
    """The split tree of every symbol but the root, a line each."""
    for symbol in range(1, len(listing.grammar.symbols)):
        yield f"{listing.grammar.symbols[symbol]}\t{_split_tree(listing, symbol)}"


def _split_tree(listing: Listing, symbol: int) -> str:
    """`(0 (0 0 1) (1 2))`: what came of each subtype, round by round, down to those that there are now."""
    history = listing.history
    lines = {number: str(number) for number in range(int(listing.layout.size[symbol]))}
    for level in reversed(range(history.rounds)):
        above: dict[int, list[str]] = defaultdict(list)
        for number, parent in enumerate(history.parents[level][symbol].tolist()):
            above[parent].append(lines[number])
        lines = {parent: f"({parent} {' '.join(parts)})" for parent, parts in above.items()}
    if set(lines) != {0}:  # of a grammar that has no history: all at once
        return f"(0 {' '.join(lines.values())})"
    return lines[0]
