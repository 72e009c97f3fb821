"""Simulate transfers on the fabric: start and end, given readiness, rates, shared links and faults.

Transfers that are submitted together share links while they overlap (processor sharing). Separately submitted transfers are
assumed not to meet, unless their callers serialise them. Transfers within a host are not on the network.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from prism.synth.scenario.cluster import Ints, Plant
from prism.synth.scenario.specification import Fault, Job

Floats = NDArray[np.float64]
SEGMENT = {"rdma": 4096, "tcp": 1448}  # octets of payload in a full packet
NEVER_NS = 1e15  # ns; later events do not happen


@dataclass
class Window:
    """A network fault and its time, ns since the simulation's start; `endpoints`: of affected NICs."""

    fault: Fault
    endpoints: Ints
    leaf: int
    begin: float
    end: float = NEVER_NS
    spine: int = -1  # −1: all spines

    def crossed(self, leaf: Ints, spine: Ints, ready: Floats) -> NDArray[np.bool_]:
        """Which transfers cross the affected uplinks at an affected time."""
        via = (spine >= 0) & ((self.spine < 0) | (spine == self.spine))
        return np.asarray(via & (leaf == self.leaf) & (ready >= self.begin) & (ready < self.end))


@dataclass
class Batch:
    """Completed transfers; times in ns, arrays of one length. A `lane` has its own connections."""

    start: Floats
    end: Floats
    src: Ints
    dst: Ints
    octets: Ints
    lane: int
    retransmits: Ints
    spine: Ints
    queue: Floats  # ns waited at the leaf's uplink, and at the spine's downlink: float64[n, 2]
    turn: Ints  # number of earlier messages of the pair, modulo its queue pairs


@dataclass
class Fabric:
    """The network of one job's transfers. `windows`: network faults, open or closed.

    `epoch` is added to lanes: a restarted job has new connections.
    """

    plant: Plant
    job: Job
    rng: np.random.Generator
    windows: list[Window] = field(default_factory=list)
    sent: list[Batch] = field(default_factory=list)
    messages: list[Batch] = field(default_factory=list)
    epoch: int = 0
    turns: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def move(self, lane: int, src: Ints, dst: Ints, octets: Ints, ready: Floats) -> tuple[Floats, Floats]:
        """Transfer `octets` between endpoints that are ready at `ready`; return start and end, ns."""
        plant, cluster = self.plant, self.plant.cluster
        inside = plant.host[src] == plant.host[dst]
        spine = plant.spine(src, dst, np.full(len(src), lane))
        nic = cluster.nic_gbit * self._noise(len(src), 0.01)
        out = nic / self._at_once(src, octets, ready, nic)
        into = nic / self._at_once(dst, octets, ready, nic)
        slow, lossy = np.ones(len(src)), np.zeros(len(src))
        for window in self.windows:
            out, into, slow, lossy = self._troubled(window, (src, dst, spine, ready), (out, into, slow, lossy))
        rate = np.minimum(out, into)
        up, down = self._uplinks(src, dst, spine, octets, ready, rate)
        bound = np.minimum(np.minimum(rate, up), down)
        bound = np.where(inside, cluster.nvlink_gbit, bound)
        wait = cluster.latency_us * 1e3 * (1 + (spine >= 0)) * (0.8 + self.rng.exponential(0.2, len(src)))
        start = ready + np.where(inside, 1e3, wait)
        end = start + octets * 8 / bound * slow
        real = ~inside & (end < NEVER_NS)
        packets = octets // SEGMENT[self.job.transport] + 1
        again = self.rng.binomial(packets, np.minimum(lossy + self.job.retransmit, 0.5))
        queue = np.stack([self._queued(up, rate, octets), self._queued(down, rate, octets)], axis=1)
        turn = self._turns(lane, src[real], dst[real], octets[real])
        whole = (
            start[real],
            end[real],
            src[real],
            dst[real],
            octets[real],
            lane + self.epoch,
            again[real],
            spine[real],
            queue[real],
        )
        self.sent.append(Batch(*whole, turn))
        return start, end

    def send_messages(self, lane: int, src: Ints, dst: Ints, send_ns: Floats, octets: int = 48) -> Floats:
        """Send small messages; return their arrival times."""
        arrives = send_ns + self.plant.cluster.latency_us * 1e3 * (1 + self.rng.exponential(0.3, len(src)))
        real = (self.plant.host[src] != self.plant.host[dst]) & (send_ns < NEVER_NS / 2)
        n = int(real.sum())
        sizes, none = np.full(n, octets, np.int64), np.zeros(n, np.int64)
        spine = self.plant.spine(src, dst, np.full(len(src), lane))
        idle = np.full((n, 2), 1e3)
        self.messages.append(
            Batch(send_ns[real], send_ns[real], src[real], dst[real], sizes, lane + self.epoch, none, spine[real], idle, none)
        )
        return np.asarray(arrives)

    def _turns(self, lane: int, src: Ints, dst: Ints, octets: Ints) -> Ints:
        """Count each pair's messages to choose its queue pair."""
        turn = np.zeros(len(src), np.int64)
        if self.job.queues > 1:
            many = -(-octets // self.job.message_octets)
            for i, (a, b, n) in enumerate(zip(src.tolist(), dst.tolist(), many.tolist(), strict=True)):
                turn[i] = self.turns.get((lane, a, b), 0)
                self.turns[lane, a, b] = (int(turn[i]) + n) % (self.job.channels * self.job.queues)
        return turn

    def _noise(self, n: int, spread: float) -> Floats:
        return np.asarray(np.exp(self.rng.normal(-spread, spread, n)))

    def _troubled(
        self, window: Window, who: tuple[Ints, Ints, Ints, Floats], rates: tuple[Floats, Floats, Floats, Floats]
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Apply a NIC fault, or losses of uplinks, to rates out and in, slowdown and loss share."""
        (src, dst, spine, ready), (out, into, slow, lossy) = who, rates
        fault = window.fault
        now = (ready >= window.begin) & (ready < window.end)
        at_src = now & np.isin(src, window.endpoints) & (fault.way != "in")
        at_dst = now & np.isin(dst, window.endpoints) & (fault.way != "out")
        if fault.kind == "nic_throttle":
            out, into = np.where(at_src, out / fault.factor, out), np.where(at_dst, into / fault.factor, into)
        elif fault.kind in ("nic_loss", "uplink_loss"):
            crossed = [window.crossed(self.plant.leaf[end], spine, ready) for end in (src, dst)]
            hit = at_src | at_dst if fault.kind == "nic_loss" else crossed[0] | crossed[1]
            slow, lossy = np.where(hit, slow * fault.factor, slow), np.where(hit, lossy + fault.loss, lossy)
        return out, into, slow, lossy

    def _uplinks(self, src: Ints, dst: Ints, spine: Ints, octets: Ints, ready: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """Compute the share of leaf–spine links for each transfer, Gbit/s up and down; infinite if it is no bottleneck."""
        plant, cluster = self.plant, self.plant.cluster
        full = cluster.uplink_gbit or cluster.nic_gbit * cluster.hosts_per_leaf * (1 if cluster.rails else cluster.gpus)
        shares = []
        for leaf in (plant.leaf[src], plant.leaf[dst]):
            crossing = np.flatnonzero((spine >= 0) & (leaf < plant.leaves))
            share = np.full(len(src), np.inf)
            capacity = np.full(len(src), full)
            for window in self.windows:
                if window.fault.kind == "uplink_throttle":
                    hit = window.crossed(leaf, spine, ready)
                    capacity = np.where(hit, capacity / window.fault.factor, capacity)
            if len(crossing):
                link = leaf[crossing] * cluster.spines + spine[crossing] - plant.leaves
                alone = np.minimum(rate[crossing], capacity[crossing])
                crowd = self._at_once(link, octets[crossing], ready[crossing], alone)
                crowd = self._at_once(link, octets[crossing] * crowd, ready[crossing], alone)
                share[crossing] = capacity[crossing] / crowd
            shares.append(share)
        return shares[0], shares[1]

    @staticmethod
    def _at_once(where: Ints, octets: Ints | Floats, ready: Floats, rate: Floats) -> Floats:
        """Count the transfers through one place that overlap each one, itself included."""
        if len(where) < 2 or np.bincount(where).max() < 2:
            return np.ones(len(where))
        longest = 1 << 40
        span = np.minimum(octets * 8 / rate, longest).astype(np.int64) + 1
        when = np.minimum(ready - ready.min(), longest).astype(np.int64)
        place = where * (longest << 2)
        order = np.argsort(place + when, kind="stable")
        key = (place + when)[order]
        behind = np.searchsorted(key, place + when + span, "left") - np.searchsorted(key, place + when - span, "right")
        return np.asarray(np.maximum(behind, 1), dtype=np.float64)

    def _queued(self, share: Floats, rate: Floats, octets: Ints) -> Floats:
        """Compute the queueing delay of the last packets of a transfer at a hop, ns.

        The buffer is full if the hop is the bottleneck.
        """
        idle = self.rng.exponential(600.0, len(rate)) + 700.0
        full = np.minimum(self.plant.cluster.buffer_octets, octets) * 8 / np.where(np.isfinite(share), share, 1.0)
        return np.asarray(idle + np.where(share < 0.95 * rate, full * (0.6 + 0.3 * self.rng.random(len(rate))), 0.0))
