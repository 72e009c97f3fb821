"""Follow frames that only one switch captured directly to flows, without intermediate rows. Compiled.

Same results as `frame_decoder` and `flow_tracking` in sequence. A packet that continues a message needs no row and no code of
an address: the octets of its headers lead to its flow. All others are decoded and followed one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_book import codes_of
from collectors.compilation.primitives import compiled, part, rare
from collectors.flows.flow_state import FLOWS, NEAR, has_near
from collectors.flows.flow_tracking import AHEAD, Scratch, Settings, count_answer, flow_of, follow_one, has_room, take_known
from collectors.flows.frame_classification import (
    ACKNOWLEDGES,
    GOES_ON,
    MANY,
    SEGMENT,
    STARTS,
    UNCOMMON,
    captured_of,
    classify_frames,
    find_flows,
    identity_of,
    length_of,
    near_slot,
    packet_of,
    resolve,
    syndrome,
)
from collectors.flows.packet_runs import expect_packet, expect_segment, runs_on
from collectors.flows.rdma_messages import continue_message
from collectors.packets.common_frames import common
from collectors.packets.compiled_decoder.frame_decoder import unpack_one
from collectors.packets.packet_kinds import MEANING
from collectors.packets.packet_signs import UNKNOWN
from collectors.packets.protocols import KEPT
from collectors.packets.truncation import keep, slot_of

_AHEAD, _0, _32, _LOWER = np.uint64(AHEAD), np.uint64(0), np.uint64(32), np.uint64(0xFFFFFFFF)
TAKEN, SKIPPED, LATE = range(3)  # results of a frame


class Means(NamedTuple):
    """Data needed to follow frames: tables of an address book, memory for a row, counted verdicts, truncated frames
    (`truncation.array`), exporter and path.
    """

    keys: NDArray[np.uint64]
    slots: NDArray[np.uint64]
    pairs: NDArray[np.uint64]
    rows: NDArray[Any]
    places: NDArray[Any]
    counts: NDArray[np.int64]
    seen: NDArray[np.int64]
    exporter: int
    path: int
    settings: Settings
    scratch: Scratch
    seed: Any


@compiled
def follow_frames(t: Any, data: int, frames: Any, begin: int, means: Any, known: int, clock: int) -> Any:
    """Follow frames from `begin` on, until one is older than the previous one, or there is no more room.

    Returns the frame reached; the number of packets followed; whether time goes back there; the number of known addresses; the
    time of the last packet. `data`, `frames`: see `unpack_frames`. `known`, `clock`: values before the first frame.
    """
    many: Any = np.uint64(len(frames[0]))
    start: Any = np.uint64(begin)
    followed: Any = np.int64(0)
    whole = True
    while start < many and whole and room_for(t, means, known):
        stop = min(many, start + _AHEAD)
        classify_frames(data, frames, start, stop, means.scratch.hints, t.near, means.seen)
        upto, taken, known, clock = follow_some(t, means.scratch.hints, stop - start, means, known, clock)
        whole = upto == stop - start
        followed += taken
        start += upto
    return np.int64(start), followed, not whole, known, clock


@part
def room_for(t: Any, means: Any, known: Any) -> Any:
    """Check whether the next `AHEAD` frames can be followed, whatever they are."""
    return has_room(t) and has_near(t) and known + 2 * AHEAD <= len(t.pacing) and known + 2 * AHEAD < len(means.keys)


@part
def follow_some(t: Any, hints: Any, n: Any, means: Any, known: Any, clock: Any) -> Any:
    """Follow the frames of the first hints; return the end, the number of packets, and the number of known addresses.

    Inlined: a call would pass a hundred numbers, all fields of all arrays, which costs as much as a frame or two.
    """
    book, upto = (means.keys, means.slots, means.pairs), _0
    if find_flows(t, hints, n, book) >= MANY:
        upto, known = resolve(t, hints, n, book, known, means.scratch.keys, means.seed)
    skipped, idle_ns, seen = np.int64(0), means.settings.idle_ns, means.seen
    for k in range(n):
        hint = hints[k]
        if hint.flow >= 0 and hint.time_ns >= clock and runs_on(t.flows[np.uint64(hint.flow)], hint, idle_ns):
            clock = hint.time_ns
            _note(hint, seen)
            continue
        if k < upto and hint.flow < 0 and hint.time_ns >= clock:
            clock = hint.time_ns
            _note(hint, seen)
            _take_resolved(t, hint, means.scratch.keys[k], means)
            continue
        done, known = _take(t, hint, clock, means, known)
        if done == LATE:
            return k, np.int64(k) - skipped, known, clock
        if done == TAKEN:
            clock = hint.time_ns
            _note(hint, seen)
        else:
            skipped += 1
    return n, np.int64(n) - skipped, known, clock


@part
def _note(hint: Any, seen: Any) -> None:
    """Record the length of a classified frame."""
    if length_of(hint) > seen[0] and hint.sign != UNKNOWN:
        keep(seen, packet_of(hint), length_of(hint))


@part
def _take(t: Any, hint: Any, clock: Any, means: Any, known: Any) -> Any:
    """Follow one frame; return the result, and the number of known addresses."""
    what, rest = identity_of(hint)
    if what != UNCOMMON:
        if hint.time_ns < clock:
            return LATE, known
        if what == ACKNOWLEDGES:
            _, known = codes_of(hint.ends, means.pairs, means.keys, means.slots, known)
            count_answer(t, syndrome(hint))
            return TAKEN, known
        if hint.flow >= 0:
            flow = t.flows[np.uint64(hint.flow)]
            if flow.raw == hint.ends and flow.rest == rest:
                if what != GOES_ON or not continue_message(t, hint.flow, hint, means.settings.idle_ns, means.seed):
                    _take_known(t, hint, what, means)
                return TAKEN, known
    return _take_any(t, hint, what, clock, means, known)


@rare
def _take_known(t: Any, hint: Any, what: Any, means: Any) -> None:
    """Follow a packet of a known flow; it may begin a run."""
    row, how = means.rows[_0], means.settings
    common(hint.at, hint.at + captured_of(hint), row)
    row.time_ns, row.kind = hint.time_ns, 0 if row.opcode < 0 else MEANING[row.opcode]
    take_known(t, hint.flow, row, means.exporter, means.path, how, means.scratch, means.seed)
    flow, record = t.flows[np.uint64(hint.flow)], t.records[np.uint64(hint.flow)]
    if what == SEGMENT:
        expect_segment(t, hint.flow, flow, hint.sign)
    elif what == STARTS:
        expect_packet(flow, record, hint.sign)


@part
def _take_resolved(t: Any, hint: Any, key: Any, means: Any) -> None:
    """Follow a packet with a known identity."""
    if identity_of(hint)[0] == ACKNOWLEDGES:
        count_answer(t, syndrome(hint))
    else:
        _take_new(t, hint, key, means)


@rare
def _take_new(t: Any, hint: Any, key: Any, means: Any) -> None:
    """Follow a packet of a flow that is usually new."""
    row, how = means.rows[_0], means.settings
    common(hint.at, hint.at + captured_of(hint), row)
    row.time_ns, row.kind = hint.time_ns, 0 if row.opcode < 0 else MEANING[row.opcode]
    row.src, row.dst = np.int32(key.ends >> _32), np.int32(key.ends & _LOWER)
    i, again = flow_of(t, key, row, means.exporter, means.path, how)
    if again:
        _remember_headers(t, hint, i)
    if i >= 0:
        take_known(t, i, row, means.exporter, means.path, how, means.scratch, means.seed)


@rare
def _take_any(t: Any, hint: Any, what: Any, clock: Any, means: Any, known: Any) -> Any:
    """Follow any frame; the octets of its headers will lead to its flow if its kind allows that."""
    row, begin = means.rows[_0], hint.at
    book = means.keys, means.slots, known, means.pairs
    end, wire_end = begin + captured_of(hint), begin + length_of(hint)
    slot = slot_of(length_of(hint))
    longest, cut = means.seen[0], means.seen[slot]
    verdict, known = unpack_one(begin, end, wire_end, hint.link_type, row, means.places[_0], book, means.seen)
    if verdict != KEPT:
        means.counts[verdict] += 1
        return SKIPPED, known
    if hint.time_ns < clock:  # the caller passes it again
        means.seen[0], means.seen[slot] = longest, cut
        return LATE, known
    row.time_ns = hint.time_ns
    flows = t.counters[FLOWS]
    i = follow_one(t, row, means.scratch.keys[_0], means.exporter, means.path, means.settings, means.scratch, means.seed)
    if what != UNCOMMON and 0 <= i < flows:
        _remember_headers(t, hint, i)
    return TAKEN, known


@part
def _remember_headers(t: Any, hint: Any, i: Any) -> None:
    """Let the octets of a packet's headers lead to its flow, from its second packet on."""
    slot = near_slot(hint, t.near)
    t.counters[NEAR] += t.near[slot] == 0
    t.near[slot] = i + 1
    t.flows[np.uint64(i)].raw = hint.ends
