"""Drive the compiled loops that follow packets into flows and write finished records: `rdma_messages` and `segments`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.hash_slots import entry_of
from collectors.compilation.primitives import compiled, hashed, part, prefetch, rare
from collectors.flows._segments import take_segment
from collectors.flows._ultra_ethernet_messages import take_packet
from collectors.flows.bursts import Pace, close_burst, cut_block
from collectors.flows.flow_state import (
    ACKNOWLEDGED,
    ANSWERS,
    BLOCK,
    CONTEXT,
    CONTROLS,
    FLOWS,
    KIND_AT,
    LANE,
    LAST_ALONE,
    MESSAGES,
    NOT_READY,
    NOTICES,
    ORPHAN,
    OTHER_RDMA,
    PACED,
    RECORDS,
    REFUSED,
    REQUESTS,
    UNITS,
    copy_history,
    fetch_flow,
    find,
    likely_flow,
    renew,
)
from collectors.flows.frame_classification import HINT
from collectors.flows.lone_packets import keep_alone, resume, stays_alone
from collectors.flows.packet_runs import enter_segments
from collectors.flows.rdma_messages import close_messages, rest_messages, take_data, take_notice, take_other
from collectors.memory.pages import aligned
from collectors.packets.packet_kinds import (
    ACKNOWLEDGMENT,
    ANSWER,
    CONTROL,
    DATA,
    MEANING,
    NAMED,
    NOTICE,
    OTHER,
    UET,
    UNNUMBERED,
)

_32 = np.uint64(32)
AHEAD = 128
KEY = np.dtype([*((name, np.uint64) for name in ("ends", "rest", "hash")), ("flow", np.int64)])  # a flow's identity
_AHEAD = np.uint64(AHEAD)


class Room(NamedTuple):
    """Number of flows, units and records that a table has room for."""

    flows: int
    units: int
    out: int


MOST_RECORDS = max(MESSAGES, BLOCK) + 1  # records that a flow may emit at its end
ROOM = Room(2 * AHEAD, AHEAD, (BLOCK + 4) * AHEAD)  # room that `AHEAD` rows may need


class Settings(NamedTuple):
    """Settings of the conversion of packets to records: see `flow_table.FlowTable`. `active_ns`: 0 is none."""

    small: int
    idle_ns: int
    active_ns: int
    bin_ns: int
    pace: Pace


class Scratch(NamedTuple):
    """Temporary memory: keys of the current rows, hints, paces of a block and of the previous block."""

    keys: NDArray[Any]
    hints: NDArray[Any]
    paces: NDArray[np.float64]


def empty_scratch() -> Scratch:
    """Allocate temporary memory of sufficient size."""
    return Scratch(np.zeros(AHEAD, KEY), aligned(AHEAD, HINT), np.zeros((2, 2 * BLOCK)))


@compiled
def follow(t: Any, rows: Any, exporters: Any, paths: Any, settings: Any, scratch: Any, clock: int, seed: Any) -> Any:
    """Follow rows of `frame_decoder.ROW`, each with its switch and path, up to the first that is older than the previous one.

    Returns the number of rows followed, and the number up to that row; if this is larger, the table lacks `ROOM`. `clock`: time
    of the row before the first. `AHEAD` rows at a time pass through loops that each prefetch the data of the next.
    """
    n: Any = np.uint64(len(rows))
    start: Any = np.uint64(0)
    while start < n and has_room(t):
        stop = min(n, start + _AHEAD)
        upto, clock = follow_some(t, rows, start, stop, exporters, paths, settings, scratch, clock, seed)
        if upto < stop:
            n = upto
        start = upto
    return np.int64(start), np.int64(n)


@part
def follow_some(
    t: Any, rows: Any, start: Any, stop: Any, exporters: Any, paths: Any, settings: Any, scratch: Any, clock: Any, seed: Any
) -> Any:
    """Follow at most `AHEAD` rows; return the end, and the time of the last row."""
    for k in range(start, stop):
        if rows[k].time_ns < clock:
            stop = k
            break
        clock = rows[k].time_ns
        _identify(t, rows[k], scratch.keys[k - start], seed)
    for k in range(start, stop):
        key = scratch.keys[k - start]
        key.flow = likely_flow(t, key.hash)
        if key.flow >= 0:
            prefetch(t.flows, np.int64(key.flow))
            prefetch(t.records, np.int64(key.flow))
    for k in range(start, stop):
        _take(t, rows[k], scratch.keys[k - start], exporters[k], paths[k], settings, scratch, seed)
    return stop, clock


@part
def has_room(t: Any) -> Any:
    """Check whether the next `AHEAD` rows can be followed, whatever they are."""
    flows, units, out = len(t.flows) - t.counters[FLOWS], len(t.units) - t.counters[UNITS], len(t.out) - t.counters[RECORDS]
    paced = len(t.typical) - t.counters[PACED]
    alone = len(t.alone) - t.counters[LAST_ALONE]
    return flows >= ROOM.flows and alone >= ROOM.flows and units >= ROOM.units and out >= ROOM.out and paced >= ROOM.units


@part
def _take(t: Any, row: Any, key: Any, exporter: Any, path: Any, settings: Any, scratch: Any, seed: Any) -> None:
    """Follow a packet of a known or new flow."""
    if row.kind == ACKNOWLEDGMENT:
        count_answer(t, np.int64(row.syndrome))
        return
    if row.kind == CONTROL:
        t.counters[CONTROLS] += 1
        return
    if row.kind == OTHER:
        take_other(t, key.ends, row, exporter, path, seed)
        return
    i = np.int64(key.flow)
    if i < 0 or t.flows[np.uint64(i)].rest != key.rest or t.flows[np.uint64(i)].ends != key.ends:
        i = _find_flow(t, row, key, exporter, path, settings)
        key.flow = i
        if i < 0:
            return
    take_known(t, i, row, exporter, path, settings, scratch, seed)


@part
def take_known(t: Any, i: Any, row: Any, exporter: Any, path: Any, settings: Any, scratch: Any, seed: Any) -> None:
    """Follow a packet of flow i; `row.kind` is its kind."""
    if row.kind & 7 == DATA:
        take_data(t, i, row, row.kind, exporter, path, settings.idle_ns, seed)
    elif row.opcode < 0:
        take_segment(t, i, row, exporter, path, settings, scratch.paces)
    elif row.kind & 7 == NAMED:
        take_packet(t, i, row, exporter, path, settings.idle_ns)
    else:
        take_notice(t, i, row, exporter, path, settings.bin_ns, seed)


@part
def follow_one(t: Any, row: Any, key: Any, exporter: Any, path: Any, settings: Any, scratch: Any, seed: Any) -> Any:
    """Follow a packet; return its flow, -1 if none."""
    _identify(t, row, key, seed)
    key.flow = likely_flow(t, key.hash)
    _take(t, row, key, exporter, path, settings, scratch, seed)
    flowless = row.kind == ACKNOWLEDGMENT or row.kind == OTHER or row.kind == CONTROL
    return np.int64(-1) if flowless else np.int64(key.flow)


@part
def _identify(t: Any, row: Any, key: Any, seed: Any) -> None:
    """Compute the kind of a packet and the identity of its flow, if it has one."""
    key.ends = np.uint64(row.src) << _32 | np.uint64(row.dst)
    if row.opcode < 0:
        row.kind, kind = 0, LANE
        rest = np.uint64(row.protocol) << _32 | np.uint64(row.src_port) << np.uint64(16) | np.uint64(row.dst_port)
    elif row.opcode >= UET:
        row.kind, rest = MEANING[row.opcode], OTHER_RDMA | np.uint64(row.acknowledgment & 0xFFFF)
        rest |= np.uint64(row.opcode & UNNUMBERED) << np.uint64(16)
        kind = NOTICES if row.kind == NOTICE else CONTEXT
    else:
        row.kind, rest = MEANING[row.opcode], np.uint64(row.dst_qp)
        kind = NOTICES if row.kind == NOTICE else ANSWERS if row.kind & ANSWER else REQUESTS
    key.rest = rest | np.uint64(kind) << KIND_AT
    key.hash = hashed(key.ends, key.rest, seed)
    fetch_flow(t, key.hash)


@rare
def _find_flow(t: Any, row: Any, key: Any, exporter: Any, path: Any, settings: Any) -> Any:
    """Compute `flow_of`, as a call."""
    return flow_of(t, key, row, exporter, path, settings)[0]


@part
def flow_of(t: Any, key: Any, row: Any, exporter: Any, path: Any, settings: Any) -> Any:
    """Return the flow of a packet, and whether it had packets before; -1 if its first packet is taken here."""
    i, slot = find(t, key.ends, key.rest, key.hash)
    if i >= 0:
        return np.int64(i), True
    if i < -1:
        return resume(t, -2 - i, key, slot), True
    if stays_alone(row, settings.small):
        keep_alone(t, key, slot, row, exporter, path)
        return np.int64(-1), False
    i = t.counters[FLOWS]
    t.counters[FLOWS] += 1
    t.slots[slot] = entry_of(key.hash, i)
    flow = t.flows[np.uint64(i)]
    flow.ends, flow.rest, flow.last_ns = key.ends, key.rest, row.time_ns
    flow.kind = key.rest >> KIND_AT
    renew(flow)
    return np.int64(i), False


@part
def count_answer(t: Any, syndrome: Any) -> None:
    """Count an acknowledgment, or a negative one; IBTA volume 1 section 9.7.5.2.1, table 43."""
    answer = syndrome >> 5 & 3 if syndrome >= 0 else 0
    t.counters[REFUSED if answer == 3 else NOT_READY if answer == 1 else ACKNOWLEDGED] += 1


@compiled
def close_flows(t: Any, before_ns: int, settings: Any, scratch: Any, overall: Any, begin: int, kept: int) -> Any:
    """Emit all data of flows last seen before a time, and remove the flows; `slots` must be rebuilt with `settle` afterwards.

    `overall`: histogram of all lanes' paces. Begins at a flow, with `kept` flows before it, and stops if there is no room for
    more records; returns the flow reached, and the number kept. Flows are removed at the end.
    """
    for i in range(begin, t.counters[FLOWS]):
        if len(t.out) - t.counters[RECORDS] < MOST_RECORDS:
            return i, kept
        flow = t.flows[i]
        if flow.last_ns >= before_ns and flow.kind != ORPHAN:
            if kept < i:
                _move(t, i, kept)
            kept += 1
        elif flow.kind in (LANE, ORPHAN):
            enter_segments(t, i, flow)
            if flow.count:
                cut_block(t, i, settings, False, scratch.paces, overall)
            if flow.has_record:
                close_burst(t, flow, t.records[i])
        else:
            close_messages(t, i)
    begin, t.counters[FLOWS] = t.counters[FLOWS], kept
    return begin, kept


@compiled
def rest_flows(t: Any, before_ns: int, settings: Any, scratch: Any, overall: Any, begin: int) -> Any:
    """Emit the records that have rested since a time, and keep following their flows; `overall` and `begin` as in
    `close_flows`.
    """
    for i in range(begin, t.counters[FLOWS]):
        if len(t.out) - t.counters[RECORDS] < MOST_RECORDS:
            return i
        flow = t.flows[i]
        if flow.kind not in (LANE, ORPHAN):
            rest_messages(t, i, before_ns)
        elif flow.last_ns < before_ns or flow.kind == ORPHAN:
            enter_segments(t, i, flow)
            if flow.count:
                cut_block(t, i, settings, False, scratch.paces, overall)
            if flow.has_record:
                close_burst(t, flow, t.records[i])
            flow.has_record = 0
    return t.counters[FLOWS]


@part
def _move(t: Any, here: Any, there: Any) -> None:
    """Copy a flow to another row, only written parts: memory that was never written stays untouched."""
    flow = t.flows[here]
    t.flows[there] = flow
    lane = flow.kind == LANE
    if not lane or flow.has_record:
        t.records[there] = t.records[here]
    if not lane and flow.used:
        for k in range(MESSAGES):
            t.held[MESSAGES * there + k] = t.held[MESSAGES * here + k]
    copy_history(t, here, there)
