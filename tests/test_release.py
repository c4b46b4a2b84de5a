"""What a release says of itself in several places is the same everywhere."""

from __future__ import annotations

import re
import tomllib

from latree import __version__
from tests.kernel_cache import ROOT


def test_the_citation_has_the_version() -> None:
    (cited,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == __version__


def test_the_developers_environment_has_no_integration_but_nltk() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {re.split(r"[<>=; ]", line)[0] for line in extras["dev"]}
    assert names & {"spacy", "nltk", "pandas", "datasets"} == {"nltk"}


def test_targets_that_are_named_are_there() -> None:
    pages = [(ROOT / name).read_text() for name in ("CONTRIBUTING.md", "README.md")]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {target for page in pages for target in re.findall(r"\bmake ([a-z-]+) {2,}", page)}
    assert named
    assert named <= targets
