"""What the labels of treebanks stand for, as far as kinds of errors go by it.

Treebanks name the same things differently: a clause is S or SBAR in Penn's, IP or CP in historical corpora, fcl in
Floresta's, smain in Alpino's.  Labels are looked up as they are compared, without function tags, and in lower case;
what no pattern fits is of no family.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Family = Literal["clause", "noun", "preposition", "verb", "modifier", "coordination"]

PHRASES: dict[Family, str] = {
    "coordination": r"ucp|conjp|coord|conj|cu",
    "clause": r"s|s0|sbar|sbarq|sq|sinv|rrc|ip|cp|cl|cpp?_.*|s\.(f|nf|co).*|[fia]cl"
    r"|ssub|smain|sv1|rel|whrel|whsub|whq|svan|s‧.*",
    "noun": r"np[bpx]?|nx|nml|nac|qp|dp|whnp|wnp|nump|numclp|detp|mwu|sn[onlap]?(\..*)?|grup\.nom.*|np?‧.*|n",
    "preposition": r"pp|whpp|wpp|sp|prep|gp",
    "verb": r"v[pnx]|vpp|grup\.verb|gv|inf|infinitiu|ppart|ppres|o?ti|vp?‧.*",
    "modifier": r"adjp|advp|whadjp|whadvp|wadjp|wadvp|adjx|advx|ap|avp|prt|qtp|sadv|s?a?\.?a(\..*)?|s\.a.*|sa|grup\.adv"
    r"|grup\.a.*|adv?‧.*|a‧.*",
}
TAGS: dict[Family, str] = {
    "coordination": r"cc|conj|conjo|conj-c|vg|st|kon|cconj|c[ab]+",
    "modifier": r"rb[rs]?|jj[rs]?|adv|adj[rs]?|adverb|adjective",
}


@lru_cache(maxsize=1 << 12)
def family_of(label: str, is_tag: bool = False) -> Family | None:
    """The family of a phrase or of a tag."""
    table = TAGS if is_tag else PHRASES
    return next((family for family, pattern in table.items() if re.fullmatch(pattern, label.lower())), None)
