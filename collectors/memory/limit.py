"""Limit the memory that reading and analysing files takes, whatever they contain.

The kernel refuses more private memory (RLIMIT_DATA, getrlimit(2)); what Python, NumPy and Arrow raise then becomes one error
that says how large the bound was and which setting raises it. Linux only: elsewhere nothing is bounded.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MEMORY = 1024  # MiB beside what the program itself takes: about 4 million flow records read and analysed
SETTING = "--memory"
_MIB = 1 << 20
_STATM = Path("/proc/self/statm")  # the sixth number: pages of data and stack, proc_pid_statm(5)


class TooMuchError(ValueError):
    """Files need more memory than is allowed."""


@contextmanager
def bounded(mib: int, files: Sequence[str] = (), *, setting: str = SETTING) -> Iterator[None]:
    """Refuse this process more than so many MiB beyond what it has; processes that it begins meanwhile are bounded alike.

    What is needed is imported before: BLAS waits for ever where it gets no memory as it is loaded.
    Raises TooMuchError, with the names of the `files` and of the `setting`, where that was not enough.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # others reserve 1 GiB at once, which counts as taken
    before = resource.getrlimit(resource.RLIMIT_DATA)
    _allow(mib, before)
    try:
        yield
    except (MemoryError, OSError, RuntimeError) as error:
        if not is_lack(error):
            raise
        resource.setrlimit(resource.RLIMIT_DATA, before)
        raise TooMuchError(_refusal(mib, files, setting)) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@contextmanager
def unbounded(mib: int) -> Iterator[None]:
    """Within `bounded`: what is not there because of the files, such as an embedded store, may take what it needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        if soft == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        else:
            _allow(mib, (soft, hard))


def is_lack(error: BaseException) -> bool:
    """Whether an error says that there was no memory, or no thread, which needs some."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or "can't start new thread" in str(error)


def _allow(mib: int, before: tuple[int, int]) -> None:
    try:
        taken = int(_STATM.read_text("ascii").split()[5]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return
    most = taken + mib * _MIB
    hard = before[1]
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _refusal(mib: int, files: Sequence[str], setting: str) -> str:
    named = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    what = f"{named}: needs" if len(files) == 1 else f"{named}: need" if files else "the files need"
    outer = outer_limit()
    if outer:
        return f"{what} more memory than there is: {outer}; the limit of {setting} is {mib} MiB"
    return f"{what} more memory than the limit of {mib} MiB; {setting} sets it"


def outer_limit() -> str:
    """What bounds this program from outside, for a message; empty where nothing does."""
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return "" if soft == resource.RLIM_INFINITY else f"ulimit -v allows {soft // _MIB} MiB of address space"
