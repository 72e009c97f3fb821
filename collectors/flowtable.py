"""Packets of several switches to flow records and hop delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from collectors.bursts import RULES, Pace
from collectors.lanes import Lanes
from collectors.messages import FAR, Messages
from collectors.pieces import Pieces, Table
from collectors.record import COLUMNS, Flows, Packets, Transits
from collectors.sightings import Seen, Sightings


class FlowTable:
    """Packets in, flow records out. `addresses` is the decoder's address book and may grow as it reads.

    `exporters`: the switches. `home`: the switch each address hangs on. `horizon_ns`: sightings of a packet are that close.
    `bin_ns`: time bins of the transits. `small`: payload of at most so many octets is control. `idle_ns`: a flow that rests
    for longer starts anew. `active_ns`: records end at its multiples.
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
        self.pieces = Pieces(RULES)
        self.lanes = Lanes(self.pieces, self.tally, small=small, idle_ns=idle_ns, active_ns=active_ns, pace=pace or Pace())
        self.messages = Messages(self.tally, idle_ns=idle_ns, bin_ns=bin_ns)

    def add(self, exporter: str, packets: Packets) -> None:
        """Take packets one switch saw, in the order of its capture."""
        self.sightings.add(exporter, packets)
        if self.sightings.due():
            self.build(self.sightings.take(self.addresses))

    def expired(self, now_ns: int, *, wait_ns: int) -> tuple[Flows, Transits]:
        """The records that rested for `wait_ns` before the horizon, by start, and hop delays; both are let go of.

        Every packet up to `now_ns` has been added. What comes later of a record is another one: no packet counts twice.
        """
        self.sightings.advance(now_ns)
        self.build(self.sightings.take(self.addresses))
        before_ns = now_ns - self.sightings.horizon_ns - wait_ns
        flows = self.flows(self.lanes.expired(before_ns), self.messages.expired(before_ns))
        return flows, self.sightings.expired()

    def behind(self) -> str | None:
        """The switch to read on next, so that memory stays bounded; None when all are closed."""
        return self.sightings.behind()

    def close(self, exporter: str) -> None:
        """No more packets come from this switch."""
        self.sightings.close(exporter)

    def build(self, seen: Seen | None) -> None:
        """Unique packets to pieces of records."""
        if seen is None or not len(seen.packets):
            return
        self.tally["packets seen once"] += len(seen.packets)
        roce = seen.packets.opcode >= 0
        if not roce.any():
            self.lanes.add(seen)
            return
        self.messages.add(seen.take(roce))
        self.lanes.add(seen.take(~roce))

    def finish(self) -> tuple[Flows, Transits, Counter[str]]:
        """All records by start, all delays by time, and what was counted on the way."""
        self.build(self.sightings.take(self.addresses, last=True))
        self.lanes.finish()
        flows = self.flows(self.pieces.joined(), self.messages.expired(FAR))
        return flows, self.sightings.transits(), self.tally + self.sightings.tally

    def flows(self, lanes: Table, messages: Table) -> Flows:
        """Records of joined pieces."""
        names = self.sightings.exporters
        paths = tuple(tuple(names[i] for i in path) for path in self.sightings.paths)
        columns = record_columns(lane_records(lanes), messages)
        return Flows.build(columns, endpoints=tuple(self.addresses), exporters=names, paths=paths)


def lane_records(t: Table) -> Table:
    """Joined pieces of lanes with `busy_ns`: the time of the octets sent back to back, scaled to all octets of the record."""
    guess = np.asarray(t.get("guess", t["record"]), np.float64)
    size = np.asarray(t.get("busy_size", guess), np.float64)
    scaled = np.divide(t.get("busy", guess) * np.asarray(t.get("size", guess), np.float64), size, out=guess, where=size > 0)
    return t | {"busy_ns": np.rint(scaled).astype(np.int64)}


def record_columns(*tables: Table) -> Table:
    """Columns of all records, in order of start and, where that is equal, of their flow."""
    tables = tuple(t for t in tables if len(t["record"])) or tables[:1]
    names = [c.name for c in COLUMNS if all(c.name in t for t in tables)]
    columns = {name: np.concatenate([t[name] for t in tables]) for name in names}
    order = np.lexsort(
        [columns[name] for name in ("octets", "end_ns", "dst_qp", "dst_port", "src_port", "dst", "src", "start_ns")]
    )
    return {name: column[order] for name, column in columns.items()}


def flows_of(
    readers: Mapping[str, Iterable[Packets]], addresses: Sequence[str], *, home: Mapping[str, str] | None = None
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
