"""Addresses as small numbers."""

from __future__ import annotations

import ipaddress

import numpy as np
from numpy.typing import NDArray

from collectors.record import Codes

Longs = NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing, Knuth volume 3 section 6.4
_SLOT_BITS = 16
_FEW = 1000  # addresses are learned from so many packets first: mostly that is all there are


class AddressBook:
    """Int32 codes of addresses; `endpoints[code]` is the text. One book may serve many decoders.

    An address is looked up in a table with one slot per hash. Where another one sits there, or none, the few distinct
    addresses concerned are looked up in the dictionary.
    """

    def __init__(self) -> None:
        self.endpoints: list[str] = []
        self._codes: dict[bytes, int] = {}
        self._slots: Codes = np.zeros(1 << _SLOT_BITS, np.int32)
        self._keys: Longs = np.zeros((0, 2), np.uint64)

    def code(self, address: bytes) -> int:
        """The code of an address of 16 octets, IPv4 mapped."""
        code = self._codes.setdefault(address, len(self._codes))
        if code == len(self.endpoints):
            ipv6 = ipaddress.IPv6Address(address)
            self.endpoints.append(str(ipv6.ipv4_mapped or ipv6))
        return code

    def codes(self, high: Longs, low: Longs) -> Codes:
        """The codes of addresses given as their upper and lower 64 bits, [n] each."""
        slots = (high * _SPREAD + low) * _SPREAD >> np.uint64(64 - _SLOT_BITS)
        codes = np.zeros(len(slots), np.int32)
        missed, some = np.arange(len(slots)), _FEW
        while len(missed):
            if len(self._keys):
                codes[missed] = self._slots[slots[missed]]
                keys = self._keys[codes[missed]]
                missed = missed[(keys[:, 0] != high[missed]) | (keys[:, 1] != low[missed])]
                if not len(missed):
                    break
            new, missed = missed[:some], missed[some:]
            codes[new] = self._learn(high[new], low[new])
            self._slots[slots[new]] = codes[new]
            some *= 4
        return codes

    def _learn(self, high: Longs, low: Longs) -> Codes:
        distinct, which = np.unique(np.stack((high, low), axis=1), axis=0, return_inverse=True)
        codes = np.array([self.code(row.tobytes()) for row in distinct.astype(">u8")], np.int32)
        if len(self._keys) < len(self._codes):
            self._keys = np.frombuffer(b"".join(self._codes), ">u8").astype(np.uint64).reshape(-1, 2)
        return codes[which.reshape(-1)]
