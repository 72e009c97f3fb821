"""How memory is freed: kept for the next batch, since fresh pages from the kernel cost more than what is written to them; and
how often Python looks for objects that only each other know.
"""

from __future__ import annotations

import ctypes
import gc

_TRIM, _MMAP = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, mallopt(3)


def keep_freed(*, octets: int = 256 << 20, largest: int = 32 << 20) -> bool:
    """Have the allocator keep up to so many freed octets at its end, of blocks up to the `largest`; whether it can (glibc)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP, largest)) and bool(mallopt(_TRIM, octets))


def seldom_collected(*, made: int = 20_000, rounds: tuple[int, int] = (20, 100)) -> None:
    """From now on have Python look for cycles after so many objects, not hundreds: an analysis makes many objects, few cycles.

    It looks at older objects, of which the modules alone have hundreds of thousands, after so many `rounds` of the younger.
    """
    gc.set_threshold(made, *rounds)
