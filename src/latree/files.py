"""One file a model: arrays and a JSON header in a safetensors file; nothing in it is ever executed.

Files are written beside their place and then moved, so that a crash or a full disk leaves the old file whole.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.checks import integers, numbers
from latree.errors import LatreeError

VERSION = 1
_LEAST = 1e-9  # a probability below this is not kept
_KEY = "latree"


Header = dict[str, Any]  # names and numbers, as JSON
Arrays = dict[str, NDArray[Any]]


class ModelFile(NamedTuple):
    """A model as data."""

    header: Header
    arrays: Arrays


def is_special(path: str | Path) -> bool:
    """Whether there is something that is neither a file nor a folder: a device, a pipe."""
    path = Path(path)
    return path.exists() and not path.is_file() and not path.is_dir()


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write all of the file or none of it; what a link leads to, and into devices and pipes."""
    if is_special(path):
        _write_into(path, data)
    else:
        _write_and_move(Path(os.path.realpath(path)), data)


def _write_into(path: str | Path, data: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise LatreeError(f"{path}: cannot be written: {error.strerror or error}") from None


def _write_and_move(path: Path, data: bytes) -> None:
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise LatreeError(f"{path}: cannot be written: {error.strerror or error}; nothing was changed") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def compact(values: Floats) -> Floats:
    """Values as a file keeps them: the tiniest taken for zero, the others with seven digits."""
    return np.where(values >= _LEAST, values, 0.0).astype(np.float32).astype(np.float64)


def pack_sparse(name: str, values: Floats) -> Arrays:
    """Mostly zeros, already `compact`: which are not, as bits, and those in single precision."""
    place = np.flatnonzero(values)
    return pack_places(name, place, values[place], len(values))


def pack_places(name: str, place: Longs, values: Floats, size: int) -> Arrays:
    """The same of so many values, of which those that are not zero are given with their places."""
    used = np.zeros(size, np.bool_)
    used[place] = True
    return {f"{name}.bits": np.packbits(used), f"{name}.values": values.astype(np.float32)}


def unpack_places(name: str, arrays: Arrays, size: int) -> tuple[Longs, Floats]:
    """The places of what `pack_sparse` put away other than zeros, and the values; `size` is how many there were."""
    bits = integers(f"{name}.bits", arrays, (-(-size // 8),), 0, 256).astype(np.uint8)
    place = np.flatnonzero(np.unpackbits(bits, count=size).view(np.bool_))
    values = numbers(f"{name}.values", arrays, (None,))
    if place.shape != values.shape:
        raise ValueError(f"{name}: {len(values)} values for {len(place)} places")
    return place, values


def unpack_sparse(name: str, arrays: Arrays, size: int) -> Floats:
    """What `pack_sparse` put away; `size` is how many values there are."""
    place, kept = unpack_places(name, arrays, size)
    values = np.zeros(size)
    values[place] = kept
    return values


def pack_strings(strings: Sequence[str]) -> NDArray[np.uint8]:
    """Strings as UTF-8 bytes, one a line."""
    text = "".join(f"{string}\n" for string in strings)
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


def unpack_strings(array: NDArray[np.uint8]) -> tuple[str, ...]:
    """What `pack_strings` put away."""
    return tuple(array.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1])


def part_of(prefix: str, arrays: Arrays) -> Arrays:
    """Pick the arrays whose names begin so, under the rest of their names."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def save(path: str | Path, kind: str, header: Header, arrays: Arrays) -> None:
    """Write a model of the given kind."""
    from safetensors.numpy import save as pack

    whole = {"version": VERSION, "kind": kind, **header}
    metadata = {_KEY: json.dumps(whole, ensure_ascii=False, sort_keys=True)}
    write_atomically(path, pack({name: np.ascontiguousarray(a) for name, a in arrays.items()}, metadata))


def load(path: str | Path) -> ModelFile:
    """Read a model; a file that is foreign, cut short or too new is told so."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise LatreeError(f"{path}: no such model file")
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            if _KEY not in metadata:
                raise LatreeError(f"{path}: a safetensors file, but not a latree model")
            header = _check_header(path, metadata[_KEY])
            return ModelFile(header, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise LatreeError(f"{path}: not a latree model, or cut short ({error})") from None


def _check_header(path: str | Path, text: str) -> Header:
    try:
        header = json.loads(text)
        version, _ = int(header["version"]), str(header["kind"])
    except (ValueError, KeyError, TypeError, OverflowError):
        raise LatreeError(f"{path}: the header of this latree model is damaged") from None
    if version > VERSION:
        raise LatreeError(
            f"{path}: made by a newer latree (format {version}, this one reads {VERSION}); upgrade latree"
        )
    return dict(header)
