"""Compute the phases of every rank within its steps from traffic.

Communication is what streams carry. Where kinds overlap, the order of `SHOWN` decides. Time in between is work or waiting. The
next transfer of a rank shows which: a stage that sends activations ran forward, one that sends gradients ran backward; before
its input arrived it waited. In a collective, a rank that sent more than it received waits for its peers; so does a rank that
sent a ready message. The optimizer, with data loading, is the extra time of the first stage for its first micro-batch.
Everything else is `compute`: work of unknown kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from collectors.columns.record import Flows, Mask
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import preceding
from prism.loops.arrays.interval_lines import NOTHING, Bytes, Line, filled, line, painted, unpainted
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.orders import in_order
from prism.loops.phases.owed_traffic import owed
from prism.loops.phases.rank_activity import Ranks, coloured, in_time, paces, told, unit_of, ways
from prism.loops.phases.receiver_ready import ready
from prism.model import NO_PHASES, PHASES, Job, Parallelism, Phase, Phases, Timeline
from prism.steps import constants as c
from prism.steps.phases._pipeline_turns import take_turns
from prism.steps.phases.rank_silences import COMPUTE, IDLE, PP, Gaps, Labels, LineRecords, by_ready, silences

SHOWN: tuple[Phase, ...] = ("tp", "cp", "ep", "pp", "dp", "unknown")
NAMES = np.array([PHASES.index(name) for name in SHOWN])
JOINT: tuple[Phase, ...] = ("tp", "cp", "ep", "dp")  # collectives in which every rank sends as much as it receives


class Records(NamedTuple):
    """Records of all streams in order of start: time in ns, source and destination rank, kind.

    `way` is +1 down a pipeline, −1 up, else 0. `ready` and `called` come from `receiver_ready`; they are empty without ready
    messages.
    """

    start: Ints
    end: Ints
    src: Ranks
    dst: Ranks
    kind: Bytes
    way: Bytes
    octets: Ints
    ready: Ints
    called: Ints

    def overlapping(self, low: int, high: int) -> Records:
        """Select the records that overlap an interval."""
        rows = np.flatnonzero((self.start <= high) & (self.end >= low))
        columns: Any = (column.take(rows) if len(column) else column for column in self)
        return Records(*columns)


def phases(
    flows: Flows, job: Job, parallelism: Parallelism, timeline: Timeline, *, max_records: int = c.RECORDS_AT_ONCE
) -> Phases:
    """Compute the phases of every rank in every step of a `timeline`, ordered by rank.

    `flows`: the records of the `job`. `max_records` are processed together, which limits memory.
    """
    stage = np.array([parallelism.stages.get(address, NOTHING) for address in job.endpoints], np.int64)
    records = _records(flows, job, parallelism, stage)
    units = _units(flows, parallelism)
    most = max((len(own) for own in timeline.steps), default=0)
    each = max(most // (len(records.start) // max_records + 1), 1)
    found = []
    for first in range(0, most, each):
        steps = [own[first : first + each] for own in timeline.steps]
        times = np.concatenate(steps)
        own = records.overlapping(int(times.min()), int(times.max())) if each < most else records
        found.append(_phases(own, steps, stage, units, first))
    if len(found) < 2:
        return found[0] if found else NO_PHASES
    joined = Phases(*(np.concatenate([getattr(part, f.name) for part in found]) for f in fields(Phases)))
    order = in_order(joined.rank.astype(np.int64))
    return Phases(*(getattr(joined, f.name).take(order) for f in fields(Phases)))


def _phases(records: Records, steps: list[Ints], stage: Ints, units: Mapping[str, float], number: int) -> Phases:
    """Compute the phases of some steps; the first is the step `number`."""
    on = line(steps, (int(records.start.min()), int(records.end.max())) if len(records.start) else None)
    if not len(on.begin):
        return NO_PHASES
    line_records = _on_line(records, on)
    close = paces(NAMES, records.kind, records.start, records.end, records.octets) / 4
    paint = painted(on.begin, on.end, NAMES, coloured(NAMES, line_records.kind, line_records.start, line_records.end, close))
    gaps = silences(*unpainted(paint), line_records, on)
    labels = _labelled(gaps, line_records, stage, units, on)
    begin, end, slot, colour = filled(paint, gaps.begin, gaps.end, *labels, on.shift)
    rank, step = on.rank.astype(np.int32).take(slot), (on.step + number).astype(np.int32).take(slot)
    return Phases(begin, end, rank, step, colour)


def _records(flows: Flows, job: Job, parallelism: Parallelism, stage: Ints) -> Records:
    code = {address: i for i, address in enumerate(flows.endpoints)}
    rank = np.full(len(flows.endpoints), NOTHING, np.int32)
    rank[[code[address] for address in job.endpoints]] = np.arange(len(job.endpoints))
    start = sending(flows)
    rows, stream = in_time(start, [s.rows for s in parallelism.streams])
    kind = np.array([PHASES.index(s.kind) for s in parallelism.streams], np.int8).take(stream)
    src, dst = (rank.take(side.take(rows)) for side in (flows.src, flows.dst))
    way, (offered, called) = ways(src, dst, kind == PP, stage), ready(flows, rows)
    return Records(start.take(rows), flows.end_ns.take(rows), src, dst, kind, way, flows.octets.take(rows), offered, called)


def _on_line(records: Records, on: Line) -> LineRecords:
    """Place both ends of records on the line of ranks."""
    start, end, src, dst, kind, way, octets, offered, called = records
    return LineRecords(*told((src, dst), (start, end), (kind, way, octets), (offered, called), on))


def _labelled(gaps: Gaps, line_records: LineRecords, stage: Ints, units: Mapping[str, float], on: Line) -> Labels:
    """Label each gap."""
    labels = Labels(gaps.begin.copy(), *(np.full(len(gaps.begin), COMPUTE, np.int8) for _ in range(2)))
    if stage.max(initial=0) > 0 and (line_records.way != 0).any() and len(gaps.begin):
        take_turns(labels, gaps, line_records, stage, on)
    # A gap without payload at its end ends with a signal to all.
    labels.put(_waiting(gaps, line_records, stage, units, on) | gaps.tail, IDLE)
    return labels


def _waiting(gaps: Gaps, line_records: LineRecords, stage: Ints, units: Mapping[str, float], on: Line) -> Mask:
    """Select gaps in a collective in which a rank has sent and its peers have not, or is ready and its peer is not.

    Without a pipeline a rank may compute while gradients are reduced: it waits only after its last transfer.
    """
    out = np.zeros(len(gaps.begin), np.bool_)
    final = np.full(len(on.begin), NOTHING, np.int64)
    speaks = np.flatnonzero(gaps.speaks)
    final[gaps.slot.take(speaks)] = gaps.end.take(speaks)  # the last one of a slot stays
    silent = np.flatnonzero(~gaps.speaks)
    slot, begin, end = (column.take(silent) for column in (gaps.slot, gaps.begin, gaps.end))
    final[stage.take(on.rank) >= 0] = NOTHING  # in a pipeline a rank waits whenever it is owed octets
    over = begin >= final.take(slot)
    for name, unit in units.items():
        kind = PHASES.index(name)
        some = np.flatnonzero(over) if name == "dp" else np.arange(len(over))
        at = begin.take(some), slot.take(some)
        more = owed(
            *at,
            line_records.start,
            line_records.slot,
            line_records.sends,
            line_records.octets,
            line_records.kind,
            kind,
            on.begin,
        )
        waits = more > unit / 2
        out[silent[some]] |= waits | _pending(*at, end.take(some), line_records, kind) if line_records.has_ready else waits
    return out


def _pending(begin: Ints, slot: Ints, end: Ints, line_records: LineRecords, kind: int) -> Mask:
    """Select gaps in which ranks that were ready had not started to send."""
    joins = by_ready(line_records, line_records.sends & (line_records.kind == kind))
    if not (line_records.ready[joins] < line_records.start[joins]).any():
        return np.zeros(len(begin), np.bool_)
    at = preceding(line_records.ready[joins], begin, True) - 1
    last = joins[at]
    return np.asarray((at >= 0) & (line_records.start[last] >= end) & (line_records.slot[last] == slot))


def _units(flows: Flows, parallelism: Parallelism) -> dict[str, float]:
    """Octets of a small message of each kind of traffic; of a whole record if it holds a single message."""
    units: dict[str, float] = {}
    for kind in JOINT:
        rows = [s.rows for s in parallelism.streams if s.kind == kind and len(s.rows)]
        if rows:
            own = np.concatenate(rows)
            units[kind] = unit_of(flows.octets.take(own), flows.messages.take(own))
    return units
