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

from collectors.columns.record import Flows, Mask
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import highest, preceding
from prism.loops.arrays.interval_lines import NOTHING, Bytes, Line, filled, line, painted, unpainted
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import in_order
from prism.loops.phases.owed_traffic import owed
from prism.loops.phases.rank_activity import Ranks, coloured, in_time, paces, told, unit_of, ways
from prism.loops.phases.receiver_ready import ready
from prism.model import NO_PHASES, PHASES, Job, Parallelism, Phase, Phases, Timeline
from prism.steps.phases.pipeline_turns import take_turns
from prism.steps.phases.rank_silences import COMPUTE, IDLE, PP, Gaps, Said, Talk, by_ready, silences

SHOWN: tuple[Phase, ...] = ("tp", "cp", "ep", "pp", "dp", "unknown")
NAMES = np.array([PHASES.index(name) for name in SHOWN])
JOINT: tuple[Phase, ...] = ("tp", "cp", "ep", "dp")  # collectives in which every rank gives as much as it is given


class Records(NamedTuple):
    """The records of all streams in order of start: when, from which rank to which, of what kind; times in ns.

    `way` is +1 down a pipeline, −1 up, else 0; `ready` and `called` as `receiver_ready` tells them: empty where nobody says so.
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

    def near(self, low: int, high: int) -> Records:
        """Those that lie, with a part at least, between two moments."""
        rows = np.flatnonzero((self.start <= high) & (self.end >= low))
        columns: Any = (column.take(rows) if len(column) else column for column in self)
        return Records(*columns)


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
        own = records.near(int(times.min()), int(times.max())) if each < most else records
        found.append(_phases(own, steps, stage, units, first))
    if len(found) < 2:
        return found[0] if found else NO_PHASES
    joined = Phases(*(np.concatenate([getattr(part, f.name) for part in found]) for f in fields(Phases)))
    order = in_order(joined.rank.astype(np.int64))
    return Phases(*(getattr(joined, f.name).take(order) for f in fields(Phases)))


def _phases(records: Records, steps: list[Ints], stage: Ints, units: Mapping[str, float], number: int) -> Phases:
    """The phases of some steps, of which the first is the step `number`."""
    on = line(steps, (int(records.start.min()), int(records.end.max())) if len(records.start) else None)
    if not len(on.begin):
        return NO_PHASES
    talk = _talk(records, on)
    close = paces(NAMES, records.kind, records.start, records.end, records.octets) / 4
    paint = painted(on.begin, on.end, NAMES, coloured(NAMES, talk.kind, talk.start, talk.end, close))
    gaps = silences(*unpainted(paint), talk, on)
    said = _labelled(gaps, talk, stage, units, on)
    begin, end, slot, colour = filled(paint, gaps.begin, gaps.end, *said, on.shift)
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


def _talk(records: Records, on: Line) -> Talk:
    """Both ends of records."""
    start, end, src, dst, kind, way, octets, offered, called = records
    return Talk(*told((src, dst), (start, end), (kind, way, octets), (offered, called), on))


def _labelled(gaps: Gaps, talk: Talk, stage: Ints, units: Mapping[str, float], on: Line) -> Said:
    """What went on in each silence."""
    said = Said(gaps.begin.copy(), *(np.full(len(gaps.begin), COMPUTE, np.int8) for _ in range(2)))
    if stage.max(initial=0) > 0 and (talk.way != 0).any() and len(gaps.begin):
        take_turns(said, gaps, talk, stage, on)
    said.put(_waiting(gaps, talk, stage, units, on) | gaps.tail, IDLE)  # what ends without payload ends with a signal to all
    return said


def _waiting(gaps: Gaps, talk: Talk, stage: Ints, units: Mapping[str, float], on: Line) -> Mask:
    """Silences in a collective in which a rank had given and its peers had not, or was ready and its peer was not.

    Without a pipeline a rank may go on working while gradients are reduced: it waits only once it has joined the last time.
    """
    out = np.zeros(len(gaps.begin), np.bool_)
    final = np.full(len(on.begin), NOTHING, np.int64)
    speaks = np.flatnonzero(gaps.speaks)
    highest(gaps.slot.take(speaks), gaps.end.take(speaks), final)
    silent = np.flatnonzero(~gaps.speaks)
    slot, begin, end = (column.take(silent) for column in (gaps.slot, gaps.begin, gaps.end))
    final[stage.take(on.rank) >= 0] = NOTHING  # in a pipeline a rank waits whenever it is owed
    over = begin >= final.take(slot)
    for name, unit in units.items():
        kind = PHASES.index(name)
        some = np.flatnonzero(over) if name == "dp" else np.arange(len(over))
        at = begin.take(some), slot.take(some)
        more = owed(*at, talk.start, talk.slot, talk.sends, talk.octets, talk.kind, kind, on.begin)
        waits = more > unit / 2
        out[silent[some]] |= waits | _pending(*at, end.take(some), talk, kind) if talk.worded else waits
    return out


def _pending(begin: Ints, slot: Ints, end: Ints, talk: Talk, kind: int) -> Mask:
    """Silences in which ranks that had been ready had not begun to send."""
    joins = by_ready(talk, talk.sends & (talk.kind == kind))
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
            units[kind] = unit_of(flows.octets.take(own), flows.messages.take(own))
    return units
