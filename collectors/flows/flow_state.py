"""Declare the state of live flows: arrays of rows that compiled code reads and writes, and how they grow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.hash_slots import (
    VACANT,
    empty_slots,
    entry_of,
    first_slot,
    is_tagged,
    next_slot,
    row_of,
    slots_for,
)
from collectors.columns.record import COLUMNS
from collectors.compilation.primitives import compiled, hashed, part, prefetch
from collectors.memory.pages import large, lengthened
from collectors.packets.packet_signs import NOTHING

Array = NDArray[Any]

MESSAGES = 8  # RDMA messages of a flow held after the next began, because packets are overtaken; a power of two
BLOCK = 16  # units of a lane whose pace is judged together, see `bursts.Pace`
WORDS = 32  # numbers per flow that store overtaken packets, see `reordering`; a power of two
BINS = 128  # of the histograms of paces
LEAST_OUT = 1 << 16  # records there is room for: enough for memory to come in large pages, see `_row_aggregation`
LEAST_FLOWS = 1 << 12  # least number of flows to allocate
LEAST_NEAR = 1 << 13  # least number of places of `Table.near`: the processor's innermost cache
FAR = np.iinfo(np.int64).max
LANE, REQUESTS, ANSWERS, NOTICES, ORPHAN, CONTEXT = range(1, 7)  # kinds of flows; 0: a packet of none
KIND_AT = np.uint64(60)  # of the bits of `rest`
OTHER_RDMA = np.uint64(1 << 56)  # the bit of Ultra Ethernet in `rest`

_LONG, _INT, _OCTET = np.int64, np.int32, np.uint8
FLOW = np.dtype(
    [
        *((name, np.uint64) for name in ("ends", "rest")),  # who talks to whom: the codes; the rest of the identity
        ("raw", np.uint64),  # the addresses themselves where they are IPv4 and `Table.near` leads here
        *((name, _LONG) for name in ("last_ns", "high", "ready")),  # highest number sent; up to which it may go on as it did
        ("expects", np.uint64),  # the sign of the packet that comes next if all goes on as it did, see `packet_runs`
        *(
            (name, _OCTET) for name in ("newest", "used", "anchor", "ended", "over")
        ),  # of messages; the first two see `reordering`
        *((name, _OCTET) for name in ("was_bulk", "has_record", "has_history")),  # up to here one line of the cache
        *((name, _INT) for name in ("kind", "head", "tail", "count")),  # the last three: of its units
        *((name, _LONG) for name in ("unpushed", "unit", "seen_ns", "bulk_ns", "bulk_size")),
        ("until", _LONG),  # last PSN of the message; of notices, their time bin; of lanes, what `high` was before a run
    ],
    align=True,
)
FIRST = np.dtype([*((name, FLOW[name]) for name in ("ends", "rest", "last_ns", "high", "until"))], align=True)
RECORD = np.dtype(
    [
        *((name, _LONG) for name in ("start_ns", "end_ns", "octets", "lowest", "highest", "until", "best")),
        ("packets", _INT),
        ("mtu", np.uint32),  # up to here one line of the cache: most packets touch no more
        *((name, _LONG) for name in ("dma", "busy", "busy_size", "size", "guess")),
        *((name, _INT) for name in ("retransmits", "ecn", "cnp", "exporter", "path")),
        *((name, _OCTET) for name in ("ends", "followed", "tcp_flags")),
    ],
    align=True,
)
UNIT = np.dtype(
    [
        *((name, _LONG) for name in ("start_ns", "end_ns", "octets", "size")),
        *((name, _INT) for name in ("packets", "retransmits", "ecn", "exporter", "path", "next")),
        *((name, _OCTET) for name in ("tcp_flags", "spoken")),
    ],
    align=True,
)
_KEPT = [(c.name, c.dtype) for c in COLUMNS if c.name != "sampling_rate"]
OUT = np.dtype([*_KEPT[:8], _KEPT[-1], *_KEPT[8:-1]], align=True)  # the last fits into a gap behind the queue pair
# flows; first free unit, units used; records that are done; packets counted, most of which are not kept (CUT: trimmed ones);
# rows of `typical`; places of `near` in use; flows of `alone`, rows up to the last of them, first free one of these
FLOWS, FREE, UNITS, RECORDS, *_ = COUNTERS = tuple(range(18))
ACKNOWLEDGED, REFUSED, NOT_READY, EMPTY, REPEATS, COPIES, PROBES, CONTROLS, CUT, PACED, NEAR = COUNTERS[4:15]
ALONE, LAST_ALONE, FREE_ALONE = COUNTERS[15:]
ALONE_AT = 1 << 31  # numbers of rows of `alone` in `slots` begin here


class Table(NamedTuple):
    """Arrays of the flow state: one row per flow, its current record, its earlier messages (`held`, `MESSAGES` per flow), one
    row per waiting unit, and the finished records.

    `alone`: flows of one small packet, see `lone_packets`; of a free row, `rest` is 0 and `high` the next free one.
    `history`: paces and weights of the previous block, [flows, 2, BLOCK]. `holes`: overtaken packets, see `reordering`, [flows,
    WORDS]. `typical`: histograms of paces by sender. `pacing`: row of an address there plus one; 0 without one. `slots`: hash
    table of flows, see `hash_slots`. `near`: the flow that octets of headers lead to, plus one, or 0. Flows of one packet are
    not entered there, so that it stays small, and in the processor's cache, where there are many of them.
    """

    flows: Array
    alone: Array
    slots: Array
    near: Array
    records: Array
    held: Array
    units: Array
    history: Array
    holes: Array
    pacing: Array
    typical: Array
    out: Array
    counters: Array


def empty_table() -> Table:
    """Return a table without room."""
    counters = np.zeros(len(COUNTERS), np.int64)
    counters[FREE] = counters[FREE_ALONE] = -1
    return Table(
        flows=np.zeros(0, FLOW),
        alone=np.zeros(0, FIRST),
        slots=empty_slots(),
        near=np.zeros(LEAST_NEAR, np.int32),
        records=np.zeros(0, RECORD),
        held=np.zeros(0, RECORD),
        units=np.zeros(0, UNIT),
        history=np.zeros((0, 2, BLOCK)),
        holes=np.zeros((0, WORDS), np.uint32),
        pacing=np.zeros(0, np.int32),
        typical=np.zeros((0, BINS), np.int64),
        out=np.zeros(0, OUT),
        counters=counters,
    )


def with_room(t: Table, flows: int, units: int, out: int, addresses: int) -> Table:
    """Return the table with room for so many more flows, units and records, and for the paces of so many senders.

    The given table becomes invalid: the two share memory.
    """
    known, paced = int(t.counters[UNITS]), int(t.counters[PACED])
    alone, flows = flows + int(t.counters[LAST_ALONE]), flows + int(t.counters[FLOWS])
    if flows > len(t.flows):
        t = _with_flows(t, max(LEAST_FLOWS, flows + flows // 2))
    if alone > len(t.alone):
        t = t._replace(alone=lengthened(t.alone, max(LEAST_FLOWS, alone + alone // 2)))
    if 2 * (flows + alone) > len(t.slots):
        t = t._replace(slots=slots_for(t.slots, max(LEAST_FLOWS, flows + alone)))
    if 2 * t.counters[NEAR] > len(t.near):  # see `has_near`
        t = t._replace(near=large(4 * len(t.near), t.near.dtype))
        t.counters[NEAR] = 0
    if units + known > len(t.units):
        before, after = len(t.units), max(1024, 2 * (units + known))
        t = t._replace(units=lengthened(t.units, after))
        t.units["next"][before:-1] = np.arange(before + 1, after)
        t.units["next"][-1], t.counters[FREE] = t.counters[FREE], before
    if units + paced > len(t.typical):  # a unit may be the first of its sender with a recorded pace
        t = t._replace(typical=lengthened(t.typical, 2 * (units + paced)))
    if out > len(t.out):
        t = t._replace(out=large(max(LEAST_OUT, out + out // 2), OUT))
    if addresses > len(t.pacing):
        t = t._replace(pacing=lengthened(t.pacing, max(LEAST_FLOWS, addresses + addresses // 2)))
    return t


def _with_flows(t: Table, size: int) -> Table:
    """Return the table with room for so many flows."""
    longer = {name: lengthened(getattr(t, name), size) for name in ("flows", "records", "history", "holes")}
    return t._replace(held=lengthened(t.held, MESSAGES * size), **longer)


def without_flows(t: Table) -> Table:
    """Return the table without any entry in slots, for example after flows were removed; `settle` enters the others."""
    t.slots.fill(0)
    t.near.fill(0)
    t.counters[NEAR] = 0
    return t


def paces(t: Table) -> NDArray[np.int64]:
    """Return the histogram of all senders' paces."""
    found: NDArray[np.int64] = t.typical[: t.counters[PACED]].sum(axis=0)
    return found


@compiled
def settle(t: Any, seed: Any) -> None:
    """Enter all flows that can continue into empty slots."""
    for i in range(t.counters[FLOWS]):
        flow = t.flows[i]
        if flow.kind != ORPHAN:
            _enter(t, hashed(flow.ends, flow.rest, seed), i)
    for k in range(t.counters[LAST_ALONE]):
        if t.alone[k].rest != 0:
            _enter(t, hashed(t.alone[k].ends, t.alone[k].rest, seed), k + ALONE_AT)


@part
def _enter(t: Any, key: Any, row: Any) -> None:
    """Enter a row into the first vacant slot of a hash."""
    slot = first_slot(t.slots, key)
    while t.slots[slot] != VACANT:
        slot = next_slot(t.slots, slot, key)
    t.slots[slot] = entry_of(key, row)


@part
def has_near(t: Any) -> Any:
    """Check whether half of the places of `near` are free, so that few flows share one."""
    return 2 * t.counters[NEAR] <= len(t.near)


@part
def find(t: Any, ends: Any, rest: Any, key: Any) -> Any:
    """Find the flow of an identity by its hash; return the flow and its slot, or the slot to use.

    -1: none; from -2 down: a row of `Table.alone`.
    """
    slot = first_slot(t.slots, key)
    while True:
        entry = t.slots[slot]
        if entry == VACANT:
            return np.int64(-1), slot
        if is_tagged(entry, key):
            i = row_of(entry)
            if i >= ALONE_AT:
                kept = t.alone[np.uint64(i - ALONE_AT)]
                if kept.rest == rest and kept.ends == ends:
                    return -2 - (i - ALONE_AT), slot
            else:
                flow = t.flows[np.uint64(i)]
                if flow.rest == rest and flow.ends == ends:
                    return i, slot
        slot = next_slot(t.slots, slot, key)


@part
def fetch_flow(t: Any, key: Any) -> None:
    """Prefetch the slot of a hash."""
    prefetch(t.slots, np.int64(first_slot(t.slots, key)))


@part
def likely_flow(t: Any, key: Any) -> Any:
    """Return the flow that most probably has a hash; -1 if the first slot shows none with a row of its own."""
    entry = t.slots[first_slot(t.slots, key)]
    return row_of(entry) if entry != VACANT and is_tagged(entry, key) and row_of(entry) < ALONE_AT else np.int64(-1)


@part
def renew(flow: Any) -> None:
    """Reset a flow to its initial state."""
    flow.high = flow.unpushed = flow.ready = -1
    flow.until, flow.expects = FAR, NOTHING
    flow.ended = flow.was_bulk = 1
    flow.over = flow.has_record = flow.has_history = flow.newest = flow.used = flow.anchor = 0
    flow.head = flow.tail = -1
    flow.count = 0
    flow.unit = flow.seen_ns = flow.bulk_size = 0
    flow.bulk_ns = -1 if flow.kind in (REQUESTS, ANSWERS) else 0


@part
def open_record(record: Any, exporter: Any, path: Any) -> None:
    """Begin an empty record."""
    record.start_ns, record.end_ns = FAR, -FAR
    record.lowest, record.highest = FAR, -FAR
    record.until, record.best, record.dma = FAR, 0, -1
    record.octets = record.packets = record.retransmits = record.ecn = record.cnp = record.mtu = 0
    record.ends = record.followed = record.tcp_flags = 0
    record.busy = record.busy_size = record.size = record.guess = 0
    record.exporter, record.path = exporter, path


@part
def new_out(t: Any, ends: Any) -> Any:
    """Allocate the next finished record between two addresses, without data."""
    out = t.out[t.counters[RECORDS]]
    t.counters[RECORDS] += 1
    out.src, out.dst = np.int32(ends >> np.uint64(32)), np.int32(ends & np.uint64(0xFFFFFFFF))
    out.src_port = out.dst_port = out.tcp_flags = out.protocol = 0
    out.dst_qp = out.job_id = out.octets = out.packets = out.messages = out.retransmits = out.ecn = out.cnp = out.busy_ns = 0
    return out


@part
def copy_history(t: Any, here: Any, there: Any) -> None:
    """Copy the paces of one flow to another, and its memory of packets."""
    flow = t.flows[here]
    if flow.kind != LANE or flow.anchor:
        for k in range(WORDS):
            t.holes[there, k] = t.holes[here, k]
    if flow.has_history:
        for k in range(BLOCK):
            t.history[there, 0, k], t.history[there, 1, k] = t.history[here, 0, k], t.history[here, 1, k]
