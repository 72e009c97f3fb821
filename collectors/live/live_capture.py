"""Turn live packets into flow records: a ring of frames, the decoder, the flow table, a sink. Idle flows are written out."""

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
from collectors.operations.logs import say
from collectors.operations.metrics import PREFIX, Count, Published, keyed, summed
from collectors.operations.stop_flag import Flag
from collectors.packets.compiled_decoder.frame_decoder import ROW, packets_of
from collectors.packets.frame_batch import Batch
from collectors.writers.sinks import Sink

SECOND = 1_000_000_000
OFTEN = 0.1  # seconds between looks at what is counted
LAG_NS = 200_000_000  # what is older has been read once the ring is empty: its blocks are handed over after 100 ms
ORDER_NS = 10_000_000  # processors that receive side by side put frames into the ring out of order by less
MOST_ADDRESSES, MOST_FLOWS = 200_000, 1_000_000


def warm() -> None:
    """Compile all that capturing needs, which takes a while the first time: before frames come, so that none has to wait."""
    decoder, frame = Decoder(), Batch.of([(0, b"", 0)])
    table = FlowTable(exporters=("one",), addresses=decoder.endpoints)
    for now, name in enumerate(("one", "another")):  # what one switch alone sees is followed as it comes
        table.open(name)
        table.add(name, decoder.later(frame))
        table.expired(now, wait_ns=0)
    table.build(Seen(packets_of(np.zeros(1, ROW)), np.zeros(1, np.int32), np.zeros(1, np.int64)))
    table.finish()


class Splits(Protocol):
    """Says which switch each frame is from; `alone`: that one, where all are from one."""

    skipped: Counter[str]
    alone: tuple[str, ...]

    def split(self, batch: Batch) -> Iterable[tuple[str, Batch]]:
        """The frames of each switch, in order."""


class OneSwitch:
    """All frames are from one switch."""

    def __init__(self, name: str) -> None:
        self.name, self.skipped = name, Counter[str]()
        self.alone: tuple[str, ...] = (name,)

    def split(self, batch: Batch) -> Iterable[tuple[str, Batch]]:
        """The batch as it is."""
        return ((self.name, batch),)


class Capturer:
    """Runs one ring through decoder and flow table into a sink. Closes ring and sink.

    A record is written once it has rested for `wait_ns`, or when it has lasted for `active_ns`. `horizon_ns`: sightings of
    a packet by several switches are that close. When the table has met very many addresses or flows it starts anew, so
    that memory stays bounded.
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
        """Until `stop` is set, then until all that was captured is written. Raises OSError, and what the sink raises."""
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
        """Take what has come, hand on what has rested."""
        if not self._take(self.ring.read(within=0.1)):
            self._now_ns = max(self._now_ns, time.time_ns() - LAG_NS)
        if not 0 <= self._now_ns - self._drained_ns < self.wait_ns // 2:
            self._drained_ns = self._now_ns
            self._drain()
        self.sink.tick(time.time_ns())
        self._told.refresh(every_s=OFTEN)

    def _take(self, batch: Batch | None) -> bool:
        """Decode a batch into the table; whether there was one."""
        if batch is None:
            return False
        self.packets += len(batch)
        for name, part in self.splits.split(batch):
            skipped = self.decoder.skipped.total()
            self.table.open(name)
            self.table.add(name, self.decoder.later(part))
            self.decoded += len(part) - (self.decoder.skipped.total() - skipped)
        self._now_ns = int(np.max(batch.time_ns)) - ORDER_NS
        return True

    def _drain(self) -> None:
        self.ring.count_losses()
        flows, transits = self.table.expired(self._now_ns, wait_ns=self.wait_ns)
        self.hops.add(transits)
        self.records += len(flows)
        self.sink.write(flows)
        if len(self.decoder.endpoints) > MOST_ADDRESSES or self.table.live > MOST_FLOWS:
            say(
                "flow table full, starting a new one",
                level=logging.WARNING,
                addresses=len(self.decoder.endpoints),
                flows=self.table.live,
            )
            self._finish()
            self.restarts += 1
            self._start()

    def _finish(self) -> None:
        """Hand on all there is."""
        self.ring.count_losses()
        flows, transits, tally = self.table.finish()
        self.hops.add(transits)
        self.records += len(flows)
        self.sink.write(flows)
        self.over += tally + self.decoder.skipped
        self.decoder.skipped.clear()
        self.table.tally.clear()

    def counts(self) -> Iterator[Count]:
        """All that is counted, as it was when nothing was half done."""
        yield from self._told()

    def _own_counts(self) -> Iterator[Count]:
        yield Count(PREFIX + "packets", "packets read from the interface", {(): self.packets})
        yield Count(PREFIX + "packets_decoded", "packets followed in the flow table", {(): self.decoded})
        lost = keyed({"capture": self.ring.lost})
        yield Count(PREFIX + "kernel_lost", "packets dropped because the ring was full", lost, ("kind",))
        table = self.table
        reasons = summed(self.over, self.decoder.skipped, self.splits.skipped, table.tally, table.sightings.tally)
        yield Count(PREFIX + "packets_fate", "packets by result", keyed(reasons), ("reason",))
        yield Count(PREFIX + "table_restarts", "times the flow table was full and started anew", {(): self.restarts})
        yield Count(PREFIX + "records", "flow records passed to the sink", {(): self.records})
        yield from self.hops.counts()
        yield from self.sink.counts()
