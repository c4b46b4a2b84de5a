"""The documentation as a site: nothing is missing, nothing leads nowhere, what is made from code is current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts.make_pictures import FOLDER, draw_all
from scripts.site_pages import outside_resources, pages

import latree
from latree.cli import COMMANDS
from tests.command import done, latree_command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(ROOT) for path in [ROOT / "README.md", *DOCS.rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)|src=\"([^\"]+)\"")


def anchors(page: str) -> set[str]:
    """What the titles of a page can be linked by."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S), re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    made = {f"reference/{name}.md": text for name, text in pages().items()}
    text = (ROOT / page).read_text(encoding="utf-8")
    for path, anchor, source in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        target = ((ROOT / page).parent / (path or source)).resolve() if path or source else ROOT / page
        if "://" in path:
            continue
        inside = str(target.relative_to(DOCS)) if target.is_relative_to(DOCS) else ""
        assert inside in made or target.exists(), f"{page}: {path or source}"
        if anchor:
            assert anchor in anchors(made.get(inside) or target.read_text(encoding="utf-8")), f"{page}: {path}#{anchor}"


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert len(listed) == len(set(listed))
    written = {str(path.relative_to("docs")) for path in PAGES if path.parts[0] == "docs"}
    assert set(listed) == written | {f"reference/{name}.md" for name in pages()}


def test_every_name_is_in_the_reference_once() -> None:
    named = re.findall(r"^::: latree\.(\w+)$", (DOCS / "reference" / "api.md").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(latree._HOME)


def test_every_command_and_option_is_in_the_reference() -> None:
    made = pages()
    trained = [f"train {name}" for name in latree_command.commands["train"]._load().commands]
    titles = re.findall(r"^## latree (.*)$", made["commands"] + made["train"], re.M)
    assert sorted(titles) == sorted([*trained, *(name for name in COMMANDS if name != "train")])
    for title in titles:
        text = made["train" if " " in title else "commands"].partition(f"## latree {title}\n")[2].partition("\n## ")[0]
        told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
        assert shown_options(title) <= told, title


def shown_options(title: str) -> set[str]:
    """The options that the help of a command tells."""
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", done(*title.split(), "--help").out, re.M))


def test_pictures_are_current(tmp_path: Path) -> None:
    """But for their numbers: what is drawn is a model's probabilities."""
    draw_all(tmp_path)
    for path in tmp_path.iterdir():
        now, kept = (re.sub(r"[\d.]+", "#", one.read_text(encoding="utf-8")) for one in (path, FOLDER / path.name))
        assert now == kept, f"{path.name}: make it again with python -m scripts.make_pictures"


def test_what_is_loaded_from_elsewhere_is_found() -> None:
    page = '<script src="https://cdn.org/x.js"></script><img src="x.svg"><a href="https://docs.ray.io">Ray</a>'
    assert outside_resources(page) == ["https://cdn.org/x.js"]
