"""Hold captured frames in batches (one buffer, arrays of offsets and lengths), and gather headers from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.files.compression import PAD as PAD

Octets = bytes | bytearray


@dataclass(frozen=True, eq=False)
class Batch:
    """Captured frames in the order of the file; arrays have one entry per frame.

    Frame i is `data[offset[i] : offset[i] + captured[i]]`, was captured at `time_ns[i]` (ns since the epoch) and had `wire[i]`
    octets on the wire. `data` may contain other octets between, before and after the frames. A batch is valid until the next
    one is read: buffer and arrays are reused.
    """

    data: Octets
    link_type: Ints
    time_ns: Ints
    offset: Ints
    captured: Ints
    wire: Ints

    def __len__(self) -> int:
        return len(self.time_ns)

    def part(self, begin: int, end: int) -> Self:
        """Return the frames from `begin` to before another."""
        columns = (self.link_type, self.time_ns, self.offset, self.captured, self.wire)
        return type(self)(self.data, *(column[begin:end] for column in columns))

    @classmethod
    def of(cls, packets: Iterable[tuple[int, bytes, int]], *, link_type: int = 1) -> Self:
        """Build a batch from (time_ns, frame, wire length)."""
        rows = list(packets)
        captured = np.array([len(frame) for _, frame, _ in rows], np.int64)
        time_ns, wire = (np.array([row[i] for row in rows], np.int64) for i in (0, 2))
        data = b"".join(frame for _, frame, _ in rows) + PAD
        return cls(data, np.full(len(rows), link_type, np.int64), time_ns, np.cumsum(captured) - captured, captured, wire)


def gather(buffer: Octets, at: Ints, layout: np.dtype[Any]) -> NDArray[Any]:
    """Read the header of a layout at each place in a buffer, [n]; all of it must be inside, hence `PAD`."""
    size = layout.itemsize
    everywhere = np.ndarray((len(buffer) - size + 1,), f"V{size}", buffer, 0, (1,))
    return everywhere[at].view(layout)


def words(buffer: Octets, at: Ints, order: str, count: int) -> Ints:
    """Read `count` 32-bit numbers from each place on: [count, n]."""
    return gather(buffer, at, np.dtype(f"V{4 * count}")).view(order + "u4").reshape(-1, count).T.astype(np.int64)
