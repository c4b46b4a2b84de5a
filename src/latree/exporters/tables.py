"""Rules and words as tables, for spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from latree.exporters.listing import Listing, Subtype


def texts(listing: Listing) -> Mapping[str, str]:
    """A line a rule and a line a word, with tabs; subtypes have columns of their own, empty where there is no child."""
    heads = ("parent", "subtype", "left", "left_subtype", "right", "right_subtype", "probability")
    rules: list[tuple[str, ...]] = [heads]
    for rule in listing.rules():
        ends = (rule.parent, *rule.children, None)[:3]
        rules.append((*(cell for end in ends for cell in _cells(listing, end)), repr(rule.probability)))
    words = [("tag", "subtype", "word", "unknown", "probability")]
    for unknown, entries in (("no", listing.words()), ("yes", listing.classes())):
        for tag, name, probabilities in entries:
            label = str(listing.grammar.symbols[tag])
            words += [(label, str(k), name, unknown, repr(p)) for k, p in enumerate(probabilities.tolist()) if p > 0]
    return {".rules.tsv": _lines(rules), ".words.tsv": _lines(words)}


def _cells(listing: Listing, end: Subtype | None) -> tuple[str, str]:
    return ("", "") if end is None else (str(listing.grammar.symbols[end[0]]), str(end[1]))


def _lines(rows: Sequence[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)
