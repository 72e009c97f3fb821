"""Records of jobs on a wire without losses: what evidence is tested on, made by hand and not by the simulator."""

import numpy as np

from collectors.columns.record import Flows
from prism.evidence.communicators import communicators
from prism.evidence.families import families
from prism.evidence.step_period import steps_of
from prism.evidence.stream_periods import rhythms_of
from prism.evidence.streams import streams_of

MS = 1_000_000
ORIGIN = 1_700_000_000_000_000_000


class Wire:
    """Records, added one by one: times in ms from the first step, each message takes `long` ms."""

    def __init__(self, endpoints, seed=0):
        self.endpoints = tuple(endpoints)
        self.rows = []
        self.rng = np.random.default_rng(seed)

    def send(self, src, dst, at, octets, *, long=0.5, qp=0, port=0):
        start = ORIGIN + int(at * MS)
        self.rows.append((start, start + int(long * MS), src, dst, octets, qp, port))

    def ring(self, members, at, octets, *, rounds=None, hosts=None, long=0.5, port=0):
        """A ring all-reduce: 2(n − 1) messages on each edge; edges inside a host are not on the wire."""
        n = len(members)
        for k in range(2 * (n - 1) if rounds is None else rounds):
            for a, b in zip(members, [*members[1:], members[0]], strict=True):
                if hosts is None or hosts[a] != hosts[b]:
                    self.send(a, b, at + k * long * 1.1, octets, long=long, port=port)

    def flows(self):
        rows = sorted(self.rows)
        names = ("start_ns", "end_ns", "src", "dst", "octets", "dst_qp", "src_port")
        columns = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
        columns |= {"dst_port": columns["src_port"], "messages": np.ones(len(rows), np.int64)}
        return Flows.build(columns, endpoints=self.endpoints)


def addresses(hosts, per_host=1):
    return [f"10.0.{h}.{g + 1}" for h in range(hosts) for g in range(per_host)]


def data_parallel(hosts=4, per_host=1, steps=8, period=200, octets=4_000_000, layers=2):
    """One ring over all ranks, through hosts; `layers` all-reduces at the end of each step."""
    wire = Wire(addresses(hosts, per_host))
    n = hosts * per_host
    host = [i // per_host for i in range(n)]
    for step in range(steps):
        for layer in range(layers):
            wire.ring(list(range(n)), step * period + 120 + 30 * layer, octets, hosts=host)
    return wire


def pipelined(stages=4, replicas=2, steps=8, period=500, micro=4):
    """Stages on hosts of their own, one GPU of each host for each replica; gradients between the GPUs of neighbouring hosts."""
    wire = Wire(addresses(stages * replicas))
    for step in range(steps):
        for r in range(replicas):
            drift = float(wire.rng.normal(0, 1.0))
            for m in range(micro):
                for s in range(stages - 1):
                    wire.send(r * stages + s, r * stages + s + 1, step * period + drift + 20 * m + 15 * s, 2_000_000)
                    back = step * period + drift + 160 + 20 * m + 15 * (stages - s)
                    wire.send(r * stages + s + 1, r * stages + s, back, 2_000_000)
        for s in range(stages):
            wire.ring([r * stages + s for r in range(replicas)], step * period + 330 + 2 * s, 30_000_000)
    return wire


def evidence(wire, hosts=None):
    """Streams, steps, communicators and families of a wire."""
    flows = wire.flows()
    members = wire.endpoints
    hosts = list(range(len(members))) if hosts is None else hosts
    streams = streams_of(flows, members, origin=flows.window[0])
    steps = steps_of(streams)
    rhythms = rhythms_of(streams, steps)
    found = communicators(streams, rhythms, steps, hosts)
    return streams, steps, found, families(found, steps, hosts)
