"""What can be asked of the best derivation; nothing here is compiled, so that the command line can name them."""

from __future__ import annotations

from typing import Literal, get_args

Objective = Literal["max-rule", "max-rule-sum", "variational", "mbr", "viterbi"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
