"""A run as a switch exports it, sent over UDP when it would be: IPFIX with a record per burst; sFlow of what is lost."""

import contextlib
import itertools
import socket
import struct
import threading
import time
from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows
from prism.app import demo
from prism.synth.scenario.specification import Fault, Spec
from tests.collectors.builders import frames
from tests.collectors.builders.exports import counters, drop_sample, ip, ipfix, raw_header, set_, sflow, template

FIELDS = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (6, 1), (1, 8), (2, 8), (156, 8), (157, 8))
ROW = struct.Struct(">4s4sHHBBQQQQ")
NTP = 2_208_988_800  # seconds from its epoch to ours
SECOND = 1_000_000_000
EVERY = 50_000_000  # ns that a switch waits for a datagram to fill
MOST = 24  # records in one
CLUSTER = replace(demo.CLUSTER, hosts=8, nic_gbit=1, uplink_gbit=4)
RING = replace(
    demo.REPLICAS, name="A", first_host=0, begin_s=0.0, steps=40, gradient_octets=2_000_000, forward_ms=60, backward_ms=120
)
DAMAGED = Spec("damaged", CLUSTER, (RING,), (Fault("nic_throttle", "A", ranks=(3,), first=12, factor=8.0),))


def ntp(time_ns: int) -> int:
    """Rounded up, so that what reads it comes to the same ns."""
    seconds, rest = divmod(time_ns, SECOND)
    return (seconds + NTP) << 32 | -(-(rest << 32) // SECOND)


class Datagrams:
    """What an exporter sends of flow records, in order of `due_ns`; templates go before."""

    def __init__(self, flows: Flows, port: int) -> None:
        flows = flows.take(np.argsort(flows.end_ns, kind="stable"))
        self.port, self.first, self.records = port, int(flows.start_ns.min()), len(flows)
        self.made: list[tuple[int, int, list[tuple]]] = []  # due, sequence, rows
        addresses = [ip(text) for text in flows.endpoints]
        columns = (flows.src_port, flows.dst_port, flows.protocol, flows.tcp_flags, flows.octets, flows.packets)
        rest = list(zip(*(column.tolist() for column in columns), strict=True))
        ends = zip(flows.src.tolist(), flows.dst.tolist(), strict=True)
        times = zip(flows.start_ns.tolist(), flows.end_ns.tolist(), strict=True)
        rows = [(addresses[a], addresses[b], *r, *t) for (a, b), r, t in zip(ends, rest, times, strict=True)]
        bins = flows.end_ns // EVERY
        cuts = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist(), len(rows)]
        for a, b in itertools.pairwise(cuts):
            for at in range(a, b, MOST):
                self.made.append(((int(bins[a]) + 1) * EVERY, at, rows[at : min(at + MOST, b)]))

    def payloads(self, later_ns: int):
        """When each is due, the datagram, how many records it has; all times later by so much."""
        for due, sequence, rows in self.made:
            packed = b"".join(ROW.pack(*row[:-2], ntp(row[-2] + later_ns), ntp(row[-1] + later_ns)) for row in rows)
            when = (due + later_ns) // SECOND
            yield due + later_ns, ipfix(template(256, FIELDS), set_(256, packed), sequence=sequence, when=when), len(rows)


class Lossy:
    """The port of an endpoint at a switch: from a time on, of what comes in much is broken, and some for `peer` is dropped.

    `payloads` are sFlow datagrams, one every `every_ns`, as those of `Datagrams`.
    """

    SWITCH, PORT = "192.0.2.254", 3

    def __init__(self, flows: Flows, endpoint: str, peer: str, onset_ns: int, *, every_ns: int = SECOND // 2) -> None:
        self.first, self.last, self.onset, self.every = int(flows.start_ns.min()), int(flows.end_ns.max()), onset_ns, every_ns
        self.dropped = drop_sample(raw_header(frames.ethernet(frames.ipv4(frames.tcp(bytes(64)), src=endpoint, dst=peer))))

    def payloads(self, later_ns: int):
        """When each is due, the datagram, how many drops it tells of."""
        for i, due in enumerate(range(self.first, self.last, self.every)):
            times = max(0, (due - self.onset) // self.every)
            drops = [self.dropped] * (8 if times else i == 0)
            yield (
                due + later_ns,
                sflow(counters(self.PORT, errors=5 + 40 * times), *drops, sequence=i, agent=self.SWITCH),
                len(drops),
            )


@contextlib.contextmanager
def exporting(made: Datagrams | Lossy, port: int = 0):
    """Send all to its port or this one, from now on, in a thread, until it is told to `stop`.

    `sent` counts records, and `over` is set at the end.
    """

    class State:
        sent, over, stop = 0, threading.Event(), threading.Event()

    def run() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            for due, payload, records in made.payloads(time.time_ns() - made.first):
                if State.stop.wait(max(due - time.time_ns(), 0) / SECOND):
                    return
                if to := port or made.port:
                    client.sendto(payload, ("127.0.0.1", to))
                    State.sent += records
        State.over.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield State
    finally:
        State.stop.set()
        thread.join()
