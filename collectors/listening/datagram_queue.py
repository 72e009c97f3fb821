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


class Parcel(NamedTuple):
    """Datagrams for the decoder of one kind, each of which represents `weight` of its sender.

    `done` is called after decoding, if their memory is reused.
    """

    kind: str
    weight: int
    datagrams: Datagrams
    done: Callable[[], None] | None = None


class Inbox:
    """Parcels in order of arrival.

    `octets`: approximate limit of the queue, besides limits of the sender (`Parcel.done`); `put` waits for room, so that excess
    stays in the kernel. `enough`: number of datagrams worth decoding at once. `shares`: units per exporter.
    """

    def __init__(self, *, octets: int = 64 << 20, enough: int = 2048) -> None:
        self.octets, self.enough = octets, enough
        self.held_octets = self.held_datagrams = 0
        self.shares = Shares()
        self._parcels: deque[Parcel] = deque()
        self._units: deque[Ints] = deque()
        self._changed = threading.Condition()
        self.closed = False

    @property
    def has_room(self) -> bool:
        """Check whether `put` would not wait."""
        return self.closed or not self._parcels or self.held_octets < self.octets

    def wait(self, seconds: float) -> bool:
        """Wait until it `has_room`, at most `seconds`; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self.has_room, seconds)

    def put(self, parcel: Parcel, *, at_once: bool = False) -> None:
        """Add a parcel; waits for room, unless closed or `at_once`."""
        with self._changed:
            self._changed.wait_for(lambda: at_once or self.has_room)
            self._parcels.append(parcel)
            self._units.append(self.shares.add(parcel.datagrams.sender, parcel.datagrams.length))
            self.held_octets += _octets(parcel)
            self.held_datagrams += len(parcel.datagrams)
            if self.held_datagrams >= self.enough or len(self._parcels) == 1:
                self._changed.notify_all()

    def close(self) -> None:
        """Close the queue: nobody waits from now on."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def take(self, *, within: float) -> list[Parcel]:
        """Take the queued parcels, small ones joined: at once if there are enough, else after `within` seconds.

        May be empty.
        """
        until = time.monotonic() + within
        with self._changed:
            self._changed.wait_for(lambda: self.closed or self.held_datagrams >= self.enough, until - time.monotonic())
            taken: list[Parcel] = []
            count = 0
            while self._parcels and count < self.enough:
                taken.append(self._parcels.popleft())
                self.shares.done(self._units.popleft())
                count += len(taken[-1].datagrams)
            self.held_datagrams -= count
            self.held_octets -= sum(map(_octets, taken))
            self._changed.notify_all()
        return join_parcels(taken)


def join_parcels(parcels: Sequence[Parcel]) -> list[Parcel]:
    """Join neighbours of one kind, weight and list of senders, except those whose memory is reused."""
    runs: list[list[Parcel]] = []
    for parcel in parcels:
        last = runs[-1][0] if runs else None
        if (
            last
            and not (last.done or parcel.done)
            and last[:2] == parcel[:2]
            and last.datagrams.senders == parcel.datagrams.senders
        ):
            runs[-1].append(parcel)
        else:
            runs.append([parcel])
    return [run[0] if len(run) == 1 else run[0]._replace(datagrams=_joined([p.datagrams for p in run])) for run in runs]


def _octets(parcel: Parcel) -> int:
    return 0 if parcel.done else len(parcel.datagrams.data)


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
