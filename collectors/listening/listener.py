"""Convert export datagrams to flow records live: sockets, decoders, a sink, and counters that always add up.

`receiver_threads` receive; this thread decodes and writes. Every received datagram is decoded, waits for its template, or is
counted under a reason.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from collectors.columns.record import Flows
from collectors.exports.admission import REFUSALS
from collectors.exports.datagrams import Datagrams
from collectors.exports.evidence import Evidence
from collectors.exports.evidence_store import KINDS, EvidenceBuffer
from collectors.listening.datagram_queue import DatagramBatch, DatagramQueue
from collectors.listening.receiver_threads import Intake
from collectors.memory.allocator import keep_freed
from collectors.operations.logs import log_event
from collectors.operations.metrics import PREFIX, Count, Published, keyed
from collectors.operations.stop_flag import Flag
from collectors.writers.sinks import Sink

COUNTS_EVERY_S = 0.1  # seconds between updates of the counters
LINGER_S = 0.05  # seconds that datagrams wait for more
FAILED = "decoder failed"


class Decoder(Protocol):
    """Decoder of datagrams to flow records. It raises nothing and counts invalid input."""

    tally: Counter[str]

    def decode(self, datagrams: Datagrams) -> Flows:
        """Decode these datagrams, and earlier ones that they make readable."""

    def take_evidence(self) -> Evidence:
        """Take the evidence since the last call."""


class Listener:
    """Runs one intake through decoders, by kind, into a sink. Closes both.

    Evidence is stored, within bounds, until `drain`, which is optional.
    """

    def __init__(self, intake: Intake, inbox: DatagramQueue, decoders: Mapping[str, Decoder], sink: Sink) -> None:
        self.intake, self.inbox, self.decoders, self.sink = intake, inbox, decoders, sink
        self.testimony = EvidenceBuffer()
        self.records = self.failed = self.done = 0
        self._told = Published(self._own_counts)

    def drain(self) -> Evidence:
        """Take delays, drops, counters and notices since the last call. Thread-safe, also after the end of `run`."""
        return self.testimony.drain()

    def run(self, stop: Flag | threading.Event, *, between: Callable[[], None] = lambda: None) -> None:
        """Run until `stop` is set, then until all received data is written; calls `between` steps.

        Raises the sink's errors, and OSError if a socket fails.
        """
        keep_freed(largest=32 << 20)  # a service must return the memory of large blocks
        self.intake.start()
        try:
            while not stop.is_set() and self.intake.is_alive():
                between()
                self.step()
            self.intake.stop()
            while self.intake.is_alive() or self.inbox.held_datagrams:
                self.step()
        finally:
            self.intake.stop()
            self.inbox.close()
            self.intake.join()
            self.intake.close()
            try:
                self.sink.close()
            finally:
                self._told.refresh()
        if self.intake.error:
            raise self.intake.error

    def step(self) -> None:
        """Decode and write the queued datagrams."""
        for batch in self.inbox.take(within=LINGER_S):
            flows = self.decoded(batch)
            self.done += len(batch.datagrams)
            if flows is not None and len(flows):
                self.records += len(flows)
                self.sink.write(flows)
        self.sink.tick(time.time_ns())
        self._told.refresh(every_s=COUNTS_EVERY_S)

    def decoded(self, batch: DatagramBatch) -> Flows | None:
        """Decode a batch. None if its decoder failed: that is logged and counted, and does not affect the next batch.

        Counts of a failed batch are reverted: all of its datagrams failed.
        """
        decoder = self.decoders[batch.kind]
        before = decoder.tally.copy()
        try:
            flows = decoder.decode(batch.datagrams)
            self.testimony.add(decoder.take_evidence())
        except Exception as error:  # a fault in a decoder must not stop other exporters
            self.failed += len(batch.datagrams)
            decoder.tally.clear()
            decoder.tally.update(before)
            log_event(FAILED, level=logging.ERROR, kind=batch.kind, datagrams=len(batch.datagrams), error=repr(error))
            return None
        finally:
            if batch.done:
                batch.done()
        return flows if batch.weight == 1 else replace(flows, sampling_rate=flows.sampling_rate * batch.weight)

    def counts(self) -> Iterator[Count]:
        """Return all counters of one moment: received datagrams are refused, failed, decoded, or waiting.

        Counters of the thread of `run` are from its last consistent state; later datagrams still count as waiting.
        """
        (done, *own), taken = self._told(), self.intake.taken()  # in this order: processed datagrams were received before
        yield Count(PREFIX + "datagrams_received", "datagrams received", {(): taken.received})
        refused = {**dict.fromkeys(REFUSALS, 0), **taken.refused}
        yield Count(PREFIX + "datagrams_refused", "datagrams refused, by reason", keyed(refused), ("reason",))
        lost = keyed(self.intake.lost())
        yield Count(
            PREFIX + "kernel_lost",
            "datagrams the kernel dropped: the receive buffer was full, or one exporter flooded; joined ones count as one",
            lost,
            ("kind",),
        )
        waiting = taken.received - sum(taken.refused.values()) - int(done.values[()])
        yield Count(PREFIX + "inbox_datagrams", "datagrams waiting for the decoder", {(): waiting}, level=True)
        yield from own
        for name, meaning, column in (
            ("exporter_datagrams", "datagrams received, by exporter", taken.by_exporter),
            ("exporter_limited", "of these, dropped by the rate limit or over its share", taken.limited),
        ):
            yield Count(PREFIX + name, meaning, keyed(column), ("exporter",))

    def _own_counts(self) -> Iterator[Count]:
        """Return the counters of the thread of `run`; first, the number of processed datagrams."""
        yield Count("done", "", {(): self.done})
        yield Count(PREFIX + "datagrams_failed", "datagrams dropped because a decoder failed", {(): self.failed})
        for kind, decoder in {id(d): (kind, d) for kind, d in self.decoders.items()}.values():
            yield Count(PREFIX + kind, "datagrams and records in the decoder, by result", keyed(decoder.tally), ("what",))
        yield Count(PREFIX + "records", "flow records passed to the sink", {(): self.records})
        told = {**dict.fromkeys(KINDS.values(), 0), **self.testimony.told}
        yield Count(PREFIX + "evidence", "reports of exporters besides flows, by kind", keyed(told), ("kind",))
        yield Count(
            PREFIX + "evidence_gone", "of these, reports dropped because they were not read in time", {(): self.testimony.gone}
        )
        yield from self.sink.counts()
