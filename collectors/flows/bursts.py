"""Split bulk segments into bursts: a record ends when a lane pauses longer than its own pace explains. Compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.columns.record import PSH, TCP
from collectors.compilation.primitives import part, rare
from collectors.flows.flow_state import BINS, BLOCK, FREE, PACED, UNITS, new_out, open_record

UNIT = 1 << 16  # octets: the most that a host passes to its NIC at once, the largest IPv4 packet
LOWEST = 2.0**-8  # quarter octaves of ns per octet from 2 Tbit/s down, state.BINS of them
SENDERS = 64  # with known paces that are compared: more change little, and each block of a lane compares them
QUICKER = 0.1  # share of those paces below the one that counts: of tiny models most lanes wait for applications, up to 90 %
_SHORT, _PORTS = np.uint64(0xFFFF), np.uint64(16)


class Pace(NamedTuple):
    """Limits that separate bursts from pauses. Pace is ns per octet of a unit that follows another in its lane.

    A unit is the data that the sender passes to its NIC at once. `cut`: a pause longer than the time to send `cut` units ends a
    burst; a unit counts as at least `flight` octets (the initial window of RFC 6928: what TCP sends without waiting). No pause
    up to `patience_ns` ends a burst: it is a wait for an acknowledgment or a busy host, on any link. `busy`: up to so many
    times the pace, the sender was sending. `share`: at least this share of the octets moves at the pace. `doubt`: weight of a
    unit after a control segment, because its gap shows when the application was ready. `young`: a lane with fewer gaps uses the
    pace of its sender's other lanes. A lane of small units is as quick as the quicker ones of `SENDERS`. Units are
    judged in blocks of `flow_state.BLOCK`, each with the previous block.
    """

    cut: float = 8.0
    busy: float = 3.0
    flight: int = 14600
    patience_ns: int = 100_000
    share: float = 0.4
    doubt: float = 0.001
    young: int = 4


@part
def take_bulk(t: Any, i: Any, row: Any, new: Any, spoken: Any, exporter: Any, path: Any, settings: Any, scratch: Any) -> None:
    """Add a bulk segment to lane i; `new` of its octets are new."""
    flow, octets = t.flows[i], np.int64(row.octets)
    if _opens_unit(flow, row, new == 0) or flow.count == 0:
        if flow.count == BLOCK:
            cut_block(t, i, settings, True, scratch, t.typical[0])
        at = t.counters[FREE]
        unit = t.units[at]
        t.counters[FREE] = unit.next
        t.counters[UNITS] += 1
        if flow.count:
            t.units[flow.tail].next = at
        else:
            flow.head = at
        flow.tail = at
        flow.count += 1
        unit.next = -1
        unit.start_ns = unit.end_ns = row.time_ns
        unit.octets = unit.size = unit.packets = unit.retransmits = unit.ecn = unit.tcp_flags = 0
        unit.exporter, unit.path, unit.spoken = exporter, path, spoken
    unit = t.units[flow.tail]
    unit.start_ns, unit.end_ns = min(unit.start_ns, row.time_ns), max(unit.end_ns, row.time_ns)
    unit.octets += new
    unit.size += octets
    unit.packets += new > 0
    unit.retransmits += new == 0
    unit.ecn += row.ecn
    unit.tcp_flags |= row.tcp_flags


@part
def _opens_unit(flow: Any, row: Any, again: Any) -> Any:
    """Whether a unit starts here: after a PSH, which ends the data passed at once, after each 64 kB, and at a retransmission.

    This undoes segmentation (TSO, GSO), so that lanes are split alike wherever they were captured.
    """
    carried = 0 if row.time_ns < flow.seen_ns else flow.unit
    flow.seen_ns = row.time_ns
    along = carried + np.int64(row.octets)
    flow.unit = along if row.protocol == TCP and not row.tcp_flags & PSH and not again else 0
    return carried == 0 or (along - 1) // UNIT != (carried - 1) // UNIT


@rare
def cut_block(t: Any, i: Any, settings: Any, note: Any, scratch: Any, overall: Any) -> None:
    """Split the units of a lane at pauses and remove them. `note`: record their pace; else use one of other lanes if
    the lane is young.
    """
    flow = t.flows[i]
    own = _weighed(t, i, settings.pace, scratch)
    if note:
        _note(t, flow, own)
    else:
        finite = 0
        for k in range(2 * BLOCK):
            finite += np.isfinite(scratch[0, k])
        if finite < settings.pace.young or not np.isfinite(own):
            own = _borrowed(t, flow, own, overall)
    if not _waits(t, flow, settings.pace):
        own = min(own, _usual(t, own))
    at = np.int64(flow.head)
    for _ in range(flow.count):
        unit = t.units[at]
        _add_unit(t, i, unit, own, settings)
        at, unit.next, t.counters[FREE] = np.int64(unit.next), t.counters[FREE], at
    t.counters[UNITS] -= flow.count
    flow.count, flow.head, flow.tail = 0, -1, -1


@part
def _waits(t: Any, flow: Any, pace: Any) -> Any:
    """Whether a unit is so large that TCP waits while it sends it: gaps between smaller ones show when an application spoke."""
    at, large = np.int64(flow.head), False
    for _ in range(flow.count):
        large |= t.units[at].size > pace.flight
        at = np.int64(t.units[at].next)
    return large


@part
def _weighed(t: Any, i: Any, pace: Any, scratch: Any) -> Any:
    """Pace of a lane's units: a weighted quantile over them and the previous block. Leaves sorted ns per octet in `scratch`."""
    flow, history, filled, total = t.flows[i], t.history[i], 0, 0.0
    for k in range(BLOCK):
        known = flow.has_history
        filled = _insert(scratch, filled, history[0, k] if known else np.inf, history[1, k] if known else 0.0)
    at, before = np.int64(flow.head), flow.bulk_ns
    for k in range(BLOCK):
        x, weight = np.inf, 0.0
        if k < flow.count:
            unit = t.units[at]
            if flow.has_record or k:
                x = max(unit.end_ns - before, 0) / unit.size
                weight = (pace.doubt if unit.spoken else 1.0) * unit.size
            at, before = np.int64(unit.next), unit.end_ns
        history[0, k], history[1, k] = x, weight
        filled = _insert(scratch, filled, x, weight)
    flow.has_history = 1
    for k in range(2 * BLOCK):
        total += scratch[1, k]
    along = 0.0
    for k in range(2 * BLOCK - 1):
        along += scratch[1, k]
        if not along < pace.share * total:
            return scratch[0, k]
    return scratch[0, 2 * BLOCK - 1]


@part
def _insert(scratch: Any, filled: Any, x: Any, weight: Any) -> Any:
    """Insert a value with its weight after equal ones; return the new number of values."""
    k = filled
    while k > 0 and scratch[0, k - 1] > x:
        scratch[0, k], scratch[1, k] = scratch[0, k - 1], scratch[1, k - 1]
        k -= 1
    scratch[0, k], scratch[1, k] = x, weight
    return filled + 1


@part
def _add_unit(t: Any, i: Any, unit: Any, own: Any, settings: Any) -> None:
    """Add a unit to the record of its lane, or end the record before it."""
    flow, record, pace = t.flows[i], t.records[i], settings.pace
    gap, pause = unit.end_ns - flow.bulk_ns, unit.start_ns - flow.bulk_ns
    least = max(max(unit.size, flow.bulk_size), pace.flight) * own
    cut = not flow.has_record or pause < 0 or pause > max(pace.cut * least, np.float64(pace.patience_ns))
    if settings.active_ns and not cut:
        cut = unit.end_ns // settings.active_ns != flow.bulk_ns // settings.active_ns
    if cut:
        if flow.has_record:
            close_burst(t, flow, record)
        open_record(record, unit.exporter, unit.path)
        flow.has_record = 1
    elif gap <= pace.busy * least:
        record.busy += gap
        record.busy_size += unit.size
    record.start_ns, record.end_ns = min(record.start_ns, unit.start_ns), max(record.end_ns, unit.end_ns)
    record.octets += unit.octets
    record.size += unit.size
    record.packets += unit.packets
    record.retransmits += unit.retransmits
    record.ecn += unit.ecn
    record.tcp_flags |= unit.tcp_flags
    record.guess += np.int64(np.rint(unit.size * own))
    flow.bulk_ns, flow.bulk_size = unit.end_ns, unit.size


@part
def close_burst(t: Any, flow: Any, record: Any) -> None:
    """Emit the record of a lane; `busy_ns` is the time of the octets sent back to back, scaled to all of its octets."""
    out = lane_out(t, flow.ends, flow.rest)
    out.start_ns, out.end_ns, out.octets, out.packets = record.start_ns, record.end_ns, record.octets, record.packets
    out.retransmits, out.ecn, out.tcp_flags = record.retransmits, record.ecn, record.tcp_flags
    out.exporter, out.path, out.busy_ns = record.exporter, record.path, record.guess
    if record.busy_size:
        out.busy_ns = np.int64(np.rint(np.float64(record.busy) * np.float64(record.size) / np.float64(record.busy_size)))


@part
def lane_out(t: Any, ends: Any, rest: Any) -> Any:
    """Allocate the next finished record of a lane, without data."""
    out = new_out(t, ends)
    out.dst_port, out.src_port = np.uint16(rest & _SHORT), np.uint16(rest >> _PORTS & _SHORT)
    out.protocol = np.uint8(rest >> (_PORTS + _PORTS) & np.uint64(0xFF))
    return out


@part
def _note(t: Any, flow: Any, own: Any) -> None:
    """Record the pace of a sender."""
    if np.isfinite(own) and own > 0:
        place = np.int64(min(max(np.rint(4 * np.log2(own / LOWEST)), 0.0), BINS - 1.0))
        sender = np.int64(flow.ends >> np.uint64(32))
        if t.pacing[sender] == 0:
            t.counters[PACED] += 1
            t.pacing[sender] = t.counters[PACED]
        t.typical[t.pacing[sender] - 1, place] += 1


@part
def _borrowed(t: Any, flow: Any, own: Any, overall: Any) -> Any:
    """Median pace of the sender's lanes, else of all lanes, else the lane's own, else 0."""
    row = t.pacing[np.int64(flow.ends >> np.uint64(32))] - 1
    found = _quantile(t.typical[row : row + 1] if row >= 0 else overall.reshape(1, -1), 0.5)
    if found >= 0:
        return found
    return own if np.isfinite(own) else 0.0


@part
def _usual(t: Any, own: Any) -> Any:
    """Pace of the quicker lanes of the first `SENDERS`, which do not wait for applications; the lane's own if none is known."""
    found = _quantile(t.typical[: min(t.counters[PACED], SENDERS)], QUICKER)
    return found if found >= 0 else own


@part
def _quantile(paces: Any, share: Any) -> Any:
    """Quantile of histograms of paces; -1 if they are empty."""
    total, along = paces.sum(), 0
    for k in range(BINS):
        along += paces[:, k].sum()
        if total and not along < share * total:
            return LOWEST * 2.0 ** (k / 4)
    return -1.0
