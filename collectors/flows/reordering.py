"""Distinguish reordered packets from retransmitted ones and from copies that a mirror made. Compiled.

A gap that is later filled by a packet that was not seen before is reordering, for example by adaptive routing, packet spraying,
or merged captures. A packet that was seen before was retransmitted, unless it is a copy: a mirror port that captures a packet
at entry and exit yields it twice, with one IP identification; a retransmission has another. IPv6 has no identification, and
some senders do not increment it: then copies and retransmissions look the same.

Each flow has `flow_state.WORDS` numbers of 32 bits for this (`Table.holes`). For RDMA, a bit per PSN of a window: it was not
seen. For TCP, the ranges of missing sequence numbers, then the last segments, then the places where a copy would continue. A
TCP flow of one segment needs none of them: its first segment is in `Flow.until`, and the numbers are in use once `Flow.anchor`
is set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.compilation.primitives import part, rare
from collectors.flows.flow_state import COPIES, FAR, WORDS

WINDOW = 32 * WORDS  # PSNs, 4 MB of 4096-octet packets: largest difference between paths of a fabric
SEEN, UNSEEN, UNKNOWN = range(3)
CONSTANT = -2  # instead of the last copy: the sender does not increment identifications
AHEAD = 8  # packets that copies may skip
MODULUS, HALF = 1 << 32, 1 << 31
GAPS, LATELY = 8, 7  # ranges and segments that are stored
_SEGMENTS, _NEXT, _EXPECTED = 2 * GAPS, 2 * (GAPS + LATELY), 2 * (GAPS + LATELY) + 1
_SEQUENCE_AT, _IDENT = 20, (1 << 20) - 1  # of a first segment: its sequence number, above the 20 bits of IPv6's label
_ALL = (1 << 32) - 1
_WORD = WORDS - 1


@part
def sight_packet(t: Any, i: Any, before: Any, psn: Any) -> Any:
    """Check whether a PSN of flow i was seen before, and record it; `before`: the highest one so far. `unpushed`: end of the
    bits.

    Packets in order need no record: all between `unpushed` and `before` were seen.
    """
    flow = t.flows[np.uint64(i)]
    if flow.high < 0:
        _fill(t, i, psn - WINDOW, psn - 1, _ALL)
        _fill(t, i, psn, psn, 0)
        flow.unpushed = psn
        return UNSEEN
    if psn == before + 1:
        return UNSEEN
    if psn > before:
        _fill(t, i, flow.unpushed + 1, before, 0)
        _fill(t, i, before + 1, psn - 1, _ALL)
        _fill(t, i, psn, psn, 0)
        flow.unpushed = psn
        return UNSEEN
    if psn > flow.unpushed:
        return SEEN
    if psn <= flow.unpushed - WINDOW:
        return UNKNOWN
    if np.int64(t.holes[np.uint64(i), psn >> 5 & _WORD]) >> (psn & 31) & 1 == 0:
        return SEEN
    _fill(t, i, psn, psn, 0)
    return UNSEEN


@part
def _fill(t: Any, i: Any, low: Any, high: Any, bits: Any) -> None:
    """Set the bits of PSNs from a low one to a high one, a window at most."""
    low = max(low, high - WINDOW + 1)
    while low <= high:
        k, first = low >> 5 & _WORD, low & 31
        many = min(32 - first, high - low + 1)
        mask = (1 << many) - 1 << first
        t.holes[np.uint64(i), k] = np.uint32(np.int64(t.holes[np.uint64(i), k]) & (_ALL ^ mask) | bits & mask)
        low += many


@part
def is_copied_packet(t: Any, i: Any, record: Any, psn: Any, begins: Any, ident: Any) -> Any:
    """Check whether a packet seen before is a copy; copies arrive in order. `record`: of its message.

    `size` of a record is the identification of its first packet, `bulk_ns` of a flow the PSN of its last copy.
    """
    flow = t.flows[np.uint64(i)]
    copied = flow.bulk_ns
    if copied == CONSTANT:
        return False
    if begins and psn == record.lowest:
        same = record.size == ident and 0 < ident <= 0xFFFF
    else:
        same = copied >= 0 and 0 < psn - copied <= AHEAD
    if same:
        flow.bulk_ns = psn
        t.counters[COPIES] += 1
    return same


@part
def renew_segments(flow: Any) -> None:
    """Reset a lane: a new space of sequence numbers begins."""
    flow.newest = flow.used = flow.anchor = 0
    flow.until = FAR


@rare
def open_segments(t: Any, i: Any) -> None:
    """Begin to use the numbers of lane i, with its first segment if there is one."""
    flow = t.flows[i]
    if flow.anchor:
        return
    for k in range(WORDS):
        t.holes[i, k] = 0
    if flow.until != FAR:
        t.holes[i, _SEGMENTS], t.holes[i, _SEGMENTS + 1] = flow.until >> _SEQUENCE_AT, flow.until & _IDENT
        flow.used = 1
    flow.anchor, flow.until = 1, FAR


@rare
def skip_octets(t: Any, i: Any, begin: Any, end: Any) -> None:
    """Record missing sequence numbers of lane i; the oldest range makes room. `newest`: 0 if there is none."""
    flow = t.flows[i]
    open_segments(t, i)
    at: Any = max(np.int64(flow.newest) - 1, np.int64(0))
    for _ in range(GAPS):
        if t.holes[i, 2 * at] == t.holes[i, 2 * at + 1]:
            break
        at = (at + 1) % GAPS
    t.holes[i, 2 * at], t.holes[i, 2 * at + 1] = begin, end
    flow.newest = 1 + (at + 1) % GAPS


@rare
def fill_octets(t: Any, i: Any, begin: Any, octets: Any) -> Any:
    """Count the octets of a segment that were missing although later ones were seen, and mark them as seen."""
    found = np.int64(0)
    for k in range(GAPS):
        first, last = np.int64(t.holes[i, 2 * k]), np.int64(t.holes[i, 2 * k + 1])
        low, high = _distance(first, begin), _distance(last, begin)
        if first == last or low >= octets or high <= 0:
            continue
        found += min(high, octets) - max(low, 0)
        t.holes[i, 2 * k], t.holes[i, 2 * k + 1] = first, begin if low < 0 else first
        if high > octets:
            rest = begin + octets & MODULUS - 1
            if low < 0:
                skip_octets(t, i, rest, last)
            else:
                t.holes[i, 2 * k], t.holes[i, 2 * k + 1] = rest, last
    return found


@part
def _distance(number: Any, begin: Any) -> Any:
    """Distance of a sequence number beyond another."""
    return (number - begin + HALF & MODULUS - 1) - HALF


@part
def first_segment(sequence: Any, ident: Any) -> Any:
    """Return what `Flow.until` stores of the first segment of a lane."""
    return np.int64(sequence) << _SEQUENCE_AT | np.int64(ident)


@rare
def note_segment(t: Any, i: Any, sequence: Any, ident: Any) -> None:
    """Store a segment of lane i, so that a copy of it is recognised."""
    flow = t.flows[i]
    if not flow.anchor and flow.until == FAR:
        flow.until = first_segment(sequence, ident)
        return
    open_segments(t, i)
    at = _SEGMENTS + 2 * np.int64(flow.used)
    t.holes[i, at], t.holes[i, at + 1] = sequence, ident
    flow.used = (np.int64(flow.used) + 1) % LATELY


@rare
def is_copied_segment(t: Any, i: Any, sequence: Any, octets: Any, ident: Any) -> Any:
    """Check whether a segment seen before is a copy; copies arrive in order."""
    open_segments(t, i)
    same = t.holes[i, _NEXT] != 0 and t.holes[i, _EXPECTED] == sequence
    counted = 0 < ident <= 0xFFFF
    for k in range(_SEGMENTS, _NEXT, 2):
        if t.holes[i, k + 1] == ident:
            same |= t.holes[i, k] == sequence
            counted &= t.holes[i, k] == sequence
        elif t.holes[i, k + 1] > 0:
            counted &= t.holes[i, k] != sequence
    if not (same and counted):
        return False
    t.holes[i, _NEXT], t.holes[i, _EXPECTED] = 1, sequence + octets & MODULUS - 1
    t.counters[COPIES] += 1
    return True
