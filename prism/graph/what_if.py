"""Replay a job's operations with their dependencies, with some operations as fast as they should be.

Events depend on earlier events: a rank sends after some own work on what it received; a transfer ends some time after its
begin; a collective begins for all when its last member has joined. The gaps between events are taken from the observed times.
Other gaps yield the times that would have been.

Source: Lin et al., OSDI 2025 (what-if analysis of stragglers), with the operations taken from flow records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.graph import constants as c
from prism.graph.job_view import View
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import counted, last_before, numbered
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import in_order, quantile
from prism.loops.dependencies.collective_ends import Codes, acted_before, bounded, evened, followed, ranged, tied
from prism.loops.dependencies.operation_links import DONE, JOINED, MOVE, WORK, Events, gathered, linked, transfers
from prism.model import Stream

__all__ = ["DONE", "JOINED", "MOVE", "WORK", "Graph", "ends", "graph_of", "replay"]

Floats = NDArray[np.float64]


FIRST = (MOVE, JOINED, DONE, WORK)  # order of simultaneous events


class Graph(NamedTuple):
    """Events in order of time. An event comes `gap` ns after the last of its predecessors, and `lag` ns after the `outer` one.

    `kind` is WORK (a rank sends), MOVE (a transfer has arrived), JOINED or DONE (of a collective: all have joined; one has
    ended). `rank` is the rank of the event (the sender for MOVE, −1 for JOINED), `op` the position of its stream in the
    parallelism. Arrays have one entry per event.
    """

    time: Ints
    kind: NDArray[np.int8]
    rank: Codes
    op: Codes
    step: Ints
    outer: Ints  # −1 without
    gap: Floats
    lag: Floats
    links: tuple[Codes, Ints]  # predecessors of all events, and the position of the first of each event

    def before(self, point: int) -> Codes:
        """Predecessors of an event."""
        every, begins = self.links
        return every[begins[point] : begins[point + 1]]


def replay(graph: Graph, gap: Floats) -> Floats:
    """Compute the time of each event with other gaps, ns since the first; the observed times with the graph's own gaps."""
    first = int(graph.time.min()) if len(graph.time) else 0
    seen = (graph.time - first).astype(np.float64)
    return followed(seen, gap, *graph.links, graph.outer, graph.lag)


def ends(graph: Graph, times: Floats, steps: int) -> Floats:
    """Time of the last event of each step, in the unit of `times`; −inf for a step without events."""
    out = np.full(steps + 1, -np.inf)
    np.maximum.at(out, graph.step, times)
    return out[:steps]


def graph_of(view: View) -> Graph:
    """Build the dependencies of all steps of a job.

    A rank that waited for another may have worked for less time than it seems: its work is at most its usual work.
    """
    calls = _calls(view)
    events = _events(view, calls)
    order = in_order(events.time)
    tied(order, events.time, np.argsort(FIRST)[events.kind] * len(view.parallelism.streams) + events.op)
    columns: Any = (column.take(order) for column in events)
    events = Events(*columns)
    pipe = np.array([stream.kind == "pp" for stream in view.parallelism.streams], np.bool_)
    heard = _heard(events, calls, pipe)
    links = linked(events, pipe, heard, _soon(events, heard, len(view.job.endpoints)))
    time, outer = events.time, links.outer
    gap = np.maximum(time - links.base, 0).astype(np.float64)
    bounded(gap, links.shaded, events.rank, events.op, events.kind)
    lag = np.where(outer >= 0, time - time[np.maximum(outer, 0)], 0).astype(np.float64)
    steps, before = view.step_of(time), (links.before, links.begins)
    return Graph(time, events.kind, events.rank, events.op, steps, outer, gap, lag, before)


class Calls(NamedTuple):
    """Arrival of each rank's control messages (readiness, a credit) at another, ns, by `key`: rank × number of ranks +
    other.
    """

    key: Ints
    time: Ints
    ranks: int

    def of(self, rank: Codes, other: Codes) -> Ints:
        """Key of a rank's control messages to another."""
        return np.asarray(rank.astype(np.int64) * self.ranks + other)

    def known(self, rank: Codes, other: Codes) -> NDArray[np.bool_]:
        """Whether a rank ever sent a control message to another."""
        return np.isin(self.of(rank, other), self.key) if len(self.key) else np.zeros(len(rank), np.bool_)


def _calls(view: View) -> Calls:
    flows, ranks = view.flows, _ranks(view)
    rows = np.flatnonzero(flows.control() & (flows.octets > 0))
    n = len(view.job.endpoints)
    return Calls(ranks[flows.src[rows]].astype(np.int64) * n + ranks[flows.dst[rows]], flows.end_ns[rows], n)


def _ranks(view: View) -> Codes:
    """Rank of each endpoint, −1 if it has none."""
    ranks = np.full(len(view.flows.endpoints), -1, np.int32)
    ranks[view.codes] = np.arange(len(view.job.endpoints))
    return ranks


def _events(view: View, calls: Calls) -> Events:
    """Events of all streams, unsorted."""
    flows, start, ranks = view.flows, sending(view.flows), _ranks(view)
    streams = view.parallelism.streams
    rows = np.concatenate([np.zeros(0, np.intp), *(stream.rows for stream in streams)])
    begun, bounds = start.take(rows), np.cumsum([0, *(len(stream.rows) for stream in streams)])
    if not ranged(begun, bounds):
        of = np.repeat(np.arange(len(streams)), np.diff(bounds))
        rows = rows[counted(of, len(streams), in_order(begun))[0]]
    parts = _transfers(view, start, rows, bounds, ranks, calls)
    marks = len(parts[0].mark)
    for number, stream in enumerate(streams):
        own = rows[bounds[number] : bounds[number + 1]]
        if stream.kind == "pp" or not len(own):
            continue
        cuts = _instances(view, start, own, stream)
        columns = (ranks[flows.src[own]], ranks[flows.dst[own]], start[own], flows.end_ns[own])
        time, kind, rank, mark, peer = gathered(*columns, cuts, len(view.job.endpoints))
        op, need = np.full(len(time), number, np.int32), np.full(len(time), -1)
        parts.append(Events(time, kind, rank, op, (mark + marks).astype(np.int32), peer, need))
        marks += len(cuts) - 1
    whole: Any = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Events(*whole)


def _transfers(view: View, start: Ints, rows: Ints, bounds: Ints, ranks: Codes, calls: Calls) -> list[Events]:
    """Events of pipeline pairs, message by message: begin and arrival.

    `rows` are the records of all streams, those of each between two of the `bounds`.
    """
    flows, streams = view.flows, view.parallelism.streams
    pipes = np.flatnonzero([stream.kind == "pp" and len(stream.rows) > 0 for stream in streams])
    src, dst = (ranks[side[rows[bounds[pipes]]]] for side in (flows.src, flows.dst))
    columns = (start.take(rows), flows.end_ns.take(rows), flows.octets.take(rows))
    of, first, come, resumed = transfers(*columns, bounds[pipes], bounds[pipes + 1], calls.known(dst, src), c.SAME_MESSAGE)
    works, moves = (np.full(len(of), kind, np.int8) for kind in (WORK, MOVE))
    who = src[of], pipes[of].astype(np.int32), np.arange(len(of), dtype=np.int32), dst[of]
    return [Events(columns[0][first], works, *who, view.needed[rows[first]]), Events(come, moves, *who, resumed)]


def _instances(view: View, start: Ints, rows: Ints, stream: Stream, *, tolerances: tuple[float, ...] = c.EVEN_SHARES) -> Ints:
    """Bounds of the collectives of a group's stream in `rows`: between two pauses all edges move the same share of their
    octets.

    While a late member keeps the others waiting, these may have sent some data: that is not a separate collective. Uses the
    first of `tolerances` that separates the steps.
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
    """Time of the last control message from the rank's receiver; without these, of the last activity of a pipeline's receiver.

    0 if there was none, and for all events but WORK.
    """
    works = np.flatnonzero(events.kind == WORK)
    rank, peer = events.rank.take(works), events.peer.take(works)
    answered = calls.known(peer, rank)
    by_message = works[answered]
    by_activity = works[~answered & pipe[events.op.take(works)]]
    out = acted_before(events.time, events.who, by_activity, events.peer, calls.ranks)
    out[by_message] = last_before(calls.key, calls.time, calls.of(peer, rank)[answered], events.time[by_message])
    return out


def _soon(events: Events, heard: Ints, ranks: int) -> Floats:
    """Typical response time of each rank that only waits for a control message, ns."""
    rows, begins = counted(events.rank, ranks, np.flatnonzero(heard > 0))
    answers = (events.time - heard)[rows]
    return np.array([c.PROMPT * quantile(np.sort(answers[begins[r] : begins[r + 1]]), c.PROMPTEST) for r in range(ranks)])
