"""Decode a batch of frames to rows, compiled; same results as `plain_decoder.unpack`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_book import AddressBook
from collectors.addresses.address_list import GrowingAddresses
from collectors.columns.record import Ints, Packets
from collectors.compilation.primitives import SEED
from collectors.flows.flow_state import Table
from collectors.flows.flow_tracking import Scratch, Settings
from collectors.flows.single_switch import Means, follow_frames
from collectors.packets import plain_decoder, truncation
from collectors.packets.compiled_decoder.frame_decoder import PLACE, ROW, packets_of, unpack_frames
from collectors.packets.compiled_decoder.link_layer import LINK_TYPES
from collectors.packets.frame_batch import Batch
from collectors.packets.protocols import NOT_IP, REASONS, UNKNOWN, VERDICTS, is_named, reason_of

Rows = NDArray[Any]  # of unpacking.ROW
OTHERS = f"{REASONS[0]}: other EtherTypes"
MOST_REASONS = 256  # reasons per decoder; frames of further unknown EtherTypes are counted together
SPARE = 1 << 12  # addresses to reserve beside the known ones: compiled loops stop where there is less room
How = tuple[int, int, Settings, Scratch]  # exporter and path of packets, and settings of the flow table


class FollowResult(NamedTuple):
    """Result of `Decoder.follow`: end frame, number of followed packets, whether time goes back there, and the clock."""

    upto: int
    followed: int
    back: bool
    clock: int


class Decoder:
    """Decoder of batches of frames. `skipped` counts packets without a row by reason; `book` has the codes of addresses."""

    def __init__(self, book: AddressBook | None = None) -> None:
        self.book = AddressBook() if book is None else book
        self.skipped: Counter[str] = Counter()
        self._rows: Rows = np.zeros(1, ROW)
        self._place, self._counts = np.zeros(1, PLACE), np.zeros(VERDICTS, np.int64)
        self._seen = truncation.array()

    @property
    def endpoints(self) -> GrowingAddresses:
        """Return the addresses as text; codes of packets are indices into it. It grows with every batch."""
        return self.book.endpoints

    def decode(self, batch: Batch) -> Packets:
        """Decode a batch; returns the rows in order. Other frames are counted in `skipped`. Raises nothing."""
        return packets_of(self.unpack(batch))

    def unpack(self, batch: Batch) -> Rows:
        """Decode a batch to records of `frame_decoder.ROW`, valid until the next call."""
        n = len(batch)
        if n >= len(self._rows):
            self._rows = np.zeros(n + n // 4 + 1, ROW)
        data = np.frombuffer(batch.data, np.uint8).ctypes.data
        frames = _columns(batch)
        book = (*self.book.tables(2 * n), self.book.pairs)
        kept, known = unpack_frames(data, frames, self._rows, book, self._place, self._counts, self._seen)
        self.book.name(known)
        if kept < n:
            self._count(batch.link_type)
        return self._rows[:kept]

    def later(self, batch: Batch) -> Undecoded:
        """Wrap a batch for `FlowTable.add`, which decodes it; valid as long as the batch."""
        return Undecoded(self, batch)

    def follow(self, batch: Batch, begin: int, table: Table, how: How, clock: int) -> FollowResult:
        """Decode frames of a batch from `begin` and follow them in a flow table (see `single_switch.follow_frames`)."""
        data = np.frombuffer(batch.data, np.uint8).ctypes.data
        means, known = self.means(max(2 * len(batch), SPARE), how)
        upto, followed, back, known, clock = follow_frames(table, data, _columns(batch), begin, means, known, clock)
        self.followed(known, batch.link_type[begin:upto])
        return FollowResult(upto, followed, back, clock)

    def means(self, addresses: int, how: How) -> tuple[Means, int]:
        """Return the tables that compiled code needs to decode and follow frames, and the number of addresses.

        The tables have room for `addresses` more addresses.
        """
        keys, slots, known = self.book.tables(addresses)
        return Means(keys, slots, self.book.pairs, self._rows, self._place, self._counts, self._seen, *how, SEED), known

    def followed(self, known: int, link_types: Ints) -> None:
        """Update the number of addresses, and count skipped frames by link type ([n], or one for all)."""
        self.book.name(known)
        if self._counts[NOT_IP:].any():
            self._count(link_types)

    def _count(self, link_types: Ints) -> None:
        """Count the verdicts by reason."""
        found = np.flatnonzero(self._counts)
        for verdict, count in zip(found.tolist(), self._counts[found].tolist(), strict=True):
            if verdict == UNKNOWN:
                unknown = link_types[~np.isin(link_types, LINK_TYPES)]
                for link_type, many in zip(*np.unique(unknown, return_counts=True), strict=True):
                    self.skipped[plain_decoder.UNKNOWN_LINK.format(link_type)] += count if len(unknown) == 1 else int(many)
            else:
                self.skipped[self._reason(verdict)] += count
        self._counts[found] = 0

    def _reason(self, verdict: int) -> str:
        """Name the reason of a verdict; `OTHERS` if there are too many."""
        reason = reason_of(verdict)
        if is_named(verdict) or reason in self.skipped or len(self.skipped) < MOST_REASONS:
            return reason
        return OTHERS


def _columns(batch: Batch) -> tuple[Ints, ...]:
    """Make the columns of a batch contiguous, to avoid compiling for other layouts."""
    columns = (batch.link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)
    return tuple(np.ascontiguousarray(column) for column in columns)


class Undecoded(NamedTuple):
    """Frames that the flow table decodes, once it knows how to use them."""

    decoder: Decoder
    batch: Batch

    def rows(self, begin: int = 0) -> Rows:
        """Decode the frames from `begin`, as `Decoder.unpack`."""
        return self.decoder.unpack(self.batch.part(begin, len(self.batch)))


class Unread(ABC):
    """The unread rest of an input that compiled code can follow directly; what it leaves comes as a batch."""

    @abstractmethod
    def follow_on(self, table: Table, how: How, clock: int) -> FollowResult:
        """Follow the next packets as far as possible; `clock`: time of the previous packet."""
