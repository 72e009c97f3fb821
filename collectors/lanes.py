"""TCP, UDP and other packets to flow records: bulk in bursts, control segment by segment."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from collectors.bursts import COUNTS, Bursts, Pace
from collectors.numbers import FlowNumbers, Memory
from collectors.pieces import Pieces, Table, mixed, run_sizes, running_max
from collectors.record import FIN, PSH, RST, SYN, TCP, Ints, Mask, Packets
from collectors.sightings import Seen

MODULUS, WINDOW = 1 << 32, 1 << 30  # sequence space (RFC 9293 section 3.4); largest window (RFC 7323 section 2.3)
MARKS = SYN | FIN | RST


def blank_records(seen: Seen) -> Table:
    """Columns of a record for each packet, as if it carried nothing."""
    p = seen.packets
    zero = np.zeros(len(p), np.int64)
    return {
        "src": p.src, "dst": p.dst, "src_port": p.src_port, "dst_port": p.dst_port, "protocol": p.protocol, "dst_qp": p.dst_qp,
        "exporter": seen.exporter, "path": seen.path, "start_ns": p.time_ns, "end_ns": p.time_ns, "tcp_flags": p.tcp_flags,
        **dict.fromkeys(COUNTS, zero), "ecn": p.ecn.astype(np.int64),
    }  # fmt: skip


class Lanes:
    """Turns unique packets, by time, into pieces of records. `small`: payload up to this many octets is control."""

    def __init__(
        self, pieces: Pieces, tally: Counter[str], *, small: int, idle_ns: int, active_ns: int | None, pace: Pace
    ) -> None:
        self.pieces, self.tally, self.small = pieces, tally, small
        memory = {"high": Memory(np.int64, -1), "unpushed": Memory(np.int64, -1), "was_bulk": Memory(np.bool_, 1)}
        self.flows = FlowNumbers(idle_ns, **memory, **Bursts.memory(pace))
        self.bursts = Bursts(self.flows, pieces, active_ns=active_ns, pace=pace)
        self.many = 1 << 16

    def add(self, seen: Seen) -> None:
        """Take unique packets, by time."""
        p = seen.packets
        if not len(p):
            return
        flow, order = self.flows.lookup(mixed(p.src, p.dst, p.src_port, p.dst_port, p.protocol), p.time_ns)
        tcp, full, marks = p.protocol == TCP, p.octets > 0, p.tcp_flags & MARKS
        self.tally["acknowledgment only"] += int(np.count_nonzero(tcp & ~full & (marks == 0)))
        self.tally["no payload"] += int(np.count_nonzero(~tcp & ~full))
        syn = tcp & (marks & SYN > 0)
        new = p.octets.copy()
        rows = order[(tcp & full | syn)[order]]
        new[rows] = self.unsent(p.sequence[rows], p.octets[rows], syn[rows], flow[rows])
        rows = order[full[order]]
        bulk = p.octets > self.small
        bulk[rows] |= self.tails(p.take(rows), bulk[rows], flow[rows])
        spoken = np.zeros(len(flow), np.bool_)
        spoken[rows] = ~self.flows.previous("was_bulk", bulk[rows], flow[rows])
        self.add_control(seen, new, full & ~bulk, tcp & (marks > 0))
        rows = order[bulk[order]]
        table = blank_records(seen.take(rows))
        table |= {"flow": flow[rows], "spoken": spoken[rows], "octets": new[rows], "size": p.octets[rows]}
        table |= {"packets": (new[rows] > 0).astype(np.int64), "retransmits": (new[rows] == 0).astype(np.int64)}
        self.bursts.add(table, p.take(rows))
        if self.flows.count > self.many:
            self.forget(int(p.time_ns.max()))

    def unsent(self, sequence: NDArray[np.uint32], octets: Ints, syn: Mask, flow: Ints) -> Ints:
        """Octets of each segment beyond the highest sequence number its flow has sent; rows by flow, else as they came.

        A SYN starts a new sequence space. A segment up to a window back is sent again; anything else is ahead, since more
        than a window back nothing can be outstanding.
        """
        if not len(flow):
            return octets
        state = self.flows.state["high"]
        begin = sequence.astype(np.int64) + syn
        end = (begin + octets) % MODULUS
        starts = np.flatnonzero(np.r_[True, flow[1:] != flow[:-1]] | syn)
        sizes = run_sizes(starts, len(flow))
        high = np.where(syn[starts] | (state[flow[starts]] < 0), begin[starts] % MODULUS, state[flow[starts]])
        previous = np.r_[0, end[:-1]]
        previous[starts] = high
        step = (end - previous + WINDOW) % MODULUS - WINDOW
        along = np.cumsum(step)
        along -= np.repeat((along - step)[starts], sizes)
        before = running_max(along, starts, np.zeros(len(starts), np.int64))
        lasts = starts + sizes - 1
        state[flow[lasts]] = (high + np.maximum(before[lasts], along[lasts])) % MODULUS
        return np.clip(along - before, 0, octets)

    def tails(self, p: Packets, bulk: Mask, flow: Ints) -> Mask:
        """Small segments that go on where a bulk segment without PSH ended: its sender had more to send. Rows by flow."""
        end = (p.sequence.astype(np.int64) + p.octets) % MODULUS
        goes_on = np.where(bulk & (p.protocol == TCP) & (p.tcp_flags & PSH == 0), end, -1)
        return np.asarray(self.flows.previous("unpushed", goes_on, flow) == p.sequence, dtype=np.bool_)

    def add_control(self, seen: Seen, new: Ints, control: Mask, marked: Mask) -> None:
        """One record per control segment, and one without payload per SYN, FIN and RST, so that its time is exact."""
        rows = np.r_[np.flatnonzero(control), np.flatnonzero(marked)]
        payload = np.arange(len(rows)) < np.count_nonzero(control)
        table = blank_records(seen.take(rows))
        octets = np.where(payload, new[rows], 0)
        sent = (octets > 0).astype(np.int64)
        table |= {
            "octets": octets,
            "packets": sent,
            "messages": sent,
            "retransmits": (payload & (octets == 0)).astype(np.int64),
        }
        self.pieces.add(table | {"record": self.pieces.numbers(len(rows))})

    def forget(self, now: int) -> None:
        """Drop the flows that are over."""
        gone = self.flows.rested(now)
        if np.count_nonzero(gone) * 2 > len(gone):
            self.bursts.retire(gone, np.where(gone, -1, np.cumsum(~gone) - 1))
            self.flows.forget(gone)
        self.many = max(1 << 16, 2 * self.flows.count)

    def expired(self, before_ns: int) -> Table:
        """The records whose last packet came before then, which are let go of."""
        self.bursts.settle(before_ns)
        t = self.pieces.joined()
        over = (t["end_ns"] < before_ns) & ~np.isin(t["record"], self.bursts.unsettled())
        self.pieces.take(over)
        return {name: column[over] for name, column in t.items()}

    def finish(self) -> None:
        """Cut what is left."""
        self.bursts.finish()
