"""Give addresses of exported records small codes in bounded memory: after too many addresses, numbering restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_list import AddressList, GrowingAddresses
from collectors.compilation.compiled import compiled
from collectors.compilation.primitives import part, prefetch
from collectors.memory.pages import large

Codes = NDArray[np.int32]
Longs = NDArray[np.uint64]

MAPPED = 0xFFFF << 32  # lower half of an IPv4 address inside the IPv6 address space, RFC 4291 section 2.5.5.2
MOST_ADDRESSES = 1 << 17  # addresses before the numbering restarts: they and a batch fit into the processor's cache
_AHEAD = np.uint64(16)  # addresses: the slot of an address is prefetched so many addresses before its search
PROBES = 64  # slots to search per address; hostile collisions get no slot, but cost no endless search


class BoundedAddressBook:
    """Int32 codes of addresses; `texts[code]` is the text. After more than `most` addresses the numbering restarts.

    Unlike `address_book.AddressBook` it forgets, because exporters may send any number of forged addresses.
    """

    def __init__(self, *, most: int = MOST_ADDRESSES) -> None:
        self.most = most
        self._slots: Codes = np.full(1 << 13, -1, np.int32)
        self._start()

    def _start(self) -> None:
        self._count, self._known = 0, GrowingAddresses()
        self._table: Longs = np.zeros((2, 0), np.uint64)
        self._slots.fill(-1)
        self._odd: dict[tuple[int, int], int] = {}

    @property
    def texts(self) -> AddressList:
        """Return the addresses; the same object until a new one is added."""
        self._known.grow(self._table[:, : self._count].T)
        return self._known.now()

    def codes(self, high: Longs, low: Longs) -> Codes:
        """Return the codes of addresses given as upper and lower 64 bits, [n] each. Codes are valid until `refresh`."""
        return self._codes(len(high), lambda *how: look_up(high, low, *how), lambda i: (int(high[i]), int(low[i])))

    def short_codes(self, four: NDArray[np.uint32]) -> Codes:
        """Return the codes of IPv4 addresses; see `codes`."""
        return self._codes(len(four), lambda *how: look_up_short(four, *how), lambda i: (0, MAPPED | int(four[i])))

    def _codes(self, n: int, look: Callable[..., tuple[int, int]], pair: Callable[[int], tuple[int, int]]) -> Codes:
        codes = np.empty(n, np.int32)
        done = 0
        while done < len(codes):
            room = len(self._slots) // 2
            if self._table.shape[1] < room:
                longer = large(2 * room, self._table.dtype).reshape(2, room)
                longer[:, : self._count] = self._table[:, : self._count]
                self._table = longer
            done, self._count = look(codes, done, self._table, self._slots, self._count)
            if done < len(codes) and self._count == room:
                self._grow()
            elif done < len(codes):
                codes[done] = self._learn_odd(*pair(done))
                done += 1
        return codes

    def refresh(self) -> None:
        """Restart the numbering if there are too many addresses. Earlier codes belong to earlier `texts`."""
        if self._count > self.most:
            self._start()

    def _learn_odd(self, high: int, low: int) -> int:
        """Return the code of an address that found no slot in the table."""
        code = self._odd.get((high, low))
        if code is None:
            code = self._odd[high, low] = self._count
            self._table[:, code] = high, low
            self._count += 1
        return code

    def _grow(self) -> None:
        self._slots = large(len(self._slots) * 4, self._slots.dtype)
        self._slots.fill(-1)
        left = np.zeros(self._count, np.bool_)
        refill(self._table, self._slots, left)
        self._odd = {
            (int(h), int(w)): int(c)
            for c, h, w in zip(np.flatnonzero(left), *self._table[:, : len(left)][:, left], strict=True)
        }


@compiled
def slot_of(high: Any, low: Any, mask: Any) -> Any:
    """Compute the first slot of an address: Fibonacci hashing, Knuth volume 3 section 6.4."""
    mix = (np.uint64(high) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(low)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mix ^ (mix >> np.uint64(29))) >> np.uint64(17) & np.uint64(mask))


@compiled
def look_up(high: Longs, low: Longs, codes: Codes, begin: int, table: Longs, slots: Codes, count: int) -> Any:
    """Fill `codes` from `begin`, adding new addresses; return the end, and the new number of addresses."""
    room = min(table.shape[1], len(slots) // 2)
    for i in range(np.uint64(begin), np.uint64(len(high))):
        code, count = _code_of(high[i], low[i], table, slots, count, room)
        if code < 0:
            return np.int64(i), count
        codes[i] = code
    return len(high), count


@compiled
def look_up_short(four: NDArray[np.uint32], codes: Codes, begin: int, table: Longs, slots: Codes, count: int) -> Any:
    """Fill `codes` of IPv4 addresses; see `look_up`."""
    room, none, mapped = min(table.shape[1], len(slots) // 2), np.uint64(0), np.uint64(MAPPED)
    last, mask = np.uint64(len(four) - 1), np.uint64(len(slots) - 1)
    for i in range(np.uint64(begin), np.uint64(len(four))):
        ahead = four[min(i + _AHEAD, last)]
        if ahead != four[i]:
            prefetch(slots, slot_of(none, mapped | np.uint64(ahead), mask))
        code, count = _code_of(none, mapped | np.uint64(four[i]), table, slots, count, room)
        if code < 0:
            return np.int64(i), count
        codes[i] = code
    return len(four), count


@part
def _code_of(high: Any, low: Any, table: Any, slots: Any, count: Any, room: Any) -> Any:
    """Return the code of an address, -1 without a near slot, and the new number of addresses."""
    mask, one = np.uint64(len(slots) - 1), np.uint64(1)
    slot = np.uint64(slot_of(high, low, mask))
    for _ in range(PROBES):
        code = np.int64(slots[slot])
        if code < 0:
            if count >= room:
                return np.int64(-1), count
            if high != 0:  # rows from `count` on are zeros: IPv4 writes nothing here, and uses no memory
                table[0, count] = high
            table[1, count] = low
            slots[slot] = count
            return count, count + 1
        at = np.uint64(code)
        if table[1, at] == low and table[0, at] == high:
            return code, count
        slot = slot + one & mask
    return np.int64(-1), count


@compiled
def refill(table: Longs, slots: Codes, left: NDArray[np.bool_]) -> None:
    """Insert all addresses into new slots; `left` marks those without a near slot."""
    mask = len(slots) - 1
    for code in range(len(left)):
        left[code] = True
        slot = slot_of(table[0, code], table[1, code], mask)
        for _ in range(PROBES):
            if slots[slot] < 0:
                slots[slot] = code
                left[code] = False
                break
            slot = (slot + 1) & mask
