"""The report on a product: what is known of each member, since a product has no weights of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from latree.kinds.registry import report_on
from latree.kinds.report import Ask, written
from latree.report.value import Block, Column, Report, Section, Table, prefixed

if TYPE_CHECKING:
    from latree.kinds.product.model import Product

FOOTER = "The best tree of a product maximises the product of what its members think of each rule."


def report(model: Product, ask: Ask) -> Report:
    """The members' reports, one after the other; a member's sections bear its number."""
    parts = [
        (number, prefixed(report_on(member, ask), f"m{number}-")) for number, member in enumerate(model.members, 1)
    ]
    kinds = ", ".join(member.kind for member in model.members)
    record = ((name, written(value)) for name, value in model.training.items() if name != "members")
    facts = (("kind", model.kind), ("members", f"{len(parts)}: {kinds}"), *record)
    blocks = tuple(block for number, part in parts for block in _overview(number, part))
    sections = tuple(_numbered(number, section) for number, part in parts for section in part.sections)
    return Report(facts=() if ask.symbol else facts, blocks=blocks, sections=sections, footer=FOOTER)


def _overview(number: int, part: Report) -> tuple[Block, ...]:
    if not part.facts:
        return ()
    return Table((Column(f"member {number}"), Column(" ")), part.facts), *part.blocks


def _numbered(number: int, section: Section) -> Section:
    group = f"member {number}, {section.group}" if section.group else ""
    return replace(section, title=f"{number}: {section.title}", group=group)
