"""Pages for tests, read with checks: elements nest, nothing is loaded or run, links lead somewhere."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

EVIL = "<script>alert(1)</script>"
FORBIDDEN = {"script", "link", "img", "iframe", "object", "image", "use"}


class Reader(HTMLParser):
    """What a page holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        text.encode()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.texts: list[str] = []
        self.maps: dict[str, int] = {}  # how many plots each section has
        self.feed(text)
        self.close()
        self._check(text)

    def _check(self, text: str) -> None:
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))
        assert self.links <= {f"#{place}" for place in self.ids}  # and nothing outside the page
        assert not self.tags.keys() & FORBIDDEN
        assert not re.search(r"url\(|@import|\bnan\b", text)
        assert not re.search("[\x00-\x08\x0b-\x1f]", text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        assert not any(name.startswith("on") or name in ("src", "xlink:href") for name in values)
        is_bar = values.get("class") == "bar"  # drawn, but no drawing
        self.tags["bar" if is_bar else tag] += 1
        self.ids += [str(values["id"])] if "id" in values else []
        self.links |= {str(values["href"])} if "href" in values else set()
        if tag == "section":
            self.maps[self.ids[-1]] = 0
        if tag == "svg" and not is_bar:
            self.maps[list(self.maps)[-1]] += 1
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())
