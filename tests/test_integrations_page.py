"""The Python of docs/integrations.md, run as it stands there, each library's by itself; what it prints is compared."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.documents import blocks, pattern

LIBRARIES = ("spacy", "nltk", "pandas", "datasets")


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_page_prints_what_it_says(
    library: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip(library, reason=f"{library} is not installed: make test-integrations installs it")
    import_module(f"latree.integrations.{library}")  # an entry point does it where latree is installed
    pages = [block for language, block in blocks("docs/integrations.md") if language == "python"]
    (code,) = (
        block for block in pages if re.search(rf"import {library}$|integrations\.{library} ", block, re.MULTILINE)
    )
    exec(compile(code, library, "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    expected = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert expected
    for comment in expected:
        assert any(re.fullmatch(pattern(comment), line) for line in printed), f"{comment!r} not among {printed}"
