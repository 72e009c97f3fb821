"""What every rank did all through its steps, as far as its traffic shows it.

Communication is what streams carried; where kinds overlap, the one that work waits for is shown, in the order of `SHOWN`. Time
between is work or waiting. What a rank says next tells which: a stage that hands on activations had gone forward, one that
hands back gradients backward, and before its input had come it waited. In a collective a rank that gave more than it was given
waits for its peers, and so does one that said that it was ready. The optimizer, and loading of data, shows as what the first
stage takes longer for the first micro-batch than for the next ones. Everything else is `compute`: work of which nobody can tell
the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.record import Flows, Mask
from prism.kernels.calls import ready
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints, active
from prism.kernels.ordered import in_order
from prism.kernels.owed import owed
from prism.kernels.paint import NOTHING, Line, filled, line, painted, told
from prism.kernels.sums import both_ends, highest, preceding
from prism.model import NO_PHASES, PHASES, Job, Parallelism, Phase, Phases, Timeline
from prism.silences import COMPUTE, IDLE, PP, Gaps, Said, Talk, by_ready, silences
from prism.turns import take_turns

SHOWN: tuple[Phase, ...] = ("tp", "cp", "ep", "pp", "dp", "unknown")
Kinds = NDArray[np.int8]
JOINT: tuple[Phase, ...] = ("tp", "cp", "ep", "dp")  # collectives in which every rank gives as much as it is given


class Records(NamedTuple):
    """The records of all streams: when, from which rank to which, of what kind; times in ns.

    `way` is +1 down a pipeline, −1 up, else 0; `ready` and `called` as kernels.calls tells them.
    """

    start: Ints
    end: Ints
    src: Ints
    dst: Ints
    kind: Kinds
    way: Kinds
    octets: Ints
    ready: Ints
    called: Ints


def phases(flows: Flows, job: Job, parallelism: Parallelism, timeline: Timeline, *, at_once: int = 1 << 20) -> Phases:
    """The phases of every rank in every step of a `timeline`; `flows` are the records of the job.

    As many steps are looked at together as have `at_once` records, so that memory holds many ranks.
    """
    stage = np.array([parallelism.stages.get(address, NOTHING) for address in job.endpoints], np.int64)
    records = _records(flows, job, parallelism, stage)
    units = _units(flows, parallelism)
    most = max((len(own) for own in timeline.steps), default=0)
    each = max(most // (len(records.start) // at_once + 1), 1)
    found = []
    for first in range(0, most, each):
        steps = [own[first : first + each] for own in timeline.steps]
        times = np.concatenate(steps)
        near = np.flatnonzero((records.start <= times.max()) & (records.end >= times.min()))
        columns: Any = (column.take(near) for column in records)
        own = Records(*columns) if each < most else records
        found.append(_phases(own, steps, stage, units, first))
    if len(found) < 2:
        return found[0] if found else NO_PHASES
    joined = Phases(*(np.concatenate([getattr(part, f.name) for part in found]) for f in fields(Phases)))
    order = np.argsort(joined.rank, kind="stable")
    return Phases(*(getattr(joined, f.name)[order] for f in fields(Phases)))


def _phases(records: Records, steps: list[Ints], stage: Ints, units: Mapping[str, float], number: int) -> Phases:
    """The phases of some steps, of which the first is the step `number`."""
    times = (int(records.start.min()), int(records.end.max())) if len(records.start) else None
    on = line(steps, times)
    if not len(on.begin):
        return NO_PHASES
    talk = _talk(records, on)
    colours = {}
    for name in SHOWN:
        own = np.flatnonzero(talk.kind == PHASES.index(name))
        if len(own):
            colours[PHASES.index(name)] = active(talk.start.take(own), talk.end.take(own), talk.octets.take(own))
    paint = painted(on, colours)
    quiet = np.flatnonzero(paint[3] == NOTHING)
    begin, end, slot = (column.take(quiet) for column in paint[:3])
    gaps = silences(begin, end, slot, talk, on)
    said = _labelled(gaps, talk, stage, units, on)
    begin, end, slot, colour = filled(paint, gaps.begin, gaps.end, *said, on.shift)
    rank, step = on.rank.astype(np.int32)[slot], (on.step + number).astype(np.int32)[slot]
    return Phases(begin, end, rank, step, colour)


def _records(flows: Flows, job: Job, parallelism: Parallelism, stage: Ints) -> Records:
    code = {address: i for i, address in enumerate(flows.endpoints)}
    rank = np.full(len(flows.endpoints), NOTHING, np.int64)
    rank[[code[address] for address in job.endpoints]] = np.arange(len(job.endpoints))
    streams = [s for s in parallelism.streams if len(s.rows)]
    rows = np.concatenate([s.rows for s in streams]) if streams else np.zeros(0, np.intp)
    kind = np.repeat([PHASES.index(s.kind) for s in streams], [len(s.rows) for s in streams]).astype(np.int8)
    src, dst = rank[flows.src[rows]], rank[flows.dst[rows]]
    apart, last = stage[dst] - stage[src], int(stage.max(initial=0))
    around = (np.abs(apart) == last) & (last > 1)  # interleaved stages: the last hands on to the first
    piped = (kind == PP) & (stage[src] >= 0) & (stage[dst] >= 0)
    way = np.where(piped, np.where(around, -np.sign(apart), np.sign(apart)), 0).astype(np.int8)
    return Records(sending(flows)[rows], flows.end_ns[rows], src, dst, kind, way, flows.octets[rows], *ready(flows, rows))


def _talk(records: Records, on: Line) -> Talk:
    """Both ends of records."""
    order = both_ends(records.src, records.dst, records.start, in_order(records.start))
    times = records.start, records.end, records.ready, records.called
    return Talk(*told(order, records.src, records.dst, (records.kind, records.way, records.octets), times, *on[:4]))


def _labelled(gaps: Gaps, talk: Talk, stage: Ints, units: Mapping[str, float], on: Line) -> Said:
    """What went on in each silence."""
    said = Said(gaps.begin.copy(), *(np.full(len(gaps.begin), COMPUTE, np.int64) for _ in range(2)))
    if stage.max(initial=0) > 0 and (talk.way != 0).any() and len(gaps.begin):
        take_turns(said, gaps, talk, stage, on)
    said.put(_waiting(gaps, talk, stage, units, on), IDLE)
    said.put(gaps.tail, IDLE)  # a step that does not end with payload ends with a signal to all
    return said


def _waiting(gaps: Gaps, talk: Talk, stage: Ints, units: Mapping[str, float], on: Line) -> Mask:
    """Silences in a collective in which a rank had given and its peers had not, or was ready and its peer was not.

    Without a pipeline a rank may go on working while gradients are reduced: it waits only once it has joined the last time.
    """
    out = np.zeros(len(gaps.begin), np.bool_)
    final = np.full(len(on.begin), NOTHING, np.int64)
    speaks = np.flatnonzero(gaps.speaks)
    highest(gaps.slot[speaks], gaps.end[speaks], final)
    silent = np.flatnonzero(~gaps.speaks)
    slot, begin, end = gaps.slot[silent], gaps.begin[silent], gaps.end[silent]
    over = (stage[on.rank[slot]] >= 0) | (begin >= final[slot])
    for name, unit in units.items():
        own = talk.kind == PHASES.index(name)
        some = over if name == "dp" else np.ones_like(over)
        at = begin[some], slot[some]
        more = owed(*at, talk.start, talk.slot, talk.sends, talk.octets, own, on.begin)
        out[silent[some]] |= (more > unit / 2) | _pending(*at, end[some], talk, own)
    return out


def _pending(begin: Ints, slot: Ints, end: Ints, talk: Talk, own: Mask) -> Mask:
    """Silences in which ranks that had been ready had not begun to send."""
    joins = by_ready(talk, talk.sends & own)
    if not (talk.ready[joins] < talk.start[joins]).any():
        return np.zeros(len(begin), np.bool_)
    at = preceding(talk.ready[joins], begin, True) - 1
    last = joins[at]
    return np.asarray((at >= 0) & (talk.start[last] >= end) & (talk.slot[last] == slot))


def _units(flows: Flows, parallelism: Parallelism) -> dict[str, float]:
    """Octets of a small message of each kind of traffic, of those that matter; of a record where it is of no more than one."""
    units: dict[str, float] = {}
    for kind in JOINT:
        rows = [s.rows for s in parallelism.streams if s.kind == kind and len(s.rows)]
        if rows:
            own = np.concatenate(rows)
            octets = np.ascontiguousarray(flows.octets[own])
            size = octets // np.maximum(flows.messages[own], 1)
            order = in_order(size)
            total = np.cumsum(octets[order])
            units[kind] = float(size[order][np.searchsorted(total, total[-1] / 10)])
    return units
