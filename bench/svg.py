"""What the plots of the benches are written with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def text(x: float, y: float, words: str, size: int = 11, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def write(path: Path, width: int, height: int, parts: Iterable[str]) -> None:
    start = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
    path.write_text(f"{start}{''.join(parts)}</svg>\n", encoding="utf-8")
