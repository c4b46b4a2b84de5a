"""Model files that are wrong are refused before compiled code reads them."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.faults.models import run

from latree.cli.warm import TRAINED, small_model
from latree.errors import LatreeError
from latree.files import Arrays, Header, write_atomically
from latree.kinds.registry import from_state

Damage = Callable[[Header, Arrays], None]


def entry(name: str, value: Any, place: int = 0) -> Damage:
    """One entry of an array is another."""

    def change(header: Header, arrays: Arrays) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].ravel()[place] = value

    return change


def array(name: str, change: Callable[[Any], Any]) -> Damage:
    def replace(header: Header, arrays: Arrays) -> None:
        arrays[name] = change(arrays[name])

    return replace


def in_header(*path: Any, value: Any) -> Damage:
    def change(header: Header, arrays: Arrays) -> None:
        inside: Any = header
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = value

    return change


DAMAGES: dict[str, list[Damage]] = {
    "pcfg": [
        in_header("unary_steps", value=-1),
        in_header("unary_steps", value=10**9),
        in_header("symbols", 1, 1, value=7),
        in_header("options", "labels", "root", value=3),
        in_header("lexicon", "options", "rare", value="x"),
        in_header("lexicon", "tags", value=10**9),
        entry("rules", -(2**31)),
        entry("rules", 10**6, 1),
        entry("lexicon.pair_tag", 255),
        entry("lexicon.word_ptr", 10**6, -1),
        entry("theta", np.nan),
        array("theta", lambda a: a[:-1]),
        array("rules", lambda a: a.T),
        array("rules", lambda a: a.astype(float)),
        array("lexicon.pair_count", lambda a: a[:-1]),
    ],
    "svs": [entry("svs.label", 10**6), array("svs.label", lambda a: a[:-1]), array("svs.prior", lambda a: a.T)],
    "lvg": [
        entry("size", 10**6, 1),
        entry("history.0", 9, -1),
        array("theta.bits", lambda a: a[:-1]),
        array("frequency", lambda a: a[1:]),
        in_header("prunes_less", value="much"),
    ],
    "gm-lveg": [
        array("mixtures.mean", lambda a: a.reshape(-1, 1)),
        array("mixtures.log_rho", lambda a: a[1:]),
        entry("components", 10**6),
        entry("lexical.unit", 10**6),
        entry("lexical.tag", 10**6),
    ],
    "lvg-d": [array("delta", lambda a: a[1:]), entry("tree.parent", 10**6), entry("tree.production", 10**6)],
    "gm-lveg-tagger": [array("spans", lambda a: a[::-1]), entry("spans", 0, -1), entry("spans", 2**62, -1)],
    "hmm": [entry("rules", 5, 2), in_header("symbols", 1, 0, value="phrase")],
}
CASES = [(name, number) for name, damages in DAMAGES.items() for number in range(len(damages))]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_what_is_wrong_is_told(name: str, number: int) -> None:
    header, arrays = small_model(name).state()
    header, arrays = json.loads(json.dumps(header)), copy.copy(arrays)
    from_state(name, json.loads(json.dumps(header)), copy.copy(arrays))  # as it is it can be read
    DAMAGES[name][number](header, arrays)
    with pytest.raises(LatreeError):
        from_state(name, header, arrays)


def test_whatever_is_changed_nothing_crashes() -> None:
    found = run(TRAINED, 25, seed=5)
    assert not found.wrong
    assert min(found.results["refused"], found.results["worked"]) > 50


# -- where files are written


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    (tmp_path / "dangling").symlink_to(tmp_path / "fresh")
    write_atomically(tmp_path / "dangling", b"x")
    assert (tmp_path / "fresh").read_bytes() == b"x"


def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"new")
    reader.join(10)
    assert (got, pipe.is_fifo()) == ([b"new"], True)
