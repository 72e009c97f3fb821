"""RoCEv2 packets to flow records: one per RDMA message (InfiniBand Architecture 1.4, volume 1, chapter 9)."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from collectors.bursts import RULES as BURST_RULES
from collectors.lanes import blank_records
from collectors.numbers import FlowNumbers, Memory
from collectors.pieces import Pieces, Table, mixed, reduce_runs, run_sizes, run_starts, running_max
from collectors.record import Ints, Mask
from collectors.sightings import Seen

RULES = BURST_RULES | {"lowest": "min", "highest": "max", "rows": "sum", "mtu": "max", "dma": "max", "ends": "max"}
FAR = np.iinfo(np.int64).max
MODULUS, WINDOW = 1 << 24, 1 << 20  # PSN space; further back than 4 GB of 4096-octet packets nothing is sent again
CNP, UNRELIABLE_DATAGRAM = 129, 3
ACKNOWLEDGE, READ_REQUEST, ATOMIC_ACKNOWLEDGE = 17, 12, 18  # BTH opcodes without the three transport bits, table 38
FIRST, MIDDLE, LAST, ONLY = (0, 6, 13), (1, 7, 14), (2, 3, 8, 9, 15, 22), (4, 5, 10, 11, 16, 23)
RESPONSES = (13, 14, 15, 16, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE)


def opcodes(*members: tuple[int, ...]) -> NDArray[np.bool_]:
    """Table over the 32 operations: which are among the members."""
    table = np.zeros(32, np.bool_)
    table[[code for codes in members for code in codes]] = True
    return table


BEGINS, ENDS, DATA, ANSWERS = opcodes(FIRST, ONLY), opcodes(LAST, ONLY), opcodes(FIRST, MIDDLE, LAST, ONLY), opcodes(RESPONSES)


class Messages:
    """Turns unique RoCEv2 packets, by time, into pieces of records. `bin_ns`: congestion notifications of so long are one."""

    def __init__(self, tally: Counter[str], *, idle_ns: int, bin_ns: int) -> None:
        self.pieces, self.tally, self.bin_ns = Pieces(RULES), tally, bin_ns
        memory = {
            "high": Memory(np.int64, -1),
            "until": Memory(np.int64, FAR),
            "ended": Memory(np.bool_, 1),
            "over": Memory(np.bool_, 0),
        }
        self.flows = FlowNumbers(idle_ns, record=Memory(np.int64, -1), **memory)
        self.notices = FlowNumbers(idle_ns, record=Memory(np.int64, -1), bin=Memory(np.int64, -1))
        self.anchors = dict.fromkeys(("flow", "psn", "until", "record", "arrival", "highest"), np.zeros(0, np.int64))
        self.many = 1 << 16

    def add(self, seen: Seen) -> None:
        """Take unique RoCEv2 packets, by time."""
        p = seen.packets
        operation, transport = p.opcode & 31, p.opcode >> 5
        notice = p.opcode == CNP
        data = DATA[operation] & ~notice
        acknowledge = (operation == ACKNOWLEDGE) & ~notice
        self.tally["acknowledgment only"] += int(np.count_nonzero(acknowledge))
        self.add_data(seen.take(data), operation[data], transport[data] == UNRELIABLE_DATAGRAM)
        self.add_notices(seen.take(notice))
        rows = np.flatnonzero(~data & ~notice & ~acknowledge)
        table = self.blank(seen.take(rows)) | {"messages": np.ones(len(rows), np.int64)}
        self.pieces.add(table | {"record": self.pieces.numbers(len(rows))})
        if self.flows.count + self.notices.count > self.many and len(p):
            self.forget(int(p.time_ns.max()))

    def forget(self, now: int) -> None:
        """Drop the flows that are over."""
        self.notices.forget(self.notices.rested(now))
        renumbered = self.flows.forget(self.flows.rested(now))
        self.anchors["flow"] = renumbered[self.anchors["flow"]]
        self.anchors = {name: column[self.anchors["flow"] >= 0] for name, column in self.anchors.items()}
        self.many = max(1 << 16, 2 * (self.flows.count + self.notices.count))

    def blank(self, seen: Seen) -> Table:
        """Columns of a record for each packet, as if it carried nothing."""
        zero = np.zeros(len(seen.packets), np.int64)
        table = blank_records(seen) | dict.fromkeys(("rows", "mtu", "ends"), zero)
        return table | {"src_port": zero, "lowest": zero + FAR, "highest": zero - FAR, "dma": zero - 1}

    def add_notices(self, seen: Seen) -> None:
        """Congestion notifications, as they were sent: from the receiver of data to its sender; one record per time bin."""
        p = seen.packets
        if not len(p):
            return
        flow, order = self.notices.lookup(mixed(p.src, p.dst, p.dst_qp), p.time_ns)
        flow, number = flow[order], p.time_ns[order] // self.bin_ns
        opens = self.notices.previous("bin", number, flow) != number
        table = self.blank(seen.take(order)) | {"cnp": np.ones(len(flow), np.int64)}
        table["record"] = self.continued(self.notices, flow, opens)
        self.pieces.add(table)

    def add_data(self, seen: Seen, operation: NDArray[np.int16], datagram: Mask) -> None:
        """Packets of messages, new or sent again."""
        if not len(seen.packets):
            return
        p = seen.packets
        flow, order = self.flows.lookup(mixed(p.src, p.dst, p.dst_qp, ANSWERS[operation]), p.time_ns)
        seen, flow, operation, datagram = seen.take(order), flow[order], operation[order], datagram[order]
        p = seen.packets
        psn, before = self.unwrapped(p.sequence, flow)
        new = (psn > before) | datagram
        begins, ends = BEGINS[operation], ENDS[operation]
        opens, until = np.zeros(len(flow), np.bool_), np.full(len(flow), FAR)
        ahead = np.flatnonzero(new)
        opens[ahead], until[ahead] = self.beginnings(
            psn[ahead], begins[ahead], ends[ahead], p.dma_length[ahead], p.octets[ahead], flow[ahead]
        )
        record = self.continued(self.flows, flow, opens)
        self.overtaken(flow, psn, until, opens & begins & (p.dma_length >= 0), record, new)
        table = self.blank(seen)
        table |= {"octets": np.where(new, p.octets, 0), "retransmits": (~new).astype(np.int64), "rows": new.astype(np.int64)}
        table |= {"start_ns": np.where(new, p.time_ns, FAR), "end_ns": np.where(new, p.time_ns, -FAR), "mtu": p.octets}
        table |= {"lowest": np.where(new, psn, FAR), "highest": np.where(new, psn, -FAR), "ends": (ends & new).astype(np.int64)}
        table |= {"dma": np.where(begins & new, p.dma_length, -1), "record": record}
        by_record = np.argsort(record, kind="stable")
        table = {name: table[name][by_record] for name in self.pieces.rules}
        self.pieces.add(reduce_runs(table, run_starts(table["record"]), self.pieces.rules))

    def overtaken(self, flow: Ints, psn: Ints, until: Ints, anchors: Mask, record: Ints, new: Mask) -> None:
        """Give packets that newer messages of their QP have overtaken to their own message, by PSN; changes record and new.

        Packets that the network sprays over several paths arrive in any order. `anchors`: First packets with a RETH, whose
        message reaches to PSN `until`. What is not beyond the highest PSN of its message was sent again.
        """
        rows = np.flatnonzero(anchors)
        fresh = {
            "flow": flow[rows],
            "psn": psn[rows],
            "until": until[rows],
            "record": record[rows],
            "arrival": rows,
            "highest": psn[rows],
        }
        known = {name: np.concatenate([self.anchors[name], fresh[name]]) for name in fresh}
        order = np.lexsort((known["arrival"], known["psn"], known["flow"]))
        known = {name: column[order] for name, column in known.items()}
        at = np.searchsorted((known["flow"] << 38) + known["psn"], (flow << 38) + psn, side="right") - 1
        mine = (at >= 0) & (len(known["flow"]) > 0)
        at[~mine] = 0
        if len(known["flow"]):
            mine &= (known["flow"][at] == flow) & (psn <= known["until"][at]) & (known["arrival"][at] < np.arange(len(flow)))
        inside = np.flatnonzero(mine)
        inside = inside[np.argsort(at[inside], kind="stable")]
        if len(inside):
            message, starts = at[inside], run_starts(at[inside])
            best = running_max(psn[inside], starts, known["highest"][message[starts]])
            behind = ~new[inside]
            new[inside] |= psn[inside] > best
            record[inside[behind]] = known["record"][message[behind]]
            lasts = starts + run_sizes(starts, len(inside)) - 1
            known["highest"][message[starts]] = np.maximum(best, psn[inside])[lasts]
        lag = self.flows.state["high"][known["flow"]] - known["psn"]
        keep = (known["highest"] < known["until"]) & (lag < WINDOW)
        self.anchors = {name: column[keep] for name, column in known.items()}
        self.anchors["arrival"][:] = -1

    def unwrapped(self, sequence: NDArray[np.uint32], flow: Ints) -> tuple[Ints, Ints]:
        """PSNs that count on past 24 bits, and the highest before each in its flow. Rows by flow."""
        state = self.flows.state["high"]
        raw, starts = sequence.astype(np.int64), run_starts(flow)
        sizes = run_sizes(starts, len(flow))
        high = np.where(state[flow[starts]] < 0, raw[starts] - 1 + MODULUS, state[flow[starts]])
        previous = np.r_[0, raw[:-1]]
        previous[starts] = high
        step = (raw - previous + WINDOW) % MODULUS - WINDOW
        along = np.cumsum(step)
        along += np.repeat(high - (along - step)[starts], sizes)
        before = running_max(along, starts, high)
        lasts = starts + sizes - 1
        state[flow[lasts]] = np.maximum(before, along)[lasts]
        return along, before

    def beginnings(self, psn: Ints, begins: Mask, ends: Mask, dma: Ints, octets: Ints, flow: Ints) -> tuple[Mask, Ints]:
        """Where a message begins: at its First, after the Last before, or past the last PSN that the RETH before allows for.

        Also that last PSN, for each row.
        """
        state, starts = self.flows.state["until"], run_starts(flow)
        count = -(-np.maximum(dma, 1) // np.maximum(octets, 1))
        until = np.where(begins & (dma >= 0), psn + count - 1, FAR)
        until[starts] = np.where(begins[starts], until[starts], state[flow[starts]])
        known = begins.copy()
        known[starts] = True
        until = until[np.maximum.accumulate(np.where(known, np.arange(len(flow)), 0))]
        lasts = starts + run_sizes(starts, len(flow)) - 1
        state[flow[lasts]] = until[lasts]
        over = psn > until
        lost = over & ~self.flows.previous("over", over, flow)
        return np.asarray(begins | lost | self.flows.previous("ended", ends, flow), dtype=np.bool_), until

    def continued(self, flows: FlowNumbers, flow: Ints, opens: Mask) -> Ints:
        """Record of each row: a new one where it `opens`, else that of the row before in its flow."""
        state = flows.state["record"]
        runs = np.flatnonzero(opens | np.r_[True, flow[1:] != flow[:-1]])
        record = state[flow[runs]]
        record[opens[runs]] = self.pieces.numbers(int(np.count_nonzero(opens)))
        lasts = runs + run_sizes(runs, len(flow)) - 1
        state[flow[lasts]] = record
        return np.repeat(record, lasts + 1 - runs)

    def expired(self, before_ns: int) -> Table:
        """The records whose last packet came before then, which are let go of.

        What comes later of such a message is another record; packets that repeat it and nothing else are only counted.
        """
        t = self.joined()
        over = t["end_ns"] < before_ns
        repeats = over & (t["start_ns"] == FAR)
        self.tally["repeats of what is over"] += int(np.sum(t["retransmits"][repeats]))
        self.pieces.take(over)
        return {name: column[over & ~repeats] for name, column in t.items()}

    def joined(self) -> Table:
        """The records so far, with the size of messages whose packets were not all captured."""
        t = self.pieces.joined()
        if not len(t["record"]):
            return t
        span = np.where(t["rows"] > 0, t["highest"] - t["lowest"] + 1, 0)
        span = np.maximum(span, t["rows"])
        spread = t["octets"] + (span - t["rows"]) * t["mtu"]
        order = np.lexsort((t["start_ns"], t["dst_qp"], t["dst"], t["src"]))
        over = t["ends"] > 0
        same = np.logical_and.reduce([np.diff(t[name][order]) == 0 for name in ("src", "dst", "dst_qp")])
        over[order[:-1]] |= same  # another message followed
        octets = np.where(t["dma"] < 0, spread, np.where(over, t["dma"], np.minimum(t["dma"], spread)))
        announced = -(-t["dma"] // np.maximum(t["mtu"], 1))
        packets = np.where(over & (t["dma"] >= 0) & (t["mtu"] > 0), np.maximum(span, announced), span)
        t |= {
            "octets": octets,
            "packets": np.where(octets > 0, packets, 0),
            "messages": np.maximum(t["messages"], t["rows"] > 0),
        }
        t["busy_ns"] = np.where(t["rows"] > 0, t["end_ns"] - t["start_ns"], 0)
        return t
