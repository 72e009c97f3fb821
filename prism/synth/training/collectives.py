"""Collectives as rounds of transfers: a rank forwards received data after it joined, and waits for unready peers.

Sources: Thakur et al., "Optimization of Collective Communication Operations in MPICH" (2005) for rings, halving and doubling;
NCCL's buffers (NCCL_STEPS, 8 slots) for how far a sender may run ahead of a receiver that has not joined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.synth.scenario.cluster import Ints
from prism.synth.scenario.specification import Algorithm
from prism.synth.training.fabric import Fabric, Floats


@dataclass
class Collectives:
    """Collectives over a fabric for the ranks of one job; `endpoint` maps rank to endpoint.

    `done[r]` and `sent[r]` of an operation are the times, ns, at which rank r has all it needs. `waits_for_receiver`: senders
    wait for the receiver's readiness (TCP), else they run ahead by up to the window.
    """

    fabric: Fabric
    endpoint: Ints
    waits_for_receiver: bool

    def send(self, lane: int, src: Ints, dst: Ints, octets: Ints, ready: Floats, posted: Floats) -> Floats:
        """Send messages; return their arrival times.

        `octets`: size of each; `posted`: time at which each receiver was ready.
        """
        a, b = self.endpoint[src], self.endpoint[dst]
        small = octets <= self.fabric.job.window_octets
        if self.waits_for_receiver or small.all() or not small.any():
            return self._push(lane, a, b, octets, ready, posted)
        arrived = np.empty(len(a))
        for some in (small, ~small):
            arrived[some] = self._push(lane, a[some], b[some], octets[some], ready[some], posted[some])
        return arrived

    def _push(self, lane: int, a: Ints, b: Ints, octets: Ints, ready: Floats, posted: Floats) -> Floats:
        """Transfer between endpoints: the receiver's window at once, the rest when posted. Returns arrival times.

        Either all messages fit the window, or none.
        """
        window = 0 if self.waits_for_receiver else self.fabric.job.window_octets
        if octets[:1].max(initial=0) <= window:
            return self.fabric.move(lane, a, b, octets, ready)[1]
        end = ready
        if window:
            _, end = self.fabric.move(lane, a, b, np.full(len(a), window), ready)
        gate = self.grant(lane, a, b, end, posted)
        return self.fabric.move(lane, a, b, octets - window, gate)[1]

    def grant(self, lane: int, a: Ints, b: Ints, ready: Floats, posted: Floats) -> Floats:
        """Return when senders may start: they are ready, and know that the receiver is ready (a credit, over RDMA)."""
        if self.waits_for_receiver:
            self.fabric.send_messages(lane, a, b, ready)
            return np.maximum(ready, self.fabric.send_messages(lane, b, a, posted))
        if self.fabric.job.credits:
            return np.maximum(ready, self.fabric.send_messages(lane, b, a, posted, 64))
        return np.maximum(ready, posted + 2e3 * self.fabric.plant.cluster.latency_us)

    def reduce(
        self, lane: int, groups: Ints, octets: int, joined: Floats, algorithm: Algorithm, *, half: bool = False
    ) -> Floats:
        """Simulate an all-reduce over each group (with `half`, reduce-scatter or all-gather alone); returns end times by rank.

        `joined[r]` is the time of rank r's call, ns; ranks in no group end when they join.
        """
        n = groups.shape[1]
        if n < 2 or not len(groups) or octets <= 0:
            return joined
        if algorithm == "pairs":
            done = self._scatter(lane, groups, octets // n, joined)
            return done if half else self._scatter(lane, groups, octets // n, done)
        if algorithm == "halving" and n & (n - 1) == 0:
            return self._halving(lane, groups, octets, joined, half=half)
        if algorithm == "tree" and not half:
            return self._tree(lane, groups, octets, joined)
        return self._ring(lane, groups, octets, joined, (n - 1) * (1 if half else 2))

    def exchange(self, lane: int, groups: Ints, octets: Ints, joined: Floats) -> Floats:
        """Simulate an all-to-all with octets[g, i, j] from member i to j of group g; returns end times by rank."""
        n = groups.shape[1]
        done = joined.copy()
        i, j = np.nonzero(~np.eye(n, dtype=np.bool_))
        src, dst = groups[:, i].ravel(), groups[:, j].ravel()
        a, b = self.endpoint[src], self.endpoint[dst]
        far = self.waits_for_receiver or int(octets.max(initial=0)) > self.fabric.job.window_octets
        gate = self.grant(lane, a, b, joined[src], joined[dst]) if far else joined[src]
        _, end = self.fabric.move(lane, a, b, octets[:, i, j].ravel().astype(np.int64), gate)
        np.maximum.at(done, dst, end)
        np.maximum.at(done, src, end)
        return done

    def ring_pass(self, lane: int, groups: Ints, octets: int, joined: Floats) -> Floats:
        """Pass blocks once around rings (context parallelism): n − 1 rounds of `octets` each."""
        return self._ring(lane, groups, octets * groups.shape[1], joined, groups.shape[1] - 1)

    def _scatter(self, lane: int, groups: Ints, octets: int, joined: Floats) -> Floats:
        n = groups.shape[1]
        return self.exchange(lane, groups, np.full((len(groups), n, n), octets), joined)

    def _ring(self, lane: int, groups: Ints, octets: int, joined: Floats, rounds: int) -> Floats:
        n = groups.shape[1]
        few = min(rounds, self.fabric.job.most_rounds)
        size = max(octets * rounds // (n * few), 1)
        way = -1 if self.waits_for_receiver else 1  # gloo sends to rank − 1, NCCL to rank + 1
        src, dst = groups, np.roll(groups, -way, axis=1)
        a, b = self.endpoint[src].ravel(), self.endpoint[dst].ravel()
        join = joined[groups]
        peer = np.roll(join, -way, axis=1)
        have, free = join, join  # time at which a member has its next data, and at which it has sent the last
        ahead = 2 if self.waits_for_receiver else max(self.fabric.job.window_octets // size, 1)
        heard = [join]
        for k in range(few):
            posted = np.roll(heard[max(k + 1 - ahead, 0)], -way, axis=1) if k >= ahead else peer
            ready = np.maximum(have, free)
            if few < rounds and 2 * k >= few:  # merged rounds: a short message still comes from every member
                ready = np.maximum(ready, join.max(axis=1, keepdims=True))
            if k < ahead:
                end = self._push(lane, a, b, np.full(len(a), size), ready.ravel(), posted.ravel())
            else:  # the window is full of earlier rounds
                gate = self.grant(lane, a, b, ready.ravel(), posted.ravel())
                _, end = self.fabric.move(lane, a, b, np.full(len(a), size), gate)
            free = end.reshape(groups.shape)
            have = np.maximum(np.roll(free, way, axis=1), join)
            heard.append(have)
        return self._by_rank(groups, np.maximum(have, free), joined)

    def _halving(self, lane: int, groups: Ints, octets: int, joined: Floats, *, half: bool) -> Floats:
        """Simulate recursive halving, then doubling: partners at distance n/2, n/4 … 1 and back."""
        n, place = groups.shape[1], np.arange(groups.shape[1])
        reaches = [n >> (k + 1) for k in range(n.bit_length() - 1)]
        now = joined[groups]
        for reach in reaches if half else reaches + reaches[::-1]:
            partner = place ^ reach
            both = np.maximum(now, now[:, partner])
            a, b = self.endpoint[groups].ravel(), self.endpoint[groups[:, partner]].ravel()
            size = octets * reach // n
            gate = both if self.waits_for_receiver or size > self.fabric.job.window_octets else now
            _, end = self.fabric.move(lane, a, b, np.full(len(a), size), gate.ravel())
            sent = end.reshape(groups.shape)
            now = np.maximum(sent, sent[:, partner])
        return self._by_rank(groups, now, joined)

    def _tree(self, lane: int, groups: Ints, octets: int, joined: Floats, pieces: int = 8) -> Floats:
        """Simulate a binary tree: pieces are reduced up to member 0 and sent back down, one after the other."""
        n = groups.shape[1]
        levels = [np.arange((1 << d) - 1, min((2 << d) - 1, n)) for d in range(1, n.bit_length()) if (1 << d) - 1 < n]
        size, busy = octets // pieces, joined[groups]
        done = busy.copy()
        sent, given = np.zeros(groups.shape), np.zeros(groups.shape)
        for _ in range(pieces):
            up = busy.copy()
            for level in reversed(levels):
                end = self._hop(lane, groups, level, (level - 1) // 2, size, np.maximum(up[:, level], sent[:, level]))
                sent[:, level] = end
                for side in (level % 2 == 1, level % 2 == 0):
                    parent = (level[side] - 1) // 2
                    up[:, parent] = np.maximum(up[:, parent], end[:, side])
            for level in levels:
                parent = (level - 1) // 2
                end = self._hop(lane, groups, parent, level, size, np.maximum(up[:, parent], given[:, level]))
                given[:, level] = end
                up[:, level] = np.maximum(up[:, level], end)
            done = np.maximum(done, up)
        return self._by_rank(groups, done, joined)

    def _hop(self, lane: int, groups: Ints, src: Ints, dst: Ints, octets: int, ready: Floats) -> Floats:
        a, b = self.endpoint[groups[:, src]].ravel(), self.endpoint[groups[:, dst]].ravel()
        _, end = self.fabric.move(lane, a, b, np.full(len(a), octets), ready.ravel())
        return end.reshape(ready.shape)

    @staticmethod
    def _by_rank(groups: Ints, done: NDArray[np.float64], joined: Floats) -> Floats:
        out = joined.copy()
        out[groups.ravel()] = done.ravel()
        return out
