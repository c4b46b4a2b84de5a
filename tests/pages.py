"""HTML pages read back."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

EVIL = "<script>alert(1)</script>"
VOID = ("meta", "path")  # elements that nothing closes


class Reader(HTMLParser):
    """Collects what a page holds, and checks that its elements nest and that it reads nothing from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.texts: list[str] = []
        self.maps: dict[str, int] = {}  # how many plots each section with an id has
        self.feed(text)
        self.close()
        assert self.open == []
        assert not self.tags.keys() & {"script", "link", "img", "iframe", "object", "image", "use"}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        assert not any(name.startswith("on") or name in ("src", "xlink:href") for name in values)
        self.tags[tag] += 1
        self.ids += [str(values["id"])] if "id" in values else []
        self.links |= {str(values["href"])} if "href" in values else set()
        if tag == "section" and "id" in values:
            self.maps[str(values["id"])] = 0
        if tag == "svg" and self.maps:
            self.maps[list(self.maps)[-1]] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())
