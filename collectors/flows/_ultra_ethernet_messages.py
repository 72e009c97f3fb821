"""Aggregate packets that name their message (Ultra Ethernet) to one flow record per message. Compiled.

A flow contains what one side of a packet delivery context (PDC) sends. Its packets have one space of PSNs but may belong to
several messages at a time, in any order; each names its message, and the first one its length. A record is emitted once the
message is complete, when `flow_state.MESSAGES` newer ones began, or when its flow rests.

Packets with the retransmission flag were retransmitted; others that were seen before are copies of a mirror. Requests without a
PSN (RUDI, UUD) count as new unless they have that flag. Data in an acknowledgment has the PSN of the acknowledged request: if
that was retransmitted, the data is still new if it was not seen before.

Fields of `flow_state.RECORD` here: `best` the name of the message, `size` the endpoint, `guess` the job id, `busy` whether its
first packet was seen, `dma` its octets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.compilation.primitives import part, rare
from collectors.flows.flow_state import COPIES, CUT, MESSAGES, open_record, renew
from collectors.flows.late_messages import SLOTS, close_message, room_for_message
from collectors.flows.rdma_messages import close_messages
from collectors.flows.reordering import SEEN, UNKNOWN, UNSEEN, sight_packet
from collectors.packets.packet_kinds import ANSWER, BEGINS, ENDS, OPENS, RESENT, TRIMMED, UNNUMBERED

MODULUS, HALF = 1 << 32, 1 << 31  # PSN space
# A packet that opens a context and was seen before is a copy, unless it is older than what a mirror port may give again: by so
# many PSNs, 256 KiB of 4096-octet packets, or by so long, more than a packet stays in a switch. Then it opens another context.
COPIED, COPIED_NS = 64, 1_000_000


@rare
def take_packet(t: Any, i: Any, row: Any, exporter: Any, path: Any, idle_ns: Any) -> None:
    """Add a packet that names its message to flow i."""
    flow = t.flows[i]
    if row.time_ns - flow.last_ns > idle_ns:
        _end_all(t, i)
        renew(flow)
    resent, trimmed = row.opcode & RESENT != 0, row.opcode & TRIMMED != 0
    new, answers = not resent, row.opcode & UNNUMBERED != 0 and row.opcode & ANSWER != 0
    if (answers or row.opcode & UNNUMBERED == 0) and not trimmed:
        new = _is_new(t, i, row, resent)
        resent = resent and not (answers and new)
    flow.last_ns = row.time_ns
    if trimmed:
        new = False
        t.counters[CUT] += 1
    elif not new and not resent:
        t.counters[COPIES] += 1
        return
    at = _place_of(t, i, row, new, exporter, path)
    if at < 0:
        _enter(t.records[i], row, new, resent, trimmed)
        if _is_whole(t.records[i]):
            close_message(t, flow, t.records[i])
            flow.has_record = 0
    else:
        _enter(t.held[at], row, new, resent, trimmed)
        if _is_whole(t.held[at]):
            close_message(t, flow, t.held[at])
            flow.used &= ~(1 << (at & SLOTS))


@part
def _is_new(t: Any, i: Any, row: Any, resent: Any) -> Any:
    """Check whether a PSN was not seen before. A newly opened context begins with any PSN."""
    flow, number = t.flows[i], np.int64(row.sequence)
    before = number + MODULUS - 1 if flow.high < 0 else flow.high
    psn = before + ((number - before + HALF) & MODULUS - 1) - HALF
    sight = sight_packet(t, i, before, psn)
    anew = row.opcode & OPENS != 0 and sight == SEEN and (before - psn >= COPIED or row.time_ns - flow.last_ns > COPIED_NS)
    if (anew or sight == UNKNOWN) and not resent:
        flow.high, before, psn = -1, number + MODULUS, number + MODULUS
        sight = sight_packet(t, i, before, psn)
    flow.high = max(before, psn)
    return sight == UNSEEN


@part
def _place_of(t: Any, i: Any, row: Any, new: Any, exporter: Any, path: Any) -> Any:
    """Return the held message of a packet, -1: the newest one, which may begin with it."""
    flow, record = t.flows[i], t.records[i]
    name = np.int64(row.acknowledgment) >> 16 | (1 << 16 if row.opcode & ANSWER else 0)
    another = new and row.opcode & BEGINS != 0  # ids are reused, a message begins once
    if flow.has_record and record.best == name and not (another and record.busy):
        return np.int64(-1)
    for k in range(MESSAGES):
        at = MESSAGES * np.int64(i) + k
        if flow.used >> k & 1 and t.held[at].best == name and not (another and t.held[at].busy):
            return at
    if flow.has_record:
        if not new:
            return np.int64(-1)  # evidence of the flow, for any message
        if record.packets:
            oldest = MESSAGES * np.int64(i) + (np.int64(flow.newest) + 1 & SLOTS)
            t.held[oldest].followed = 1
            t.held[room_for_message(t, i)] = record
        else:
            close_message(t, flow, record)
    open_record(record, exporter, path)
    flow.has_record, record.best = 1, name
    record.lowest = record.highest = 0
    return np.int64(-1)


@part
def _enter(record: Any, row: Any, new: Any, resent: Any, trimmed: Any) -> None:
    """Enter a packet into the record of its message, or the evidence that it carries."""
    record.start_ns, record.end_ns = min(record.start_ns, row.time_ns), max(record.end_ns, row.time_ns)
    record.retransmits += resent
    record.ecn += row.ecn or trimmed
    record.guess = row.job_id
    if not record.packets:
        record.size = row.dst_qp
    if not new:
        return
    record.octets += row.octets
    record.packets += 1
    record.mtu = max(record.mtu, row.octets)
    record.ends |= row.opcode & ENDS != 0
    if row.opcode & BEGINS:
        record.busy, record.dma = 1, row.dma_length


@part
def _is_whole(record: Any) -> Any:
    """Check whether a message is complete."""
    return record.busy != 0 and record.ends != 0 and record.dma >= 0 and record.octets >= record.dma


@rare
def _end_all(t: Any, i: Any) -> None:
    """Emit all messages of a flow that rested for too long: later packets belong to others."""
    for k in range(MESSAGES):
        t.held[MESSAGES * np.int64(i) + k].followed = 1
    t.records[i].followed = 1
    close_messages(t, i)
