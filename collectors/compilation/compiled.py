"""Compile loops with numba and keep the compiled code on disk; until it is there, loops can run as plain Python.

A program that is patient (`be_patient`) does not wait for a loop to be compiled: the loop is interpreted, to the same result,
while another process compiles (`collectors.compilation.warming`). It looks for compiled code again every `LOOK_S` seconds.
Inputs of `MANY` elements or more are compiled for at once, because to interpret them takes longer. A loop that has no code
after `WAIT_S` seconds is on no list: a process beside this one compiles it (`collectors.compilation.warming.compiled_beside`),
or else this one.
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

Function = TypeVar("Function", bound=Callable[..., Any])
Beside = Callable[[Any, tuple[Any, ...]], bool]

OMITTED: Any = types_.Omitted  # type: ignore[attr-defined]
LOOK_S = 0.5  # seconds between two looks for compiled code; a look reads a small file
WAIT_S = 300.0  # seconds after which a loop is taken for unlisted: minutes pass until all listed loops are compiled
MANY = 500_000  # elements of an argument, from which on compiling takes less time than interpreting
LOCK = "loops.lock"  # a file beside compiled code

_patient = False
_asking = threading.Lock()
_wanted: Callable[[], None] | None = None  # called once, when something is interpreted for want of compiled code
_beside: Beside | None = None  # has a process compile a loop for these types; False where that has failed
recorded: dict[str, list[tuple[Any, ...]]] | None = None  # types of the arguments by loop, where somebody wants to know


class Loop(CPUDispatcher):  # type: ignore[misc]
    """A compiled function, and its plain Python twin as long as it is not compiled.

    `kept`: whether its compiled code is kept on disk. Parts of other loops are not: they are compiled with these.
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
        """The numba types of arguments."""
        found = tuple(OMITTED(a.value) if isinstance(a, OmittedArg) else self.typeof_pyval(a) for a in args)
        self._types_active_call.clear()
        return found

    def is_ready(self, signature: tuple[Any, ...]) -> bool:
        """Whether compiled code for arguments of these types is loaded or on disk; from any thread, also while one compiles.

        It must not refresh numba's context: only who holds numba's lock may, and that may be held for as long as a compilation.
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
    """Interpret loops that have no compiled code yet, from now on. `wanted` is called once, at the first of them.

    `beside` has another process compile a loop that is on no list; without it, such a loop is compiled in this process.
    """
    global _patient, _wanted, _beside
    _patient, _wanted, _beside = True, wanted, beside


def is_patient() -> bool:
    """Whether loops without compiled code are interpreted."""
    return _patient


def compiled(function: Function) -> Function:
    """The same function, compiled when it is first called; kept on disk for the next process."""
    return made(function, {"nogil": True}, kept=True)


def made(function: Function, options: Mapping[str, Any], *, kept: bool) -> Function:
    """A loop with these options of numba's `njit`; the function itself where compilation is switched off."""
    if config.DISABLE_JIT:
        return function
    loop = Loop(py_func=function, targetoptions={"nopython": True, **options})
    loop.kept = kept
    if kept:
        loop.enable_caching()
        _guard(loop)
    return cast(Function, loop)


def _guard(loop: Loop) -> None:
    """Let one process at a time change the index of a loop's code on disk: numba reads it, adds a line and writes it."""
    file = loop._cache._cache_file
    save = file.save

    def saved(key: Any, data: Any) -> None:
        with open(os.path.join(file._cache_path, LOCK), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(key, data)

    file.save = saved
