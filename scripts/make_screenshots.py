"""Photograph the page of `latree serve` for the documentation: `python -m scripts.make_screenshots`.

Needs chromium and its driver, and selenium, as `make test-web` does.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

from bench.load import serving

FOLDER = Path(__file__).parents[1] / "docs"
PARK = "The old man saw the girl with the telescope in the park."
FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars")
PATIENCE = 120.0  # seconds until a page must be whole
STILL = 1.0  # second without a change


@dataclass(frozen=True)
class Shot:
    """What a picture shows: a link, the size of the window, and how bright it is."""

    name: str
    link: tuple[tuple[str, str], ...]
    width: int = 1280
    height: int = 770
    scheme: str = "light"


SHOTS = (
    Shot("serve", (("text", PARK), ("model", "english"), ("known", "1.4.12.not.NP"))),
    Shot(
        "serve-models",
        (("text", "We saw that p53 binds DNA in cells."), ("model", "english"), ("beside", "biology")),
        height=1180,
        scheme="dark",
    ),
    Shot("serve-phone", (("text", "Time flies like an arrow."), ("model", "english")), width=360, height=740),
)


def browser(profile: str) -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*FLAGS, f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def photograph(driver: Any, address: str, shot: Shot) -> None:
    size = {"width": shot.width, "height": shot.height, "deviceScaleFactor": 1, "mobile": shot.width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": shot.scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get("about:blank")  # else only the fragment would change
    driver.get(f"{address}#{urlencode(shot.link)}")
    wait_for(driver, 1 + any(name == "beside" for name, _ in shot.link))
    driver.save_screenshot(str(FOLDER / f"{shot.name}.png"))


def wait_for(driver: Any, trees: int) -> None:
    """Wait until so many trees are drawn, surprisals too, and nothing changes any more."""
    script = "return [document.querySelectorAll('#figures .tree').length, document.querySelectorAll('.nats').length]"
    end, seen = time.monotonic() + PATIENCE, ""
    while time.monotonic() < end:
        drawn, surprisals = driver.execute_script(script)
        before, seen = seen, driver.execute_script("return document.body.innerHTML")
        if drawn == trees and surprisals and seen == before:
            return
        time.sleep(STILL)
    raise TimeoutError("the page is not whole")


def main() -> None:
    with serving(None) as server, TemporaryDirectory() as profile:
        driver = browser(profile)
        try:
            for shot in SHOTS:
                photograph(driver, f"http://127.0.0.1:{server.port}/", shot)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
