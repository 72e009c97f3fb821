"""Simulate mirror-port captures: packets with their times at each switch, minus collection losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.partial_records import Table
from prism.synth.capture.packet_frames import SNAPLEN, Matrix, frames, numbers_of, wrap_erspan
from prism.synth.capture.packet_trains import marked_packets, take_rows
from prism.synth.scenario.cluster import Ints, Plant
from prism.synth.scenario.specification import Degradation
from prism.synth.training.job_run import FAR_NS

HOPS = (("first", "time"), ("second", "second_time"), ("third", "third_time"))
NEEDED = (
    "src", "dst", "src_port", "dst_port", "protocol", "dst_qp", "link", "octets", "total", "opcode", "flags", "sequence",
    "acknowledgment", "ip_id", "sent",
)  # fmt: skip


class Captured(NamedTuple):
    """Frames of one switch by time: ns since the epoch, octets [n, snaplen], captured octets, length on the wire."""

    switch: str
    time_ns: Ints
    octets: Matrix
    captured: Ints
    wire: Ints


class Mirrors:
    """Converts packets by time to frames by switch and time.

    `erspan`: encapsulate frames, one session per switch. `asked`: mirror one packet in `sampling`, lose the share `loss` of
    them, shift each switch's clock. `seen`: time of collection, ns since the simulation's start.
    """

    def __init__(
        self,
        plant: Plant,
        start_ns: int,
        rng: np.random.Generator,
        *,
        asked: Degradation = Degradation(),  # noqa: B008 - frozen
        seen: tuple[float, float] = (-FAR_NS, FAR_NS),
        erspan: bool = False,
        snaplen: int = SNAPLEN,
    ) -> None:
        if asked.aggregate_s:
            raise ValueError("aggregate_s applies to flow records, not to --packets")
        self.plant, self.start_ns, self.rng, self.asked, self.seen = plant, start_ns, rng, asked, seen
        self.erspan, self.snaplen = erspan, snaplen
        self.addresses = numbers_of(plant.addresses)
        self.skew = np.rint(rng.uniform(-asked.skew_ms, asked.skew_ms, len(plant.switches)) * 1e6).astype(np.int64)
        self.numbers = np.zeros(len(plant.switches), np.int64)
        self.pending: Table = {}

    def captured(self, packets: Iterable[tuple[Table, float]]) -> Iterator[Captured]:
        """Yield frames in chunks, each switch's in order of time. `packets` come from `Packets.add`."""
        for table, until in packets:
            yield from self._flushed(self._sightings(table), until)
        yield from self._flushed({}, FAR_NS)

    def _sightings(self, t: Table) -> Table:
        """Make a row per packet and switch that mirrored it."""
        parts, t = [], t | {"sent": t["time"]}
        second, third = marked_packets(t)
        able = (t["opcode"] >= 0) & (t["octets"] > 0)
        for (hop, time), queued in zip(HOPS, (np.zeros_like(second), second & able, third & able), strict=True):
            rows = np.flatnonzero((t[hop] >= 0) & (t[time] >= self.seen[0]) & (t[time] < self.seen[1]))
            rows = self._mirrored(rows)
            seen = {"switch": t[hop][rows], "time": t[time][rows], "marked": queued[rows]}
            parts.append({name: t[name][rows] for name in NEEDED} | seen)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _mirrored(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        kept = (1 - self.asked.loss) / self.asked.sampling
        return rows if kept >= 1 else rows[self.rng.random(len(rows)) < kept]

    def _flushed(self, fresh: Table, until: float) -> Iterator[Captured]:
        """Yield the frames that no later packet can precede."""
        tables = [t for t in (self.pending, fresh) if t]
        if not tables:
            return
        rows = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
        over = rows["time"] < until
        self.pending = take_rows(rows, ~over)
        rows = take_rows(rows, over)
        order = np.lexsort((rows["time"], rows["switch"]))
        edges = np.searchsorted(rows["switch"][order], np.arange(len(self.plant.switches) + 1))
        for switch, name in enumerate(self.plant.switches):
            own = take_rows(rows, order[edges[switch] : edges[switch + 1]])
            if len(own["time"]):
                yield Captured(name, own["time"] + self.start_ns + self.skew[switch], *self._frames(own, switch))

    def _frames(self, t: Table, switch: int) -> tuple[Matrix, Ints, Ints]:
        built = frames(t, self.addresses, self.snaplen)
        if not self.erspan:
            return built
        n = len(t["time"])
        number = self.numbers[switch] + np.arange(n)
        self.numbers[switch] += n
        ends = (10 << 24 | 255 << 16) + 1 + switch, (10 << 24 | 9 << 16 | 3 << 8) + 1
        return wrap_erspan(built, number, ends, (switch + 1) & 0x3FF, self.snaplen)
