"""Aggregate packets from one or several switches to flow records and hop delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_list import frozen_addresses
from collectors.aggregation._record_columns import columns_of
from collectors.aggregation.batch_decoder import How, Undecoded, Unread
from collectors.aggregation.path_matching import Seen, Sightings
from collectors.columns.record import Flows, Packets, Transits
from collectors.compilation.primitives import SEED
from collectors.flows.bursts import Pace
from collectors.flows.flow_state import (
    ACKNOWLEDGED,
    ALONE,
    CONTROLS,
    COPIES,
    CUT,
    EMPTY,
    FAR,
    FLOWS,
    LAST_ALONE,
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
from collectors.flows.lone_packets import drop_alone
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
ROWS_PER_CHECK = 1 << 15  # rows between searches for finished flows
MIN_FLOWS = 1 << 16  # flows from which on a search for finished ones pays off


class FlowTable:
    """Builds flow records from packets of one or several switches.

    Packets of a single switch are followed directly while its clock does not go back, and sorted by time from there on.

    Parameters
    ----------
    exporters : iterable of str
        Names of the switches.
    addresses : sequence of str
        The decoder's address book; it may grow.
    home : mapping of str to str, optional
        Switch of each address.
    horizon_ns : int
        Maximum time between sightings of a packet by several switches, ns.
    bin_ns : int
        Time bins of the transits, ns; congestion notifications within this time are merged.
    small : int
        Maximum payload octets of a control message.
    idle_ns : int
        A flow restarts after a pause of this length, ns.
    active_ns : int, optional
        Records are cut at multiples of this time, ns.
    pace : Pace, optional
        Limits that separate bursts from pauses, see `bursts.Pace`.
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
        self.table, self.many = empty_table(), MIN_FLOWS
        self.oldest_ns = -FAR  # no flow was last seen before
        self.scratch, self.parts = empty_scratch(), list[Rows]()
        self.alone = np.zeros((2, 0), np.int32)

    def add(self, exporter: str, packets: Packets | Rows | Undecoded | Unread) -> None:
        """Add packets of one switch, in the order of its capture; also as rows of `frame_decoder.ROW`, which are changed.

        Frames that are not yet decoded must use the same address book; they are decoded here.
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
        """Follow frames while time does not go back; return the rows of the rest."""
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
        """Follow the next packets of a capture while nothing unusual occurs."""
        past = self.ordered
        while past:
            self.table = with_room(self.table, *ROOM, len(self.addresses) + 2 * AHEAD)
            left = unread.follow_on(self.table, self.how(), self.clock)
            past, self.clock = left.upto > 0 and not left.back, left.clock
            self.taken(left.followed)
            self.sightings.clock[exporter] = self.clock

    def how(self) -> How:
        """Return the settings for frames of a single switch."""
        exporter, path = self.seen_alone(1)[:, 0].tolist()
        return exporter, path, self.settings, self.scratch

    def taken(self, packets: int) -> None:
        """Copy finished records and drop finished flows if necessary, after `packets` were followed."""
        self.tally[ONCE] += packets
        if len(self.table.out) - self.table.counters[RECORDS] < 2 * ROOM.out:
            self.keep()
        if self.live > self.many:
            self.forget(self.clock - self.settings.idle_ns)

    def seen_alone(self, n: int) -> NDArray[np.int32]:
        """Return exporter and path of packets that one switch saw: [2, n]."""
        if n > self.alone.shape[1]:
            self.alone = np.zeros((2, 2 * n), np.int32)
            self.alone[1] = self.sightings.path_code((0,))
        return self.alone[:, :n]

    def open(self, exporter: str) -> None:
        """Add a switch."""
        self.sightings.open(exporter)
        self.ordered &= len(self.sightings.exporters) == 1

    def expired(self, now_ns: int, *, wait_ns: int) -> tuple[Flows, Transits]:
        """Take the records that rested for `wait_ns` before the horizon, by start, and hop delays; both are removed.

        Every packet up to `now_ns` has been added. Later packets of such a flow make another record; no packet counts twice.
        """
        self.sightings.advance(now_ns)
        self.build(self.sightings.take(self.addresses))
        before_ns, done, overall = now_ns - self.sightings.horizon_ns - wait_ns, 0, paces(self.table)
        self.make_room()
        while done < self.table.counters[FLOWS]:
            done = rest_flows(self.table, before_ns, self.settings, self.scratch, overall, done)
            self.keep()
        return self.flows(), self.sightings.expired()

    @property
    def live(self) -> int:
        """Return the number of remembered flows."""
        return int(self.table.counters[FLOWS] + self.table.counters[ALONE])

    def behind(self) -> str | None:
        """Return the switch to read next, so that memory stays bounded; None when all are closed."""
        return self.sightings.behind()

    def close(self, exporter: str) -> None:
        """Mark a switch as complete."""
        self.sightings.close(exporter)

    def build(self, unique: Seen | None) -> None:
        """Follow unique packets."""
        if unique is not None and len(unique.packets):
            self.clock = -FAR
            self.follow(rows_of(unique.packets), unique.exporter, unique.path.astype(np.int32))

    def follow(self, rows: Rows, exporter: NDArray[np.int32], path: NDArray[np.int32]) -> int:
        """Follow rows of unique packets while time does not go back; return their number."""
        start = 0
        while start < len(rows):
            part = slice(start, start + ROWS_PER_CHECK)
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
        """Store finished records: in place if there is little room left, otherwise as a copy."""
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
        """Drop finished flows if they are at least this share of all."""
        if self.ordered and before_ns <= self.oldest_ns:
            self.many = max(MIN_FLOWS, 2 * self.live)
            return
        flows, alone = self.table.flows[: self.table.counters[FLOWS]], self.table.alone[: self.table.counters[LAST_ALONE]]
        alone_ns = alone["last_ns"][alone["rest"] != 0]
        last_ns = np.concatenate((flows["last_ns"], alone_ns))
        self.oldest_ns = int(last_ns.min()) if self.ordered and len(last_ns) else -FAR
        gone = last_ns < before_ns
        gone[: len(flows)] |= flows["kind"] == ORPHAN
        if np.count_nonzero(gone) >= share * len(gone):
            self.close_before(before_ns)
        self.many = max(MIN_FLOWS, 2 * self.live)

    def close_before(self, before_ns: int) -> None:
        """Emit the records of flows last seen before a time, and drop these flows."""
        flows, done, kept, overall = int(self.table.counters[FLOWS]), 0, 0, paces(self.table)
        self.make_room()
        while done < flows:
            done, kept = close_flows(self.table, before_ns, self.settings, self.scratch, overall, done, kept)
            self.keep()
        drop_alone(self.table, before_ns)
        settle(without_flows(self.table), SEED)

    def make_room(self) -> None:
        """Reserve room for all records that may be emitted."""
        self.keep()
        self.table = with_room(self.table, 0, 0, LEAST_OUT, len(self.addresses))

    def finish(self) -> tuple[Flows, Transits, Counter[str]]:
        """Return all records by start, all delays by time, and the counters."""
        self.build(self.sightings.take(self.addresses, last=True))
        self.close_before(FAR)
        for counter, reason in TALLIES.items():
            if self.table.counters[counter]:
                self.tally[reason] = int(self.table.counters[counter])
        return self.flows(), self.sightings.transits(), self.tally + self.sightings.tally

    def flows(self) -> Flows:
        """Take the finished records, by start; they are removed."""
        names = self.sightings.exporters
        paths = tuple(tuple(names[i] for i in path) for path in self.sightings.paths)
        columns, self.parts = columns_of(self.parts), []
        return Flows.build(columns._asdict(), endpoints=frozen_addresses(self.addresses), exporters=names, paths=paths)


def flows_of(
    readers: Mapping[str, Iterable[Packets | Rows | Undecoded | Unread]],
    addresses: Sequence[str],
    *,
    home: Mapping[str, str] | None = None,
) -> tuple[Flows, Transits, Counter[str]]:
    """Read captures of several switches in parallel, least advanced first, and build their flow records."""
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
    """Count by reason the packets without a record: from a decoder, and from the tally of a finished table.

    A packet that several switches saw is in one record; its other sightings count as `ELSEWHERE`.
    """
    found = tally + undecoded
    found[ELSEWHERE] = packets - found.pop(ONCE, 0) - undecoded.total()
    return +found
