"""Aggregate TCP, UDP and other packets to flow records: bulk in bursts, control segment by segment. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.columns.record import FIN, PSH, RST, SYN, TCP
from collectors.compilation.primitives import part, rare
from collectors.flows.bursts import close_burst, lane_out, take_bulk
from collectors.flows.flow_state import ACKNOWLEDGED, EMPTY, FLOWS, ORPHAN, PROBES, copy_history, renew
from collectors.flows.packet_runs import enter_segments
from collectors.flows.reordering import fill_octets, is_copied_segment, note_segment, renew_segments, skip_octets

MODULUS, WINDOW = 1 << 32, 1 << 30  # sequence space (RFC 9293 section 3.4); largest window (RFC 7323 section 2.3)
MARKS = SYN | FIN | RST


@rare
def take_segment(t: Any, i: Any, row: Any, exporter: Any, path: Any, settings: Any, scratch: Any) -> None:
    """Add a packet to lane i. `settings.small`: largest payload of control, octets."""
    flow, octets = t.flows[i], np.int64(row.octets)
    enter_segments(t, i, flow)
    if row.time_ns - flow.last_ns > settings.idle_ns:
        set_aside(t, i)
        renew(flow)
    flow.last_ns = row.time_ns
    tcp, marks = row.protocol == TCP, row.tcp_flags & MARKS
    new = octets
    if tcp and (octets or marks & SYN):
        new = _is_new_segment(t, i, flow, row)
        if octets and not marks:
            if new == 0 and _is_nothing(t, i, flow, row):
                return
            note_segment(t, i, row.sequence, row.ip_id)
    if octets:
        bulk, spoken = _is_bulk(flow, row, settings.small)
        if bulk:
            take_bulk(t, i, row, new, spoken, exporter, path, settings, scratch)
        else:
            out = _segment(t, flow, row, exporter, path)
            out.octets, out.packets, out.messages, out.retransmits = new, new > 0, new > 0, new == 0
    elif not tcp:
        t.counters[EMPTY] += 1
    elif not marks:
        t.counters[ACKNOWLEDGED] += 1
    if tcp and marks:  # a record without payload, so that its time is exact
        _segment(t, flow, row, exporter, path)


@rare
def _segment(t: Any, flow: Any, row: Any, exporter: Any, path: Any) -> Any:
    """Allocate a record of one packet, without data."""
    out = lane_out(t, flow.ends, flow.rest)
    out.start_ns = out.end_ns = row.time_ns
    out.tcp_flags, out.ecn, out.exporter, out.path = row.tcp_flags, row.ecn, exporter, path
    return out


@part
def _is_new_segment(t: Any, i: Any, flow: Any, row: Any) -> Any:
    """Count the octets of a segment that its flow has not sent before.

    A SYN starts a new sequence space. A segment within a window back was overtaken, or is retransmitted; all others are ahead,
    because nothing older than a window can be outstanding.
    """
    syn = row.tcp_flags & SYN != 0
    begin, octets = np.int64(row.sequence) + syn & MODULUS - 1, np.int64(row.octets)
    end = begin + octets & MODULUS - 1
    if syn or flow.high < 0:
        flow.high = begin
        renew_segments(flow)
    ahead = (end - flow.high + WINDOW & MODULUS - 1) - WINDOW
    before = np.int64(0)
    if ahead < octets and flow.newest:
        before = fill_octets(t, i, begin, octets - max(ahead, 0))
    if ahead > octets:
        skip_octets(t, i, flow.high, begin)
    if ahead > 0:
        flow.high = end
    return min(max(ahead, 0), octets) + before


@rare
def _is_nothing(t: Any, i: Any, flow: Any, row: Any) -> Any:
    """Check whether a segment without new octets only requests an answer, or is a mirror's copy: nothing was retransmitted.

    A keep-alive (RFC 9293 section 3.8.4) repeats the last octet sent, and so does each probe of a zero window after the first
    (section 3.8.6.1).
    """
    octets = np.int64(row.octets)
    if octets == 1 and np.int64(row.sequence) + 1 & MODULUS - 1 == flow.high:
        t.counters[PROBES] += 1
        return True
    return is_copied_segment(t, i, row.sequence, octets, row.ip_id)


@part
def _is_bulk(flow: Any, row: Any, small: Any) -> Any:
    """Check whether a segment with payload is bulk, and whether a control segment preceded it.

    A small one is bulk as well if it continues a bulk segment without PSH: its sender had more to send.
    """
    bulk = row.octets > small
    unpushed = flow.unpushed
    flow.unpushed = -1
    if bulk and row.protocol == TCP and not row.tcp_flags & PSH:
        flow.unpushed = np.int64(row.sequence) + row.octets & MODULUS - 1
    bulk = bulk or unpushed == row.sequence
    spoken = not flow.was_bulk
    flow.was_bulk = bulk
    return bulk, spoken


@rare
def set_aside(t: Any, i: Any) -> None:
    """Move the waiting units of a finished lane to another row until a pace is known; emit its record if nothing waits."""
    flow = t.flows[i]
    if flow.count == 0:
        if flow.has_record:
            close_burst(t, flow, t.records[i])
        return
    other = t.counters[FLOWS]
    t.counters[FLOWS] += 1
    t.flows[other] = flow
    t.flows[other].kind = ORPHAN
    t.records[other] = t.records[i]
    copy_history(t, i, other)
