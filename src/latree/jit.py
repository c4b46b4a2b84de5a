"""How latree compiles its kernels: `kernel` for those that Python calls, `inner` for those that only kernels call.

`reassoc` and `contract` let sums be vectorised; infinities and NaN keep their meaning, because -inf is how the
kernels say "impossible", and no division becomes a product with a reciprocal, which overflows for tiny numbers.
Division follows IEEE rules (`error_model`), without a branch in every inner loop.

What makes no arrays, and hands none back, is lean: `lean_kernel` and `lean`.  Numba counts references to arrays
whenever one is sliced or taken out of a tuple, with instructions that make a processor wait, and of inference over
small rules that was most of the time.  Nothing lean counts any, so nothing lean may call what makes arrays: no one
would free them.  What is lean becomes a part of what calls it.

What lets Python in costs more to compile than most of what is behind it.  So does every array that a kernel is handed,
by itself or in a tuple: hand inner kernels the arrays that they need.

Of several processes one compiles a kernel and the others wait for it, so that they can share the work.  A kernel at
work lets other threads of Python go on (`nogil`): it may write only to arrays that its caller made for it.
"""

from __future__ import annotations

import errno
import os
import pickle
import time
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Any, TypeVar, cast

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import register_jitable

try:
    import fcntl
except ImportError:  # Windows: several processes may compile the same kernel
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from numba.core.decorators import _JITOptions

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: _JITOptions = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
LEAN_OPTIONS: _JITOptions = {**OPTIONS, "forceinline": True, "_nrt": False}  # type: ignore[typeddict-unknown-key]
IN_MEMORY = (
    "kernels are compiled in memory, anew in every process: neither where latree is installed nor in your home folder "
    "can they be kept; set NUMBA_CACHE_DIR to a folder that can be written to"
)

LOCKS = "kernels.lock"  # in a folder of kernels: which of them are being compiled
UNREADABLE = (AttributeError, EOFError, ImportError, IndexError, pickle.UnpicklingError)  # what loading a kernel raises
POLL, PATIENCE = 0.02, 120.0  # seconds between two looks at another process's lock, and until it is not believed

_kept = True  # on disk, as far as is known


def kernel(function: Function) -> Function:
    """Compile a function when it is first called, and keep it on disk where that can be."""
    return _kept_on_disk(function, OPTIONS)


def lean_kernel(function: Function) -> Function:
    """The same for one that makes no arrays."""
    return _kept_on_disk(function, LEAN_OPTIONS)


def _kept_on_disk(function: Function, options: _JITOptions) -> Function:
    alone: _JITOptions = {**options, "nogil": True}
    compiled: Any = njit(**alone)(function)
    try:
        compiled._cache = _Kept(function)
    except RuntimeError:  # there is no place for it
        _tell_in_memory()
    return cast("Function", compiled)


def is_kept(compiled: Callable[..., Any]) -> bool:
    """Whether a kernel was compiled before and will only be loaded; for some of the types that it is called with."""
    place = place_of(compiled)
    return place is not None and bool(cast("Any", compiled)._cache._cache_file._load_index())


def place_of(compiled: Callable[..., Any]) -> str | None:
    """The folder where a kernel is kept, if anywhere."""
    place: str | None = cast("Any", compiled)._cache.cache_path
    return place


def _tell_in_memory() -> None:
    """Tell once that nothing is kept; worker processes leave that to their parent."""
    global _kept
    if _kept and parent_process() is None:
        warnings.warn(IN_MEMORY, RuntimeWarning, stacklevel=3)
    _kept = False


def inner(function: Function) -> Function:
    """Have kernels that call a function compile it; for Python it stays what it is."""
    return register_jitable(**OPTIONS)(function)


def lean(function: Function) -> Function:
    """The same for one that makes no arrays."""
    return register_jitable(**LEAN_OPTIONS)(function)


class _Kept(FunctionCache):  # type: ignore[misc]
    """Keeps one kernel on disk, and has a process that would compile it wait for another that is at it."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled for these types; where there is none, the caller is to compile it."""
        loaded = self._load(sig, target_context)
        if loaded is None and self._lock():
            loaded = self._load(sig, target_context)  # another process may have been at it
            if loaded is not None:
                self._unlock()
        return loaded

    def _load(self, sig: Any, target_context: Any) -> Any:
        """Load without first having numba set up all that compiling takes, a third of a short command's time: what is
        compiled needs memory at most."""
        rtsys.initialize(target_context)
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except UNREADABLE:  # kept by another version, of types that this one has not, or cut off
            self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        finally:
            self._unlock()

    def _lock(self) -> bool:
        """Wait for the right to compile; whether it was got.  What a process has ends with the process."""
        if (is_free := self._try_lock()) is not False:
            return bool(is_free)
        until = time.monotonic() + PATIENCE
        with event.trigger_event("numba:compile"):  # elsewhere
            while is_free is False and time.monotonic() < until:
                time.sleep(POLL)
                is_free = self._try_lock()
        return bool(is_free)

    def _try_lock(self) -> bool | None:
        """Whether the right to compile is free, and now this process's; None where there are no locks."""
        if fcntl is None:
            return None
        try:
            self._control(fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return False if error.errno in (errno.EACCES, errno.EAGAIN) else None
        return True

    def _unlock(self) -> None:
        if fcntl is not None:
            with suppress(OSError):
                self._control(fcntl.LOCK_UN)

    def _control(self, command: int) -> None:
        """Lock or unlock the byte that stands for the kernel in a file that all kernels of a folder share."""
        number = zlib.crc32(self._impl.filename_base.encode()) & 0x7FFFFFFF
        fcntl.lockf(_lock_file(self.cache_path), command, 1, number)


@cache
def _lock_file(folder: str) -> int:
    """Open the file of a folder's locks; it stays open, since closing it would end them."""
    return os.open(os.path.join(folder, LOCKS), os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
