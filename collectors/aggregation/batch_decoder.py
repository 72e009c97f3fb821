"""Decode a batch of frames to rows, compiled; the same results as `plain_decoder.unpack`."""

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
MOST_REASONS = 256  # of one decoder; frames of more unknown EtherTypes count together
SPARE = 1 << 12  # addresses there is room for beside those that are known: compiled loops go on only where there is enough
How = tuple[int, int, Settings, Scratch]  # exporter and path of packets, and how they are followed


class Left(NamedTuple):
    """What `Decoder.follow` did: up to which frame it came, how many packets it followed, whether time goes back there; the
    clock.
    """

    upto: int
    followed: int
    back: bool
    clock: int


class Decoder:
    """Decode batches of frames. `skipped` counts the packets without a row by reason; `book` has the codes of addresses."""

    def __init__(self, book: AddressBook | None = None) -> None:
        self.book = AddressBook() if book is None else book
        self.skipped: Counter[str] = Counter()
        self._rows: Rows = np.zeros(1, ROW)
        self._place, self._counts = np.zeros(1, PLACE), np.zeros(VERDICTS, np.int64)
        self._seen = truncation.array()

    @property
    def endpoints(self) -> GrowingAddresses:
        """The addresses as text; codes of packets point into it. It grows with every batch."""
        return self.book.endpoints

    def decode(self, batch: Batch) -> Packets:
        """The rows of the frames that have one, in order; the others are counted in `skipped`. Raises nothing."""
        return packets_of(self.unpack(batch))

    def unpack(self, batch: Batch) -> Rows:
        """The same as records of `frame_decoder.ROW`, which hold until the next call."""
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
        """A batch for `FlowTable.add`, which decodes it; it holds as long as the batch."""
        return Undecoded(self, batch)

    def follow(self, batch: Batch, begin: int, table: Table, how: How, clock: int) -> Left:
        """Frames of a batch from `begin` on straight into a table of flows (see `single_switch.follow_frames`)."""
        data = np.frombuffer(batch.data, np.uint8).ctypes.data
        means, known = self.means(max(2 * len(batch), SPARE), how)
        upto, followed, back, known, clock = follow_frames(table, data, _columns(batch), begin, means, known, clock)
        self.followed(known, batch.link_type[begin:upto])
        return Left(upto, followed, back, clock)

    def means(self, addresses: int, how: How) -> tuple[Means, int]:
        """What frames are followed with, and how many addresses are known, with room for so many more."""
        keys, slots, known = self.book.tables(addresses)
        return Means(keys, slots, self.book.pairs, self._rows, self._place, self._counts, self._seen, *how, SEED), known

    def followed(self, known: int, link_types: Ints) -> None:
        """Take note of how many addresses are known, and what was skipped of frames of these link types, or all of one."""
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
        """The reason of a verdict; `OTHERS` if there are too many reasons."""
        reason = reason_of(verdict)
        if is_named(verdict) or reason in self.skipped or len(self.skipped) < MOST_REASONS:
            return reason
        return OTHERS


def _columns(batch: Batch) -> tuple[Ints, ...]:
    """The columns of a batch in one piece each, or all would be compiled anew for those that are not."""
    columns = (batch.link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)
    return tuple(np.ascontiguousarray(column) for column in columns)


class Undecoded(NamedTuple):
    """Frames that are decoded when it is known what becomes of them."""

    decoder: Decoder
    batch: Batch

    def rows(self, begin: int = 0) -> Rows:
        """The rows of the frames from `begin` on, as `Decoder.unpack` has them."""
        return self.decoder.unpack(self.batch.part(begin, len(self.batch)))


class Unread(ABC):
    """What comes next somewhere, for those who can follow it there; what they leave comes as a batch."""

    @abstractmethod
    def follow_on(self, table: Table, how: How, clock: int) -> Left:
        """Follow what comes next, as far as it goes; `clock`: the time of the last packet before."""
