"""Aggregate RoCEv2 packets to one flow record per RDMA message (InfiniBand Architecture 1.4, volume 1, chapter 9). Compiled.

The last `flow_state.MESSAGES` messages of a flow are held, because packets sprayed over several paths arrive in any order, and
lost ones are retransmitted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.columns.record import UDP
from collectors.compilation.primitives import hashed, part, prefetch, prefetch_second, rare
from collectors.flows.flow_state import (
    ANSWERS,
    MESSAGES,
    NOTICES,
    REPEATS,
    REQUESTS,
    fetch_flow,
    find,
    new_out,
    open_record,
    renew,
)
from collectors.flows.late_messages import SLOTS, WINDOW, close_message, joined, overtaken, room_for_message, until_of
from collectors.flows.packet_runs import enter_packets, expect_packet
from collectors.flows.reordering import CONSTANT, SEEN, UNKNOWN, UNSEEN, is_copied_packet, sight_packet
from collectors.packets.headers import UD
from collectors.packets.packet_kinds import BEGINS, ENDS, MEANING
from collectors.packets.packet_signs import is_marked, opcode_of, payload_of, psn_of

MODULUS = 1 << 24  # PSN space
_REQUESTS, _ANSWERS, _NOTICES = (np.uint64(kind << 60) for kind in (REQUESTS, ANSWERS, NOTICES))


@part
def take_data(t: Any, i: Any, row: Any, meaning: Any, exporter: Any, path: Any, idle_ns: Any, seed: Any) -> None:
    """Add a packet of a message of flow i, new or retransmitted."""
    flow, record = t.flows[np.uint64(i)], t.records[np.uint64(i)]
    enter_packets(flow, record)
    psn = flow.high + 1
    follows = meaning & BEGINS == 0 and psn <= flow.ready and psn & MODULUS - 1 == row.sequence
    if follows and row.time_ns - flow.last_ns <= idle_ns:
        _go_on(t, i, flow, record, row.time_ns, np.int64(row.octets), psn, meaning & ENDS != 0, row.ecn, seed)
    else:
        _take_any(t, i, row, meaning, exporter, path, idle_ns, seed)
        flow.ready = _ready(flow, record)


@part
def continue_message(t: Any, i: Any, hint: Any, idle_ns: Any, seed: Any) -> Any:
    """Check whether a packet without a beginning follows the last one of its flow, and take it; it may begin a run."""
    flow, record = t.flows[np.uint64(i)], t.records[np.uint64(i)]
    enter_packets(flow, record)
    psn = flow.high + 1
    if psn > flow.ready or psn & MODULUS - 1 != psn_of(hint.sign) or hint.time_ns - flow.last_ns > idle_ns:
        return False
    ends, marked = MEANING[opcode_of(hint.sign)] & ENDS != 0, is_marked(hint.sign)
    _go_on(t, i, flow, record, hint.time_ns, payload_of(hint.sign), psn, ends, marked, seed)
    expect_packet(flow, record, hint.sign)
    return True


@part
def _ready(flow: Any, record: Any) -> Any:
    """Return the PSN up to which packets may follow in a few steps, -1 if none: their message must be clear."""
    return min(flow.until, record.lowest + WINDOW - 1) if flow.has_record and not flow.ended else np.int64(-1)


@part
def _go_on(t: Any, i: Any, flow: Any, record: Any, time_ns: Any, octets: Any, psn: Any, ends: Any, ecn: Any, seed: Any) -> None:
    """Add the packet that follows the last one of a message: result of `_take_any`, in a few steps."""
    flow.last_ns, flow.high, flow.over = time_ns, psn, 0
    record.best = record.highest = psn
    record.octets += octets
    record.packets += 1
    record.start_ns, record.end_ns = min(record.start_ns, time_ns), max(record.end_ns, time_ns)
    record.mtu = max(np.int64(record.mtu), octets)
    if ends:
        flow.ended = record.ends = 1
        flow.ready = -1
        _fetch_next(t, i, flow, seed)
    if ecn:
        record.ecn += 1


@part
def _fetch_next(t: Any, i: Any, flow: Any, seed: Any) -> None:
    """Prefetch the data for the next message: the oldest one, which makes room, and the entry that `follow_up` reads."""
    oldest = MESSAGES * i + (np.int64(flow.newest) + 1 & SLOTS)
    prefetch(t.held, oldest)
    prefetch_second(t.held, oldest)
    prefetch_second(t.flows, i)
    fetch_flow(t, hashed(flow.ends, flow.rest ^ _REQUESTS ^ _ANSWERS, seed))


@rare
def _take_any(t: Any, i: Any, row: Any, meaning: Any, exporter: Any, path: Any, idle_ns: Any, seed: Any) -> None:
    """Add any packet of a message."""
    flow, record = t.flows[np.uint64(i)], t.records[np.uint64(i)]
    if row.time_ns - flow.last_ns > idle_ns:
        record.followed = 1
        close_messages(t, i)
        renew(flow)
    flow.last_ns = row.time_ns
    before = np.int64(row.sequence) + MODULUS - 1 if flow.high < 0 else flow.high
    psn = before + ((np.int64(row.sequence) - before + WINDOW) & MODULUS - 1) - WINDOW
    sight = sight_packet(t, i, before, psn)
    new = psn > before or row.opcode >> 5 == UD
    late = not new and sight == UNSEEN
    begins, ends = meaning & BEGINS != 0, meaning & ENDS != 0
    flow.high = max(before, psn)
    held = new and _opens(t, i, row, psn, begins, ends, exporter, path, seed)
    if flow.anchor and psn >= record.lowest and flow.high - record.lowest < WINDOW:
        if not held and psn <= record.until:
            new = new or late or (sight == UNKNOWN and psn > record.best)
            record.best = max(record.best, psn)
    else:
        at, ahead = overtaken(t, i, psn, new)
        if at < 0 and late:
            at = joined(t, i, row, psn, begins, ends, exporter, path)
        if at >= 0:
            record = t.held[at]
        new = new or late or (sight == UNKNOWN and ahead)
    if new and (flow.has_record or not late):
        record.octets += row.octets
        record.packets += 1
        record.start_ns, record.end_ns = min(record.start_ns, row.time_ns), max(record.end_ns, row.time_ns)
        record.lowest, record.highest = min(record.lowest, psn), max(record.highest, psn)
        record.ends |= ends
        if begins:
            record.dma = max(record.dma, row.dma_length)
    elif not flow.has_record:  # its message was emitted, see `rest_messages`
        t.counters[REPEATS] += 1
        return
    elif sight == SEEN and is_copied_packet(t, i, record, psn, begins, np.int64(row.ip_id)):
        return
    else:
        record.retransmits += 1
    record.mtu = max(record.mtu, row.octets)
    record.ecn += row.ecn


@part
def _opens(t: Any, i: Any, row: Any, psn: Any, begins: Any, ends: Any, exporter: Any, path: Any, seed: Any) -> Any:
    """Begin a message if a packet ahead of all others belongs to another one; return whether it shows the length."""
    flow, record = t.flows[np.uint64(i)], t.records[np.uint64(i)]
    if begins:
        flow.until = until_of(row, psn)
    over = psn > flow.until  # past the last PSN of the previous RETH
    opened = begins or flow.ended or (over and not flow.over)
    flow.over, flow.ended = over, ends
    held = opened and begins and row.dma_length >= 0
    if opened:
        _open_message(t, i, psn, begins, held, exporter, path, seed)
        record.size = np.int64(row.ip_id) if begins else np.int64(-1)
        if begins and flow.used and t.held[MESSAGES * np.int64(i) + np.int64(flow.newest)].size == row.ip_id:
            flow.bulk_ns = CONSTANT  # the sender does not count its packets
    return held


@rare
def _open_message(t: Any, i: Any, psn: Any, begins: Any, held: Any, exporter: Any, path: Any, seed: Any) -> None:
    """Begin a message, with its first packet or another. `held`: the packet shows the length. The previous message is held."""
    flow, record = t.flows[i], t.records[i]
    if flow.has_record:
        record.followed = 1
        if not flow.anchor:
            record.until = max(psn - 1, record.highest) if begins else record.highest
            record.best = record.highest
        t.held[room_for_message(t, i)] = record
    open_record(record, exporter, path)
    flow.has_record, flow.anchor = 1, held
    if held:
        record.lowest = record.best = psn
        record.until = flow.until
    follow_up(t, flow.ends, flow.rest ^ _REQUESTS ^ _ANSWERS, seed)


@part
def follow_up(t: Any, ends: Any, rest: Any, seed: Any) -> None:
    """Record that another message of the same queue pair followed the newest one of this flow, if there is any."""
    i, _ = find(t, ends, rest, hashed(ends, rest, seed))
    if i >= 0:
        t.records[i].followed = 1


@rare
def close_messages(t: Any, i: Any) -> None:
    """Emit all messages of a flow, the oldest first."""
    flow = t.flows[i]
    enter_packets(flow, t.records[i])
    for k in range(1, MESSAGES + 1):
        slot = np.int64(flow.newest) + k & SLOTS
        if flow.used >> slot & 1:
            close_message(t, flow, t.held[MESSAGES * np.int64(i) + slot])
    if flow.has_record:
        close_message(t, flow, t.records[i])


@rare
def rest_messages(t: Any, i: Any, before_ns: Any) -> None:
    """Emit the messages of a flow that have rested since a time: later packets of one make another record."""
    flow = t.flows[i]
    enter_packets(flow, t.records[i])
    if flow.last_ns < before_ns:
        close_messages(t, i)
        flow.used = flow.anchor = flow.has_record = 0
        flow.ended = 1
        flow.ready = -1
    for k in range(1, MESSAGES + 1):
        slot = np.int64(flow.newest) + k & SLOTS
        if flow.used >> slot & 1 and t.held[MESSAGES * np.int64(i) + slot].end_ns < before_ns:
            close_message(t, flow, t.held[MESSAGES * np.int64(i) + slot])
            flow.used &= ~(1 << slot)


@rare
def take_notice(t: Any, i: Any, row: Any, exporter: Any, path: Any, bin_ns: Any, seed: Any) -> None:
    """Add a congestion notification, from the receiver of data to its sender; one record per time bin."""
    flow, number = t.flows[i], row.time_ns // bin_ns
    flow.last_ns = row.time_ns
    record = t.records[i]
    if not flow.has_record or flow.until != number:
        if flow.has_record:
            close_message(t, flow, record)
        open_record(record, exporter, path)
        flow.has_record, flow.until = 1, number
        follow_up(t, flow.ends, flow.rest ^ _NOTICES ^ _REQUESTS, seed)
        follow_up(t, flow.ends, flow.rest ^ _NOTICES ^ _ANSWERS, seed)
    record.start_ns, record.end_ns = min(record.start_ns, row.time_ns), max(record.end_ns, row.time_ns)
    record.cnp += 1
    record.guess = row.job_id
    record.ecn += row.ecn


@rare
def take_other(t: Any, ends: Any, row: Any, exporter: Any, path: Any, seed: Any) -> None:
    """Add a message without payload of its own: a READ request, an atomic operation."""
    out = new_out(t, ends)
    out.start_ns = out.end_ns = row.time_ns
    out.protocol, out.dst_port, out.dst_qp, out.messages, out.ecn = UDP, row.dst_port, row.dst_qp, 1, row.ecn
    out.job_id = row.job_id
    out.exporter, out.path = exporter, path
    follow_up(t, ends, np.uint64(row.dst_qp) | _REQUESTS, seed)
    follow_up(t, ends, np.uint64(row.dst_qp) | _ANSWERS, seed)
