"""Small messages that end a step: barriers and scalar reductions over a whole job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from collectors.columns.record import Flows
from prism.kernels.intervals import Ints, nearest, union
from prism.kernels.sums import counted, numbered

Both = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Line:
    """One direction of one connection: its records of small messages and of payload; `port` joins both directions."""

    low: bool
    port: int
    small: Ints
    large: Ints

    @property
    def payload(self) -> int:
        """How many records of payload it has."""
        return len(self.large)


def signals(flows: Flows, ends: Ints, *, near: float = 0.02, calls: bool = False) -> Mapping[int, Ints]:
    """For each endpoint its small messages that come in most steps of a connection's life and serve no payload.

    `ends` are the step ends, ns. Readiness and credits travel on the connections they serve and say nothing of a step's end.
    What rides beside payload is of the same reduction as what does not if it comes at the same time, within the share `near`
    of a step. Where a step consists of several `calls`, each of which would be asked for, what comes once a step asks for
    none; elsewhere nor does what all say at one time soon after the payload.
    """
    found: list[tuple[Both, bool, Ints]] = []
    period = float(np.median(np.diff(ends))) if len(ends) > 1 else 0.0
    pairs = _pairs(flows)
    last = [] if calls else _concluding(flows, pairs, ends, near * period)
    for pair, lines in pairs.items():
        idle = 10 * sum(line.payload for line in lines) <= len(ends)
        seldom = (
            lines if idle else _seldom(flows, lines, len(ends), near * period) if calls else [n for n in lines if n in last]
        )
        for line in [*seldom, *(line for line in unserving(lines) if line not in seldom)]:
            at = flows.end_ns[line.small]
            if _in_most(np.unique(np.searchsorted(ends, at)), len(ends)):
                found.append((pair, line in seldom, at))
    known = np.sort(np.concatenate([at for _, sure, at in found if sure] or [ends[:0]]))
    heard: dict[int, list[Ints]] = defaultdict(list)
    for pair, sure, at in found:
        if sure or _with(at, known, near * period):
            for end in pair:
                heard[end].append(at)
    return {end: np.sort(np.concatenate(own)) for end, own in heard.items()}


def _in_most(own: Ints, steps: int, *, least: int = 4) -> bool:
    """Whether something that comes in its `own` steps comes in most of its life's; a restart gives a job new connections."""
    life = int(own[-1] - own[0]) + 1 if len(own) else 0
    return 2 * len(own) > (life if life >= least else steps)


def _with(times: Ints, known: Ints, near: float) -> bool:
    """Whether times go with known ones: most of them no further than `near` ns from one."""
    if not len(known):
        return False
    return bool(np.median(np.abs(nearest(times, known) - times)) <= near)


def lines_of_small(flows: Flows) -> list[list[Line]]:
    """The lines of each pair that carries small messages."""
    return list(_pairs(flows).values())


def _pairs(flows: Flows) -> dict[Both, list[Line]]:
    """The lines of every pair that carries small messages."""
    control = flows.control()
    said = control & (flows.octets > 0)
    if not said.any():
        return {}
    number, at = numbered(np.minimum(flows.src, flows.dst), np.maximum(flows.src, flows.dst))
    small = np.zeros(len(at), np.bool_)
    small[number[said]] = True
    asked = np.flatnonzero(small[number] & (flows.octets > 0))
    del number
    src, dst = flows.src[asked].astype(np.int64), flows.dst[asked].astype(np.int64)
    low, high, there = np.minimum(src, dst), np.maximum(src, dst), src < dst
    ports = flows.src_port[asked].astype(np.int64), flows.dst_port[asked].astype(np.int64)
    queue = flows.dst_qp[asked].astype(np.int64)
    port = np.where(queue > 0, 0, np.where(there, ports[0] << 16 | ports[1], ports[1] << 16 | ports[0]))
    number, at = numbered(low << 32 | high, port << 32 | queue << 1 | there)
    order, begins = counted(number, len(at), np.arange(len(asked)))
    rows, bounds = asked[order], begins.tolist()
    out: dict[Both, list[Line]] = defaultdict(list)
    for i in np.lexsort((queue[at], port[at], there[at], high[at], low[at])).tolist():
        own = rows[bounds[i] : bounds[i + 1]]
        less, one = control[own], at[i]
        out[int(low[one]), int(high[one])].append(Line(bool(there[one]), int(port[one]), own[less], own[~less]))
    return out


def unserving(lines: list[Line]) -> list[Line]:
    """Lines that carry hardly anything but small messages, and no credits for payload that comes the other way.

    Of queue pairs nobody tells which belongs to which. As many of them as have payload coming the other way, and none going
    theirs, may carry its credits: those with most messages.
    """
    out = []
    for low in (True, False):
        quiet = [line for line in lines if line.low == low and 10 * line.payload <= len(line.small)]
        if quiet and quiet[0].port:
            busy = {line.port for line in lines if 10 * line.payload > len(line.small)}
            out += [line for line in quiet if line.port not in busy]
            continue
        there, back = (sum(line.low == way and 10 * line.payload > len(line.small) for line in lines) for way in (low, not low))
        out += sorted(quiet, key=lambda line: len(line.small))[: max(len(quiet) - max(back - there, 0), 0)]
    return out


def _concluding(flows: Flows, pairs: Mapping[Both, list[Line]], ends: Ints, apart: float, *, few: float = 0.2) -> list[Line]:
    """Lines beside payload whose small messages come when all of it rests, sooner after it than before more of it.

    Who is asked for payload is asked shortly before it, and one after the other. These come to everybody within `apart` ns, in
    most steps. Of connections with ports it is known which serve payload: their own.
    """
    every = [(pair, line) for pair, lines in pairs.items() for line in lines]
    busy = [(pair, line) for pair, line in every if line.payload >= len(ends)]
    if not busy:
        return []
    served = {(pair, line.port) for pair, line in busy if line.port}
    rows = np.concatenate([line.large for _, line in busy])
    begin, end = union(flows.start_ns[rows], flows.end_ns[rows])
    rests = np.flatnonzero(begin[1:] - end[:-1] >= apart)
    begin, end = begin[1:][rests], end[:-1][rests]
    out: list[tuple[Both, Line]] = []
    said: list[Ints] = []  # when each said the last in each rest; 0 where it said nothing
    for pair, line in every:
        at = flows.end_ns[line.small]
        rest = np.searchsorted(end, at, "right") - 1
        inside = (rest >= 0) & (at < np.append(begin, 0)[rest])
        if line.payload < len(ends) and (pair, line.port) not in served and 2 * np.count_nonzero(inside) > len(at):
            out.append((pair, line))
            said.append(np.zeros(len(end), np.int64))
            np.maximum.at(said[-1], rest[inside], at[inside])
    if {end for pair, _ in out for end in pair} != {end for pair, _ in busy for end in pair}:
        return []
    last = np.stack(said)
    spoke = last > 0  # a restart gives a job new connections: each has its own life
    alive = np.maximum.accumulate(spoke, axis=1) & np.maximum.accumulate(spoke[:, ::-1], axis=1)[:, ::-1]
    earliest = np.where(alive, last, np.iinfo(np.int64).max).min(axis=0)
    latest = last.max(axis=0)
    early = (2 * latest < begin + end) & (earliest > 0) & (latest - earliest <= apart) & (latest > 0)
    steps = np.unique(np.searchsorted(ends, end[early]))
    strange = np.count_nonzero(last[:, ~early].any(axis=0))  # a rest may be shorter than usual
    return [line for _, line in out] if 2 * len(steps) > len(ends) and strange <= few * np.count_nonzero(early) else []


def _seldom(flows: Flows, lines: list[Line], steps: int, apart: float) -> list[Line]:
    """Lines whose small messages come once a step, where the payload the other way comes at least three times as often."""
    served = {low: [line.large for line in lines if line.low != low] for low in (True, False)}
    payload = {low: _times(flows, np.concatenate([np.zeros(0, np.int64), *rows]), apart) for low, rows in served.items()}
    quiet = [(line, _times(flows, line.small, apart)) for line in lines if 10 * line.payload <= len(line.small)]
    return [line for line, times in quiet if times <= 1.5 * steps and payload[line.low] >= 3 * times]


def _times(flows: Flows, rows: Ints, apart: float) -> int:
    """How often records come, of those that begin within `apart` ns only the first."""
    later = np.diff(np.sort(flows.start_ns[rows])) > np.float64(apart)
    return int(np.count_nonzero(later)) + min(len(rows), 1)
