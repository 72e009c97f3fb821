"""A job's operations and what they waited for, replayed with some of them as fast as they should be.

Points of time follow one another: a rank speaks some own work after what it was given; a transfer ends some time after it
began; a collective begins for all when its last member has joined. Observed times give the lengths in between; other lengths
give the times that would have been.

Source: Lin et al., OSDI 2025 (what-if analysis of stragglers), with the operations taken from flow records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.detectors.view import View
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints, weighted_median
from prism.kernels.joins import evened, followed, joins
from prism.kernels.ordered import bounded
from prism.kernels.sums import numbered
from prism.model import Stream

Floats = NDArray[np.float64]
WORK, MOVE, JOINED, DONE, CALL = range(5)


class Graph(NamedTuple):
    """Points in order of time. A point comes `gap` ns after the last of `own`, and `lag` after the last of `outer`.

    `kind` is WORK (a rank speaks), MOVE (a transfer has come), JOINED and DONE (of a collective: all have joined, one has
    ended) or CALL (a receiver is ready). `rank` is whose point it is (the sender's for MOVE, −1 for JOINED), `op` the place of
    its stream in the parallelism's. Arrays have one entry per point.
    """

    time: Ints
    kind: NDArray[np.int8]
    rank: Ints
    op: Ints
    step: Ints
    own: list[tuple[int, ...]]
    outer: list[int]
    gap: Floats
    lag: Floats
    octets: Ints
    links: tuple[Ints, Ints]  # `own` of all points on end, and where those of each point begin


class Event(NamedTuple):
    """A point before it knows what it follows. `mark` is its transfer's or collective's number.

    `need` is when its input had come, of a MOVE when its last part was sent, ns; −1 where unknown.
    """

    time: int
    kind: int
    rank: int
    op: int
    mark: int
    peer: int = -1
    need: int = -1
    octets: int = 0


def replay(graph: Graph, gap: Floats) -> Floats:
    """When each point would have been with other gaps, ns since the first; as observed with the graph's own gaps."""
    first = int(graph.time.min()) if len(graph.time) else 0
    seen = (graph.time - first).astype(np.float64)
    return followed(seen, gap, *graph.links, np.array(graph.outer, np.int64), graph.lag)


def ends(graph: Graph, times: Floats, steps: int) -> Floats:
    """When each step's last point is, in the same unit; −inf for a step without any."""
    out = np.full(steps + 1, -np.inf)
    np.maximum.at(out, graph.step, times)
    return out[:steps]


def graph_of(view: View) -> Graph:
    """The dependencies of all steps of a job."""
    calls = _calls(view)
    events = sorted(_events(view, calls), key=lambda e: (e.time, e.kind in (WORK, CALL), e.kind))
    return _linked(view, events, calls)


def _events(view: View, calls: dict[tuple[int, int], Ints]) -> Iterator[Event]:
    place = {view.code[address]: i for i, address in enumerate(view.job.endpoints)}
    start = sending(view.flows)
    mark = 0
    for op, stream in enumerate(view.parallelism.streams):
        rows = stream.rows[np.argsort(start[stream.rows], kind="stable")]
        if not len(rows):
            continue
        parts = (
            _handed(view, start, rows)
            if len(stream.members) == 2 and stream.kind == "pp"
            else _instances(view, start, rows, stream)
        )
        if stream.kind == "pp" and (place[view.code[stream.members[1]]], place[view.code[stream.members[0]]]) not in calls:
            messages = _messages(view, parts)
        else:
            messages = [[part] for part in parts]
        for message in messages:
            mark += 1
            part = np.concatenate(message)
            if stream.kind == "pp":
                resumed = int(start[message[-1][0]]) if len(message) > 1 else -1
                yield from _transfer(view, start, view.needed, part, op, mark, place, resumed)
            else:
                yield from _collective(view, start, part, op, mark, place)


def _cuts(start: Ints, end: Ints, close: float) -> list[Ints]:
    """Places of intervals, in order of start, in runs without pauses longer than `close` ns."""
    gaps = np.flatnonzero(start[1:] - np.maximum.accumulate(end)[:-1] > close) + 1
    return list(np.split(np.arange(len(start)), gaps))


def _handed(view: View, start: Ints, rows: Ints) -> list[Ints]:
    """The records of one direction of a pipeline's pair, message by message."""
    end, octets = view.flows.end_ns[rows], view.flows.octets[rows]
    return [rows[run] for run in _cuts(start[rows], end, weighted_median(end - start[rows], octets) / 4)]


def _messages(view: View, parts: list[Ints], *, slack: float = 0.01) -> list[list[Ints]]:
    """Parts joined to messages as large as the largest: a one-sided sender stops where the receiver's window is full."""
    size = [float(view.flows.octets[part].sum()) for part in parts]
    most, held = max(size, default=0.0) * (1 + slack), np.inf
    out: list[list[Ints]] = []
    for part, octets in zip(parts, size, strict=True):
        if held + octets <= most:
            out[-1].append(part)
            held += octets
        else:
            out.append([part])
            held = octets
    return out


def _instances(
    view: View, start: Ints, rows: Ints, stream: Stream, *, tolerances: tuple[float, ...] = (0.001, 0.05)
) -> list[Ints]:
    """The records of a group's stream, collective by collective: between two pauses all edges move the same share of theirs.

    Where a late member keeps the others waiting they may already have sent something: that is no collective of its own. Of
    `tolerances` the first that tells the steps apart.
    """
    parts: list[Ints] = []
    for tolerance in tolerances:
        parts = _even(view, start, rows, np.inf if stream.kind == "ep" else tolerance)
        if len(parts) >= len(view.ends) - 1:
            break
    return parts


def _even(view: View, start: Ints, rows: Ints, tolerance: float) -> list[Ints]:
    flows = view.flows
    number, at = numbered(flows.src[rows], flows.dst[rows])
    pauses = np.flatnonzero(start[rows[1:]] > np.maximum.accumulate(flows.end_ns[rows])[:-1]) + 1
    bounds = np.concatenate([[0], pauses, [len(rows)]])
    cuts = evened(number, flows.octets[rows], bounds, len(at), tolerance)
    return [rows[low:high] for low, high in pairwise(cuts.tolist())]


def _transfer(
    view: View, start: Ints, need: Ints, rows: Ints, op: int, mark: int, place: dict[int, int], resumed: int
) -> Iterator[Event]:
    flows = view.flows
    src, dst = place[int(flows.src[rows[0]])], place[int(flows.dst[rows[0]])]
    octets = int(flows.octets[rows].sum())
    yield Event(int(start[rows[0]]), WORK, src, op, mark, dst, int(need[rows[0]]))
    yield Event(int(flows.end_ns[rows].max()), MOVE, src, op, mark, dst, resumed, octets)


def _collective(view: View, start: Ints, rows: Ints, op: int, mark: int, place: dict[int, int]) -> Iterator[Event]:
    flows = view.flows
    columns = (flows.src[rows], flows.dst[rows], start[rows], flows.end_ns[rows])
    senders, begun, to, members, done = (column.tolist() for column in joins(*columns, len(flows.endpoints)))
    last = max(begun)
    octets = int(flows.octets[rows].sum())
    for code, at, dst in zip(senders, begun, to, strict=True):
        yield Event(at, WORK, place[code], op, mark, place[dst])
    yield Event(last + 1, JOINED, -1, op, mark)
    for code, at in zip(members, done, strict=True):
        yield Event(max(at, last + 1), DONE, place[code], op, mark, octets=octets)


def _calls(view: View) -> dict[tuple[int, int], Ints]:
    """When each rank's word (readiness, a credit) came to another, ns, by (rank, other)."""
    flows = view.flows
    rows = np.flatnonzero(flows.control() & (flows.octets > 0))
    place = np.full(len(flows.endpoints), -1)
    place[[view.code[a] for a in view.job.endpoints]] = np.arange(len(view.job.endpoints))
    n = len(view.job.endpoints)
    key = place[flows.src[rows]] * n + place[flows.dst[rows]]
    order = np.lexsort((flows.end_ns[rows], key))
    rows, key = rows[order], key[order]
    return {
        divmod(int(key[run[0]]), n): flows.end_ns[rows[run]]
        for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(key)) + 1)
        if len(run)
    }


class _Ranks:
    """What each rank knows while points are linked in order of time."""

    def __init__(self) -> None:
        self.latest: dict[int, dict[int, int]] = defaultdict(dict)  # rank → stream (−1: spoke) → point
        # by rank and stream: ends and begins of transfers, and the points at their ends
        self.acted: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))  # times, points
        self.came: dict[tuple[int, int], tuple[list[int], list[int], list[int]]] = defaultdict(lambda: ([], [], []))

    def before(self, event: Event, pipes: set[int]) -> tuple[int, ...]:
        """What a rank had done and been given when it spoke; of a pipeline only what it needed, where that is known."""
        latest = self.latest[event.rank]
        if event.need < 0:
            return tuple(latest.values())
        own = [point for op, point in latest.items() if op not in pipes]
        for op in pipes & latest.keys():
            times, begins, points = self.came[event.rank, op]
            at = bisect_left(times, event.need)
            at -= at == len(times) or begins[at] > event.need
            own += [points[at]] if at >= 0 else []
        return tuple(own)


def _linked(view: View, events: list[Event], calls: dict[tuple[int, int], Ints], *, prompt: float = 0.1) -> Graph:
    """The graph of events in order of time."""
    pipes = {i for i, s in enumerate(view.parallelism.streams) if s.kind == "pp"}
    ranks = _Ranks()
    acts = _acts(events)
    heard_at = [_word(e, calls, acts, e.op in pipes) if e.kind == WORK else 0 for e in events]
    soon = _soon(events, heard_at)
    begun: dict[int, list[int]] = defaultdict(list)  # a transfer's or collective's first points
    joined: dict[int, int] = {}
    sent: dict[int, int] = {}  # last transfer of each stream
    own, outer = list[tuple[int, ...]](), list[int]()
    time = [e.time for e in events]
    shaded = np.zeros(len(events), np.bool_)
    for i, event in enumerate(events):
        before: tuple[int, ...] = ()
        other = -1
        if event.kind == WORK:
            before = ranks.before(event, pipes)
            base = max((time[p] for p in before), default=event.time)
            heard = heard_at[i]
            queue = sent.get(event.op, -1) if event.op in pipes else -1
            if heard > base and event.time - heard <= min(soon[event.rank], prompt * (event.time - base)):
                shaded[i] = True
                if event.op in pipes:
                    other = max(
                        ranks.latest[event.peer].values(), key=lambda p: time[p] if time[p] <= heard else -1, default=-1
                    )
            elif queue >= 0 and time[queue] > base and event.time - time[queue] <= prompt * (event.time - base):
                shaded[i], other = True, queue
            begun[event.mark].append(i)
            ranks.latest[event.rank][-1] = i
        elif event.kind == JOINED:
            before, joined[event.mark] = tuple(begun[event.mark]), i
        elif event.kind == DONE:
            before = (joined[event.mark],)
            ranks.latest[event.rank][event.op] = i
        else:
            before, sent[event.op] = tuple(begun[event.mark]), i
            if event.need >= 0:  # the rest was sent when the receiver was ready
                at = bisect_left(ranks.acted[event.peer][0], event.need) - 1
                other = ranks.acted[event.peer][1][at] if at >= 0 else -1
                close = other >= 0 and event.need - time[other] <= prompt * (event.need - time[before[0]])
                shaded[i], other = close, other if close else -1
            ranks.latest[event.peer][event.op] = i
            for column, value in zip(ranks.came[event.peer, event.op], (event.time, time[before[0]], i), strict=True):
                column.append(value)
        if event.kind != JOINED:
            for column, value in zip(
                ranks.acted[event.peer if event.kind == MOVE else event.rank], (event.time, i), strict=True
            ):
                column.append(value)
        own.append(before)
        outer.append(other)
    return _timed(view, events, own, outer, shaded)


def _acts(events: list[Event]) -> dict[int, Ints]:
    """When each rank did something or was given something, ns."""
    times: dict[int, list[int]] = defaultdict(list)
    for event in events:
        times[event.peer if event.kind == MOVE else event.rank].append(event.time)
    return {rank: np.array(own, np.int64) for rank, own in times.items()}


def _word(event: Event, calls: dict[tuple[int, int], Ints], acts: dict[int, Ints], hands: bool) -> int:
    """When the one a rank sends to last gave word; without words, when a pipeline's receiver last did anything."""
    heard = calls.get((event.peer, event.rank))
    return _last(heard if heard is not None or not hands else acts.get(event.peer), event.time)


def _soon(events: list[Event], heard: list[int]) -> dict[int, float]:
    """How soon each rank answers where it only waits for word, ns."""
    answers: dict[int, list[int]] = defaultdict(list)
    for event, word in zip(events, heard, strict=True):
        if word:
            answers[event.rank].append(event.time - word)
    return {rank: 4 * float(np.percentile(own, 10)) for rank, own in answers.items()}


def _last(times: Ints | None, before: int) -> int:
    """The last of some sorted times before another; 0 where there is none."""
    at = int(np.searchsorted(times, before, "left")) if times is not None else 0
    return int(times[at - 1]) if times is not None and at else 0


def _timed(view: View, events: list[Event], own: list[tuple[int, ...]], outer: list[int], shaded: NDArray[np.bool_]) -> Graph:
    """Lengths from times. A rank that had to wait for another may have worked for less long than it seems: as usual at most."""
    columns = [np.array(column, np.int64) for column in zip(*events, strict=True)] if events else [np.zeros(0, np.int64)] * 8
    time, kind, rank, op, _, _, _, octets = columns
    base = np.array([max((int(time[p]) for p in before), default=int(time[i])) for i, before in enumerate(own)], np.int64)
    gap = np.maximum(time - base, 0).astype(np.float64)
    bounded(gap, shaded, rank, op, kind)
    links = np.array(outer, np.int64)
    lag = np.where(links >= 0, time - time[np.maximum(links, 0)], 0).astype(np.float64)
    before = np.array([p for points in own for p in points], np.int64)
    begins = np.cumsum([0, *(len(points) for points in own)])
    return Graph(time, kind.astype(np.int8), rank, op, view.step_of(time), own, outer, gap, lag, octets, (before, begins))
