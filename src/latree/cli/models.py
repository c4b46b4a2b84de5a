"""latree models: the models that come with latree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from latree import files
from latree.data import DEFAULT, shipped


def models(
    json_lines: bool = typer.Option(False, "--json", help="Write one JSON object a line, with all scores."),
) -> None:
    """List the models that come with latree; any command takes their names after -m."""
    for name, path in shipped().items():
        facts = _facts(name, path)
        typer.echo(json.dumps(facts, ensure_ascii=False) if json_lines else _text(facts))


def _facts(name: str, path: Path) -> dict[str, Any]:
    header = files.load(path).header
    training = header["training"]
    return {
        "name": name,
        "default": name == DEFAULT,
        "kind": header["kind"],
        "summary": training.get("summary", ""),
        "licence": training.get("licence", ""),
        "bytes": path.stat().st_size,
        "scores": training.get("scores", {}),
        "file": str(path),
        "card": str(path.with_suffix(".md")),
    }


def _text(facts: dict[str, Any]) -> str:
    default = ", used where no model is named" if facts["default"] else ""
    scores = (f"{name} {score['f1']:.1f}" for name, score in facts["scores"].items() if "f1" in score)
    lines = [
        f"{facts['name']}: {facts['summary']} ({facts['kind']}, {facts['bytes'] / 1e6:.1f} MB{default})",
        f"  labelled F1: {', '.join(scores)}",
        f"  licence: {facts['licence']}",
        f"  card: {facts['card']}",
    ]
    return "\n".join(lines)
