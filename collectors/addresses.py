"""Addresses as small numbers."""

from __future__ import annotations

import ipaddress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.record import Codes
from collectors.wire import SEED, compiled, hashed

Longs = NDArray[np.uint64]

_TOP = np.uint64(32)


class AddressBook:
    """Int32 codes of addresses, in the order in which they were met; `endpoints[code]` is the text. Serves many decoders."""

    def __init__(self) -> None:
        self.endpoints: list[str] = []
        self._keys: Longs = np.zeros((0, 2), np.uint64)
        self._slots: Codes = np.full(1, -1, np.int32)

    def code(self, address: bytes) -> int:
        """The code of an address of 16 octets, IPv4 mapped."""
        high, low = (np.array([int.from_bytes(part, "big")], np.uint64) for part in (address[:8], address[8:]))
        return int(self.codes(high, low)[0])

    def codes(self, high: Longs, low: Longs) -> Codes:
        """The codes of addresses given as their upper and lower 64 bits, [n] each."""
        codes = np.zeros(len(high), np.int32)
        self.learn(np.stack((high, low), axis=1), codes)
        return codes

    def learn(self, addresses: Longs, codes: Codes) -> None:
        """Write the codes of addresses [n, 2], of their upper and lower 64 bits, into `codes` [n]."""
        known = len(self.endpoints)
        self._reserve(known + len(addresses))
        for code in range(known, _look_up(addresses, codes, self._keys, self._slots, known, SEED)):
            upper, lower = self._keys[code].tolist()
            ipv6 = ipaddress.IPv6Address(upper << 64 | lower)
            self.endpoints.append(str(ipv6.ipv4_mapped or ipv6))

    def _reserve(self, most: int) -> None:
        """Make room for so many addresses: keys, and twice as many slots."""
        if most > len(self._keys):
            keys = np.zeros((max(1024, 2 * most), 2), np.uint64)
            keys[: len(self._keys)] = self._keys
            self._keys, self._slots = keys, np.full(1 << (2 * len(keys) - 1).bit_length(), -1, np.int32)
            _settle(keys, self._slots, len(self.endpoints), SEED)


@compiled
def _look_up(addresses: Any, codes: Any, keys: Any, slots: Any, count: int, seed: Any) -> int:
    """Codes of addresses, the next ones for new ones; how many are known then."""
    mask = np.uint64(len(slots) - 1)
    one = np.uint64(1)
    for i in range(len(addresses)):
        high, low = addresses[np.uint64(i), 0], addresses[np.uint64(i), 1]
        slot = hashed(high, low, seed) >> _TOP & mask
        while True:
            code = slots[slot]
            if code < 0:
                code = np.int32(count)
                slots[slot] = code
                keys[count, 0], keys[count, 1] = high, low
                count += 1
                break
            if keys[np.uint64(code), 1] == low and keys[np.uint64(code), 0] == high:
                break
            slot = slot + one & mask
        codes[np.uint64(i)] = code
    return count


@compiled
def _settle(keys: Any, slots: Any, count: int, seed: Any) -> None:
    """Enter all keys into empty slots."""
    mask = np.uint64(len(slots) - 1)
    for code in range(count):
        slot = hashed(keys[code, 0], keys[code, 1], seed) >> _TOP & mask
        while slots[slot] >= 0:
            slot = slot + np.uint64(1) & mask
        slots[slot] = code
