"""Rows of packets, in order, into flows and out of them as records: the compiled loops that drive `messages` and `lanes`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.bursts import Pace, close_burst, cut_block
from collectors.lanes import take_segment
from collectors.messages import (
    ACKNOWLEDGMENT,
    ANSWER,
    DATA,
    KIND_AT,
    MEANING,
    NOTICE,
    close_messages,
    take_data,
    take_notice,
    take_other,
)
from collectors.state import (
    ACKNOWLEDGED,
    ANSWERS,
    FLOWS,
    LANE,
    MESSAGES,
    NOT_READY,
    NOTICES,
    ORPHAN,
    REFUSED,
    REQUESTS,
    copy_history,
    find,
    renew,
)
from collectors.wire import compiled, part, prefetch

_32 = np.uint64(32)
_NOTHING = 7  # of what a packet is, where there is no more to it than to be counted


class Settings(NamedTuple):
    """How packets become records: see `flowtable.FlowTable`. `active_ns`: 0 is none."""

    small: int
    idle_ns: int
    active_ns: int
    bin_ns: int
    pace: Pace


@compiled
def follow(t: Any, rows: Any, exporters: Any, paths: Any, settings: Any, scratch: Any, clock: int, seed: Any) -> int:
    """Take rows of `unpacking.ROW`, each seen by a switch on a path, up to the first that is older than the one before it.

    How many those are. The table must have room. `clock`: time of the row before the first.
    """
    n = len(rows)
    for k in range(n):
        row = rows[k]
        if row.time_ns < clock:
            n = k
            break
        clock = row.time_ns
        _identify(t, row, seed)
    for k in range(n):
        row = rows[k]
        if row.flow < 0:
            if row.kind != _NOTHING:
                take_other(t, _ends(row), row, exporters[k], paths[k], seed)
        elif row.opcode < 0:
            take_segment(t, row.flow, row, exporters[k], paths[k], settings, scratch)
        elif row.kind & 7 == DATA:
            take_data(t, row.flow, row, row.kind, exporters[k], paths[k], settings.idle_ns, seed)
        else:
            take_notice(t, row.flow, row, exporters[k], paths[k], settings.bin_ns, seed)
    return n


@part
def _ends(row: Any) -> Any:
    return np.uint64(row.src) << _32 | np.uint64(row.dst)


@part
def _identify(t: Any, row: Any, seed: Any) -> None:
    """Find out what a packet is and of which flow, which may be new; -1: of none."""
    row.flow, row.kind = -1, 0
    if row.opcode < 0:
        kind = LANE
        rest = np.uint64(row.protocol) << _32 | np.uint64(row.src_port) << np.uint64(16) | np.uint64(row.dst_port)
    else:
        row.kind = MEANING[row.opcode]
        what = row.kind & 7
        if what == ACKNOWLEDGMENT:
            _count_answer(t, row)
            row.kind = _NOTHING
            return
        if what == DATA:
            kind = ANSWERS if row.kind & ANSWER else REQUESTS
        elif what == NOTICE:
            kind = NOTICES
        else:
            return
        rest = np.uint64(row.dst_qp)
    rest |= np.uint64(kind) << KIND_AT
    ends = _ends(row)
    i, slot = find(t, ends, rest, seed)
    if i < 0:
        i = t.counters[FLOWS]
        t.counters[FLOWS] += 1
        t.slots[slot] = i
        flow = t.flows[i]
        flow.ends, flow.rest, flow.kind, flow.last_ns = ends, rest, kind, row.time_ns
        renew(flow)
    prefetch(t.records, np.int64(i))
    row.flow = i


@part
def _count_answer(t: Any, row: Any) -> None:
    """Count an acknowledgment, or its refusal; IBTA volume 1 section 9.7.5.2.1, table 43."""
    answer = row.syndrome >> 5 & 3 if row.syndrome >= 0 else 0
    t.counters[REFUSED if answer == 3 else NOT_READY if answer == 1 else ACKNOWLEDGED] += 1


@compiled
def close_flows(t: Any, before_ns: int, settings: Any, scratch: Any, overall: Any) -> None:
    """Give out all that is known of flows last seen before a time, and forget them; `slots` must be settled anew.

    `overall`: how often lanes went at which pace.
    """
    kept = 0
    for i in range(t.counters[FLOWS]):
        flow = t.flows[i]
        if flow.last_ns >= before_ns and flow.kind != ORPHAN:
            if kept < i:
                _move(t, i, kept)
            kept += 1
        elif flow.kind in (LANE, ORPHAN):
            if flow.count:
                cut_block(t, i, settings, False, scratch, overall)
            if flow.has_record:
                close_burst(t, flow, t.records[i])
        else:
            close_messages(t, i)
    t.counters[FLOWS] = kept


@part
def _move(t: Any, here: Any, there: Any) -> None:
    t.flows[there] = t.flows[here]
    t.records[there] = t.records[here]
    for k in range(MESSAGES):
        t.held[MESSAGES * there + k] = t.held[MESSAGES * here + k]
    copy_history(t, here, there)
