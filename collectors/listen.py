"""Live export datagrams to flow records: sockets, decoders, a sink, and the sums that must come out even.

One thread receives (`intake`), this one decodes and writes. Every datagram counted as received is decoded, waits for its
template, or is counted under a reason.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from collectors.admission import REFUSALS
from collectors.datagrams import Datagrams
from collectors.evidence import Evidence
from collectors.flag import Flag
from collectors.inbox import Inbox, Parcel
from collectors.intake import Intake
from collectors.logs import say
from collectors.memory import keep_freed
from collectors.metrics import PREFIX, Count, keyed
from collectors.record import Flows
from collectors.sinks import Sink
from collectors.testimony import KINDS, Witnessed

LINGER = 0.05  # seconds that datagrams wait for company
FAILED = "decoder failed"


class Decoder(Protocol):
    """Datagrams to flow records. It raises nothing: what cannot be decoded it counts."""

    tally: Counter[str]

    def decode(self, datagrams: Datagrams) -> Flows:
        """The records of these datagrams, and of earlier ones they make readable."""

    def take_evidence(self) -> Evidence:
        """What exporters told beside flows since this was last asked."""


class Listener:
    """Runs one intake through decoders, by kind, into a sink. Closes both.

    What exporters told beside flows waits, within bounds, until it is asked for (`drain`), which may be never.
    """

    def __init__(self, intake: Intake, inbox: Inbox, decoders: Mapping[str, Decoder], sink: Sink) -> None:
        self.intake, self.inbox, self.decoders, self.sink = intake, inbox, decoders, sink
        self.testimony = Witnessed()
        self.records = self.failed = 0

    def drain(self) -> Evidence:
        """Delays, drops, counters and notices since this was last asked. From any thread, also after the end of `run`."""
        return self.testimony.drain()

    def run(self, stop: Flag | threading.Event, *, between: Callable[[], None] = lambda: None) -> None:
        """Until `stop` is set, then until all that came is written; calls `between` steps.

        Raises what the sink raises, and OSError where a socket fails.
        """
        keep_freed()
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
            self.sink.close()
        if self.intake.error:
            raise self.intake.error

    def step(self) -> None:
        """Decode and hand on what has come."""
        for parcel in self.inbox.take(within=LINGER):
            flows = self.decoded(parcel)
            if flows is not None and len(flows):
                self.records += len(flows)
                self.sink.write(flows)
        self.sink.tick(time.time_ns())

    def decoded(self, parcel: Parcel) -> Flows | None:
        """The records of a parcel; None where its decoder failed, which is told and counted: the next must not suffer."""
        try:
            decoder = self.decoders[parcel.kind]
            flows = decoder.decode(parcel.datagrams)
            self.testimony.add(decoder.take_evidence())
        except Exception as error:  # a fault in a decoder must not stop what other exporters send
            self.failed += len(parcel.datagrams)
            say(FAILED, level=logging.ERROR, kind=parcel.kind, datagrams=len(parcel.datagrams), error=repr(error))
            return None
        finally:
            if parcel.done:
                parcel.done()
        return flows if parcel.weight == 1 else replace(flows, sampling_rate=flows.sampling_rate * parcel.weight)

    def counts(self) -> Iterator[Count]:
        """All that is counted, now."""
        admission = self.intake.admission
        refused = {**dict.fromkeys(REFUSALS, 0), **admission.refused}
        yield Count(PREFIX + "datagrams_received", "out of the kernel", {(): admission.received_in_all})
        yield Count(PREFIX + "datagrams_refused", "received and not taken", keyed(refused), ("reason",))
        yield Count(PREFIX + "datagrams_failed", "lost to a fault in a decoder", {(): self.failed})
        lost = keyed(self.intake.lost())
        yield Count(
            PREFIX + "kernel_lost",
            "dropped for want of receive buffer; what it had joined counts as one",
            lost,
            ("kind",),
        )
        yield Count(PREFIX + "inbox_datagrams", "wait for their decoder", {(): self.inbox.held_datagrams}, level=True)
        for kind, decoder in {id(d): (kind, d) for kind, d in self.decoders.items()}.values():
            yield Count(PREFIX + kind, "what the decoder says of datagrams and records", keyed(decoder.tally), ("what",))
        yield Count(PREFIX + "records", "flow records given to the sink", {(): self.records})
        told = {**dict.fromkeys(KINDS.values(), 0), **self.testimony.told}
        yield Count(PREFIX + "evidence", "what exporters told beside flows, by kind", keyed(told), ("kind",))
        yield Count(PREFIX + "evidence_gone", "of these, what nobody asked for in time", {(): self.testimony.gone})
        yield from self.sink.counts()
        slots = list(enumerate(admission.names))
        received, limited = ({name: int(column[i]) for i, name in slots} for column in (admission.received, admission.limited))
        yield Count(PREFIX + "exporter_datagrams", "received from each exporter", keyed(received), ("exporter",))
        yield Count(PREFIX + "exporter_limited", "of these, left out by the rate limit", keyed(limited), ("exporter",))
