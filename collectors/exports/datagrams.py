"""Export datagrams in batches: one buffer, arrays of offsets and lengths, and the sender of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Codes, Ints


@dataclass(frozen=True, eq=False)
class Datagrams:
    """UDP payloads in order of arrival; arrays of one entry per datagram.

    Datagram i is `data[offset[i] : offset[i] + length[i]]`, from address `senders[sender[i]]` at `received_ns[i]` (ns since the
    epoch). `data` may contain other octets between, before and after the datagrams.
    """

    data: bytes
    offset: Ints
    length: Ints
    sender: Codes
    received_ns: Ints
    senders: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def octets(self) -> NDArray[np.uint8]:
        """Return `data` as an array."""
        return octets_of(self.data)

    @classmethod
    def of(cls, datagrams: Iterable[tuple[str, bytes, int]]) -> Self:
        """Make a batch from (sender, payload, received_ns)."""
        rows = list(datagrams)
        senders: dict[str, int] = {}
        sender = np.array([senders.setdefault(who, len(senders)) for who, _, _ in rows], np.int32)
        length = np.array([len(payload) for _, payload, _ in rows], np.int64)
        received_ns = np.array([when for _, _, when in rows], np.int64)
        data = b"".join(payload for _, payload, _ in rows)
        return cls(data, np.cumsum(length) - length, length, sender, received_ns, tuple(senders))


def octets_of(data: bytes | bytearray) -> NDArray[np.uint8]:
    """Return a buffer as a read-only array: compiled code exists for one kind of array."""
    octets = np.frombuffer(data, np.uint8)
    octets.flags.writeable = False
    return octets
