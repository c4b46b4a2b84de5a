"""Model files: what goes in comes out, what is not one is told so, and a failed write changes nothing."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save as pack

from latree.errors import LatreeError
from latree.files import VERSION, load, pack_sparse, save, unpack_sparse, write_atomically
from latree.kinds import registry as models
from tests.command import model as command_model

HEADER = {"names": ["é", "日本", "a\tb"], "options": {"rare": 20, "weight": 0.1, "none": None}}
ARRAYS: dict[str, NDArray[Any]] = {
    "theta": np.linspace(0, 1, 7),
    "rules": np.arange(12, dtype=np.int32).reshape(4, 3),
    "words": np.frombuffer(b"the\ncat\n", np.uint8),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "nothing": np.zeros((0, 3), np.int64),
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "a model.latree"
    save(path, "pcfg", HEADER, ARRAYS)
    return path


def test_round_trip(saved: Path) -> None:
    header, arrays = load(saved)
    assert header == {"version": VERSION, "kind": "pcfg", **HEADER}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_the_same_model_is_the_same_file(saved: Path) -> None:
    before = saved.read_bytes()
    save(saved, "pcfg", dict(reversed(HEADER.items())), ARRAYS)
    assert saved.read_bytes() == before


# -- files that are not models


def complaint(path: Path) -> str:
    with pytest.raises(LatreeError) as caught:
        models.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("kept", [0, 4, 8, 60, -1])
def test_a_file_cut_short(saved: Path, kept: int) -> None:
    saved.write_bytes(saved.read_bytes()[:kept])
    assert "not a latree model, or cut short" in complaint(saved)


@pytest.mark.parametrize("content", [b"(ROOT (S (NN cats) (VB sleep)))\n", b"\x1f\x8b\x08" + bytes(100), b"\xff" * 64])
def test_a_foreign_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "train.mrg"
    path.write_bytes(content)
    assert "not a latree model" in complaint(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert complaint(tmp_path / "nowhere.latree") == "no such model file"
    assert complaint(tmp_path) == "no such model file"


def write_header(path: Path, header: Any) -> Path:
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(pack({"theta": np.zeros(1)}, {"latree": text}))
    return path


def test_somebody_elses_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "bert.safetensors"
    path.write_bytes(pack({"theta": np.zeros(1)}))
    assert complaint(path) == "a safetensors file, but not a latree model"
    path.write_bytes(pack({"theta": np.zeros(1)}, {"format": "pt"}))
    assert complaint(path) == "a safetensors file, but not a latree model"


def test_a_newer_version(tmp_path: Path) -> None:
    path = write_header(tmp_path / "new", {"version": VERSION + 1, "kind": "pcfg"})
    message = complaint(path)
    assert f"newer latree (format {VERSION + 1}, this one reads {VERSION})" in message
    assert "upgrade" in message


@pytest.mark.parametrize("header", ["{", "[]", "{}", {"kind": "pcfg"}, {"version": "one", "kind": "pcfg"}, "3"])
def test_a_damaged_header(tmp_path: Path, header: Any) -> None:
    assert "the header of this latree model is damaged" in complaint(write_header(tmp_path / "m", header))


def test_an_unknown_kind_and_a_model_that_lacks_parts(tmp_path: Path) -> None:
    message = complaint(write_header(tmp_path / "m", {"version": VERSION, "kind": "oracle"}))
    assert message == f"unknown kind of model 'oracle'; this latree has {', '.join(models.all_kinds())}"
    message = complaint(write_header(tmp_path / "m", {"version": VERSION, "kind": "hmm"}))
    assert "the hmm model is damaged" in message


# -- writing


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_failed_write_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full_disk(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = saved.read_bytes()
    monkeypatch.setattr(os, step, full_disk)
    with pytest.raises(LatreeError, match=r"a model\.latree: cannot be written: No space left on device; nothing was"):
        save(saved, "hmm", {}, {"theta": np.zeros(1)})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_an_interrupted_write_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = saved.read_bytes()
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(saved, b"new")
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LatreeError, match="cannot be written: No such file or directory"):
        write_atomically(tmp_path / "no" / "model", b"")
    assert not (tmp_path / "no").exists()


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077], indirect=True)
def test_the_mode_is_what_the_umask_says(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "model"
    write_atomically(path, b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    assert os.umask(umask) == umask  # and the umask itself is as it was


def test_options_that_stood_apart_are_read() -> None:
    """Headers of the first files had labels and binarisation beside the rest, and no other options."""
    model = models.load(command_model("pcfg"))
    header, arrays = model.state()
    options = header.pop("options")
    again = models.from_state("pcfg", header | {name: options[name] for name in ("labels", "binarization")}, arrays)
    assert again.options == model.options


def test_weights_and_their_places_must_agree() -> None:
    arrays = pack_sparse("theta", np.array([0.0, 0.5, 0.0, 0.25]))
    assert unpack_sparse("theta", arrays, 4).tolist() == [0.0, 0.5, 0.0, 0.25]
    with pytest.raises(ValueError, match="2 values for 1 places"):
        unpack_sparse("theta", arrays, 2)
