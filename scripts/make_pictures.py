"""Draw the pictures of the README and of the documentation: `python -m scripts.make_pictures`."""

from __future__ import annotations

from pathlib import Path

import latree

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SENTENCES = {"telescope": "I saw the man with the telescope."}


def draw_all(folder: Path) -> None:
    """Write the best tree of every sentence by the grammar that ships, each phrase shaded by its probability."""
    folder.mkdir(exist_ok=True)
    for name, sentence in SENTENCES.items():
        latree.parse(sentence).draw(shade=True).save(folder / f"{name}.svg")


if __name__ == "__main__":
    draw_all(FOLDER)
