"""Compute what each record needed before it could be sent: data of the same micro-batch, or of a collective's previous round.

Data that arrived later than that was for later records: the sender did not wait for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Mask
from prism.graph import constants as c
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import last_before, numbered, on_end, places_in
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.record_groups import by_group
from prism.loops.dependencies.exchange_rounds import fill_needs, joined_round, shared_needs
from prism.loops.dependencies.matched_volumes import UNKNOWN, Moved, as_sent, given_as, moved_by, shares_of
from prism.loops.dependencies.stage_handovers import Hands, Needs, handed_on
from prism.model import Job, Parallelism

COLLECTIVES = ("dp", "cp", "ep", "tp")


def needed(flows: Flows, job: Job, parallelism: Parallelism, ends: Sequence[Ints], hosts: Ints) -> Ints:
    """Compute when all data that each record of a job needs had arrived, ns.

    Parameters
    ----------
    flows : Flows
        Records of the job.
    job : Job
        The job.
    parallelism : Parallelism
        Its layout and streams.
    ends : sequence of int64 arrays
        Step ends of each rank, ns.
    hosts : int64[ranks]
        Number of each rank's host, as in `View.hosts`.

    Returns
    -------
    int64[flows]
        0 if a record needs nothing, -1 if unknown.
    """
    out = np.full(len(flows), UNKNOWN, np.int64)
    _pipelines(out, flows, job, parallelism, ends)
    ranks = np.full(len(flows.endpoints), -1)
    codes = {address: code for code, address in enumerate(flows.endpoints)}
    ranks[[codes[address] for address in job.endpoints]] = np.arange(len(job.endpoints))
    kinds = {stream.kind for stream in parallelism.streams}
    rounds = {kind: _even(kind, flows, job, parallelism, ranks, hosts) for kind in COLLECTIVES if kind in kinds}
    if any(own.reported.any() for own in rounds.values()):
        _collectives(out, flows, ranks, ends, {kind: own.records() for kind, own in rounds.items() if own.even.any()})
    return out


class _Even(NamedTuple):
    """Payload of one kind of collectives: records, lane of each, mask of lanes that are `even`, and of those to report
    (`reported`).
    """

    rows: Ints
    lane: NDArray[np.int32]
    even: Mask
    reported: Mask

    def records(self) -> tuple[Ints, Mask]:
        """Records of even lanes, and the mask of those to report."""
        kept = np.flatnonzero(self.even.take(self.lane))
        return self.rows.take(kept), self.reported.take(self.lane.take(kept))


def _collectives(out: Ints, flows: Flows, ranks: Ints, ends: Sequence[Ints], rounds: dict[str, tuple[Ints, Mask]]) -> None:
    """Write what records of collectives need: payload needs the previous round; a readiness message needs nothing of its round.

    Both need the data of other kinds that matches what was sent of these, and all other data. `rounds` lists the records of
    each kind and the mask of those to report.
    """
    start, src, dst = sending(flows), ranks.take(flows.src), ranks.take(flows.dst)
    most = max(map(len, ends), default=0) + 1

    def group(rank: Ints, time: Ints) -> Ints:
        return rank * most + places_in(ends, rank, time)

    other = ~flows.control()
    groups, came, went = {}, {}, {}
    for kind, (rows, _) in rounds.items():
        other[rows] = False
        begin, end, octets = start.take(rows), flows.end_ns.take(rows), flows.octets.take(rows)
        groups[kind] = group(src.take(rows), begin)
        came[kind] = shares_of(Moved(group(dst.take(rows), end), end, octets))
        went[kind] = shares_of(Moved(groups[kind], begin, octets))
    given = np.flatnonzero(other)
    for kind, (rows, reported) in rounds.items():
        if not reported.any():
            continue
        kept = np.flatnonzero(reported)
        messages = _readiness_messages(flows, rows.take(kept))
        sent_rows = np.concatenate([rows.take(kept), messages])
        at, own = (
            start.take(sent_rows),
            np.concatenate([groups[kind].take(kept), group(src.take(messages), start.take(messages))]),
        )
        need = last_before(dst.take(given), flows.end_ns.take(given), src.take(sent_rows), at)
        for another in came.keys() - {kind}:
            need = np.maximum(need, given_as(came[another], moved_by(went[another], own, at), own, at))
        out[sent_rows] = need
        joined = joined_round(went[kind], reported, dst.take(rows), flows.octets.take(rows))
        before, ahead = as_sent(came[kind], went[kind]), kind != "ep"  # experts are given more or less than they send
        _share_needs(out, fill_needs(out, rows, reported, before, joined, start, ahead), src, dst, start)


def _share_needs(out: Ints, rows: Ints, src: Ints, dst: Ints, start: Ints, *, near: float = c.TOGETHER) -> None:
    """Of two ranks that begin an exchange simultaneously, set the need of both to the begin of the later: one waited for the
    other.

    Simultaneous is within the share `near` of their own work. `rows` begin rounds; `src`, `dst` are ranks.
    """
    number, at = numbered(src.take(rows), dst.take(rows))
    one, other = src[rows[at]], dst[rows[at]]
    place = {pair: k for k, pair in enumerate(zip(one.tolist(), other.tolist(), strict=True))}
    back = np.array([place.get(pair, -1) for pair in zip(other.tolist(), one.tolist(), strict=True)], np.int64)
    out[rows] = shared_needs(number, back, start.take(rows), out.take(rows), near)


def _readiness_messages(flows: Flows, rows: Ints) -> Ints:
    """Control records from receivers of a collective's payload to its senders."""
    control, n = np.flatnonzero(flows.control()), len(flows.endpoints)
    if not len(control):
        return control
    _, at = numbered(flows.dst.take(rows), flows.src.take(rows))
    back = flows.dst[rows[at]].astype(np.int64) * n + flows.src[rows[at]]
    return np.asarray(control[np.isin(flows.src[control].astype(np.int64) * n + flows.dst[control], back)], dtype=np.int64)


def _even(kind: str, flows: Flows, job: Job, parallelism: Parallelism, ranks: Ints, hosts: Ints) -> _Even:
    """Select payload of one kind of collectives, its lanes whose group's members forward what they receive, and lanes to
    report.

    These are rings and exchanges, all-to-all or along a hypercube. Inner ranks of a tree need more than one record. Rings that
    reduce gradients overlap own work, bucket by bucket; they do not show when a rank could have joined.
    """
    place = {address: i for i, address in enumerate(job.endpoints)}
    own = np.zeros(len(flows), np.bool_)
    for stream in parallelism.streams:
        if stream.kind == kind:
            own[stream.rows] = True
    rows = np.flatnonzero(own)
    src, dst = flows.src.take(rows), flows.dst.take(rows)
    lane, at = numbered(src, dst)
    ends = list(zip(ranks[src[at]].tolist(), ranks[dst[at]].tolist(), strict=True))
    groups = [[place[member] for member in group.members] for group in parallelism.groups if group.kind == kind]
    even, reported = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
    for members, own_lanes in _lanes(groups, ends):
        lanes: dict[int, set[int]] = defaultdict(set)
        for i in own_lanes:
            lanes[ends[i][0]].add(ends[i][1])
        ring, exchange = _one_way(members, lanes), _exchanged(members, lanes, hosts)
        even[own_lanes], reported[own_lanes] = ring or exchange, exchange or (ring and kind != "dp")
    return _Even(rows, lane, even, reported)


def _lanes(groups: Sequence[Sequence[int]], ends: Sequence[tuple[int, int]]) -> Iterator[tuple[Sequence[int], list[int]]]:
    """Assign lanes to groups, as places in `ends`: each lane belongs to the smallest group that contains both ends.

    Ranks that reduce in a ring may also exchange with one of its members, for example ranks with the same experts.
    """
    left = defaultdict[int, dict[int, int]](dict)  # sender → receiver → place
    for i, (a, b) in enumerate(ends):
        left[a][b] = i
    for members in sorted(groups, key=len):
        inside = set(members)
        own = [left[a].pop(b) for a in members for b in inside & left[a].keys()]
        if own:
            yield members, own


def _one_way(members: Collection[int], lanes: Mapping[int, Collection[int]]) -> bool:
    """Whether no two members send to each other, as in rings; `lanes` are the receivers of each rank."""
    inside = set(members)
    return not any(b in inside and a in lanes.get(b, ()) for a in members for b in lanes.get(a, ()))


def _exchanged(members: Collection[int], lanes: Mapping[int, Collection[int]], hosts: Ints) -> bool:
    """Whether each member exchanges with all members on other hosts, or with as many as a hypercube has dimensions."""
    inside, many = set(members), Counter(int(hosts[a]) for a in members)
    partners = {a: sum(b in inside and a in lanes.get(b, ()) for b in lanes.get(a, ())) for a in members}
    away = {a: len(inside) - (many[int(hosts[a])] if hosts[a] >= 0 else 1) for a in members}
    dimensions = {len(inside).bit_length() - 1} if len(inside) & (len(inside) - 1) == 0 else set()
    return partners == away or set(partners.values()) == dimensions


def _pipelines(out: Ints, flows: Flows, job: Job, parallelism: Parallelism, ends: Sequence[Ints]) -> None:
    """Write what records of a pipeline need: the data that the stage received for them."""
    stage, place = parallelism.stages, {address: i for i, address in enumerate(job.endpoints)}
    streams = {s.members: s.rows for s in parallelism.streams if s.kind == "pp" and len(s.members) == 2}
    if not streams:
        return
    number = {pair: i for i, pair in enumerate(streams)}
    given_to = defaultdict[str, list[tuple[str, str]]](list)
    for pair in streams:
        given_to[pair[1]].append(pair)
    given, first = np.full(len(streams), -1), np.zeros(len(streams), np.bool_)
    for k, (src, dst) in enumerate(streams):
        down = stage[dst] > stage[src]
        sources = [pair for pair in given_to[src] if (stage[pair[0]] < stage[src]) == down]
        turn = not sources and (dst, src) in streams  # the first and the last stage answer what comes back to them
        given[k] = number[sources[0] if sources else (dst, src)] if sources or turn else -1
        first[k] = turn and down
    rank = np.array([place[src] for src, _ in streams], np.int64)
    gives = on_end([np.array([number[pair] for pair in given_to[src]], np.int64) for src, _ in streams])
    rows, begins = on_end(list(streams.values()))
    order, begins = by_group(np.repeat(np.arange(len(streams)), np.diff(begins)), len(streams), flows.end_ns.take(rows))
    rows = rows.take(order)
    hands = Hands(begins, sending(flows).take(rows), flows.end_ns.take(rows), flows.octets.take(rows))
    out[rows] = handed_on(hands, Needs(given, first, rank, *on_end(ends), *gives))
