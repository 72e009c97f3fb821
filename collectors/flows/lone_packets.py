"""Remember flows of which one small packet was seen in a third of the memory that other flows take. Compiled.

A scan, or requests of many hosts, opens flows that have no second packet. Such a packet is a record of its own; a row of
`Table.alone` keeps what the second packet needs, and becomes a row of `Table.flows` when that comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.addresses.hash_slots import entry_of
from collectors.columns.record import FIN, RST, SYN, TCP
from collectors.compilation.primitives import compiled, part
from collectors.flows.bursts import lane_out
from collectors.flows.flow_state import ALONE, ALONE_AT, FAR, FLOWS, FREE_ALONE, LANE, LAST_ALONE, renew
from collectors.flows.reordering import first_segment

_MODULUS, _MARKS = 1 << 32, SYN | FIN | RST  # sequence space, RFC 9293 section 3.4


@part
def stays_alone(row: Any, small: Any) -> Any:
    """Check whether the first packet of a flow is one that a row of `Table.alone` can keep: data that is no bulk."""
    return row.opcode < 0 and 0 < row.octets <= small and (row.protocol != TCP or row.tcp_flags & _MARKS == 0)


@part
def keep_alone(t: Any, key: Any, slot: Any, row: Any, exporter: Any, path: Any) -> None:
    """Emit the record of a flow's first packet, and remember the flow; as `segments.take_segment` does."""
    k = t.counters[FREE_ALONE]
    if k < 0:
        k = t.counters[LAST_ALONE]
        t.counters[LAST_ALONE] += 1
    else:
        t.counters[FREE_ALONE] = t.alone[np.uint64(k)].high
    t.counters[ALONE] += 1
    t.slots[slot] = entry_of(key.hash, k + ALONE_AT)
    kept = t.alone[np.uint64(k)]
    kept.ends, kept.rest, kept.last_ns, kept.high, kept.until = key.ends, key.rest, row.time_ns, -1, FAR
    if row.protocol == TCP:
        kept.high = np.int64(row.sequence) + row.octets & _MODULUS - 1
        kept.until = first_segment(row.sequence, row.ip_id)
    out = lane_out(t, key.ends, key.rest)
    out.start_ns = out.end_ns = row.time_ns
    out.tcp_flags, out.ecn, out.exporter, out.path = row.tcp_flags, row.ecn, exporter, path
    out.octets, out.packets, out.messages = row.octets, 1, 1


@part
def resume(t: Any, k: Any, key: Any, slot: Any) -> Any:
    """Give a flow of one packet a row of its own, as its first packet left it; return that row."""
    i, kept = t.counters[FLOWS], t.alone[np.uint64(k)]
    t.counters[FLOWS] += 1
    t.slots[slot] = entry_of(key.hash, i)
    flow = t.flows[np.uint64(i)]
    flow.ends, flow.rest, flow.kind, flow.last_ns = key.ends, key.rest, LANE, kept.last_ns
    renew(flow)
    flow.high, flow.until, flow.was_bulk = kept.high, kept.until, 0
    kept.rest, kept.high, t.counters[FREE_ALONE] = 0, t.counters[FREE_ALONE], k
    t.counters[ALONE] -= 1
    return np.int64(i)


@compiled
def drop_alone(t: Any, before_ns: int) -> None:
    """Remove flows of one packet that were last seen before a time; `slots` must be rebuilt with `settle` afterwards."""
    n = np.uint64(0)
    for k in range(np.uint64(t.counters[LAST_ALONE])):
        if t.alone[k].rest != 0 and t.alone[k].last_ns >= before_ns:
            t.alone[n] = t.alone[k]
            n += np.uint64(1)
    t.counters[LAST_ALONE] = t.counters[ALONE] = np.int64(n)
    t.counters[FREE_ALONE] = -1
