"""Allocate arrays on cache lines and on large pages of memory, and lengthen arrays in place."""

from __future__ import annotations

import ctypes
import mmap
import secrets
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LINE, PAGE = 64, 1 << 21  # octets of a line of the cache, and of a large page of memory
# Address space for arrays that may grow: so much for each, in a part of the 47 bits of a process where the kernel, which
# begins at the upper end, puts nothing else. Only what an array has is mapped, and counts as taken.
_EACH, _PLACES, _LOWEST = 1 << 38, 256, 1 << 44
_next = count(secrets.randbelow(_PLACES))


class _Pages:
    """Anonymous memory in whole large pages, zeros at first; it is freed with the last array on it."""

    def __init__(self, octets: int) -> None:
        self.octets = -(-octets // PAGE) * PAGE
        protection, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        place = _LOWEST + next(_next) % _PLACES * _EACH  # a wish: the kernel takes another one where something is there
        self.address = _c("mmap")(place, self.octets, protection, kind, -1, 0)
        if self.address == _REFUSED:
            self.octets = 0
            raise MemoryError(f"no memory for {octets} octets")
        _c("madvise")(self.address, self.octets, mmap.MADV_HUGEPAGE)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.octets,), "typestr": "|u1", "data": (self.address, False)}

    def grow(self, octets: int) -> bool:
        """Whether it has so many octets now, at the same place: what is mapped behind it is in the way, or a limit."""
        octets = -(-octets // PAGE) * PAGE
        if octets > self.octets:
            if _c("mremap")(self.address, self.octets, octets, 0, None) == _REFUSED:
                return False
            self.octets = octets
        return True

    def __del__(self) -> None:
        if self.octets:
            _c("munmap")(self.address, self.octets)


_REFUSED = ctypes.c_void_p(-1).value
_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_CALLS: dict[str, tuple[Any, ...]] = {  # of the C library: result and arguments
    "mmap": (_POINTER, _POINTER, _SIZE, _INT, _INT, _INT, ctypes.c_long),
    "mremap": (_POINTER, _POINTER, _SIZE, _SIZE, _INT, _POINTER),
    "munmap": (_INT, _POINTER, _SIZE),
    "madvise": (_INT, _POINTER, _SIZE, _INT),
}


def _c(name: str) -> Any:
    call = getattr(_LIBRARY, name)
    call.restype, *call.argtypes = _CALLS[name]
    return call


_LIBRARY = ctypes.CDLL(None)


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


def lengthened(array: Array, size: int) -> Array:
    """An array [size, …] that begins with the rows of a shorter one; the rows behind are zeros that take no memory yet.

    The two share their memory where the kernel can add to it in place, as it mostly can: no row is copied. The caller does not
    use the shorter one any more. Raises MemoryError where there is not enough.
    """
    shape = (size, *array.shape[1:])
    each = array.dtype.itemsize * int(np.prod(shape[1:]))
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, _Pages) and owner.grow(size * each):
        return np.asarray(owner)[: size * each].view(array.dtype).reshape(shape)
    if size * each >= PAGE and hasattr(_LIBRARY, "mremap"):  # which only Linux has
        longer = np.asarray(_Pages(size * each))[: size * each].view(array.dtype).reshape(shape)
    else:
        longer = aligned(size * each, np.dtype(np.uint8)).view(array.dtype).reshape(shape)
    as_octets = longer.reshape(-1).view(np.uint8)  # numpy copies structured rows one by one
    as_octets[: len(array) * each] = array.reshape(-1).view(np.uint8)
    return longer
