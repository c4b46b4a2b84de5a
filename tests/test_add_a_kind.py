"""The page on adding a kind: its files, taken from it, are a kind, and nothing else has to change."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import latree
from latree import kinds
from latree.data import toy
from latree.kinds.registry import all_kinds
from latree.text.tree import Tree
from tests.command import SLEEPS, done
from tests.command import latree as latree_run
from tests.command import model as command_model

PAGE = Path(__file__).parents[1] / "docs" / "add-a-kind.md"
FILE = re.compile(r"<!-- kinds/(?P<path>\S+) -->\n```python\n(?P<code>.*?)```", re.S)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kind of the page, in a folder of its own."""
    for match in FILE.finditer(PAGE.read_text(encoding="utf-8")):
        path = tmp_path / match["path"]
        path.parent.mkdir(exist_ok=True)
        path.write_text(match["code"], encoding="utf-8")
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    _forget()
    yield "add-counts"
    _forget()


def _forget() -> None:
    """Make latree look for its kinds again, as a new process does."""
    all_kinds.cache_clear()
    for name in [name for name in sys.modules if name.startswith("latree.kinds.add_counts")]:
        del sys.modules[name]
    sys.modules.pop("latree.cli.train", None)  # its commands are made of the kinds


def test_the_page_makes_a_kind(added: str, tmp_path: Path) -> None:
    plain = command_model("pcfg")
    model, page = tmp_path / "m.latree", tmp_path / "m.html"
    assert added in done("train", "--help").out
    assert "--extra" in done("train", added, "--help").out
    done("train", added, toy("train"), "--extra", "2", "-o", model, "--quiet")
    (line,) = done("parse", "-m", model, stdin=SLEEPS).lines
    assert Tree.read(line).words() == SLEEPS.split()
    assert added in done("show", "-m", model).out
    assert latree_run("show", "-m", model, "--html", page).code == 0
    assert "<html" in page.read_text(encoding="utf-8")
    compared = latree_run(
        "compare", toy("dev"), "-m", model, "-m", plain, "--kbest", "1", "--max-length", "8", "--quiet"
    )
    assert compared.code == 0, compared.err
    assert latree.load(model).options.extra == 2.0
    assert "--extra" not in done("train", "pcfg", "--help").out


def test_more_counts_make_rules_more_alike(added: str, train: list[Tree]) -> None:
    from latree.kinds.registry import model_class

    few, many = (model_class(added)(extra=extra).fit(train) for extra in (0.0, 1e6))
    for parent in range(len(few.grammar.symbols)):
        siblings = few.grammar.rules[:, 0] == parent
        if siblings.any():
            assert many.theta[siblings].std() <= few.theta[siblings].std() + 1e-9
