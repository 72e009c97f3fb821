"""What every rank did when: step boundaries, events, and spans of traffic.

A step's boundary is where every stream of a job rests between two full volumes (kernels.rhythm): each stream alone leaves a
wide gap, together they leave a narrow one. A rank's step ends with its last communication before that.

Source: LLMPrism (arXiv 2505.00342), timeline reconstruction; equal volumes replace its change points in time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from collectors.record import Flows
from prism.kernels.edges import Edge, sending
from prism.kernels.handover import handover
from prism.kernels.intervals import Ints
from prism.kernels.layers import grouped
from prism.kernels.pauses import Clock
from prism.kernels.rhythm import FOREVER, NONE, Rhythm, rhythm
from prism.kernels.sharded import sharded
from prism.kernels.signals import signals
from prism.kernels.sums import counted, numbered
from prism.model import PHASES, Job, Parallelism, Spans, Stream, Timeline

Rows = NDArray[np.intp]


def reconstruct(
    flows: Flows,
    job: Job,
    parallelism: Parallelism,
    told: Clock | None = None,
    *,
    voters: int = 64,
    tolerances: tuple[float, ...] = (0.02, 0.08),
    sure: float = 0.8,
    agreed: float = 0.5,
    layered: float = 0.9,
) -> Timeline:
    """The timeline of one job, without its events; `flows` holds its records. Steps are told by the clock `told`, if any.

    `voters` bounds how many streams vote on the step, the heaviest first. Volumes are equal within the first of
    `tolerances`; where that explains less than `sure` of the octets, records were lost, and the next is tried. Where streams
    of less than `agreed` of the octets keep the same time there are no steps.
    """
    spans, flows = flows, flows if told is None else told.on(flows)
    start = sending(flows)
    streams = sorted(parallelism.streams, key=lambda s: -int(flows.octets[s.rows].sum()))
    voices = _voices(flows, streams, voters)
    clock = drained(flows, parallelism, start)
    layers = _layered(flows, streams, start) if clock is NONE else NONE
    clock = clock if layers is NONE else layers
    heard: list[tuple[bool, Rhythm]] = []
    for tolerance in tolerances if clock is NONE else ():
        heard = [(s.kind == "dp", _rhythm(flows, start, rows, tolerance, s.kind == "dp")) for s, rows in voices]
        clock = _clock([(reduces, r) for reduces, r in heard if len(r.quiet)])
        if heard and heard[0][0] and heard[0][1].explained >= layered and heard[0][1].period_ns > 3 * clock.period_ns > 0:
            clock = heard[0][1]  # the edges of a sharded model show its layers, all of them together its steps
            break
        asked = [i for i, (reduces, _) in enumerate(heard) if reduces] or list(range(len(heard)))
        weight = np.array([float(flows.octets[voices[i][1]].sum()) for i in asked])
        in_time = np.array([_near(heard[i][1].period_ns, clock.period_ns) for i in asked], np.bool_)
        if weight[in_time].sum() < agreed * weight.sum():
            clock = NONE
        if clock.explained >= sure:
            break
    alone = clock is not NONE and not heard
    for (_, rows), (_, found) in zip(voices, heard, strict=False):
        if found is clock:
            clock = grouped(found, *_stream(flows, start, rows))
            alone = clock is not found
            break
    if clock is NONE:
        return Timeline(tuple(np.zeros((0, 2), np.int64) for _ in job.endpoints), (), _spans(spans, job, streams))
    steps = _steps(flows, job, _Beats(flows, streams, clock, start, tolerances[0], alone), clock, start, layers is not NONE)
    if told is not None:
        steps = tuple(told.back(own) for own in steps)
    return Timeline(steps, (), _spans(spans, job, streams))


def drained(flows: Flows, parallelism: Parallelism, start: Ints) -> Rhythm:
    """Steps of a job that reduces no gradients: its first stage's pair runs empty once a step; `NONE` where none are seen."""
    if any(stream.kind == "dp" for stream in parallelism.streams):
        return NONE
    rows = {s.members: s.rows for s in parallelism.streams if s.kind == "pp"}
    for (src, dst), there in rows.items():
        back = rows.get((dst, src))
        if parallelism.stages.get(src) != 0 or parallelism.stages.get(dst) != 1 or back is None:
            continue
        found = handover(_edge(flows, there, start), _edge(flows, back, start))
        if found is not None and len(found.first.empty) >= 3:
            begun = np.sort(start[there])
            after = np.append(begun, FOREVER)[np.searchsorted(begun, found.first.empty, "right")]
            return Rhythm(np.stack([found.first.empty, after], axis=1), 0, 1.0)
    return NONE


def _layered(flows: Flows, streams: list[Stream], start: Ints) -> Rhythm:
    """Steps of a sharded model, from the heaviest edge of a job that does nothing but reduce and gather; else `NONE`."""
    if not streams or any(stream.kind != "dp" for stream in streams):
        return NONE
    rows = streams[0].rows
    pair, at = np.unique(flows.src[rows].astype(np.int64) * len(flows.endpoints) + flows.dst[rows], return_inverse=True)
    heaviest = int(np.argmax(np.bincount(at, flows.octets[rows], len(pair))))
    return sharded(*_stream(flows, start, rows[at == heaviest]))


def _edge(flows: Flows, rows: Rows, start: Ints) -> Edge:
    rows = rows[np.argsort(start[rows], kind="stable")]
    return Edge(int(flows.src[rows[0]]), int(flows.dst[rows[0]]), rows, start[rows], flows.end_ns[rows], flows.octets[rows])


def _voices(flows: Flows, streams: list[Stream], most: int) -> list[tuple[Stream, Rows]]:
    """Streams whole, then their single edges: each may show the job's step."""
    whole = [(s, s.rows) for s in streams[:most]]
    edges: list[tuple[Stream, Rows]] = []
    for stream, rows in whole:
        number, at = numbered(flows.src[rows], flows.dst[rows]) if len(edges) < most else (rows, rows[:0])
        if len(at) > 1:
            order, begins = counted(number, len(at), np.arange(len(rows)))
            first = np.lexsort((flows.dst[rows[at]], flows.src[rows[at]]))[: most - len(edges)]
            edges += [(stream, rows[order[begins[i] : begins[i + 1]]]) for i in first.tolist()]
    return [*whole, *edges]


def _rhythm(flows: Flows, start: Ints, rows: Rows, tolerance: float, reduces: bool) -> Rhythm:
    return rhythm(*_stream(flows, start, rows), tolerance=tolerance, pauses=reduces)


def _stream(flows: Flows, start: Ints, rows: Rows) -> tuple[Ints, Ints, Ints]:
    """Start, end and octets of a stream's records, in order of start."""
    rows = rows[np.argsort(start[rows], kind="stable")]
    return start[rows], flows.end_ns[rows], flows.octets[rows]


def _clock(voices: list[tuple[bool, Rhythm]]) -> Rhythm:
    """The rhythm that most streams share, from one that reduces gradients if any does, since they end the step.

    Streams may show a multiple or a part of the step (micro-batches, pauses every few steps); they are outvoted. Of those
    in time, the one that has most steps and rests longest, but for those that have far more than most: they have parts of some
    steps. `NONE` without any.
    """
    reducing = [voice for voice in voices if voice[0]]
    voices = reducing or voices
    if not voices:
        return NONE
    period = np.array([r.period_ns for _, r in voices])
    near = np.array([[_near(a, b) for b in period] for a in period])
    votes = near.sum(axis=1)
    best = max(range(len(voices)), key=lambda i: (votes[i], period[i]))
    usual = np.median([len(voices[i][1].quiet) for i in np.flatnonzero(near[best])])
    fit = [voices[i] for i in np.flatnonzero(near[best]) if len(voices[i][1].quiet) <= 1.25 * usual]
    return max(fit, key=lambda v: (v[0], len(v[1].quiet), v[1].rest))[1]


def _near(a: float, b: float) -> bool:
    """Whether two periods are the same within 15 %."""
    return a > 0 and b > 0 and abs(float(np.log(a / b))) < 0.15


def _steps(flows: Flows, job: Job, beats: _Beats, clock: Rhythm, start: Ints, calls: bool) -> tuple[NDArray[np.int64], ...]:
    """Begin and end of every step of every rank, int64[n, 2] each."""
    code = {address: i for i, address in enumerate(flows.endpoints)}
    of: dict[str, list[int]] = defaultdict(list)
    for i, stream in enumerate(beats.streams):
        for member in stream.members:
            of[member].append(i)
    heard = signals(flows, clock.quiet[:, 0], calls=calls)
    ends_at = [_by_end(flows, stream.rows) for stream in beats.streams]
    steps = []
    for address in job.endpoints:
        me = code[address]
        rows = {i: ends_at[i](me) for i in of[address]}
        if not rows:  # a member that says nothing in a window
            steps.append(np.zeros((0, 2), np.int64))
            continue
        leading, quiet = beats.of(of[address])
        ends = _rank_ends(
            flows, start, quiet, [rows[i] for i in leading], list(rows.values()), heard.get(me, np.zeros(0, np.int64))
        )
        first = min((int(start[r].min()) for r in rows.values() if len(r)), default=int(clock.quiet[0, 0]))
        steps.append(np.stack([np.concatenate([[min(first, ends[0])], ends[:-1]]), ends], axis=1))
    return tuple(steps)


def _by_end(flows: Flows, rows: Rows) -> Callable[[int], Rows]:
    """Those of some rows that begin or end at an endpoint, by its code."""
    sides = [counted(side, len(flows.endpoints), rows) for side in (flows.src, flows.dst)]
    return lambda code: np.concatenate([order[begins[code] : begins[code + 1]] for order, begins in sides])


class _Beats:
    """Where the streams of a rank agree that a step ends, for each set of streams looked at once."""

    def __init__(self, flows: Flows, streams: list[Stream], clock: Rhythm, start: Ints, tolerance: float, alone: bool) -> None:
        self.flows, self.streams, self.clock, self.start, self.tolerance = flows, streams, clock, start, tolerance
        self.alone = alone  # no other stream shows the steps as the clock does
        self.known: dict[tuple[int, ...], Rhythm] = {}

    def of(self, own: list[int]) -> tuple[list[int], Ints]:
        """The streams that end a rank's steps, and the gap after each step of the clock, int64[n, 2].

        Gradients are reduced last: all of a rank's reductions together where they stand together in the step, else
        the one that rests longest. Ranks that reduce nothing follow whatever rests longest.
        """
        if self.alone:  # other edges may go on a little sooner than the clock's
            quiet = self.clock.quiet
            return own, np.stack([quiet[:, 0], quiet[:, 0] + (quiet[:, 1] - quiet[:, 0]) // 2], axis=1)
        reductions = [i for i in own if self.streams[i].kind == "dp"]
        choices = [(i,) for i in reductions or own] + ([tuple(reductions)] if len(reductions) > 1 else [])
        fit = [(self._rhythm(choice), choice) for choice in choices]
        fit = [(r, choice) for r, choice in fit if _near(r.period_ns, self.clock.period_ns)]
        if not fit:
            return own, self.clock.quiet
        best, choice = max(fit, key=lambda f: f[0].rest * (2 if len(f[1]) > 1 else 1))
        return list(choice), _aligned(self.clock, best)

    def _rhythm(self, choice: tuple[int, ...]) -> Rhythm:
        if choice not in self.known:
            rows = np.concatenate([self.streams[i].rows for i in choice])
            reduces = all(self.streams[i].kind == "dp" for i in choice)
            self.known[choice] = _rhythm(self.flows, self.start, rows, self.tolerance, reduces)
        return self.known[choice]


def _aligned(clock: Rhythm, own: Rhythm) -> Ints:
    """For each boundary of the clock the nearest one of a rhythm within half a period, else the clock's; int64[n, 2]."""
    out = clock.quiet.copy()
    ends = own.quiet[:, 0]
    at = np.searchsorted(ends, out[:, 0])
    low, high = np.maximum(at - 1, 0), np.minimum(at, len(ends) - 1)
    near = np.where(np.abs(ends[high] - out[:, 0]) <= np.abs(ends[low] - out[:, 0]), high, low)
    fit = np.abs(ends[near] - out[:, 0]) < clock.period_ns / 2
    out[fit] = own.quiet[near[fit]]
    return out


def _rank_ends(flows: Flows, start: Ints, quiet: Ints, leading: list[Rows], rows: list[Rows], heard: Ints) -> Ints:
    """When each step of one rank ended: its last record in the streams that end a step, and the signals after it."""
    own, every = np.concatenate(leading), np.concatenate(rows)
    order = own[np.argsort(start[own], kind="stable")]
    done = np.maximum.accumulate(flows.end_ns[order])
    last = np.searchsorted(start[order], np.maximum(quiet[:, 1], quiet[:, 0] + 1), "left")
    ends = np.where(last > 0, done[np.maximum(last - 1, 0)], quiet[:, 0])
    begun = np.sort(start[every])
    at = np.searchsorted(begun, ends, "right")
    resume = np.where(at < len(begun), begun[np.minimum(at, len(begun) - 1)], quiet[:, 1])
    late = np.concatenate([[0], heard])[np.searchsorted(heard, resume, "left")]  # the last signal before the rank resumes
    return np.maximum.accumulate(np.maximum(late, ends))


def _spans(flows: Flows, job: Job, streams: list[Stream]) -> Spans:
    """One span per record and end of it, with the phase its stream stands for."""
    start = sending(flows)
    code = {address: i for i, address in enumerate(flows.endpoints)}
    rank = np.full(len(flows.endpoints), -1, np.int32)
    rank[[code[address] for address in job.endpoints]] = np.arange(len(job.endpoints), dtype=np.int32)
    parts = [(s.rows, PHASES.index(s.kind)) for s in streams]
    rows = np.concatenate([r for r, _ in parts]) if parts else np.zeros(0, np.intp)
    phase = np.concatenate([np.full(len(r), p, np.int8) for r, p in parts]) if parts else np.zeros(0, np.int8)
    both = np.concatenate([rows, rows])
    return Spans(
        start[both],
        flows.end_ns[both],
        np.concatenate([rank[flows.src[rows]], rank[flows.dst[rows]]]),
        np.concatenate([phase, phase]),
        np.concatenate([rank[flows.dst[rows]], rank[flows.src[rows]]]),
        np.concatenate([flows.octets[rows], -flows.octets[rows]]).astype(np.int64),
    )
