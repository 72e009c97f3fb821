"""By which rhythm a job's steps are told: its streams vote.

Source: LLMPrism (arXiv 2505.00342), timeline reconstruction; equal volumes replace its change points in time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.counting import FEW, counted_steps, drained, in_groups_too, rhythm_of, stream_of
from prism.gathered import by_optimizer, in_turns
from prism.kernels.chorus import Chorus, chorus, told_by
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints
from prism.kernels.layers import grouped
from prism.kernels.rhythm import FOREVER, NONE, Rhythm
from prism.kernels.sharded import Sharded, sharded
from prism.kernels.sums import counted, numbered
from prism.model import Parallelism, Stream

Rows = NDArray[np.intp]
SAME = 0.15  # of the logarithm of their ratio: two periods are the same


class Beat(NamedTuple):
    """The rhythm of a job's steps; whether no other stream shows them as it does (`alone`), and whether each step consists
    of many `calls`. `often` is how often, if something but its rhythm tells (`counting`), else 0.
    """

    clock: Rhythm
    alone: bool = False
    calls: bool = False
    often: int = 0


def beat(
    flows: Flows,
    parallelism: Parallelism,
    streams: Sequence[Stream],
    *,
    seen: Callable[[Ints], Ints] = lambda times: times,
    until: int = 0,
) -> Beat:
    """How a job's steps are told, from its `streams`, the heaviest first; of clock `NONE` where none are seen.

    `seen` turns times of the flows into those at which they were seen; records were collected `until` then, ns. Streams vote,
    unless what all say together tells more of the heaviest reduction.
    """
    found = _voted(flows, parallelism, streams, seen, until)
    rows = next((stream.rows for stream in streams if stream.kind == "dp"), None)
    if rows is not None:
        said = chorus(flows, *stream_of(flows, sending(flows), rows))
        if told_by(said, found.clock):
            clock = replace(said.rhythm, quiet=_parted(flows, streams, said))
            return Beat(clock, True, len(found.clock.quiet) > 2 * len(clock.quiet))
    return found


def _parted(flows: Flows, streams: Sequence[Stream], said: Chorus) -> Ints:
    """The rests in which a chorus comes, as those of all streams: what ended before it is of one step, the rest of the next."""
    rows = np.concatenate([stream.rows for stream in streams])
    starts, ends = np.sort(sending(flows)[rows]), np.sort(flows.end_ns[rows])
    since, until = said.rhythm.quiet.T
    last = np.maximum(ends[np.maximum(np.searchsorted(ends, said.times, "right") - 1, 0)], since)
    first = np.minimum(np.append(starts, FOREVER)[np.searchsorted(starts, said.times)], until)
    inside = (since < said.times) & (said.times < until)
    return np.where(inside, [last, first], [since, until]).T


def _voted(
    flows: Flows,
    parallelism: Parallelism,
    streams: Sequence[Stream],
    seen: Callable[[Ints], Ints],
    until: int,
    *,
    voters: int = 24,
    tolerances: Sequence[float] = (0.02, 0.08),
    sure: float = 0.8,
    agreed: float = 0.5,
    layered: float = 0.9,
) -> Beat:
    """How a job's streams tell its steps; see `beat`.

    `voters` bounds how many streams vote. Volumes are equal within the first of `tolerances`; where that explains less than
    `sure` of the octets, records were lost, and the next is tried. Where streams of less than `agreed` of the octets keep the
    same time there are no steps. All edges of a sharded model together show steps if they explain the share `layered` of what
    moved.
    """
    start = sending(flows)
    empty = drained(flows, parallelism, start)
    reduced = any(stream.kind == "dp" for stream in parallelism.streams)
    often = counted_steps(flows, streams, start, len(empty.quiet)) if reduced else 0
    if not reduced and empty is not NONE:
        return Beat(empty, True)
    for layers in (_layered, in_turns):
        if (told := layers(flows, streams, start)) is not NONE:
            return Beat(by_optimizer(flows, streams, start, told), True, True)
    voices = _voices(flows, streams, voters)
    clock, heard = NONE, list[tuple[bool, Rhythm]]()
    for tolerance in tolerances:
        heard = in_groups_too(flows, start, voices, _heard(flows, start, voices, tolerance, often), tolerance)
        clock = _clock([(reduces, r) for reduces, r in heard if len(r.quiet)])
        whole = heard[0][1] if heard and heard[0][0] else NONE
        if whole.explained >= layered and len(whole.quiet) >= FEW and whole.period_ns > 3 * clock.period_ns > 0:
            clock = whole  # the edges of a sharded model show its layers, all of them together its steps
            break
        asked = [i for i, (reduces, _) in enumerate(heard) if reduces] or list(range(len(heard)))
        weight = np.array([float(flows.octets[voices[i][1]].sum()) for i in asked])
        in_time = np.array([same_period(heard[i][1].period_ns, clock.period_ns) for i in asked], np.bool_)
        parts = np.array([_of_parts(heard[i][1], clock) for i in asked], np.bool_)
        agree, too = weight[in_time].sum(), weight[in_time | parts].sum()
        if too < agreed * weight.sum() or agree < agreed * too:
            clock = NONE
        if clock.explained >= sure:
            break
    if clock is NONE:
        return Beat(NONE)
    whole = next(
        grouped(r, *stream_of(flows, start, rows)) for (_, rows), (_, r) in zip(voices, heard, strict=True) if r is clock
    )
    reductions = [
        (stream_of(flows, start, rows), r)
        for (s, rows), (reduces, r) in zip(voices, heard, strict=True)
        if reduces and rows is s.rows
    ]
    quiet = seen(np.minimum(whole.quiet, FOREVER // 2))
    quiet[-1, 1] = max(until, quiet[-1, 0])
    after = np.diff(quiet, axis=1)[:, 0]
    return Beat(_completed(whole, reductions, after), whole is not clock, often=often)


def _heard(
    flows: Flows, start: Ints, voices: Sequence[tuple[Stream, Rows]], tolerance: float, often: int
) -> list[tuple[bool, Rhythm]]:
    """Whether each voice reduces gradients, and its rhythm: of the others only where no reduction has one (`_clock`)."""
    reduces = [stream.kind == "dp" for stream, _ in voices]
    heard = [
        rhythm_of(flows, start, rows, tolerance, True, often) if own else NONE
        for own, (_, rows) in zip(reduces, voices, strict=True)
    ]
    if not any(len(said.quiet) for said in heard):
        heard = [
            said if own else rhythm_of(flows, start, rows, tolerance, False)
            for own, said, (_, rows) in zip(reduces, heard, voices, strict=True)
        ]
    return list(zip(reduces, heard, strict=True))


def _of_parts(own: Rhythm, clock: Rhythm, *, most: int = 64, near: float = 0.05) -> bool:
    """Whether a rhythm is that of the parts of a clock's steps: it has whole times as many."""
    times = len(own.quiet) / max(len(clock.quiet), 1)
    return 1.5 <= times <= most and abs(times - round(times)) <= near * times and own.explained >= 0.9


def _layered(flows: Flows, streams: Sequence[Stream], start: Ints, *, asked: int = 64, clear: float = 0.02) -> Rhythm:
    """Steps of a sharded model, from the edges of a job that does nothing but reduce and gather; else `NONE`.

    What waits for a late rank moves the octets of a layer in parts; what that rank sends shows the layers. So of the edges
    of the heaviest stream, no more than `asked`, the one whose gaps are most even tells: they are `clear`, or half of the
    edges say so.
    """
    if not streams or any(stream.kind != "dp" for stream in streams):
        return NONE
    rows = streams[0].rows
    number, at = numbered(flows.src[rows], flows.dst[rows])
    order, begins = counted(number, len(at), np.arange(len(rows)))
    of = [rows[order[begins[i] : begins[i + 1]]] for i in np.unique(np.linspace(0, len(at) - 1, asked).astype(np.intp))]
    found = [sharded(*stream_of(flows, start, own)) for own in of]
    best = min(found, key=lambda one: one.uneven, default=Sharded())
    if best.uneven <= clear:
        return best.rhythm
    alike = sum(same_period(one.rhythm.octets, best.rhythm.octets) for one in found)
    return best.rhythm if 2 * alike >= len(found) else NONE


def _voices(flows: Flows, streams: Sequence[Stream], most: int) -> list[tuple[Stream, Rows]]:
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
    ratio = np.where(period > 0, period, np.nan)
    near = np.abs(np.log(ratio[:, None] / ratio[None, :])) < SAME
    votes = near.sum(axis=1)
    best = max(range(len(voices)), key=lambda i: (votes[i], period[i]))
    usual = np.median([len(voices[i][1].quiet) for i in np.flatnonzero(near[best])])
    fit = [voices[i] for i in np.flatnonzero(near[best]) if len(voices[i][1].quiet) <= 1.25 * usual]
    return max(fit, key=lambda v: (v[0], len(v[1].quiet), v[1].rest))[1]


def _completed(
    clock: Rhythm, reductions: list[tuple[tuple[Ints, Ints, Ints], Rhythm]], after: Ints, *, silent: float = 2.0
) -> Rhythm:
    """A clock without the steps before a silence that other reductions did not complete; `after` is how long each gap was, ns.

    A rank that goes away may do so when the gradients of one stage are reduced and those of another are not. What lasts
    `silent` periods is a silence.
    """
    period, quiet = clock.period_ns, clock.quiet
    asked = np.flatnonzero(after[:-1] >= silent * period).tolist()
    asked_of = [(stream, own) for stream, own in reductions if same_period(own.period_ns, period)]
    short = {k for k in asked for stream, own in asked_of if _cut_short(stream, own, quiet[k])}
    if after[-1] >= silent * period and any(_left_undone(stream, own, quiet[-1, 0]) for stream, own in asked_of):
        short.add(len(quiet) - 1)
    kept = [k for k in range(len(quiet)) if k not in short]
    return replace(clock, quiet=quiet[kept]) if short and kept else clock


def _cut_short(stream: tuple[Ints, Ints, Ints], own: Rhythm, gap: Ints, *, slack: float = 0.05) -> bool:
    """Whether a stream had moved some but not all of a step's octets when another fell silent for a `gap`, begin and end, ns.

    What it moved until it ended its next step is that and a whole step; a step that hung is done with what it lacked. Where it
    ended a step with the other, what it moved is of the step after that.
    """
    start, _, octets = stream
    if np.abs(own.quiet[:, 0] - gap[0]).min() < own.period_ns / 2:
        return False
    ends = np.concatenate([[start[0] - 1], own.quiet[:, 0], [FOREVER]])
    done = int(np.searchsorted(ends, gap[1])) - 1
    low, high, later = np.searchsorted(start, [ends[done], gap[1], ends[done + 1]], "right")
    so_far, until = octets[low:high].sum() / own.octets, octets[low:later].sum() / own.octets
    return bool(slack < so_far < 1 - slack and until > 1 + slack)


def _left_undone(stream: tuple[Ints, Ints, Ints], own: Rhythm, end: int, *, slack: float = 0.05) -> bool:
    """Whether a stream never came to the end of the last step, which another one ended at `end`, ns."""
    start, _, octets = stream
    last = int(own.quiet[-1, 0])
    return end - last >= own.period_ns / 2 and bool(octets[start > last].sum() < (1 - slack) * own.octets)


def same_period(a: float, b: float) -> bool:
    """Whether two periods are the same within 15 %."""
    return a > 0 and b > 0 and abs(float(np.log(a / b))) < SAME
