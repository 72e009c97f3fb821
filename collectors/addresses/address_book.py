"""Give each IP address a small integer code, in order of first appearance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_list import GrowingAddresses
from collectors.addresses.hash_slots import (
    VACANT,
    Slots,
    empty_slots,
    entry_of,
    first_slot,
    is_tagged,
    next_slot,
    row_of,
    slots_for,
)
from collectors.compilation.primitives import SEED, compiled, hashed, part, prefetch, swapped
from collectors.memory.pages import lengthened

Codes = NDArray[np.int32]
Longs = NDArray[np.uint64]

LEAST = 1024  # addresses there is room for at least

PAIRS = 1 << 12  # recently used pairs of addresses with cached codes
NO_CODES = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOP, _PAIR_TOP, _SPREAD = np.uint64(32), np.uint64(64 - 12), np.uint64(0x9E3779B97F4A7C15)
_MAPPED, _LOWER, _NONE = np.uint64(0xFFFF << 32), np.uint64(0xFFFFFFFF), np.uint64(0)


class AddressBook:
    """Int32 codes of addresses, in order of first appearance; `endpoints[code]` is the text. Shared by several decoders."""

    def __init__(self) -> None:
        self.endpoints = GrowingAddresses()
        self._keys: Longs = np.full((1, 2), SEED)  # the seed of the hash, then one address per row
        self._slots: Slots = empty_slots()
        self.pairs: Longs = np.full((PAIRS, 2), NO_CODES, np.uint64)  # cached pairs of IPv4 addresses, and their codes

    def code(self, address: bytes) -> int:
        """Return the code of an address of 16 octets, IPv4 mapped."""
        high, low = (np.array([int.from_bytes(part, "big")], np.uint64) for part in (address[:8], address[8:]))
        return int(self.codes(high, low)[0])

    def codes(self, high: Longs, low: Longs) -> Codes:
        """Return the codes of addresses given as upper and lower 64 bits, [n] each."""
        codes = np.zeros(len(high), np.int32)
        self.learn(np.stack((high, low), axis=1), codes)
        return codes

    def learn(self, addresses: Longs, codes: Codes) -> None:
        """Write the codes of addresses [n, 2] (upper and lower 64 bits) to `codes` [n]; new addresses get new codes."""
        self.name(_look_up(addresses, codes, *self.tables(len(addresses))))

    def tables(self, more: int) -> tuple[Longs, Slots, int]:
        """Return the tables of `code_of` with room for `more` addresses: keys, slots, number of addresses."""
        known = len(self.endpoints)
        self._reserve(known + more)
        return self._keys, self._slots, known

    def name(self, count: int) -> None:
        """Set the number of addresses after compiled code added some."""
        self.endpoints.grow(self._keys[1 : count + 1])

    def _reserve(self, most: int) -> None:
        """Make room for `most` addresses: keys, and twice as many slots."""
        if most >= len(self._keys):
            self._keys = lengthened(self._keys, max(LEAST, most + most // 2 + 1))
        self._slots = slots_for(self._slots, most)


@part
def code_of(high: Any, low: Any, keys: Any, slots: Any, count: Any) -> Any:
    """Find the code of an address, or add it with code `count`; return the code and the new number of addresses."""
    key = hashed(high, low, keys[0, 0])
    slot = first_slot(slots, key)
    entry = slots[slot]
    while entry != VACANT:
        if is_tagged(entry, key):
            code = row_of(entry)
            if keys[np.uint64(code + 1), 1] == low and keys[np.uint64(code + 1), 0] == high:
                return code, count
        slot = next_slot(slots, slot, key)
        entry = slots[slot]
    slots[slot] = entry_of(key, count)
    keys[np.uint64(count + 1), 0], keys[np.uint64(count + 1), 1] = high, low
    return np.int64(count), count + 1


@part
def fetch_codes(ends: Any, keys: Any, slots: Any) -> None:
    """Prefetch the slots of two IPv4 addresses; `ends`: see `codes_of`."""
    both = swapped(ends)
    prefetch(slots, np.int64(first_slot(slots, hashed(_NONE, _MAPPED | both >> _TOP, keys[0, 0]))))
    prefetch(slots, np.int64(first_slot(slots, hashed(_NONE, _MAPPED | both & _LOWER, keys[0, 0]))))


@part
def pair_slot(ends: Any) -> Any:
    """Compute the slot of a pair of IPv4 addresses in `AddressBook.pairs`."""
    return ends * _SPREAD >> _PAIR_TOP


@part
def codes_of(ends: Any, pairs: Any, keys: Any, slots: Any, count: Any) -> Any:
    """Find the codes of two IPv4 addresses; return the codes (first one in the upper half) and the number of addresses.

    `ends`: both addresses as in memory, see `primitives.plain`.
    """
    pair = pairs[pair_slot(ends)]
    if pair[1] == NO_CODES or pair[0] != ends:
        first, count = code_of(_NONE, _MAPPED | swapped(ends) >> _TOP, keys, slots, count)
        second, count = code_of(_NONE, _MAPPED | swapped(ends) & _LOWER, keys, slots, count)
        pair[0], pair[1] = ends, np.uint64(first) << _TOP | np.uint64(second)
    return pair[1], count


@compiled
def _look_up(addresses: Any, codes: Any, keys: Any, slots: Any, count: int) -> int:
    """Find or add the codes of addresses; return the new number of addresses."""
    for i in range(len(addresses)):
        codes[i], count = code_of(addresses[i, 0], addresses[i, 1], keys, slots, count)
    return count
