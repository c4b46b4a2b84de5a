"""What the tests do with the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server import Running

CSS = "css selector"


class Page:
    """The page in a browser."""

    def __init__(self, driver: Any, server: Running, downloads: Path) -> None:
        self.driver, self.server, self.downloads = driver, server, downloads

    def open(self, fragment: str = "", width: int = 1280, height: int = 900) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        behaviour = {"behavior": "allow", "downloadPath": str(self.downloads)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
        self.driver.get("about:blank")  # else only the fragment would change
        self.driver.get(f"{self.server.address}/{fragment}")
        self.until(lambda: self.all("#model option"))

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements(CSS, selector))

    def one(self, selector: str) -> Any:
        return self.driver.find_element(CSS, selector)

    def text(self, selector: str) -> str:
        return str(self.one(selector).text)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for something; what is drawn anew in between is no fault."""
        from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

        end = time.monotonic() + 15
        while True:
            try:
                if found := holds():
                    return found
            except (NoSuchElementException, StaleElementReferenceException):
                pass
            assert time.monotonic() < end, "it never came to be"
            time.sleep(0.02)

    def type(self, text: str) -> None:
        """Write a text in place of what is there, and wait for its tree."""
        box = self.one("#text")
        box.clear()
        box.send_keys(text)
        self.until(lambda: self.words() == text.split("\n")[0].split() and self.all(".tree .nats"))

    def words(self) -> list[str]:
        script = (
            'return [...document.querySelectorAll("#figures figure:first-child .word")].map((one) => one.textContent)'
        )
        return [str(word) for word in self.run(script)]

    def labels(self, classes: str = "") -> list[str]:
        """The labels of the tree's phrases, with their words."""
        script = """return [...document.querySelectorAll(`#figures figure:first-child .phrase${arguments[0]}`)]
            .map((one) => [one.querySelector(".label").textContent, one.ariaLabel.split(", ")[1]].join(": "))"""
        return [str(label) for label in self.run(script, classes)]

    def phrase(self, label: str) -> Any:
        """The phrase with this label and these words."""
        return self.all("#figures figure:first-child .phrase")[self.labels().index(label)]

    def rest(self) -> None:
        """Wait until nothing is asked: what moves under the pointer is not clicked on, and nobody is told."""
        self.until(lambda: self.one("#work").get_attribute("aria-busy") == "false")

    def choose(self, label: str) -> None:
        """Click on a phrase; one that is drawn anew in between is looked for again."""
        self.rest()
        self.until(lambda: self.phrase(label).click() or True)

    def click(self, selector: str) -> None:
        """Click on what there is one of; drawn anew in between, it is looked for again."""
        self.rest()
        self.until(lambda: self.one(selector).click() or True)

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def focused(self) -> str:
        script = "const at = document.activeElement; return at.id || at.getAttribute('aria-label') || at.textContent"
        return str(self.run(script))
