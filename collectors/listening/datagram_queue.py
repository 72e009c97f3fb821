"""Queue datagrams between the receiving and the decoding thread; bounded."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from collectors.columns.record import Ints
from collectors.exports.datagrams import Datagrams
from collectors.listening._fair_shares import Shares


class DatagramBatch(NamedTuple):
    """Datagrams for the decoder of one kind, each of which represents `weight` of its sender.

    `done` is called after decoding, if their memory is reused.
    """

    kind: str
    weight: int
    datagrams: Datagrams
    done: Callable[[], None] | None = None


class DatagramQueue:
    """Batches of datagrams in order of arrival.

    `octets`: approximate limit of the queue, besides limits of the sender (`DatagramBatch.done`); `put` waits for room, so that
    excess stays in the kernel. `enough`: number of datagrams worth decoding at once. `shares`: units per exporter.
    """

    def __init__(self, *, octets: int = 64 << 20, enough: int = 2048) -> None:
        self.octets, self.enough = octets, enough
        self.held_octets = self.held_datagrams = 0
        self.shares = Shares()
        self._batches: deque[DatagramBatch] = deque()
        self._units: deque[Ints] = deque()
        self._changed = threading.Condition()
        self.closed = False

    @property
    def has_room(self) -> bool:
        """Check whether `put` would not wait."""
        return self.closed or not self._batches or self.held_octets < self.octets

    def wait(self, seconds: float) -> bool:
        """Wait until it `has_room`, at most `seconds`; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self.has_room, seconds)

    def put(self, batch: DatagramBatch, *, at_once: bool = False) -> None:
        """Add a batch; waits for room, unless closed or `at_once`."""
        with self._changed:
            self._changed.wait_for(lambda: at_once or self.has_room)
            self._batches.append(batch)
            self._units.append(self.shares.add(batch.datagrams.sender, batch.datagrams.length))
            self.held_octets += _octets(batch)
            self.held_datagrams += len(batch.datagrams)
            if self.held_datagrams >= self.enough or len(self._batches) == 1:
                self._changed.notify_all()

    def close(self) -> None:
        """Close the queue: nobody waits from now on."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def take(self, *, within: float) -> list[DatagramBatch]:
        """Take the queued batches, small ones joined: at once if there are enough, else after `within` seconds.

        May be empty.
        """
        until = time.monotonic() + within
        with self._changed:
            self._changed.wait_for(lambda: self.closed or self.held_datagrams >= self.enough, until - time.monotonic())
            taken: list[DatagramBatch] = []
            count = 0
            while self._batches and count < self.enough:
                taken.append(self._batches.popleft())
                self.shares.done(self._units.popleft())
                count += len(taken[-1].datagrams)
            self.held_datagrams -= count
            self.held_octets -= sum(map(_octets, taken))
            self._changed.notify_all()
        return join_batches(taken)


def join_batches(batches: Sequence[DatagramBatch]) -> list[DatagramBatch]:
    """Join neighbours of one kind, weight and list of senders, except those whose memory is reused."""
    runs: list[list[DatagramBatch]] = []
    for batch in batches:
        last = runs[-1][0] if runs else None
        if (
            last
            and not (last.done or batch.done)
            and last[:2] == batch[:2]
            and last.datagrams.senders == batch.datagrams.senders
        ):
            runs[-1].append(batch)
        else:
            runs.append([batch])
    return [run[0] if len(run) == 1 else run[0]._replace(datagrams=_joined([p.datagrams for p in run])) for run in runs]


def _octets(batch: DatagramBatch) -> int:
    return 0 if batch.done else len(batch.datagrams.data)


def _joined(parts: Sequence[Datagrams]) -> Datagrams:
    sizes = np.array([len(part.data) for part in parts])
    shift = np.repeat(np.cumsum(sizes) - sizes, [len(part) for part in parts])
    return Datagrams(
        data=b"".join([part.data for part in parts]),
        offset=np.concatenate([part.offset for part in parts]) + shift,
        length=np.concatenate([part.length for part in parts]),
        sender=np.concatenate([part.sender for part in parts]),
        received_ns=np.concatenate([part.received_ns for part in parts]),
        senders=parts[-1].senders,
    )
