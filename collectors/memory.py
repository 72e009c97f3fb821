"""Memory that was freed, kept for the next batch: fresh pages from the kernel cost more than what is written to them."""

from __future__ import annotations

import ctypes

_TRIM, _MMAP = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, mallopt(3)


def keep_freed(*, octets: int = 256 << 20, largest: int = 32 << 20) -> bool:
    """Have the allocator keep up to so many freed octets at its end, of blocks up to the `largest`; whether it can (glibc)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP, largest)) and bool(mallopt(_TRIM, octets))
