"""Small training jobs made by hand, for tests: who sends what to whom, when. Nothing random but a seeded jitter.

Ranks are numbers here; rank r has the address 10.0.r.1, and codes in the flows are ranks. Times are ns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from collectors.columns.record import COLUMNS, FIN, ROCE_PORT, TCP, UDP, Flows, Transits
from prism.analysis import diagnose
from prism.graph.job_view import View
from prism.jobs import recognize, rows_of
from prism.layout.answer.inference import infer_layout, unknown_layout
from prism.model import Diagnosis, Job, Parallelism, Severity, Source
from prism.steps.timeline import reconstruct
from prism.topology import Endpoint, Topology

MS, SECOND = 1_000_000, 1_000_000_000
T0 = 1_700_000_000 * SECOND
Work = Callable[[int, int], float]  # step, rank → ms of computing before it sends
Rate = Callable[[int, int, int], float]  # step, sender, receiver → Gbit/s
Count = Callable[[int, int, int], int]  # step, sender, receiver → packets sent again per record


def address(rank: int) -> str:
    return f"10.0.{rank}.1"


def placed(ranks: int, *, nics: int = 1, leaf: int = 4) -> Topology:
    """Hosts of `nics` ranks each, `leaf` hosts to a leaf, and a spine that joins the leaves."""
    spots = {address(r): Endpoint(f"host{r // nics}", r % nics, f"leaf{r // nics // leaf}") for r in range(ranks)}
    return Topology(spots, tuple((e.leaf, "spine0") for e in dict.fromkeys(spots.values()) if e.leaf))


class Wire:
    """Collects records; `tcp` puts them on one connection per pair, else they are RDMA writes."""

    def __init__(self, *, tcp: bool = False, seed: int = 0, jitter_ns: int = 20_000) -> None:
        self.rows: list[dict[str, int]] = []
        self.tcp, self.chance, self.jitter_ns = tcp, np.random.default_rng(seed), jitter_ns

    def soon(self) -> int:
        return int(self.chance.integers(1_000, self.jitter_ns))

    def about(self, share: float) -> float:
        return float(np.exp(self.chance.normal(0, share)))

    def send(self, src: int, dst: int, octets: int, at: float, gbits: float = 10.0, **more: int) -> int:
        """A record from `at` on; when it has come, ns."""
        start, busy = int(at) + self.soon(), int(octets * 8 / gbits)
        ports = {"src_port": 30_000 + dst, "dst_port": 40_000 + src, "protocol": TCP}
        queue = {"dst_port": ROCE_PORT, "protocol": UDP, "dst_qp": 1 + src}
        counts = {"octets": octets, "packets": -(-octets // 4096), "messages": 1, "busy_ns": busy}
        spot = {"start_ns": start, "end_ns": start + busy, "src": src, "dst": dst}
        self.rows.append(spot | (ports if self.tcp else queue) | counts | more)
        return start + busy

    def flows(self, topology: Topology | None = None) -> Flows:
        """The records in order of start; with a topology each with its path."""
        rows = sorted(self.rows, key=lambda row: row["start_ns"])
        count = max((max(row["src"], row["dst"]) for row in rows), default=-1) + 1
        columns: dict[str, Any] = {c.name: [row.get(c.name, c.default) for row in rows] for c in COLUMNS}
        paths: dict[tuple[str, ...], int] = {(): 0}
        if topology is not None:
            ends = [(topology.leaf(address(row["src"])), topology.leaf(address(row["dst"]))) for row in rows]
            ways = [() if a is None or b is None else (a,) if a == b else (a, "spine0", b) for a, b in ends]
            columns["path"] = [paths.setdefault(way, len(paths)) for way in ways]
        return Flows.build(columns, endpoints=tuple(map(address, range(count))), paths=tuple(paths))


def ring_allreduce(
    wire: Wire, members: Sequence[int], octets: int, ready: dict[int, int], rate: Callable[[int, int], float],
    again: Callable[[int, int], int] = lambda _src, _dst: 0, *, rounds: int | None = None,
) -> dict[int, int]:  # fmt: skip
    """A reduction over a ring, from when each member is `ready`; when each is done. With TCP the receiver announces itself."""
    free, have, posted = dict(ready), dict(ready), dict(ready)
    after = {m: members[(i + 1) % len(members)] for i, m in enumerate(members)}
    if wire.tcp:
        announced = {m: wire.send(after[m], m, 48, ready[after[m]]) for m in members}
        posted = {m: max(announced[m], announced[members[i - 1]]) for i, m in enumerate(members)}
    for k in range(2 * (len(members) - 1) if rounds is None else rounds):
        came = {}
        for m in members:
            begin = max(free[m], have[m], posted[m] if k == 0 else 0)
            sent = wire.send(m, after[m], octets // len(members), begin, rate(m, after[m]), retransmits=again(m, after[m]))
            free[m] = came[after[m]] = sent
        have = {m: max(have[m], came[m]) for m in members}
    return {m: max(free[m], have[m]) for m in members}


def pipeline(
    wire: Wire, stages: Sequence[int], micro: int, octets: int, ready: dict[int, int], work: Callable[[int], float],
    rate: Callable[[int, int], float],
) -> dict[int, int]:  # fmt: skip
    """Micro-batches through the stages, one forward, one backward (1F1B), backward at twice the work; when each is done.

    With TCP a stage announces when it has nothing else to do, and its input waits for that at the sender.
    """
    free, last = dict(ready), len(stages) - 1
    there: dict[tuple[int, int, int], tuple[int, int]] = {(0, 0, k): (0, ready[stages[0]]) for k in range(micro)}
    todo = {}
    for s in range(len(stages)):
        warm = min(last - s, micro)
        steady = [op for k in range(micro - warm) for op in ((0, warm + k), (1, k))]
        todo[s] = [*((0, k) for k in range(warm)), *steady, *((1, k) for k in range(micro - warm, micro))]
    while any(todo.values()):
        for s, me in enumerate(stages):
            while todo[s] and (todo[s][0][0], s, todo[s][0][1]) in there:
                back, k = todo[s].pop(0)
                giver, begin = there[back, s, k]
                if giver != s:
                    if wire.tcp:
                        begin = max(begin, wire.send(me, stages[giver], 48, free[me]))
                    begin = wire.send(stages[giver], me, octets, begin, rate(stages[giver], me))
                free[me] = int(max(begin, free[me]) + (1 + back) * work(me) * MS)
                turn = not back and s == last
                there[int(back or turn), s if turn else s - 1 if back else s + 1, k] = (s, free[me])
    return free


def training(
    *,
    dp: int = 4,
    pp: int = 1,
    steps: int = 14,
    micro: int = 4,
    octets: int = 40_000_000,
    work: Work = lambda _step, _rank: 20.0,
    rate: Rate = lambda _step, _src, _dst: 10.0,
    again: Count = lambda _step, _src, _dst: 0,
    pause: Work = lambda _step, _rank: 0.0,
    noise: float = 0.02,
    wire: Wire | None = None,
    first: int = 0,
    start: int = T0,
    rounds: int | None = None,
) -> Wire:
    """A job of pp × dp ranks from number `first` on, replicas of a stage side by side; `rounds` cuts the last reduction."""
    wire = wire or Wire()
    ranks = range(first, first + dp * pp)
    free = dict.fromkeys(ranks, start)
    for step in range(steps):
        speed = partial(rate, step)
        for replica in range(dp):
            own = [first + stage * dp + replica for stage in range(pp)]
            ready = {m: free[m] + int(pause(step, m) * MS) for m in own}
            free |= pipeline(
                wire, own, micro if pp > 1 else 1, octets // 8, ready, lambda r, s=step: work(s, r) * wire.about(noise), speed
            )
        if dp > 1:
            for stage in range(pp):
                group = list(ranks)[stage * dp : (stage + 1) * dp]
                lost, last = partial(again, step), rounds if step == steps - 1 else None
                free |= ring_allreduce(wire, group, octets, {m: free[m] for m in group}, speed, lost, rounds=last)
    return wire


def closed(wire: Wire, ranks: Sequence[int], *, first: int, lead_ms: float = 50.0, after_ms: float = 1.0) -> Wire:
    """The connections of all ranks torn down after the last record, those of `first` before the others."""
    last = max(row["end_ns"] for row in wire.rows) + int(after_ms * MS)
    for rank in ranks:
        at = last if rank == first else last + int(lead_ms * MS)
        for peer in ranks:
            if peer != rank:
                wire.send(rank, peer, 0, at, tcp_flags=FIN, messages=0)
    return wire


def source(flows: Flows) -> Source:
    start, end = (int(flows.start_ns.min()), int(flows.end_ns.max())) if len(flows) else (0, 0)
    return Source(("hand-made",), 0, len(flows), {}, start, end)


def told(flows: Flows, topology: Topology | None = None) -> Diagnosis:
    return diagnose(flows, source(flows), topology=topology)


def _all_as_one(flows: Flows, topology: Topology | None) -> Job:
    """All endpoints as one job: what a test of detectors makes by hand may look like a server and its clients."""
    hosts = {topology.host(address) for address in flows.endpoints} - {None} if topology is not None else set()
    return Job("all", flows.endpoints, tuple(sorted(hosts)), *flows.window)


def _layout_of(own: Flows, job: Job, topology: Topology | None) -> Parallelism:
    found = infer_layout(own, job, topology)
    if found is None:
        return unknown_layout(own, job)
    return replace(found.best.parallelism(own, found.best.of), lockstep=found.lockstep, alternatives=found.alternatives)


def inferred(flows: Flows, topology: Topology | None = None) -> Parallelism:
    """What is inferred of the one job there is."""
    (job,) = recognize(flows, topology, unproven=True)
    return _layout_of(flows, job, topology)


def claims(diagnosis: Diagnosis) -> list[tuple[str, tuple[str, ...]]]:
    """Kind and subject of every finding that claims a fault."""
    return [(f.kind, f.ids) for f in diagnosis.findings if f.severity is not Severity.INFO]


def seen(flows: Flows, topology: Topology | None = None, transits: Transits | None = None) -> View:
    """The largest job in the flows as the detectors see it."""
    job = next(iter(recognize(flows, topology, unproven=True)), None) or _all_as_one(flows, topology)
    rows = rows_of(flows, job)
    own = flows.take(rows)
    groups = _layout_of(own, job, topology)
    members = np.isin(np.array(flows.endpoints), job.endpoints)
    kept = np.flatnonzero(members[flows.src] | members[flows.dst])
    inside = np.searchsorted(kept, rows)
    timeline = reconstruct(own, job, groups)
    return View(own, flows.take(kept), transits or Transits.empty(), job, groups, timeline, topology, inside=inside)


def shifted(flows: Flows, by_ns: int) -> Flows:
    return replace(flows, start_ns=flows.start_ns + by_ns, end_ns=flows.end_ns + by_ns)


def on_end(edges):
    """What was sent on some edges (start, end, octets of each) as kernels take it: one after another, and where each begins."""
    columns = [np.concatenate([np.zeros(0, np.int64), *(edge[i] for edge in edges)]) for i in range(3)]
    return (*columns, np.cumsum([0, *(len(edge[0]) for edge in edges)]))
