"""Store sets that arrive before their template, for a bounded time and in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

OVERHEAD = 512  # octets of overhead per stored set


@dataclass
class Ticket:
    """A datagram with waiting sets: their number, and whether it already counts as an error."""

    left: int = 0
    failed: bool = False


class WaitingSet(NamedTuple):
    """A waiting set: its body, and values from its message's header."""

    exporter: str
    key: Hashable
    octets: bytes
    export_ns: int
    uptime_ms: int
    received_ns: int
    ticket: Ticket
    trimmed: bool = False  # the message ended before the set


class WaitingRoom:
    """Waiting sets by exporter and template, oldest first. Dropped sets are returned to be counted.

    `most_octets`: in total; above it, the largest exporter loses half of its sets. `most_each`: of one exporter, oldest dropped
    first. `most_ns`: maximum waiting time.
    """

    def __init__(self, *, most_octets: int = 1 << 26, most_each: int = 1 << 20, most_ns: int = 1_800_000_000_000) -> None:
        self.most_octets, self.most_each, self.most_ns = most_octets, most_each, most_ns
        self.octets = 0
        self._rooms: dict[str, _Room] = {}

    def put(self, waiter: WaitingSet) -> list[WaitingSet]:
        """Add a set; return the sets dropped for it."""
        room = self._rooms.setdefault(waiter.exporter, _Room())
        self.octets += room.put(waiter)
        gone: list[WaitingSet] = []
        while room.octets > self.most_each:
            gone.append(self._leave(room))
        while self.octets > self.most_octets:
            largest = max(self._rooms.values(), key=lambda r: r.octets)
            half = largest.octets // 2
            while largest.octets > half:
                gone.append(self._leave(largest))
        return gone

    def take(self, exporter: str, key: Hashable) -> list[WaitingSet]:
        """Take the sets that waited for a template."""
        room = self._rooms.get(exporter)
        found = [] if room is None else room.take(key)
        self.octets -= sum(len(waiter.octets) + OVERHEAD for waiter in found)
        self._tidy(exporter)
        return found

    def expire(self, now_ns: int) -> list[WaitingSet]:
        """Take the sets that have waited too long."""
        gone: list[WaitingSet] = []
        for exporter, room in list(self._rooms.items()):
            while room.waiters and room.oldest().received_ns < now_ns - self.most_ns:
                gone.append(self._leave(room))
            self._tidy(exporter)
        return gone

    def forget(self, exporter: str) -> list[WaitingSet]:
        """Take the sets of a forgotten exporter."""
        gone: list[WaitingSet] = []
        room = self._rooms.pop(exporter, None)
        while room is not None and room.waiters:
            gone.append(self._leave(room))
        return gone

    def __len__(self) -> int:
        return sum(len(room.waiters) for room in self._rooms.values())

    def _leave(self, room: _Room) -> WaitingSet:
        waiter = room.pop()
        self.octets -= len(waiter.octets) + OVERHEAD
        return waiter

    def _tidy(self, exporter: str) -> None:
        if exporter in self._rooms and not self._rooms[exporter].waiters:
            del self._rooms[exporter]


class _Room:
    """The sets of one exporter."""

    def __init__(self) -> None:
        self.waiters: OrderedDict[int, WaitingSet] = OrderedDict()
        self.numbers: dict[Hashable, dict[int, None]] = {}
        self.octets = self.given = 0

    def put(self, waiter: WaitingSet) -> int:
        self.waiters[self.given] = waiter
        self.numbers.setdefault(waiter.key, {})[self.given] = None
        self.given += 1
        size = len(waiter.octets) + OVERHEAD
        self.octets += size
        return size

    def oldest(self) -> WaitingSet:
        return next(iter(self.waiters.values()))

    def pop(self) -> WaitingSet:
        number, waiter = self.waiters.popitem(last=False)
        numbers = self.numbers[waiter.key]
        del numbers[number]
        if not numbers:
            del self.numbers[waiter.key]
        self.octets -= len(waiter.octets) + OVERHEAD
        return waiter

    def take(self, key: Hashable) -> list[WaitingSet]:
        return list(self._taken(key))

    def _taken(self, key: Hashable) -> Iterator[WaitingSet]:
        for number in self.numbers.pop(key, {}):
            waiter = self.waiters.pop(number)
            self.octets -= len(waiter.octets) + OVERHEAD
            yield waiter
