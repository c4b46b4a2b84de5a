"""What axe-core has to say of the page: nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.browser import Page
from tests.web.test_page import WALKS

AXE = Path(__file__).parents[2] / ".axe" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """const done = arguments[arguments.length - 1];
    axe.run(document).then(({ violations }) => done(violations.map((one) => (
        `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(" ")}`
    ))))"""


def empty(page: Page) -> None:
    """As the page is first seen."""


def with_a_tree(page: Page) -> None:
    page.type(WALKS)


def with_the_panel(page: Page) -> None:
    page.click("#model option[value=split]")
    page.type(WALKS)
    page.until(lambda: page.run("document.querySelector('#figures .phrase').focus()") or "sure" in page.text("#told"))
    page.choose("NP: the lamp")
    page.until(lambda: page.text("#subtype"))


def about_a_model(page: Page) -> None:
    page.driver.get(f"{page.server.address}/explore/split")
    page.until(lambda: page.all("article"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("shown", [empty, with_a_tree, with_the_panel, about_a_model])
def test_nothing_stands_in_the_way(page: Page, shown: Callable[[Page], Any], scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core, which `make test-web` fetches where there is npm")
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    shown(page)
    page.run(AXE.read_text(encoding="utf-8"))
    assert page.driver.execute_async_script(RUN) == []
