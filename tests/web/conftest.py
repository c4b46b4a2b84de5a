"""A browser and a server for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from latree.data import toy
from latree.kinds.pcfg.model import Pcfg
from tests.command import folder, model
from tests.server import Running, running, split_model
from tests.web.browser import Page

FLAGS = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "window-size=1280,900"),
)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of two toy grammars, and one with subtypes, that keeps trees."""
    small = folder() / "small.latree"
    Pcfg().fit(toy("dev")).save(small)
    with running(model("pcfg"), small, split_model(), folder=tmp_path_factory.mktemp("saved")) as server:
        yield server


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium, where it is installed."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium to open the page")
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("needs chromium and chromedriver to open the page, which are not here")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver: Any, served: Running, tmp_path: Path) -> Iterator[Page]:
    """The page, as it is first seen; a test ends without a word on the console."""
    page = Page(driver, served, tmp_path)
    page.open()
    yield page
    assert page.console() == []
