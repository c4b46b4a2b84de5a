"""Ctrl-C, however it comes, is told as what it is."""

from __future__ import annotations

import pytest

from latree.errors import interrupts_plain


def test_an_interrupt_at_the_door_of_a_kernel() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_plain():
        raise SystemError("a kernel returned a result with an exception set") from KeyboardInterrupt()


def test_an_interrupt_while_compiled_code_is_imported() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_plain():
        raise ImportError("initialization failed") from KeyboardInterrupt()
    with pytest.raises(ModuleNotFoundError), interrupts_plain():
        raise ModuleNotFoundError("nltk")


def test_other_system_errors_are_left() -> None:
    with pytest.raises(SystemError, match="odd"), interrupts_plain():
        raise SystemError("odd") from ValueError()
    with pytest.raises(SystemError, match="bare"), interrupts_plain():
        raise SystemError("bare")
