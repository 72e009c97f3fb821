"""TCP, UDP and other packets to flow records: bulk in bursts, control segment by segment. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.bursts import close_burst, lane_out, take_bulk
from collectors.record import FIN, PSH, RST, SYN, TCP
from collectors.runs import enter_segments
from collectors.state import ACKNOWLEDGED, EMPTY, FLOWS, ORPHAN, copy_history, renew
from collectors.wire import part, rare

MODULUS, WINDOW = 1 << 32, 1 << 30  # sequence space (RFC 9293 section 3.4); largest window (RFC 7323 section 2.3)
MARKS = SYN | FIN | RST


@rare
def take_segment(t: Any, i: Any, row: Any, exporter: Any, path: Any, settings: Any, scratch: Any) -> None:
    """A packet of lane i. `settings.small`: payload up to so many octets is control."""
    flow, octets = t.flows[i], np.int64(row.octets)
    enter_segments(t, flow)
    if row.time_ns - flow.last_ns > settings.idle_ns:
        set_aside(t, i)
        renew(flow)
    flow.last_ns = row.time_ns
    tcp, marks = row.protocol == TCP, row.tcp_flags & MARKS
    new = octets
    if tcp and (octets or marks & SYN):
        new = _unsent(flow, row)
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
    """A record of one packet; it carries nothing yet."""
    out = lane_out(t, flow.ends, flow.rest)
    out.start_ns = out.end_ns = row.time_ns
    out.tcp_flags, out.ecn, out.exporter, out.path = row.tcp_flags, row.ecn, exporter, path
    return out


@part
def _unsent(flow: Any, row: Any) -> Any:
    """Octets of a segment beyond the highest sequence number its flow has sent.

    A SYN starts a new sequence space. A segment up to a window back is sent again; anything else is ahead, since more than a
    window back nothing can be outstanding.
    """
    syn = row.tcp_flags & SYN != 0
    begin = np.int64(row.sequence) + syn
    end = begin + row.octets & MODULUS - 1
    if syn or flow.high < 0:
        flow.high = begin & MODULUS - 1
    ahead = (end - flow.high + WINDOW & MODULUS - 1) - WINDOW
    if ahead > 0:
        flow.high = end
    return min(max(ahead, 0), np.int64(row.octets))


@part
def _is_bulk(flow: Any, row: Any, small: Any) -> Any:
    """Whether a segment with payload is bulk, and whether one that was not came before it.

    A small one is bulk too where it goes on where a bulk segment without PSH ended: its sender had more to send.
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
    """Keep what waits of a lane that is over, as another, until it can borrow a pace; give out its record if nothing waits."""
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
