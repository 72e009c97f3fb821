"""Convert live packets to flow records: a ring of frames, the decoder, the flow table, a sink. Idle flows are written."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np

from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import FlowTable
from collectors.aggregation.path_matching import Seen
from collectors.captures.packet_ring import Ring
from collectors.live._hop_metrics import Hops
from collectors.operations.logs import log_event
from collectors.operations.metrics import PREFIX, Count, Published, keyed, sum_tallies
from collectors.operations.stop_flag import Flag
from collectors.packets.compiled_decoder.frame_decoder import ROW, packets_of
from collectors.packets.frame_batch import Batch
from collectors.writers.sinks import Sink

SECOND = 1_000_000_000
COUNTS_EVERY_S = 0.1  # seconds between updates of the counters
LAG_NS = 200_000_000  # older frames have been read once the ring is empty: the kernel passes on blocks after 100 ms
MAX_DISORDER_NS = 10_000_000  # maximum disorder of frames in the ring from parallel processors
MOST_ADDRESSES, MOST_FLOWS = 200_000, 1_000_000


def warm() -> None:
    """Compile all loops of capturing before frames arrive, because the first compilation takes a while."""
    decoder, frame = Decoder(), Batch.of([(0, b"", 0)])
    table = FlowTable(exporters=("one",), addresses=decoder.endpoints)
    for now, name in enumerate(("one", "another")):  # packets of a single switch use other loops
        table.open(name)
        table.add(name, decoder.later(frame))
        table.expired(now, wait_ns=0)
    table.build(Seen(packets_of(np.zeros(1, ROW)), np.zeros(1, np.int32), np.zeros(1, np.int64)))
    table.finish()


class Splits(Protocol):
    """Assigns frames to switches; `alone`: the only switch, if there is one."""

    skipped: Counter[str]
    alone: tuple[str, ...]

    def split(self, batch: Batch) -> Iterable[tuple[str, Batch]]:
        """Yield the frames of each switch, in order."""


class OneSwitch:
    """Assigns all frames to one switch."""

    def __init__(self, name: str) -> None:
        self.name, self.skipped = name, Counter[str]()
        self.alone: tuple[str, ...] = (name,)

    def split(self, batch: Batch) -> Iterable[tuple[str, Batch]]:
        """Yield the unchanged batch."""
        return ((self.name, batch),)


class Capturer:
    """Runs one ring through decoder and flow table into a sink. Closes ring and sink.

    A record is written after a pause of `wait_ns`, or after a duration of `active_ns`. `horizon_ns`: maximum time between
    sightings of a packet by several switches. After very many addresses or flows the table restarts, so that memory stays
    bounded.
    """

    def __init__(
        self,
        ring: Ring,
        splits: Splits,
        sink: Sink,
        *,
        wait_ns: int = SECOND,
        active_ns: int = 10 * SECOND,
        horizon_ns: int = 0,
    ) -> None:
        self.ring, self.splits, self.sink = ring, splits, sink
        self.wait_ns, self.active_ns, self.horizon_ns = wait_ns, active_ns, horizon_ns
        self.packets = self.decoded = self.records = self.restarts = 0
        self.over: Counter[str] = Counter()
        self.hops = Hops()
        self._now_ns = self._drained_ns = 0
        self._start()
        self._told = Published(self._own_counts)

    def _start(self) -> None:
        self.decoder = Decoder()
        self.table = FlowTable(
            exporters=self.splits.alone,
            addresses=self.decoder.endpoints,
            horizon_ns=self.horizon_ns,
            idle_ns=60 * SECOND,
            active_ns=self.active_ns,
        )

    def run(self, stop: Flag | threading.Event, *, between: Callable[[], None] = lambda: None) -> None:
        """Run until `stop` is set, then until all captured data is written. Raises OSError, and the sink's errors."""
        try:
            while not stop.is_set():
                between()
                self.step()
            self.ring.detach()
            until = time.monotonic() + 2 * LAG_NS / SECOND
            while self._take(self.ring.read(within=0.05)) or time.monotonic() < until:
                pass
            self._finish()
        finally:
            self.ring.close()
            try:
                self.sink.close()
            finally:
                self._told.refresh()

    def step(self) -> None:
        """Process the new frames, and write the finished records."""
        if not self._take(self.ring.read(within=0.1)):
            self._now_ns = max(self._now_ns, time.time_ns() - LAG_NS)
        if not 0 <= self._now_ns - self._drained_ns < self.wait_ns // 2:
            self._drained_ns = self._now_ns
            self._drain()
        self.sink.tick(time.time_ns())
        self._told.refresh(every_s=COUNTS_EVERY_S)

    def _take(self, batch: Batch | None) -> bool:
        """Decode a batch into the table; return whether there was one."""
        if batch is None:
            return False
        self.packets += len(batch)
        for name, part in self.splits.split(batch):
            skipped = self.decoder.skipped.total()
            self.table.open(name)
            self.table.add(name, self.decoder.later(part))
            self.decoded += len(part) - (self.decoder.skipped.total() - skipped)
        self._now_ns = int(np.max(batch.time_ns)) - MAX_DISORDER_NS
        return True

    def _drain(self) -> None:
        self.ring.count_losses()
        flows, transits = self.table.expired(self._now_ns, wait_ns=self.wait_ns)
        self.hops.add(transits)
        self.records += len(flows)
        self.sink.write(flows)
        if len(self.decoder.endpoints) > MOST_ADDRESSES or self.table.live > MOST_FLOWS:
            log_event(
                "flow table full, starting a new one",
                level=logging.WARNING,
                addresses=len(self.decoder.endpoints),
                flows=self.table.live,
            )
            self._finish()
            self.restarts += 1
            self._start()

    def _finish(self) -> None:
        """Write all records."""
        self.ring.count_losses()
        flows, transits, tally = self.table.finish()
        self.hops.add(transits)
        self.records += len(flows)
        self.sink.write(flows)
        self.over += tally + self.decoder.skipped
        self.decoder.skipped.clear()
        self.table.tally.clear()

    def counts(self) -> Iterator[Count]:
        """Return all counters of the last consistent state."""
        yield from self._told()

    def _own_counts(self) -> Iterator[Count]:
        yield Count(PREFIX + "packets", "packets read from the interface", {(): self.packets})
        yield Count(PREFIX + "packets_decoded", "packets followed in the flow table", {(): self.decoded})
        lost = keyed({"capture": self.ring.lost})
        yield Count(PREFIX + "kernel_lost", "packets dropped because the ring was full", lost, ("kind",))
        table = self.table
        reasons = sum_tallies(self.over, self.decoder.skipped, self.splits.skipped, table.tally, table.sightings.tally)
        yield Count(PREFIX + "packets_fate", "packets by result", keyed(reasons), ("reason",))
        yield Count(PREFIX + "table_restarts", "restarts of the full flow table", {(): self.restarts})
        yield Count(PREFIX + "records", "flow records passed to the sink", {(): self.records})
        yield from self.hops.counts()
        yield from self.sink.counts()
