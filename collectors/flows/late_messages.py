"""Hold RDMA messages that newer ones have overtaken until their late packets arrive. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.columns.record import ROCE_PORT, UDP, UET_PORT
from collectors.compilation.primitives import part, rare
from collectors.flows.flow_state import FAR, MESSAGES, OTHER_RDMA, new_out, open_record

WINDOW = 1 << 20  # PSNs: nothing is retransmitted after 4 GB of 4096-octet packets
NEAR = 1 << 16  # PSNs that may precede those of a message without a seen beginning
SLOTS = np.int64(MESSAGES - 1)


@part
def until_of(row: Any, psn: Any) -> Any:
    """Return the last PSN of a message that begins with a packet, as far as its RETH shows."""
    count = (max(row.dma_length, 1) - 1) // max(np.int64(row.octets), 1) + 1
    return psn + count - 1 if row.dma_length >= 0 else FAR


@rare
def joined(t: Any, i: Any, row: Any, psn: Any, begins: Any, ends: Any, exporter: Any, path: Any) -> Any:
    """Return the held message of an overtaken packet that belongs to none known; -1: the newest one.

    It may precede the packets of a message without a seen beginning, or be the first packet seen of a message.
    """
    flow, record = t.flows[i], t.records[i]
    if not flow.has_record or psn >= record.lowest:
        return -1
    until = until_of(row, psn) if begins else FAR
    if not (flow.anchor or ends) and _begins_with(record, row, psn, begins, until):
        if begins and row.dma_length >= 0:
            flow.anchor, flow.until = 1, until
            _absorb(t, i, record, psn, until)
        return -1
    for k in range(MESSAGES):
        at = MESSAGES * np.int64(i) + k
        if flow.used >> k & 1 and not ends and _begins_with(t.held[at], row, psn, begins, until):
            if begins and row.dma_length >= 0:
                _absorb(t, i, t.held[at], psn, until)
            return at
    at = room_for_message(t, i)
    record = t.held[at]
    open_record(record, exporter, path)
    record.followed, record.size, record.until = 1, -1, psn
    if begins:
        _begins_with(record, row, psn, begins, until)
        record.until = until if row.dma_length >= 0 else psn
    return at


@rare
def _absorb(t: Any, i: Any, record: Any, psn: Any, until: Any) -> None:
    """Add to a message the held parts that belong to it: its packets arrived in parts before its first one, `psn`,
    which showed its range.
    """
    flow = t.flows[i]
    for k in range(MESSAGES):
        part_of = t.held[MESSAGES * np.int64(i) + k]
        if flow.used >> k & 1 and part_of.size < 0 and psn < part_of.lowest and part_of.highest <= until:
            record.octets += part_of.octets
            record.packets += part_of.packets
            record.retransmits += part_of.retransmits
            record.ecn += part_of.ecn
            record.start_ns, record.end_ns = min(record.start_ns, part_of.start_ns), max(record.end_ns, part_of.end_ns)
            record.lowest, record.highest = min(record.lowest, part_of.lowest), max(record.highest, part_of.highest)
            record.best = max(record.best, record.highest)
            record.mtu = max(record.mtu, part_of.mtu)
            record.ends |= part_of.ends
            flow.used &= ~(1 << k)


@part
def _begins_with(record: Any, row: Any, psn: Any, begins: Any, until: Any) -> Any:
    """Check whether a packet may precede those of a message without a seen beginning; if it is its beginning, record that."""
    if record.size >= 0 or psn > record.lowest or record.highest > until or record.lowest - psn > NEAR:
        return False
    if begins:
        record.size = np.int64(row.ip_id)
        record.best = max(record.highest, psn)
        if row.dma_length >= 0:
            record.until = until
    return True


@part
def room_for_message(t: Any, i: Any) -> Any:
    """Return a place to hold a message for late packets; the oldest held message is closed."""
    flow = t.flows[i]
    flow.newest = flow.newest + 1 & SLOTS
    at, bit = MESSAGES * np.int64(i) + flow.newest, 1 << flow.newest
    if flow.used & bit:
        close_message(t, flow, t.held[at])
    flow.used |= bit
    return at


@rare
def overtaken(t: Any, i: Any, psn: Any, new: Any) -> Any:
    """Return the held message of an overtaken packet, by its PSN (-1: none).

    Also whether the packet is beyond the highest seen PSN of its message.
    """
    flow = t.flows[i]
    for k in range(MESSAGES):
        at = MESSAGES * np.int64(i) + k
        record = t.held[at]
        if flow.used >> k & 1:
            if flow.high - record.lowest >= WINDOW:
                close_message(t, flow, record)
                flow.used &= ~(1 << k)
            elif not new and record.lowest <= psn <= record.until:
                ahead = psn > record.best
                record.best = max(record.best, psn)
                return at, ahead
    return np.int64(-1), False


@part
def close_message(t: Any, flow: Any, record: Any) -> None:
    """Emit a record, with the size of messages whose packets were not all captured."""
    out = new_out(t, flow.ends)
    out.start_ns, out.end_ns = record.start_ns, record.end_ns
    out.protocol, out.dst_port, out.dst_qp = UDP, ROCE_PORT, np.uint32(flow.rest & np.uint64(0xFFFFFF))
    if flow.rest & OTHER_RDMA:
        out.dst_port, out.dst_qp, out.job_id = UET_PORT, np.uint32(record.size), np.uint32(record.guess)
    out.retransmits, out.ecn, out.cnp = record.retransmits, record.ecn, record.cnp
    out.exporter, out.path = record.exporter, record.path
    if not record.packets:
        return
    out.messages, out.busy_ns = 1, record.end_ns - record.start_ns
    span = max(record.highest - record.lowest + 1, np.int64(record.packets))
    octets = record.octets + (span - record.packets) * np.int64(record.mtu)
    if record.dma >= 0:
        if record.ends or record.followed:
            octets = record.dma
            if record.mtu:
                span = max(span, (record.dma + np.int64(record.mtu) - 1) // np.int64(record.mtu))
        else:
            octets = min(record.dma, octets)
    out.octets, out.packets = octets, span if octets > 0 else 0
