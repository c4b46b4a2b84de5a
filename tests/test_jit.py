"""Kernels: where they are kept, and that several processes share the work of compiling them."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numba
import pytest

from latree.cli.rehearsal import rehearse
from latree.cli.warm import NAMES
from latree.data import shipped
from latree.errors import LatreeError
from latree.inference.results import OBJECTIVES
from latree.jit import IN_MEMORY
from latree.kinds.registry import load
from tests.command import SLEEPS
from tests.kinds_matrix import model, model_file

SOURCE = Path(__file__).parents[1] / "src" / "latree"

_PRODUCT = """
import numpy as np
from latree.inference.subtypes import ColumnMap
print((np.ones((1, 2)) @ ColumnMap.of([np.eye(2)])).tolist())
"""


def test_without_a_place_to_keep_them_kernels_are_compiled_in_memory_and_that_is_told_once() -> None:
    """As numba sees it: of all the places where it may keep kernels, none is left."""
    environment = os.environ | {"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}
    command = [sys.executable, "-c", _PRODUCT]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "[[1.0, 1.0]]\n"
    assert ran.stderr.count(IN_MEMORY) == 1


def test_kernels_that_another_version_kept_are_compiled_anew(tmp_path: Path) -> None:
    """What is kept names the types that a kernel takes, some of which this version may not have."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _PRODUCT]
    subprocess.run(command, capture_output=True, check=True, env=environment)
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(pickle.dumps(numba.__version__) + b"clatree.inference.chart\nGone\n.")
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "[[1.0, 1.0]]\n"
    assert b"Gone" not in index.read_bytes()


# -- several processes

_COUNT = """
import sys
from numba.core import event
from latree.cli import main

compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        if event.data is not None:  # else another process is at it
            compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass

event.register("numba:compile", Listener())
if __name__ == "__main__":
    try:
        main()
    finally:
        print(*compiled, file=sys.stderr)
"""


def test_of_several_processes_one_compiles_a_kernel(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    code = _COUNT.replace("from latree.cli import main", "def main(): exec(sys.argv[1])")
    command = [sys.executable, "-c", code, _PRODUCT]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) for _ in range(3)]
    told = [one.communicate() for one in running]
    assert [out for out, _ in told] == ["[[1.0, 1.0]]\n"] * 3
    assert "".join(err for _, err in told).count("_map_columns") == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_search_can_be_rehearsed_without_its_coarse_pass(name: str) -> None:
    for objective in OBJECTIVES:
        with suppress(LatreeError):  # a kind may refuse an objective
            rehearse(model(name), 0, objective)
    rehearse(model(name), 2, "max-rule")


@pytest.mark.parametrize("name", sorted(shipped()))
def test_searches_of_models_that_ship_can_be_rehearsed(name: str) -> None:
    rehearse(load(name), 2, "max-rule")


_REHEARSED = """
import sys
from numba.core.registry import CPUDispatcher
from latree.kinds.registry import load
from latree.cli.rehearsal import rehearse

def specialised():
    modules = [module for name, module in sys.modules.items() if name.startswith("latree.inference")]
    kernels = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, CPUDispatcher)}
    return {(one.py_func.__module__, str(types)) for one in kernels.values() for types in one.signatures}

model = load(sys.argv[1])
rehearse(model, 2, "max-rule")
before = specialised()
list(model.kbest(sys.argv[2].split(), 2))
print(*sorted({module.rpartition(".")[2] for module, _ in specialised() - before}))
"""


def test_after_a_rehearsal_nothing_but_the_coarse_pass_is_left_to_compile() -> None:
    command = [sys.executable, "-c", _REHEARSED, str(model_file("lvg")), SLEEPS]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) <= {"chart", "prune", "forest"}


def test_latree_warm_leaves_nothing_to_compile() -> None:
    told = subprocess.run([sys.executable, "-m", "latree", "warm"], capture_output=True, text=True, check=True).stderr
    assert str(Path(os.environ["NUMBA_CACHE_DIR"])) in told.splitlines()[-1]
    for options in (["--kbest", "3", "--json"], ["--objective", "viterbi"]):
        command = [sys.executable, "-c", _COUNT, "parse", *options]
        ran = subprocess.run(command, input="The cat sat on the mat .", capture_output=True, text=True, check=True)
        assert "cat" in ran.stdout
        assert ran.stderr == "\n"  # no kernel is named


# -- lean kernels

HEAVY, LEAN = {"kernel", "inner"}, {"lean", "lean_kernel"}


def functions_of(module: Path) -> Iterator[tuple[ast.FunctionDef, set[str]]]:
    """A module's functions and the names of their decorators."""
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node, {one.id for one in node.decorator_list if isinstance(one, ast.Name)}


def compiled_functions(decorators: set[str]) -> Iterator[tuple[Path, ast.FunctionDef]]:
    for module in SOURCE.rglob("*.py"):
        yield from ((module, node) for node, names in functions_of(module) if names & decorators)


def called_names(function: ast.FunctionDef) -> set[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {ast.unparse(call).rpartition(".")[2] for call in calls}


def test_nothing_lean_calls_what_counts_references() -> None:
    """That may hand back an array that it made, which no one would free."""
    makers = {node.name for _, node in compiled_functions(HEAVY)}
    lean = [(module, node) for module, node in compiled_functions(LEAN)]
    assert lean
    own = {module: {node.name for other, node in lean if other == module} for module, _ in lean}
    for module, node in lean:
        assert not (called_names(node) & makers) - own[module], f"{module.name}: {node.name}"
