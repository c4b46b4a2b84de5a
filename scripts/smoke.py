"""Try a wheel as a stranger would: into an empty environment with it, parse a sentence, look whether all files came.

python scripts/smoke.py dist/latree-*.whl
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

SOURCE = Path(__file__).parents[1] / "src"
SENTENCE = "The cat sat on the mat."
TREE = "(ROOT (S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))"
INSIDE = """
from importlib.metadata import entry_points, version
import latree
from latree.data import shipped, toy

assert version("latree") == latree.__version__, version("latree")
assert "site-packages" in latree.__file__, latree.__file__
assert {"english", "biology"} <= set(shipped()), shipped()
assert toy("train").is_file()
assert [point.name for point in entry_points(group="spacy_factories")] == ["latree"]
print(latree.parse(input()))
"""


def main(wheel: Path) -> None:
    """Fail where a file is missing or a tree is wrong."""
    if absent := sorted(set(source_files()) - set(ZipFile(wheel).namelist())):
        sys.exit(f"{wheel.name} lacks {', '.join(absent)}")
    with TemporaryDirectory() as folder:
        check_in(Path(folder), wheel.resolve())
    print(f"{wheel.name}: installed into an empty environment, and parses")


def source_files() -> Iterator[str]:
    """What a wheel should have: code, models, cards, templates, tables, the toy treebank."""
    for path in (SOURCE / "latree").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            yield path.relative_to(SOURCE).as_posix()


def check_in(folder: Path, wheel: Path) -> None:
    """Install the wheel into a new environment, and parse from the command line and in Python."""
    venv.create(folder / "venv", with_pip=True)
    bin_ = folder / "venv" / "bin"
    run(folder, bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    for command in ((bin_ / "latree", "parse", "--tokenize"), (bin_ / "python", "-c", INSIDE)):
        printed = run(folder, *command).strip()
        if printed != TREE:
            sys.exit(f"{command[0].name}: expected {TREE}, not {printed}")


def run(folder: Path, *command: str | Path) -> str:
    """What a command prints, away from the checkout and its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "VIRTUAL"))}
    environment = kept | {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    ran = subprocess.run(
        command, cwd=folder, env=environment, input=f"{SENTENCE}\n", text=True, stdout=subprocess.PIPE, check=True
    )
    return ran.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
