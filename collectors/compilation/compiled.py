"""Compile loops with numba and store the compiled code on disk; until it exists, loops can run as plain Python.

In patient mode (`be_patient`) a program does not wait for compilation: a loop is interpreted with the same result, while
another process compiles (`collectors.compilation.warming`). It looks for compiled code every `LOOK_S` seconds. Inputs of `MANY`
elements or more are compiled at once, because interpreting takes longer. A loop without code after `WAIT_S` seconds is not
listed: a second process compiles it (`collectors.compilation.warming.compiled_beside`), or else this one.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np
from numba.core import config, sigutils
from numba.core import types as types_
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher

from collectors.compilation._interpreted import interpret
from collectors.compilation.source_stamps import source_stamp

Function = TypeVar("Function", bound=Callable[..., Any])
Beside = Callable[[Any, tuple[Any, ...]], bool]

OMITTED: Any = types_.Omitted  # type: ignore[attr-defined]
LOOK_S = 0.5  # seconds between two checks for compiled code; a check reads a small file
WAIT_S = 300.0  # seconds after which a loop counts as unlisted: compiling all listed loops takes minutes
MANY = 500_000  # elements of an argument from which on compiling takes less time than interpreting
LOCK = "loops.lock"  # a file beside compiled code

_patient = False
_asking = threading.Lock()
_wanted: Callable[[], None] | None = None  # called once, when the first loop is interpreted
_beside: Beside | None = None  # starts a process that compiles a loop for these types; False if that failed
recorded: dict[str, list[tuple[Any, ...]]] | None = None  # argument types by loop, for recording


class Loop(CPUDispatcher):  # type: ignore[misc]
    """A compiled function, with its plain Python twin until it is compiled.

    `kept`: its compiled code is stored on disk. Parts of other loops are compiled with these, and not stored.
    """

    kept = True
    _cache: Any
    _look_at = 0.0
    _wanted_since = 0.0

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        if recorded is not None and self.kept:
            known, found = recorded.setdefault(f"{self.__module__}.{self.__name__}", []), self.types_of(args)
            known += [] if found in known else [found]
        if not _patient:
            return super()._compile_for_args(*args, **kws)
        now = time.monotonic()
        if self.kept and now >= self._look_at:
            self._wanted_since = self._wanted_since or now
            signature = self.types_of(args)
            unlisted = now - self._wanted_since > WAIT_S
            if _large(args) or self.is_ready(signature) or (unlisted and not (_beside and _beside(self, signature))):
                self._wanted_since = 0.0
                return super()._compile_for_args(*args, **kws)
            self._look_at = now + LOOK_S
            _want()
        return self._interpreted

    def types_of(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the numba types of arguments."""
        found = tuple(OMITTED(a.value) if isinstance(a, OmittedArg) else self.typeof_pyval(a) for a in args)
        self._types_active_call.clear()
        return found

    def is_ready(self, signature: tuple[Any, ...]) -> bool:
        """Check whether compiled code for these types is loaded or on disk. Thread-safe, also during a compilation.

        It must not refresh numba's context: only the holder of numba's lock may, and a compilation holds it throughout.
        """
        if tuple(sigutils.normalize_signature(signature)[0]) in self.overloads:
            return True
        codegen: Any = self.targetctx.codegen()
        try:
            return self._cache._index_key(signature, codegen) in self._cache._cache_file._load_index()
        except (OSError, EOFError, ValueError):
            return False

    def _interpreted(self, *args: Any, **kws: Any) -> Any:
        """Call the plain twin."""
        return interpret(self.py_func, tuple(a.value if isinstance(a, OmittedArg) else a for a in args), kws)


def _large(args: tuple[Any, ...]) -> bool:
    return any(isinstance(a, np.ndarray) and a.size >= MANY for a in args)


def _want() -> None:
    global _wanted
    with _asking:
        call, _wanted = _wanted, None
    if call is not None:
        call()


def be_patient(wanted: Callable[[], None] | None = None, beside: Beside | None = None) -> None:
    """Interpret loops without compiled code from now on. `wanted` is called once, at the first of them.

    `beside` lets another process compile an unlisted loop; without it, such a loop is compiled in this process.
    """
    global _patient, _wanted, _beside
    _patient, _wanted, _beside = True, wanted, beside


def is_patient() -> bool:
    """Check whether loops without compiled code are interpreted."""
    return _patient


def compiled(function: Function) -> Function:
    """Compile a function at its first call; the code is stored for later processes."""
    return made(function, {"nogil": True}, kept=True)


def made(function: Function, options: Mapping[str, Any], *, kept: bool) -> Function:
    """Make a loop with these options of numba's `njit`; the function itself if compilation is switched off."""
    if config.DISABLE_JIT:
        return function
    loop = Loop(py_func=function, targetoptions={"nopython": True, **options})
    loop.kept = kept
    if kept:
        loop.enable_caching()
        loop._cache._cache_file._source_stamp = source_stamp(function.__code__.co_filename)
        _guard(loop)
    return cast(Function, loop)


def _guard(loop: Loop) -> None:
    """Serialise updates of the index of a loop's code on disk: numba reads it, adds a line and writes it."""
    file = loop._cache._cache_file
    save = file.save

    def saved(key: Any, data: Any) -> None:
        with open(os.path.join(file._cache_path, LOCK), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(key, data)

    file.save = saved
