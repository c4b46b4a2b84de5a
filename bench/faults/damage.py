"""Bytes made wrong: flipped, cut, repeated, lines swapped, and hostile pieces put in between."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.faults.frame import some

DEEP = 100_000  # brackets
LONG = 1_000_000  # characters of a line
RARELY = 1_000  # one in so many is deep or long, which takes as long as hundreds of others
MOST = 3  # changes to one input

# What readers have come to grief over: bytes that are no UTF-8, marks that look like spaces or ends of lines, numbers.
PIECES = (
    *(b"\0", b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xe2\x80", b"\x1f\x8b"),
    *(b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b" ", b"  ", b"\x0b", b"\x0c", b"\x1c", b"\x1e", b"\xc2\x85", b"\xc2\xa0"),
    *("\u2028".encode(), "\u200f".encode(), "e\u0301".encode(), "\U0001f600".encode(), "٣".encode(), "²".encode()),
    *(b"(", b")", b"((", b"))", b"()", b"-LRB-", b"-NONE-", b"#", b"%", b"*", b"|", b"\\", b"_", b"->", b"[", b"]"),
    *(b"0", b"-1", b"1e999", b"nan", b"inf", b"1-2", b"8.1", b"9" * 20, b"9" * 5000, b"0.00000000000000000001"),
)

Damage = Callable[[bytes, np.random.Generator], bytes]


def _places(data: bytes, rng: np.random.Generator) -> tuple[int, int]:
    """Two places, in order, mostly near each other."""
    first = int(rng.integers(len(data) + 1))
    return first, min(len(data), first + int(rng.integers(1, some((3, 30, 300), rng))))


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    if not data:
        return data
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :]


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def leave_out(data: bytes, rng: np.random.Generator) -> bytes:
    first, last = _places(data, rng)
    return data[:first] + data[last:]


def repeat(data: bytes, rng: np.random.Generator) -> bytes:
    first, last = _places(data, rng)
    return data[:first] + data[first:last] * int(rng.integers(2, 5)) + data[last:]


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(data) + 1))
    return data[:place] + some(PIECES, rng) + data[place:]


def replace(data: bytes, rng: np.random.Generator) -> bytes:
    first, last = _places(data, rng)
    return data[:first] + some(PIECES, rng) + data[last:]


def swap_lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    one, other = (int(rng.integers(len(lines))) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def deepen(data: bytes, rng: np.random.Generator) -> bytes:
    """Nest something, closed or not."""
    first, last = _places(data, rng)
    closed = b")" * DEEP if rng.random() < 0.7 else b""
    return data[:first] + b"(S " * DEEP + some((b"(N x)", data[first:last], b"0"), rng) + closed + data[last:]


def lengthen(data: bytes, rng: np.random.Generator) -> bytes:
    first, last = _places(data, rng)
    piece = data[first:last].replace(b"\n", b" ") or b"x"
    return data[:first] + piece * (LONG // len(piece)) + data[last:]


DAMAGES: tuple[Damage, ...] = (flip, cut, leave_out, repeat, *(insert,) * 3, *(replace,) * 2, swap_lines)
LARGE: tuple[Damage, ...] = (deepen, lengthen)


def damaged(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Some data made wrong in a few ways, and which."""
    large = int(rng.integers(RARELY)) == 0
    chosen = [some(DAMAGES, rng) for _ in range(int(rng.integers(1, MOST + 1)))] + ([some(LARGE, rng)] if large else [])
    for damage in chosen:
        data = damage(data, rng)
    return data, " ".join(damage.__name__ for damage in chosen)
