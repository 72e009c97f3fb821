"""Configure the allocator to keep freed memory, and Python to collect cycles less often.

Fresh pages from the kernel cost more than the data written to them: the kernel clears them first.
"""

from __future__ import annotations

import ctypes
import gc

_TRIM, _MMAP, _MMAPS = -1, -3, -4  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX, mallopt(3)


def keep_freed(*, octets: int = 256 << 20, largest: int | None = None) -> bool:
    """Let the allocator keep freed blocks up to `largest`, or of any size; return whether it can (glibc).

    It returns freed memory to the kernel if more than `octets` are free at the end of the heap.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    limit = (_MMAPS, 0) if largest is None else (_MMAP, largest)
    return mallopt is not None and bool(mallopt(*limit)) and bool(mallopt(_TRIM, octets))


def reduce_collections(*, made: int = 20_000, rounds: tuple[int, int] = (20, 100)) -> None:
    """Collect cycles after `made` new objects instead of hundreds: an analysis makes many objects, but few cycles.

    Older objects, of which the modules alone have hundreds of thousands, are collected after so many `rounds` of younger ones.
    """
    gc.set_threshold(made, *rounds)
