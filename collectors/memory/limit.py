"""Limit the memory for reading and analysing files, whatever they contain.

The kernel refuses more private memory (RLIMIT_DATA, getrlimit(2)); the errors of Python, NumPy and Arrow then become one error
with the limit and the setting that raises it. Linux only: no limit elsewhere.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MEMORY = 1024  # MiB beyond the program itself: about 4 million flow records read and analysed
SETTING = "--memory"
_MIB = 1 << 20
_STATM = Path("/proc/self/statm")  # the sixth number: pages of data and stack, proc_pid_statm(5)


class TooMuchError(ValueError):
    """Files need more memory than allowed."""


@contextmanager
def memory_limit(mib: int, files: Sequence[str] = (), *, setting: str = SETTING) -> Iterator[None]:
    """Limit this process to `mib` MiB beyond its current memory; processes started meanwhile have the same limit.

    Required modules are imported before: BLAS hangs if it gets no memory while it is loaded. Raises TooMuchError with the names
    of the `files` and of the `setting` if the limit was exceeded.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # other pools reserve 1 GiB at once, which counts as used
    before = resource.getrlimit(resource.RLIMIT_DATA)
    _allow(mib, before)
    try:
        yield
    except (MemoryError, OSError, RuntimeError) as error:
        if not is_memory_error(error):
            raise
        resource.setrlimit(resource.RLIMIT_DATA, before)
        raise TooMuchError(_refusal(mib, files, setting)) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@contextmanager
def without_limit(mib: int) -> Iterator[None]:
    """Lift the limit inside `memory_limit` for memory that does not depend on the files, such as an embedded store."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        if soft == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        else:
            _allow(mib, (soft, hard))


def is_memory_error(error: BaseException) -> bool:
    """Check whether an error means a lack of memory or of threads, which need some."""
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
    """Describe an outer memory limit of this program, for a message; empty without one."""
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return "" if soft == resource.RLIM_INFINITY else f"ulimit -v allows {soft // _MIB} MiB of address space"
