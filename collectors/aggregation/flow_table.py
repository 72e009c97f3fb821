"""Aggregate packets from one or several switches to flow records and hop delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_list import unchanging
from collectors.aggregation._record_columns import columns_of
from collectors.aggregation.batch_decoder import How, Undecoded, Unread
from collectors.aggregation.path_matching import Seen, Sightings
from collectors.columns.record import Flows, Packets, Transits
from collectors.compilation.primitives import SEED
from collectors.flows.bursts import Pace
from collectors.flows.flow_state import (
    ACKNOWLEDGED,
    CONTROLS,
    COPIES,
    CUT,
    EMPTY,
    FAR,
    FLOWS,
    LEAST_OUT,
    NOT_READY,
    ORPHAN,
    OUT,
    PROBES,
    RECORDS,
    REFUSED,
    REPEATS,
    empty_table,
    paces,
    settle,
    with_room,
    without_flows,
)
from collectors.flows.flow_tracking import AHEAD, ROOM, Settings, close_flows, empty_scratch, follow, rest_flows
from collectors.memory.pages import large
from collectors.packets.compiled_decoder.frame_decoder import ROW, packets_of, rows_of

Rows = NDArray[Any]  # of unpacking.ROW, or of state.OUT
TALLIES = {
    ACKNOWLEDGED: "acknowledgment only",
    EMPTY: "no payload",
    REFUSED: "negative acknowledgment",
    NOT_READY: "receiver not ready",
    COPIES: "seen twice by a mirror",
    PROBES: "keep-alive or window probe",
    REPEATS: "repeated after the flow ended",
    CONTROLS: "transport control",
    CUT: "trimmed by a switch",
}
ONCE, ELSEWHERE = "packets seen once", "seen by another switch"
CHUNK = 1 << 15  # rows followed before flows that are over are looked for
MANY = 1 << 16  # flows before it is worth looking for those that are over


class FlowTable:
    """Packets in, flow records out. `addresses` is the decoder's address book and may grow as it reads.

    `exporters`: the switches. `home`: the switch each address hangs on. `horizon_ns`: sightings of a packet are that close.
    `bin_ns`: time bins of the transits, and congestion notifications of so long are one. `small`: payload of at most so many
    octets is control. `idle_ns`: a flow that rests for longer starts anew. `active_ns`: records end at its multiples.

    What one switch alone saw is taken as it comes while its clock does not go back, and sorted by time from there on.
    """

    def __init__(
        self,
        *,
        exporters: Iterable[str],
        addresses: Sequence[str],
        home: Mapping[str, str] | None = None,
        horizon_ns: int = 1_000_000_000,
        bin_ns: int = 50_000_000,
        small: int = 256,
        idle_ns: int = 300_000_000_000,
        active_ns: int | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.addresses = addresses
        self.tally: Counter[str] = Counter()
        self.sightings = Sightings(tuple(exporters), home, horizon_ns=horizon_ns, bin_ns=bin_ns)
        self.settings = Settings(small, idle_ns, active_ns or 0, bin_ns, pace or Pace())
        self.ordered, self.clock = len(self.sightings.exporters) == 1, -FAR
        self.table, self.many = empty_table(), MANY
        self.oldest_ns = -FAR  # no flow was last seen before
        self.scratch, self.parts = empty_scratch(), list[Rows]()
        self.alone = np.zeros((2, 0), np.int32)

    def add(self, exporter: str, packets: Packets | Rows | Undecoded | Unread) -> None:
        """Take packets one switch saw, in the order of its capture; also as rows of `frame_decoder.ROW`, which are changed.

        Those not yet decoded are of the decoder whose addresses these are, and are decoded here.
        """
        if isinstance(packets, Unread):
            self.follow_on(exporter, packets)
            return
        if isinstance(packets, Undecoded):
            packets = self.follow_frames(packets) if self.ordered else packets.rows()
        if self.ordered:
            rows = rows_of(packets) if isinstance(packets, Packets) else packets
            n = self.follow(rows, *self.seen_alone(len(rows)))
            self.sightings.clock[exporter] = self.clock
            self.ordered = n == len(rows)
            if self.ordered:
                return
            packets = rows[n:]
        self.sightings.add(exporter, packets if isinstance(packets, Packets) else packets_of(packets))
        if self.sightings.due():
            self.build(self.sightings.take(self.addresses))

    def follow_frames(self, undecoded: Undecoded) -> Rows:
        """Frames to records, as long as none is older than the one before; the rows from there on."""
        begin = 0
        while begin < len(undecoded.batch):
            self.table = with_room(self.table, *ROOM, len(self.addresses) + 2 * AHEAD)
            left = undecoded.decoder.follow(undecoded.batch, begin, self.table, self.how(), self.clock)
            begin, self.clock = left.upto, left.clock
            self.taken(left.followed)
            if left.back:
                return undecoded.rows(begin)
        return np.zeros(0, ROW)

    def follow_on(self, exporter: str, unread: Unread) -> None:
        """Make records of what comes next in a capture, as long as nothing about it is out of the ordinary."""
        past = self.ordered
        while past:
            self.table = with_room(self.table, *ROOM, len(self.addresses) + 2 * AHEAD)
            left = unread.follow_on(self.table, self.how(), self.clock)
            past, self.clock = left.upto > 0 and not left.back, left.clock
            self.taken(left.followed)
            self.sightings.clock[exporter] = self.clock

    def how(self) -> How:
        """How frames are followed that one switch saw."""
        exporter, path = self.seen_alone(1)[:, 0].tolist()
        return exporter, path, self.settings, self.scratch

    def taken(self, packets: int) -> None:
        """After some were followed: copy records, forget flows, where it is time to."""
        self.tally[ONCE] += packets
        if len(self.table.out) - self.table.counters[RECORDS] < 2 * ROOM.out:
            self.keep()
        if self.table.counters[FLOWS] > self.many:
            self.forget(self.clock - self.settings.idle_ns)

    def seen_alone(self, n: int) -> NDArray[np.int32]:
        """Exporter and path of so many packets that one switch saw: [2, n]."""
        if n > self.alone.shape[1]:
            self.alone = np.zeros((2, 2 * n), np.int32)
            self.alone[1] = self.sightings.path_code((0,))
        return self.alone[:, :n]

    def open(self, exporter: str) -> None:
        """One more switch, from now on."""
        self.sightings.open(exporter)
        self.ordered &= len(self.sightings.exporters) == 1

    def expired(self, now_ns: int, *, wait_ns: int) -> tuple[Flows, Transits]:
        """The records that rested for `wait_ns` before the horizon, by start, and hop delays; both are let go of.

        Every packet up to `now_ns` has been added. What comes later of a record is another one: no packet counts twice.
        """
        self.sightings.advance(now_ns)
        self.build(self.sightings.take(self.addresses))
        before_ns, done, overall = now_ns - self.sightings.horizon_ns - wait_ns, 0, paces(self.table)
        self.make_room()
        while done < self.live:
            done = rest_flows(self.table, before_ns, self.settings, self.scratch, overall, done)
            self.keep()
        return self.flows(), self.sightings.expired()

    @property
    def live(self) -> int:
        """How many flows are remembered."""
        return int(self.table.counters[FLOWS])

    def behind(self) -> str | None:
        """The switch to read on next, so that memory stays bounded; None when all are closed."""
        return self.sightings.behind()

    def close(self, exporter: str) -> None:
        """No more packets come from this switch."""
        self.sightings.close(exporter)

    def build(self, seen: Seen | None) -> None:
        """Unique packets to records."""
        if seen is not None and len(seen.packets):
            self.clock = -FAR
            self.follow(rows_of(seen.packets), seen.exporter, seen.path.astype(np.int32))

    def follow(self, rows: Rows, exporter: NDArray[np.int32], path: NDArray[np.int32]) -> int:
        """Rows of unique packets to records, as long as none is older than the one before; how many those are."""
        start = 0
        while start < len(rows):
            part = slice(start, start + CHUNK)
            self.table = with_room(self.table, *ROOM, len(self.addresses))
            settings = self.settings, self.scratch, self.clock, SEED
            taken, most = follow(self.table, rows[part], exporter[part], path[part], *settings)
            if taken:
                self.clock = int(rows[start + taken - 1]["time_ns"])
            self.taken(taken)
            start += taken
            if taken == most < len(rows[part]):
                break
        return start

    def keep(self) -> None:
        """Keep the records that are done: as they are where there is little room left, or else a copy."""
        n, out = int(self.table.counters[RECORDS]), self.table.out
        if not n:
            return
        if 8 * n < len(out):
            self.parts.append(out[:n].copy())
        else:
            self.parts.append(out[:n])
            self.table = self.table._replace(out=large(len(out), OUT))
        self.table.counters[RECORDS] = 0

    def forget(self, before_ns: int, *, share: float = 0.5) -> None:
        """Drop the flows that are over, where they are at least this share."""
        if self.ordered and before_ns <= self.oldest_ns:
            self.many = max(MANY, 2 * int(self.table.counters[FLOWS]))
            return
        flows = self.table.flows[: self.table.counters[FLOWS]]
        last_ns = flows["last_ns"].copy()
        self.oldest_ns = int(last_ns.min()) if self.ordered and len(flows) else -FAR
        gone = (last_ns < before_ns) | (flows["kind"] == ORPHAN)
        if np.count_nonzero(gone) >= share * len(flows):
            self.close_before(before_ns)
        self.many = max(MANY, 2 * int(self.table.counters[FLOWS]))

    def close_before(self, before_ns: int) -> None:
        """Give out the records of flows last seen before a time, and forget these flows."""
        flows, done, kept, overall = self.live, 0, 0, paces(self.table)
        self.make_room()
        while done < flows:
            done, kept = close_flows(self.table, before_ns, self.settings, self.scratch, overall, done, kept)
            self.keep()
        settle(without_flows(self.table), SEED)

    def make_room(self) -> None:
        """Room for records that flows give out as they end."""
        self.keep()
        self.table = with_room(self.table, 0, 0, LEAST_OUT, len(self.addresses))

    def finish(self) -> tuple[Flows, Transits, Counter[str]]:
        """All records by start, all delays by time, and what was counted on the way."""
        self.build(self.sightings.take(self.addresses, last=True))
        self.close_before(FAR)
        for counter, reason in TALLIES.items():
            if self.table.counters[counter]:
                self.tally[reason] = int(self.table.counters[counter])
        return self.flows(), self.sightings.transits(), self.tally + self.sightings.tally

    def flows(self) -> Flows:
        """The records that are done, by start, which are let go of."""
        names = self.sightings.exporters
        paths = tuple(tuple(names[i] for i in path) for path in self.sightings.paths)
        columns, self.parts = columns_of(self.parts), []
        return Flows.build(columns._asdict(), endpoints=unchanging(self.addresses), exporters=names, paths=paths)


def flows_of(
    readers: Mapping[str, Iterable[Packets | Rows | Undecoded | Unread]],
    addresses: Sequence[str],
    *,
    home: Mapping[str, str] | None = None,
) -> tuple[Flows, Transits, Counter[str]]:
    """Read the captures of several switches side by side, the one that is behind first, and build their flow records."""
    table = FlowTable(exporters=readers, addresses=addresses, home=home)
    streams = {name: iter(reader) for name, reader in readers.items()}
    while (name := table.behind()) is not None:
        packets = next(streams[name], None)
        if packets is None:
            table.close(name)
        else:
            table.add(name, packets)
    return table.finish()


def skipped(packets: int, undecoded: Counter[str], tally: Counter[str]) -> Counter[str]:
    """Count by reason the packets of captures that gave no record: from a decoder and from the tally of a finished table.

    A packet that several switches saw is in one record; its other sightings count as `ELSEWHERE`.
    """
    found = tally + undecoded
    found[ELSEWHERE] = packets - found.pop(ONCE, 0) - undecoded.total()
    return +found
