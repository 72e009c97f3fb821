"""A job's operations and what they waited for, replayed with some of them as fast as they should be.

Points of time follow one another: a rank speaks some own work after what it was given; a transfer ends some time after it
began; a collective begins for all when its last member has joined. Observed times give the lengths in between; other lengths
give the times that would have been.

Source: Lin et al., OSDI 2025 (what-if analysis of stragglers), with the operations taken from flow records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.detectors.view import View
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints, weighted_median
from prism.kernels.joins import evened, followed
from prism.kernels.linking import CALL, DONE, JOINED, MOVE, WORK, Events, gathered, linked, messages
from prism.kernels.ordered import bounded, in_order, quantile
from prism.kernels.sums import counted, highest, last_before, numbered
from prism.model import Stream

__all__ = ["CALL", "DONE", "JOINED", "MOVE", "WORK", "Graph", "ends", "graph_of", "replay"]

Floats = NDArray[np.float64]


FIRST = (MOVE, JOINED, DONE, WORK, CALL)  # of points of one moment


class Graph(NamedTuple):
    """Points in order of time. A point comes `gap` ns after the last of those before it, and `lag` after the `outer` one.

    `kind` is WORK (a rank speaks), MOVE (a transfer has come), JOINED and DONE (of a collective: all have joined, one has
    ended) or CALL (a receiver is ready). `rank` is whose point it is (the sender's for MOVE, −1 for JOINED), `op` the place of
    its stream in the parallelism's. Arrays have one entry per point.
    """

    time: Ints
    kind: NDArray[np.int8]
    rank: Ints
    op: Ints
    step: Ints
    outer: Ints  # −1 without
    gap: Floats
    lag: Floats
    octets: Ints
    links: tuple[Ints, Ints]  # the points before all of them on end, and where those of each point begin

    def before(self, point: int) -> Ints:
        """The points that a point follows."""
        every, begins = self.links
        return every[begins[point] : begins[point + 1]]


def replay(graph: Graph, gap: Floats) -> Floats:
    """When each point would have been with other gaps, ns since the first; as observed with the graph's own gaps."""
    first = int(graph.time.min()) if len(graph.time) else 0
    seen = (graph.time - first).astype(np.float64)
    return followed(seen, gap, *graph.links, graph.outer, graph.lag)


def ends(graph: Graph, times: Floats, steps: int) -> Floats:
    """When each step's last point is, in the same unit; −inf for a step without any."""
    out = np.full(steps + 1, -np.inf)
    highest(graph.step, times, out)
    return out[:steps]


def graph_of(view: View) -> Graph:
    """The dependencies of all steps of a job. A rank that had to wait for another may have worked for less long than it seems:
    as usual at most.
    """
    calls = _calls(view)
    parts = list(_events(view, calls))
    events = (
        Events(*(np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*parts, strict=True)))
        if parts
        else NO_EVENTS
    )
    by_kind, _ = counted(np.argsort(FIRST)[events.kind], len(FIRST), np.arange(len(events.kind)))
    order = by_kind[in_order(events.time[by_kind])]
    events = Events(*(column.take(order) for column in events))
    pipe = np.array([stream.kind == "pp" for stream in view.parallelism.streams], np.bool_)
    heard = _heard(events, calls, pipe)
    links = linked(events, pipe, heard, _soon(events, heard, len(view.job.endpoints)))
    time, outer = events.time, links.outer
    gap = np.maximum(time - links.base, 0).astype(np.float64)
    bounded(gap, links.shaded, events.rank, events.op, events.kind)
    lag = np.where(outer >= 0, time - time[np.maximum(outer, 0)], 0).astype(np.float64)
    columns = (time, events.kind.astype(np.int8), events.rank, events.op, view.step_of(time))
    return Graph(*columns, outer, gap, lag, events.octets, (links.before, links.begins))


NO_EVENTS = Events(*(np.zeros(0, np.int64) for _ in Events._fields))


class Calls(NamedTuple):
    """When each rank's word (readiness, a credit) came to another, ns, by `key`: the rank times their number plus the other."""

    key: Ints
    time: Ints
    ranks: int

    def known(self, rank: Ints, other: Ints) -> NDArray[np.bool_]:
        """Whether a rank ever gave word to another."""
        return np.isin(rank * self.ranks + other, self.key)


def _calls(view: View) -> Calls:
    flows, ranks = view.flows, _ranks(view)
    rows = np.flatnonzero(flows.control() & (flows.octets > 0))
    n = len(view.job.endpoints)
    return Calls(ranks[flows.src[rows]] * n + ranks[flows.dst[rows]], flows.end_ns[rows], n)


def _ranks(view: View) -> Ints:
    """The rank of each endpoint, −1 where it has none."""
    ranks = np.full(len(view.flows.endpoints), -1, np.int64)
    ranks[[view.code[address] for address in view.job.endpoints]] = np.arange(len(view.job.endpoints))
    return ranks


def _events(view: View, calls: Calls) -> Iterator[Events]:
    """The points of each stream."""
    flows, start, ranks = view.flows, sending(view.flows), _ranks(view)
    mark = 0
    for op, stream in enumerate(view.parallelism.streams):
        rows = stream.rows[in_order(start[stream.rows])]
        if not len(rows):
            continue
        if stream.kind == "pp":
            own = _transfers(view, start, rows, ranks, calls)
        else:
            cuts = _instances(view, start, rows, stream)
            columns = (ranks[flows.src[rows]], ranks[flows.dst[rows]], start[rows], flows.end_ns[rows], flows.octets[rows])
            time, kind, rank, number, peer, octets = gathered(*columns, cuts, len(view.job.endpoints))
            own = Events(time, kind, rank, number, number, peer, np.full(len(time), -1), octets)
        yield own._replace(op=np.full(len(own.time), op), mark=own.mark + mark)
        mark += int(own.mark[-1]) + 1


def _transfers(view: View, start: Ints, rows: Ints, ranks: Ints, calls: Calls) -> Events:
    """The points of one direction of a pipeline's pair, message by message."""
    flows = view.flows
    begin, end, octets = start[rows], flows.end_ns[rows], flows.octets[rows]
    close = weighted_median(end - begin, octets) / 4
    parts = np.append(0, np.flatnonzero(begin[1:] - np.maximum.accumulate(end)[:-1] > close) + 1)
    src, dst = (ranks[side[rows[:1]]] for side in (flows.src, flows.dst))
    resumed = np.full(len(parts), -1)
    if not calls.known(dst, src)[0]:
        first, last = messages(np.add.reduceat(octets, parts), 0.01)
        resumed = np.where(last > first, begin[parts[last]], -1)
        parts = parts[first]
    n, need = len(parts), view.needed[rows[parts]]
    columns: tuple[tuple[Any, Any], ...] = (
        (begin[parts], np.maximum.reduceat(end, parts)),
        (WORK, MOVE),
        (src, src),
        (np.arange(n), np.arange(n)),
        (np.arange(n), np.arange(n)),
        (dst, dst),
        (need, resumed),
        (0, np.add.reduceat(octets, parts)),
    )
    out = np.empty((len(columns), n, 2), np.int64)
    for column, both in zip(out, columns, strict=True):
        column[:, 0], column[:, 1] = both
    return Events(*out.reshape(len(columns), -1))


def _instances(view: View, start: Ints, rows: Ints, stream: Stream, *, tolerances: tuple[float, ...] = (0.001, 0.05)) -> Ints:
    """Where the collectives of a group's stream begin in `rows`, and the last ends: between two pauses all edges move the same
    share of theirs.

    Where a late member keeps the others waiting they may already have sent something: that is no collective of its own. Of
    `tolerances` the first that tells the steps apart.
    """
    flows = view.flows
    number, at = numbered(flows.src[rows], flows.dst[rows])
    pauses = np.flatnonzero(start[rows[1:]] > np.maximum.accumulate(flows.end_ns[rows])[:-1]) + 1
    bounds = np.concatenate([[0], pauses, [len(rows)]])
    cuts = bounds[[0, -1]]
    for tolerance in tolerances:
        cuts = evened(number, flows.octets[rows], bounds, len(at), np.inf if stream.kind == "ep" else tolerance)
        if len(cuts) > len(view.ends) - 1:
            break
    return cuts


def _heard(events: Events, calls: Calls, pipe: NDArray[np.bool_]) -> Ints:
    """When the one a rank sends to had last given word; without words, when a pipeline's receiver had last done anything.

    0 where there was nothing, and for all that is not WORK.
    """
    out = np.zeros(len(events.time), np.int64)
    works = np.flatnonzero(events.kind == WORK)
    rank, peer, time = events.rank[works], events.peer[works], events.time[works]
    told = calls.known(peer, rank)
    asked = works[told]
    out[asked] = last_before(calls.key, calls.time, (peer * calls.ranks + rank)[told], time[told])
    guessed = ~told & pipe[events.op[works]]
    acting = np.flatnonzero(events.kind != JOINED)
    out[works[guessed]] = last_before(events.who[acting], events.time[acting], peer[guessed], time[guessed])
    return out


def _soon(events: Events, heard: Ints, ranks: int) -> Floats:
    """How soon each rank answers where it only waits for word, ns."""
    rows, begins = counted(events.rank, ranks, np.flatnonzero(heard > 0))
    answers = (events.time - heard)[rows]
    return np.array([4 * quantile(np.sort(answers[begins[r] : begins[r + 1]]), 0.1) for r in range(ranks)])
