"""List the transfers of a job by lane (sender and receiver) and step, with the position of each in the lane's octets
per step.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.graph import constants as c
from prism.graph.job_steps import Rows, Steps
from prism.loops.arrays.group_sums import by_group, counted, distinct, numbered, numbered_pairs
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Codes, Floats
from prism.model import PairKind

KINDS = get_args(PairKind)  # of traffic; the last one is unknown


@dataclass(frozen=True, eq=False)
class Transfers:
    """Records of payload between ranks, sorted by lane, step and time. Arrays have one entry per transfer unless noted.

    `begin` is the position of the first transfer of each lane and step; int64[lanes · steps + 1]. Times are ns since the begin
    of the job's step. `low` and `high` are positions in the lane's octets of the step, 0 … 1.
    """

    rows: NDArray[np.intp]  # places in the records of the job
    src: Codes  # ranks
    dst: Codes
    lane: Codes
    step: Codes
    low: Floats
    high: Floats
    start: Floats
    end: Floats
    octets: Floats
    busy: Floats  # time for which it moved octets, ns
    lanes: Codes  # ranks at both ends of each lane; int32[lanes, 2]
    circle: Codes  # number of the smallest collective that contains both ends of each lane, else -1
    kinds: NDArray[np.str_]  # kind of traffic of each lane
    begin: Ints
    steps: int

    @cached_property
    def moved(self) -> Floats:
        """Octets by lane and step; float64[lanes, steps]."""
        return self.by_step(self.octets)

    @cached_property
    def moving(self) -> Floats:
        """Time for which octets moved, by lane and step, ns; float64[lanes, steps]."""
        return self.by_step(self.busy)

    @cached_property
    def pace(self) -> Floats:
        """Natural logarithm of the time that each lane takes per octet while octets move, by step; NaN if unknown."""
        known = (self.moved > 0) & (self.moving > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.where(known, self.moving / self.moved, np.nan)), np.float64)

    def by_step(self, values: Floats) -> Floats:
        """Sum of some values of the transfers by lane and step; float64[lanes, steps]."""
        out, known = np.zeros(len(self.lanes) * self.steps), np.flatnonzero(np.diff(self.begin))
        out[known] = np.add.reduceat(values, self.begin[known]) if len(known) else 0.0
        return out.reshape(-1, self.steps)

    def at(self, begins: Floats) -> Floats:
        """Begin and end of each transfer, ns; float64[2, transfers]. `begins` is the begin of each step."""
        return np.stack([self.start, self.end]) + begins.take(self.step)


def transfers_of(view: Steps) -> Transfers:
    """List the transfers of a job in its steps.

    If a lane moves equal octets in every step, these assign its transfers to steps, instead of time: a slow rank's step may end
    late.
    """
    flows, n, steps = view.flows, len(view.job.endpoints), len(view.ends)
    rank = np.full(len(flows.endpoints), -1, np.int32)
    rank[view.codes] = np.arange(n)
    rows = np.flatnonzero(~flows.control() & (flows.octets > 0))
    src, dst = rank.take(flows.src.take(rows)), rank.take(flows.dst.take(rows))
    if not (known := (src >= 0) & (dst >= 0)).all():
        rows, src, dst = rows[known], src[known], dst[known]
    pairs, lane = numbered_pairs(src.astype(np.int64) * n + dst, _kinds(view).take(rows), len(KINDS))
    of, pairs = pairs % len(KINDS), pairs // len(KINDS)
    order, begin = by_group(lane, len(pairs), flows.start_ns.take(rows))
    rows, lane = rows.take(order), lane.take(order)
    octets = flows.octets.take(rows).astype(np.float64)
    whole, most = (at.reduceat(octets, begin[:-1]) if len(rows) else np.zeros(0) for at in (np.add, np.maximum))
    large = whole >= c.TRIFLE * whole.max(initial=0.0)
    if not (known := large.take(lane) & (octets >= (c.TRIFLE * most).take(lane))).all():
        rows, octets, lane, pairs = rows[known], octets[known], (np.cumsum(large) - 1)[lane[known]], pairs[large]
        of = of[large]
    kinds = np.array(KINDS)[of]
    weight = _weights(flows, rows, lane, octets, kinds == "ep")
    step = _steps(lane, weight, view.step_at(rows), len(pairs), steps)
    if not (known := step < steps).all():
        rows, octets, weight, lane, step = rows[known], octets[known], weight[known], lane[known], step[known]
    cell = lane * steps + step
    order, begin = counted(cell, len(pairs) * steps, np.arange(len(cell)))
    rows, octets, weight, cell = rows.take(order), octets.take(order), weight.take(order), cell.take(order)
    gone = np.cumsum(weight)
    first = np.concatenate([[0.0], gone])[begin[:-1]].take(cell)
    whole = np.bincount(cell, weight, len(pairs) * steps).take(cell)
    at_lane, at_step = (part.astype(np.int32) for part in np.divmod(cell, steps))
    began, lanes = view.begins.take(at_step), np.stack([pairs // n, pairs % n], axis=1).astype(np.int32)
    queued = queue_delays(view, rows, view.codes[lanes], at_lane)
    start, end = (flows.start_ns.take(rows) - began).astype(np.float64), flows.end_ns.take(rows) - began + queued
    low, high = (gone - weight - first) / whole, (gone - first) / whole
    circle = _circles(view, lanes)
    calls = _calls(circle.take(at_lane), at_step, low, high)
    waits = _waits(calls, _inside_hosts(view, lanes, circle).take(at_lane), start, end)
    busy = np.maximum(view.busy.take(rows) + queued - waits, 0.0)
    return Transfers(
        rows, lanes[:, 0].take(at_lane), lanes[:, 1].take(at_lane), at_lane, at_step, low, high, start, end, octets, busy,
        lanes, circle, kinds, begin, steps,
    )  # fmt: skip


def largest(values: Floats, of: NDArray[np.integer[Any]], n: int) -> Floats:
    """Largest values of the lanes of each rank or host (`of`, of `n`), at least 0; float64[n, steps]."""
    out, order = np.zeros((n, values.shape[1])), np.argsort(of, kind="stable")
    first = np.flatnonzero(np.diff(of[order], prepend=-2))
    out[of[order[first]]] = np.maximum.reduceat(values[order], first) if len(of) else 0.0
    return np.maximum(out, 0.0)


def passed_hosts(view: Steps, lanes: NDArray[np.integer[Any]]) -> set[str]:
    """Return the hosts inside which a collective passes several ranks unseen: any of them may delay all of them."""
    names = [view.host(address) for address in view.job.endpoints]
    seen = {names[a] for a, b in lanes.tolist() if names[a] == names[b]}
    inside = (Counter(map(view.host, group.members)) for group in view.parallelism.groups)
    passed = {host for each in inside if len(each) > 1 for host, number in each.items() if number > 1}
    return passed.difference(seen)


def _weights(flows: Flows, rows: Rows, lane: Ints, octets: Floats, uneven: NDArray[np.bool_]) -> Floats:
    """Share of each record in its lane's work: its octets; in `uneven` lanes, as between experts, every message has the same.

    Experts exchange other octets in each step, but as many messages. Pauses between these are longer than the share `NEAR` of a
    record.
    """
    if not uneven.any():
        return octets
    start, end = flows.start_ns.take(rows), flows.end_ns.take(rows)
    first = np.diff(lane, prepend=-1) > 0
    first[1:] |= start[1:] - end[:-1] > c.NEAR * (end - start)[1:]
    message = np.cumsum(first) - 1
    return np.where(uneven.take(lane), octets / np.bincount(message, octets).take(message), octets)


def _circles(view: Steps, lanes: NDArray[np.integer[Any]]) -> Codes:
    """Number of the smallest collective that contains both ends of each lane; -1 for none, as in a pipeline."""
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    groups = sorted((g for g in view.parallelism.groups if g.kind != "pp"), key=lambda g: len(g.members))
    circle = np.full(len(lanes), -1, np.int32)
    for number, group in enumerate(groups):
        inside = np.zeros(len(place), np.bool_)
        inside[[place[member] for member in group.members]] = True
        circle[(circle < 0) & inside[lanes[:, 0]] & inside[lanes[:, 1]]] = number
    return circle


def _inside_hosts(view: Steps, lanes: NDArray[np.integer[Any]], circle: Codes) -> NDArray[np.bool_]:
    """Whether each lane is one of a collective that goes on inside hosts: of two members on one host, one sends no lane."""
    hosts, n = view.hosts, int(circle.max(initial=-1)) + 1
    width, of, ends = len(hosts), np.tile(circle, 2).astype(np.int64), lanes.T.ravel()
    known = (of >= 0) & (hosts[ends] >= 0)
    seen, places = (distinct(of[known] * width + each[known]) // width for each in (ends, hosts[ends]))
    many = np.bincount(seen, minlength=n) > np.bincount(places, minlength=n)
    return np.append(many, False)[circle]


def _calls(circle: Codes, step: Codes, low: Floats, high: Floats) -> Codes:
    """Number of the call of each record: equal for the records of a collective at one place in the octets of a step."""
    places = round(1 / c.TRIFLE) + 1
    number = circle.astype(np.int64) * (int(step.max(initial=0)) + 1) + step
    for part in (low, high):
        number = number * places + np.round(part / c.TRIFLE).astype(np.int64)
    number = np.where(circle < 0, -1 - np.arange(len(circle)), number)
    return numbered(number, number, room=len(number))[0]


def _waits(call: Codes, inside: NDArray[np.bool_], start: Floats, end: Floats) -> Floats:
    """Time for which each record lasted before all members took part in its call, ns; 0 for transfers.

    Records that begin far apart and end together begin with calls. A call that also waits for members `inside` hosts may be a
    wait as a whole.
    """
    waits = np.zeros(len(call))
    some, begin = counted(call, len(many := np.bincount(call)), np.flatnonzero(many[call] > 1))
    begin = begin[:-1][many > 1]
    (first, ready), (ended, last) = (
        (np.minimum.reduceat(at, begin), np.maximum.reduceat(at, begin)) if len(some) else (at, at)
        for at in (start.take(some), end.take(some))
    )
    called = (ready < ended) & (ready - first > c.CALLED * (last - ended))
    own, size = some[np.repeat(called, many[many > 1])], many[many > 1][called]
    waits[own] = np.where(inside[own], end[own] - start[own], np.repeat(ready[called], size) - start[own])
    return waits


def _kinds(view: Steps) -> NDArray[np.int8]:
    """Kind of traffic of each record of `flows`: its place in `KINDS`."""
    out = np.full(len(view.flows), len(KINDS) - 1, np.int8)
    for stream in view.parallelism.streams:
        out[stream.rows] = KINDS.index(stream.kind)
    return out


def queue_delays(view: Steps, rows: NDArray[np.intp], lanes: Ints, lane: Codes) -> Floats:
    """Excess delay of the last packet of each record between switches, ns; 0 where no two switches saw it.

    A buffer accepts a burst at full rate, so that its record, seen before the buffer, ends long before it arrives. Delays of
    the packets of a burst grow from 0 to that of the last one while a queue grows, and are equal in one that stands: so it is
    twice the mean, and at most the maximum. Clocks may disagree: the usual delay of a hop is subtracted.
    """
    out, t = np.zeros(len(rows)), view.transits
    known = np.flatnonzero(t.packets > 0)
    if not len(known) or t.bin_ns <= 0:
        return out
    ends = view.flows.end_ns[rows]
    excess = {}
    for hop in np.unique(np.stack([t.sender[known], t.receiver[known]], axis=1), axis=0):
        own = known[(t.sender[known] == hop[0]) & (t.receiver[known] == hop[1])]
        own = own[np.argsort(t.start_ns[own])]
        usual = np.median(t.delay_ns[own])
        last = np.minimum(2 * (t.delay_ns[own] - usual), t.max_delay_ns[own] - usual)
        excess[t.exporters[hop[0]], t.exporters[hop[1]]] = t.start_ns[own], np.maximum(last, 0.0)
    begins = np.searchsorted(lane, np.arange(len(lanes) + 1))
    for (a, b), own in zip(lanes.tolist(), map(slice, begins[:-1].tolist(), begins[1:].tolist()), strict=True):
        for start, delay in (excess[hop] for hop in pairwise(view.paths.get((a, b), ())) if hop in excess):
            at = np.searchsorted(start, ends[own], "right") - 1
            out[own] += np.where((at >= 0) & (ends[own] - start[at] < t.bin_ns), delay[at], 0.0)
    return out


def _steps(lane: Ints, octets: Floats, step: Codes, lanes: int, steps: int) -> Codes:
    """Step of each record: by octets if its lane moves equal octets in every step, else by time.

    In a lane with equal steps few records lie on both sides of a whole number of steps. Time is right where it gives every step
    as many records.
    """
    cell = lane * (steps + 1) + step
    moved, many = (np.bincount(cell, each, lanes * (steps + 1)).reshape(lanes, steps + 1) for each in (octets, None))
    each = np.sort(moved[:, :steps], axis=1)[:, (steps - 1) // 2] if steps else np.zeros(lanes)
    even = (each > 0) & (np.abs(moved.sum(axis=1) - steps * each) <= c.WHOLE * each)
    even &= (many[:, :steps] != many[:, :1]).any(axis=1)
    if not even.any():
        return step
    begins = np.searchsorted(lane, np.arange(lanes))
    gone = np.cumsum(octets)
    gone -= np.concatenate([[0.0], gone])[begins].take(lane)
    unit = np.maximum(each, 1.0).take(lane)
    across = ((gone - c.NEAR * octets) / unit).astype(np.int64) > ((gone - (1 - c.NEAR) * octets) / unit).astype(np.int64)
    even &= 2 * np.bincount(lane, across, lanes) <= steps
    turn = np.minimum((gone - octets / 2) / unit, steps - 1).astype(np.int32)
    return np.where(even.take(lane), turn, step)
