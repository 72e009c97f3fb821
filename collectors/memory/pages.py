"""Allocate arrays on cache lines, and large arrays on large pages of memory."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LINE, PAGE = 64, 1 << 21  # octets of a line of the cache, and of a large page of memory


def aligned(size: int, kind: np.dtype[Any]) -> Array:
    """Allocate zeros whose rows start at cache lines, if rows are as long as some lines."""
    octets = np.zeros(size * kind.itemsize + LINE, np.uint8)
    begin = -octets.ctypes.data % LINE
    return octets[begin : begin + size * kind.itemsize].view(kind)


def large(size: int, kind: np.dtype[Any]) -> Array:
    """Allocate zeros, for large arrays in large pages if available: small pages cost a fault and look-ups each."""
    if size * kind.itemsize < PAGE:
        return np.zeros(size, kind)
    memory = mmap.mmap(-1, -(-size * kind.itemsize // PAGE) * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, kind, size)
