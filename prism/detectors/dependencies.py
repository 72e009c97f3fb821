"""What a record needed before it could be sent: what came of the same micro-batch, or in a collective's round before.

All else that came since was for later, and the rank that sent did not wait for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from collectors.record import Flows, Mask
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints
from prism.kernels.joins import came_to
from prism.kernels.ordered import in_order
from prism.kernels.shares import UNKNOWN, Moved, as_sent, given_as, moved_by
from prism.kernels.sums import last_before, numbered, places_in
from prism.kernels.waits import Handed, flushed, needs
from prism.model import Job, Parallelism

COLLECTIVES = ("dp", "cp", "ep", "tp")


def needed(flows: Flows, job: Job, parallelism: Parallelism, ends: Sequence[Ints], hosts: Ints) -> Ints:
    """When all had come that each record of a job needed, ns; 0 where it needed nothing, -1 where that is not known.

    `ends` are each rank's step ends, `hosts` as in `View.hosts`. int64[flows].
    """
    out = np.full(len(flows), UNKNOWN, np.int64)
    _pipelines(out, flows, job, parallelism, ends)
    ranks = np.full(len(flows.endpoints), -1)
    codes = {address: code for code, address in enumerate(flows.endpoints)}
    ranks[[codes[address] for address in job.endpoints]] = np.arange(len(job.endpoints))
    rounds = {kind: _even(kind, flows, job, parallelism, ranks, hosts) for kind in COLLECTIVES}
    if any(told.any() for _, told in rounds.values()):
        _collectives(out, flows, ranks, ends, {kind: own for kind, own in rounds.items() if len(own[0])})
    return out


def _collectives(out: Ints, flows: Flows, ranks: Ints, ends: Sequence[Ints], rounds: dict[str, tuple[Ints, Mask]]) -> None:
    """Payload of a kind of collectives needs what came in the round before, a word of readiness for it nothing of it.

    Both need what other kinds had given for what was sent of them, and all that came otherwise. `rounds` are the records of
    each kind and which of them to tell of.
    """
    start, src, dst = sending(flows), ranks[flows.src], ranks[flows.dst]
    most = max(map(len, ends), default=0) + 1

    def group(rank: Ints, time: Ints) -> Ints:
        return rank * most + places_in(ends, rank, time)

    other = ~flows.control()
    moved = {}
    for kind, (rows, _) in rounds.items():
        other[rows] = False
        end, octets = flows.end_ns[rows], flows.octets[rows]
        moved[kind] = Moved(group(dst[rows], end), end, octets), Moved(group(src[rows], start[rows]), start[rows], octets)
    given = np.flatnonzero(other)
    for kind, (rows, told) in rounds.items():
        if not told.any():
            continue
        said = np.concatenate([rows[told], _words(flows, rows[told])])
        own, at = group(src[said], start[said]), start[said]
        need = last_before(dst[given], flows.end_ns[given], src[said], at)
        for came, went in (both for another, both in moved.items() if another != kind):
            need = np.maximum(need, given_as(came, moved_by(went, own, at), own, at))
        out[said] = need
        before, rows = as_sent(*moved[kind])[told], rows[told]
        ahead = UNKNOWN if kind == "ep" else start[rows]  # experts are given more or less than they send
        out[rows] = np.where(before == UNKNOWN, ahead, np.maximum(out[rows], before))
        joined = _joined(group(src[rows], start[rows]), dst[rows], start[rows], flows.octets[rows])
        out[rows[joined]] = start[rows[joined]]
        _met(out, rows[~joined], src, dst, start)


def _joined(own: Ints, to: Ints, start: Ints, octets: Ints, *, parts: int = 1024) -> Mask:
    """Which of the records that ranks send in exchanges follow others of the same round: who has joined it has no work left.

    A rank sends as much to each of its partners, of whom one may be late: a round begins with the first lane that comes to the
    same share of its octets, in so many `parts`. `own` is the rank and step of each record, `to` the partner.
    """
    order = in_order(start)
    own, to, start, octets = (column.take(order) for column in (own, to, start, octets))
    lane, lanes = numbered(own, to)
    turn, first = numbered(own, came_to(lane, octets, len(lanes), parts))
    out = np.empty(len(own), np.bool_)
    out[order] = start > start[first][turn]
    return out


def _met(out: Ints, rows: Ints, src: Ints, dst: Ints, start: Ints, *, near: float = 0.02) -> None:
    """Of two that begin an exchange at once, each needed what the later one of them did: one waited for the other.

    At once is within the share `near` of what either worked. `rows` begin rounds; `src`, `dst` are ranks.
    """
    rows = rows[out[rows] > 0]
    if not len(rows):
        return
    many, times = int(max(src[rows].max(), dst[rows].max())) + 1, start[rows] - start[rows].min()
    pairs, pair = np.unique(src[rows] * many + dst[rows], return_inverse=True)
    back = np.searchsorted(pairs, dst[rows] * many + src[rows])
    span = int(times.max()) + 1
    order = in_order(pair * span + times)
    keys, asks = (pair * span + times)[order], back * span + times
    at = np.searchsorted(keys, asks)
    low, high = np.maximum(at - 1, 0), np.minimum(at, len(keys) - 1)
    other = rows[order[np.where(keys[high] - asks < asks - keys[low], high, low)]]
    needs, theirs = out[rows], out[other]
    apart = np.abs(start[other] - start[rows])
    fits = (src[other] == dst[rows]) & (dst[other] == src[rows]) & (apart <= near * (start[rows] - np.maximum(needs, theirs)))
    out[rows[fits]] = np.maximum(needs, theirs)[fits]


def _words(flows: Flows, rows: Ints) -> Ints:
    """Control records from those who receive a collective's payload back to those who send it."""
    control, n = np.flatnonzero(flows.control()), len(flows.endpoints)
    _, at = numbered(flows.dst[rows], flows.src[rows])
    back = flows.dst[rows[at]].astype(np.int64) * n + flows.src[rows[at]]
    return np.asarray(control[np.isin(flows.src[control].astype(np.int64) * n + flows.dst[control], back)], dtype=np.int64)


def _even(kind: str, flows: Flows, job: Job, parallelism: Parallelism, ranks: Ints, hosts: Ints) -> tuple[Ints, Mask]:
    """Payload of those groups of a kind whose members send in each round as much as they are given; and which of it tells.

    So do rings and exchanges, all with all or along a hypercube; what the inner ranks of a tree send needs more. Rings that
    reduce gradients go on under the work, bucket by bucket, and do not tell when a rank could have joined.
    """
    place = {address: i for i, address in enumerate(job.endpoints)}
    streams = [stream.rows for stream in parallelism.streams if stream.kind == kind]
    own = np.zeros(len(flows), np.bool_)
    for stream in streams:
        own[stream] = True
    rows = np.flatnonzero(own)
    src, dst = ranks[flows.src[rows]], ranks[flows.dst[rows]]
    lane, at = numbered(src, dst)
    ends = list(zip(src[at].tolist(), dst[at].tolist(), strict=True))
    groups = [[place[member] for member in group.members] for group in parallelism.groups if group.kind == kind]
    even, told = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
    for members, own_lanes in _lanes(groups, ends):
        lanes: dict[int, set[int]] = defaultdict(set)
        for i in own_lanes:
            lanes[ends[i][0]].add(ends[i][1])
        ring, exchange = _one_way(members, lanes), _exchanged(members, lanes, hosts)
        even[own_lanes], told[own_lanes] = ring or exchange, exchange or (ring and kind != "dp")
    return rows[even[lane]], told[lane][even[lane]]


def _lanes(groups: Sequence[Sequence[int]], ends: Sequence[tuple[int, int]]) -> Iterator[tuple[Sequence[int], list[int]]]:
    """The lanes of each group, by their places in `ends`: a lane is the smallest group's of those that both its ends are in.

    Ranks that reduce in a ring may exchange with one of it besides, as those with the same experts do.
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
    """Whether no two members send to each other, as in rings; `lanes` are whom each rank sends to."""
    inside = set(members)
    return not any(b in inside and a in lanes.get(b, ()) for a in members for b in lanes.get(a, ()))


def _exchanged(members: Collection[int], lanes: Mapping[int, Collection[int]], hosts: Ints) -> bool:
    """Whether each member exchanges with all on other hosts, or all with as many as a hypercube has dimensions."""
    inside, many = set(members), Counter(int(hosts[a]) for a in members)
    partners = {a: sum(b in inside and a in lanes.get(b, ()) for b in lanes.get(a, ())) for a in members}
    away = {a: len(inside) - (many[int(hosts[a])] if hosts[a] >= 0 else 1) for a in members}
    dimensions = {len(inside).bit_length() - 1} if len(inside) & (len(inside) - 1) == 0 else set()
    return partners == away or set(partners.values()) == dimensions


def _pipelines(out: Ints, flows: Flows, job: Job, parallelism: Parallelism, ends: Sequence[Ints]) -> None:
    """What is handed down or up a pipeline needs what was given."""
    stage, place = parallelism.stages, {address: i for i, address in enumerate(job.endpoints)}
    hands = {s.members: s.rows for s in parallelism.streams if s.kind == "pp" and len(s.members) == 2}
    start = sending(flows)
    moved = {pair: Handed(start[rows], flows.end_ns[rows], flows.octets[rows]) for pair, rows in hands.items()}
    given_to = defaultdict(list)
    for pair in hands:
        given_to[pair[1]].append(pair)
    for (src, dst), rows in hands.items():
        down = stage[dst] > stage[src]
        sources = [pair for pair in given_to[src] if (stage[pair[0]] < stage[src]) == down]
        turn = not sources and (dst, src) in hands  # the first and the last stage answer what comes back to them
        if not sources and not turn:
            continue
        own, end = moved[src, dst], ends[place[src]]
        need = needs(moved[sources[0] if sources else (dst, src)], own, end, first=turn and down)
        for pair in given_to[src]:
            need = np.where(need >= 0, np.maximum(need, flushed(moved[pair], own, end)), need)
        out[rows] = need
