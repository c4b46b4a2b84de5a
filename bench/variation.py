"""How long it takes to find the words of a treebank that are annotated unlike.

python -m bench.variation FILE...
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

import latree
from latree.check.variation import Source, variations


def measure(paths: Iterable[str]) -> str:
    """Tell how many findings there are, and the time without that of reading."""
    rules = latree.LabelRules()
    sources = [
        Source(tree, path, number)
        for path in paths
        for number, tree in enumerate(latree.read_trees(path, rules), start=1)
    ]
    words = sum(len(one.tree.words()) for one in sources)
    start = time.process_time()
    found = len(variations(sources))
    seconds = time.process_time() - start
    return f"{len(sources):,} trees, {words:,} words: {found:,} places in {seconds:.1f} CPU seconds"


if __name__ == "__main__":
    print(measure(sys.argv[1:]))
