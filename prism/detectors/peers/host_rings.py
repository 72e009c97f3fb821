"""Find the rank that a ring of hosts with several ranks waits for, although lanes inside hosts are invisible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import OFTEN
from prism.loops.arrays.group_sums import on_end
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import quantile
from prism.loops.detection.call_lateness import Sent
from prism.loops.detection.stuck_rings import waits


class Ring(NamedTuple):
    """A ring of hosts: the sender of each to the next, its receiver from the previous one, and its number of ranks."""

    senders: list[int]
    takers: list[int]
    many: Ints


class Kept(NamedTuple):
    """Share of each step for which ranks delayed their ring: sum and longest single delay, float64[ranks, steps].

    `unsure` are ranks that may stand for another rank of their host.
    """

    whole: Floats
    most: Floats
    unsure: set[int]


def sorted_sends(flows: Flows, own: Sequence[Ints], start: Ints) -> Sent:
    """Records of each of some edges, sorted by `start`."""
    rows, cuts = on_end(own)
    begun = start.take(rows)
    if not np.isin(np.flatnonzero(begun[1:] < begun[:-1]) + 1, cuts).all():
        order = np.lexsort((begun, np.repeat(np.arange(len(own)), np.diff(cuts))))
        rows, begun = rows.take(order), begun.take(order)
    return begun, flows.end_ns.take(rows), flows.octets.take(rows), cuts


def ring_of(view: View, ranks: Sequence[int], own: Sequence[Ints]) -> Ring | None:
    """Find the ring in which some ranks, by place, send their `own` records; None if all of its lanes are visible."""
    flows, names = view.flows, [view.job.endpoints[rank] for rank in ranks]
    hosts, place = [view.host(name) for name in names], {view.code[name]: i for i, name in enumerate(names)}
    speak = [i for i, rows in enumerate(own) if len(rows)]
    one_way = all((flows.dst[own[i]] == flows.dst[own[i][0]]).all() and int(flows.dst[own[i][0]]) in place for i in speak)
    at = {hosts[i]: i for i in speak}
    if view.topology is None or not speak or not one_way or len(at) < max(len(speak), len(set(hosts))):
        return None
    goes_to = {i: place[int(flows.dst[own[i][0]])] for i in speak}
    ring = [speak[0]]
    while (after := at[hosts[goes_to[ring[-1]]]]) not in ring:
        ring.append(after)
    others = view.on_host - Counter(hosts)
    many = np.array([max(view.topology.sizes[hosts[i]] - others[hosts[i]], 0) for i in ring], np.int64)
    enters = {hosts[to]: to for to in goes_to.values()}
    return Ring(ring, [enters[hosts[i]] for i in ring], many) if len(ring) == len(speak) and many.max() > 1 else None


def ring_delays(
    view: View, ranks: Sequence[int], own: Sequence[Ints], start: Ints, begins: Ints, *, now: int = 0
) -> Kept | None:
    """Compute how long some ranks, with their `own` sends, delayed their ring in each step.

    Records `start` when their senders are ready, steps at `begins`, ns. Also the longest single delay, because ranks work on
    the next bucket while they wait. If nothing is sent until `now`, ns, all still wait, except for the duration of a record,
    which is visible only at its end. None if there is no such ring.
    """
    ring = ring_of(view, ranks, own)
    if ring is None:
        return None
    sent = sorted_sends(view.flows, [own[i] for i in ring.senders], start)
    until = now - int(quantile(np.sort(sent[1] - sent[0]), OFTEN)) if now else 0
    found = waits(sent, ring.many, begins, now=until)
    whole, most, unsure = np.zeros((len(ranks), len(begins))), np.zeros((len(ranks), len(begins))), set[int]()
    for edge, (sender, taker, many) in enumerate(zip(ring.senders, ring.takers, ring.many.tolist(), strict=True)):
        mine = found.edge == edge
        step, long = found.step[mine], found.long[mine] / view.period
        votes = np.bincount(found.ahead[mine] + 1, long, many + 1)
        ahead = int(np.argmax(votes)) - 1 if votes.max() >= OFTEN * votes.sum() else -1
        who = taker if ahead == many - 1 else sender
        if ahead not in (0, many - 1):
            unsure.add(ranks[who])
        np.add.at(whole[who], step, long)
        np.maximum.at(most[who], step, long)
    return Kept(whole, most, unsure)
