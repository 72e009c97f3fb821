"""Bulk segments to bursts: where a lane pauses for longer than its own pace explains, a record ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.numbers import FlowNumbers, Memory
from collectors.pieces import Pieces, Table, positions, reduce_runs, run_sizes, run_starts
from collectors.record import PSH, TCP, Ints, Mask, Packets

Floats = NDArray[np.float64]
KEY = ("src", "dst", "src_port", "dst_port", "protocol", "dst_qp")
COUNTS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy", "busy_size", "size", "guess")
RULES = {
    **dict.fromkeys((*KEY, "exporter", "path"), "first"),
    "start_ns": "min",
    "end_ns": "max",
    "tcp_flags": "or",
    **dict.fromkeys(COUNTS, "sum"),
}
UNIT_RULES = {**RULES, "flow": "first", "opens": "first", "spoken": "first"}
UNIT = 1 << 16  # the most a host hands to its NIC at once: the largest IPv4 packet
BINS, LOWEST = 128, 2.0**-8  # quarter octaves of ns per octet from 2 Tbit/s down


@dataclass(frozen=True)
class Pace:
    """How bursts are told from pauses. Pace is ns per octet of a unit that follows another in its lane.

    A unit is what the sender handed to its NIC at once. `cut`: a pause longer than it takes to send `cut` units ends a
    burst; a unit counts as at least `flight` octets (the initial window of RFC 6928: what TCP sends without waiting), and
    no pause up to `patience_ns` ends one: that is waiting for an acknowledgment or a busy host, whatever the link. `busy`:
    at up to so many times the pace, the sender was sending. `share`: this share of the octets goes at least at the pace.
    `doubt`: weight of a unit before which a control segment went: its gap says when the application was ready. `block`:
    units of a lane judged together, with as many before. `young`: a lane with fewer gaps to go by borrows the pace of its
    sender's other lanes.
    """

    cut: float = 8.0
    busy: float = 3.0
    flight: int = 14600
    patience_ns: int = 100_000
    share: float = 0.4
    doubt: float = 0.001
    block: int = 16
    young: int = 4


class Bursts:
    """Collects bulk segments, cuts whole blocks of units into pieces of records. Remembers per flow what `memory` names."""

    def __init__(self, flows: FlowNumbers, pieces: Pieces, *, active_ns: int | None, pace: Pace) -> None:
        self.flows, self.pieces, self.active_ns, self.pace = flows, pieces, active_ns, pace
        self.waiting: list[Table] = []
        self.orphans: list[Table] = []
        self.fresh = self.held = self.orphaned = 0
        self.typical = np.zeros((0, BINS), np.float32)

    @staticmethod
    def memory(pace: Pace) -> dict[str, Memory]:
        """What is remembered of each flow."""
        b = pace.block
        return {
            "unit": Memory(np.int64), "seen_ns": Memory(np.int64), "bulk_ns": Memory(np.int64), "bulk_size": Memory(np.int64),
            "record": Memory(np.int64, -1), "x": Memory(np.float64, np.inf, (b,)), "weight": Memory(np.float64, 0, (b,)),
        }  # fmt: skip

    def add(self, table: Table, p: Packets) -> None:
        """Take bulk segments by flow: the packets and a table of the columns of UNIT_RULES but `opens`."""
        table["opens"] = self.openings(p, table["flow"], table["retransmits"] > 0)
        self.waiting.append(table)
        self.fresh += len(p)
        if self.fresh >= max(1 << 15, self.held):
            self.cut_blocks()

    def openings(self, p: Packets, flow: Ints, again: Mask) -> Mask:
        """Where a unit starts: after a PSH, which ends what was handed over at once, each 64 kB, and a repeat.

        Undoes segmentation (TSO, GSO), so that lanes are cut alike wherever they were captured.
        """
        starts = run_starts(flow)
        sizes = run_sizes(starts, len(flow))
        goes_on = (p.protocol == TCP) & (p.tcp_flags & PSH == 0) & ~again
        back = p.time_ns < self.flows.previous("seen_ns", p.time_ns, flow)
        carried = self.flows.state["unit"][flow[starts]]  # octets since the unit's start, 0 where one starts
        carried[back[starts]] = 0
        fresh = np.r_[True, ~goes_on[:-1]] | back
        fresh[starts] = carried == 0
        along = np.cumsum(p.octets)
        along += np.repeat(carried - (along - p.octets)[starts], sizes)
        begin = np.flatnonzero(fresh)
        runs = np.union1d(begin, starts)
        base = np.where(fresh[runs], (along - p.octets)[runs], 0)
        along -= np.repeat(base, run_sizes(runs, len(flow)))
        part = (along - 1) // UNIT
        opens = fresh.copy()
        opens[1:] |= part[1:] != part[:-1]
        opens[starts] = fresh[starts] | (part[starts] != (carried - 1) // UNIT)
        lasts = starts + sizes - 1
        self.flows.state["unit"][flow[lasts]] = np.where(goes_on[lasts], along[lasts], 0)
        return np.asarray(opens, dtype=np.bool_)

    def cut_blocks(self) -> None:
        """Cut whole blocks of units; what is left over waits for more of its lane."""
        rows = self.units(self.waiting)
        if not rows:
            return
        starts = run_starts(rows["flow"])
        sizes = run_sizes(starts, len(rows["flow"]))
        # the last unit of a lane may grow
        whole = positions(starts, len(rows["flow"])) < np.repeat((sizes - 1) // self.pace.block * self.pace.block, sizes)
        self.waiting = [{name: column[~whole] for name, column in rows.items()}]
        self.held, self.fresh = len(whole) - int(np.count_nonzero(whole)), 0
        self.cut_lanes({name: column[whole] for name, column in rows.items()}, note=True)

    def units(self, tables: list[Table]) -> Table:
        """Segments joined to units, by lane, else in the order they came."""
        if not sum(len(t["flow"]) for t in tables):
            return {}
        rows = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
        order = np.argsort(rows["flow"], kind="stable")
        rows = {name: column[order] for name, column in rows.items()}
        opens = rows["opens"].copy()
        opens[run_starts(rows["flow"])] = True
        return reduce_runs(rows, np.flatnonzero(opens), UNIT_RULES)

    def retire(self, gone: Mask, renumbered: Ints) -> None:
        """Cut what is left of lanes that are over, before flows are forgotten; the young wait for `finish`."""
        self.cut_blocks()
        rows = self.units(self.waiting)
        if not rows:
            return
        over = gone[rows["flow"]]
        old = {name: column[over] for name, column in rows.items()}
        young = self.is_young(old["flow"])
        self.cut_lanes({name: column[~young] for name, column in old.items()})
        orphans = {name: column[young] for name, column in old.items()}
        if len(orphans["flow"]):
            lanes, orphans["flow"] = np.unique(orphans["flow"], return_inverse=True)
            orphans["flow"] = orphans["flow"] + self.orphaned
            self.orphaned += len(lanes)
            self.orphans.append(orphans)
        self.waiting = [{name: column[~over] for name, column in rows.items()}]
        self.waiting[0]["flow"] = renumbered[self.waiting[0]["flow"]]
        self.held = len(self.waiting[0]["flow"])

    def settle(self, before_ns: int) -> None:
        """Cut what is left of lanes that have rested since then, as at their end."""
        self.cut_blocks()
        rows = self.units(self.waiting)
        if not rows:
            return
        starts = run_starts(rows["flow"])
        rested = np.repeat(np.maximum.reduceat(rows["end_ns"], starts) < before_ns, run_sizes(starts, len(rows["flow"])))
        self.cut_lanes({name: column[rested] for name, column in rows.items()})
        self.waiting = [{name: column[~rested] for name, column in rows.items()}]
        self.held = len(self.waiting[0]["flow"])

    def unsettled(self) -> Ints:
        """The records to which units may belong that wait to be cut."""
        flow = np.concatenate([table["flow"] for table in self.waiting] or [np.zeros(0, np.int64)])
        return np.asarray(self.flows.state["record"][np.unique(flow)], dtype=np.int64)

    def is_young(self, flow: Ints) -> Mask:
        """Whether the lane of each row has had fewer than `young` units before and in these rows; rows by lane."""
        starts = run_starts(flow)
        sizes = run_sizes(starts, len(flow))
        return np.asarray(
            np.repeat((self.flows.state["record"][flow[starts]] < 0) & (sizes <= self.pace.young), sizes), dtype=np.bool_
        )

    def finish(self) -> None:
        """Cut what is left, young lanes at the pace of their senders."""
        self.cut_blocks()
        rows = self.units(self.waiting)
        if rows:
            self.cut_lanes(rows)
        if self.orphans:
            base = self.flows.count
            self.flows.grow([0] * self.orphaned)
            for table in self.orphans:
                table["flow"] = table["flow"] + base
            self.cut_lanes(self.units(self.orphans))
        self.waiting, self.orphans = [], []

    def cut_lanes(self, rows: Table, *, note: bool = False) -> None:
        """Cut at pauses, hand over pieces; units by lane, in whole blocks but for a lane's last. `note` their paces."""
        if not len(rows["flow"]):
            return
        state, flow, size, time = self.flows.state, rows["flow"], rows["size"], rows["end_ns"]
        first = np.zeros(len(flow), np.bool_)
        starts = run_starts(flow)
        first[starts] = state["record"][flow[starts]] < 0
        previous, before = self.flows.previous("bulk_ns", time, flow), self.flows.previous("bulk_size", size, flow)
        gap, pause = time - previous, rows["start_ns"] - previous
        x = np.where(first, np.inf, np.maximum(gap, 0) / size)
        pace = self.paces(rows, x, note=note)
        unit = np.maximum(np.maximum(size, before), self.pace.flight) * pace
        cut = first | (pause < 0) | (pause > np.maximum(self.pace.cut * unit, self.pace.patience_ns))
        if self.active_ns:
            cut |= time // self.active_ns != previous // self.active_ns
        busy = ~cut & (gap <= self.pace.busy * unit)
        runs = np.flatnonzero(np.r_[True, flow[1:] != flow[:-1]] | cut)
        record = state["record"][flow[runs]]
        record[cut[runs]] = self.pieces.numbers(int(np.count_nonzero(cut)))
        rows["record"] = np.repeat(record, run_sizes(runs, len(flow)))
        lasts = starts + run_sizes(starts, len(flow)) - 1
        state["record"][flow[lasts]] = rows["record"][lasts]
        rows["busy"], rows["busy_size"] = np.where(busy, gap, 0), np.where(busy, size, 0)
        rows["guess"] = np.rint(size * pace).astype(np.int64)
        self.pieces.add(reduce_runs(rows, runs, self.pieces.rules))

    def paces(self, rows: Table, x: Floats, *, note: bool) -> Floats:
        """Pace of each unit: a weighted quantile over its block and the one before in its lane. `x`: ns per octet."""
        b, flow, state = self.pace.block, rows["flow"], self.flows.state
        place = positions(run_starts(flow), len(flow))
        starts = np.flatnonzero(place % b == 0)
        block = np.repeat(np.arange(len(starts)), run_sizes(starts, len(flow)))
        sure = np.isfinite(x) & ~rows["spoken"]
        xs, weight = np.full((len(starts), 2 * b), np.inf), np.zeros((len(starts), 2 * b))
        xs[block, b + place % b] = x
        weight[block, b + place % b] = np.where(sure, 1, np.where(np.isfinite(x), self.pace.doubt, 0)) * rows["size"]
        xs[1:, :b], weight[1:, :b] = xs[:-1, b:], weight[:-1, b:]
        opening, lane = place[starts] == 0, flow[starts]
        xs[opening, :b], weight[opening, :b] = state["x"][lane[opening]], state["weight"][lane[opening]]
        ending = np.r_[opening[1:], True]
        state["x"][lane[ending]], state["weight"][lane[ending]] = xs[ending, b:], weight[ending, b:]
        order = np.argsort(xs, axis=1, kind="stable")
        total = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
        at = np.minimum((total < self.pace.share * total[:, -1:]).sum(axis=1), 2 * b - 1)
        pace = np.take_along_axis(xs, order, axis=1)[np.arange(len(starts)), at]
        src = rows["src"][starts]
        if note:
            self.note(src, pace)
        else:
            young = (np.isfinite(xs).sum(axis=1) < self.pace.young) | ~np.isfinite(pace)
            pace[young] = self.borrowed(src[young], pace[young])
        return np.asarray(pace[block], dtype=np.float64)

    def note(self, src: NDArray[np.int32], pace: Floats) -> None:
        """Remember the paces of senders."""
        good = np.isfinite(pace) & (pace > 0)
        if len(src) and src.max() >= len(self.typical):
            self.typical = np.concatenate([self.typical, np.zeros((int(src.max()) + 1 - len(self.typical), BINS), np.float32)])
        bins = np.clip(np.rint(4 * np.log2(pace[good] / LOWEST)), 0, BINS - 1).astype(np.intp)
        np.add.at(self.typical, (src[good], bins), 1)

    def borrowed(self, src: NDArray[np.int32], own: Floats) -> Floats:
        """The median pace of each sender's lanes, else of all lanes, else its own, else 0."""
        if not len(src):
            return own
        own = np.where(np.isfinite(own), own, 0.0)
        if not self.typical.any():
            return own
        rows = np.zeros((len(src), BINS))
        known = src < len(self.typical)
        rows[known] = self.typical[src[known]]
        rows[~rows.any(axis=1)] = self.typical.sum(axis=0)
        total = np.cumsum(rows, axis=1)
        middle = (total < 0.5 * total[:, -1:]).sum(axis=1)
        return np.asarray(LOWEST * 2.0 ** (middle / 4), dtype=np.float64)
