"""Configure the allocator to keep freed memory, and Python to collect cycles less often.

Fresh pages from the kernel cost more than the data written to them.
"""

from __future__ import annotations

import ctypes
import gc

_TRIM, _MMAP = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, mallopt(3)


def keep_freed(*, octets: int = 256 << 20, largest: int = 32 << 20) -> bool:
    """Let the allocator keep up to `octets` freed octets, of blocks up to `largest`; return whether it can (glibc)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP, largest)) and bool(mallopt(_TRIM, octets))


def reduce_collections(*, made: int = 20_000, rounds: tuple[int, int] = (20, 100)) -> None:
    """Collect cycles after `made` new objects instead of hundreds: an analysis makes many objects, but few cycles.

    Older objects, of which the modules alone have hundreds of thousands, are collected after so many `rounds` of younger ones.
    """
    gc.set_threshold(made, *rounds)
