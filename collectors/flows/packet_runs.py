"""Follow runs: packets of one flow that each continue the previous one with equal headers, as most packets do. Compiled.

One comparison recognises such a packet, and it touches one cache line: `Flow.expects` is the sign (`packet_signs`) of the next.
The effect of a run on the record or unit of its flow is entered later, by the next reader of these, or the next other packet. A
run of TCP also keeps the IP identifications of its last eight segments, in the adjacent cache line, because copies of them may
follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.columns.record import FIN, PSH, RST, SYN
from collectors.compilation.primitives import part, short
from collectors.flows.bursts import UNIT
from collectors.flows.flow_state import ACKNOWLEDGED, FAR, KIND_AT
from collectors.flows.reordering import LATELY, note_segment, open_segments
from collectors.packets.packet_signs import (
    NOTHING,
    after_packet,
    after_segment,
    flags_of,
    going_on,
    is_marked,
    octets_of,
    payload_of,
    psn_of,
    sequence_of,
)

_MODULUS, _SEQUENCES = 1 << 24, 1 << 32  # PSN, and TCP sequence, space
_KIND_BITS, _0 = np.uint64(4), np.uint64(0)
_IDENT_AT, _IDENT = 18, 0xFFFF  # offset in an Ethernet frame with IPv4; its bits
_PUSHED = SYN | FIN | RST | PSH


@part
def runs_on(flow: Any, hint: Any, idle_ns: Any) -> Any:
    """Check whether a packet is the next of a run, and take it. Its sign shows the kind of flow."""
    if flow.expects != hint.sign or flow.raw != hint.ends or (flow.rest ^ hint.rest) << _KIND_BITS != _0:
        return False
    if flow.high >= flow.ready or hint.time_ns - flow.last_ns > idle_ns:
        return False
    flow.last_ns = hint.time_ns
    flow.high += 1
    if hint.rest >> KIND_AT:
        flow.expects = after_segment(hint.sign)
        if octets_of(hint.sign) > 0:  # in two numbers: the IP identifications of the last eight segments
            idents = np.int64(flow.unpushed)  # 64 bits also in plain Python: shifts drop higher bits
            flow.until = np.int64(flow.until) << np.int64(16) | idents >> np.int64(48) & _IDENT
            flow.unpushed = idents << np.int64(16) | np.int64(short(hint.at + _IDENT_AT))
    else:
        flow.expects = after_packet(hint.sign)
    return True


@part
def expect_packet(flow: Any, record: Any, sign: Any) -> None:
    """Expect another packet of the same message, if its effect is then clear."""
    newest = record.highest == flow.high and psn_of(sign) == flow.high & _MODULUS - 1 and record.mtu >= payload_of(sign)
    if newest and flow.high < flow.ready and not flow.over and not is_marked(sign):
        flow.expects = after_packet(going_on(sign))


@part
def enter_packets(flow: Any, record: Any) -> None:
    """Enter the packets of a run into the record of their message."""
    if flow.expects == NOTHING:
        return
    packets = flow.high - record.highest
    if packets > 0:
        record.octets += packets * payload_of(flow.expects)
        record.packets += packets
        record.best = record.highest = flow.high
        record.end_ns = flow.last_ns
    flow.expects = NOTHING


@part
def expect_segment(t: Any, i: Any, flow: Any, sign: Any) -> None:
    """Expect another segment of the same unit, or another acknowledgment.

    Until they are entered, `high` is their number, of at most `ready`. For segments, `unpushed` and `until` then store
    identifications.
    """
    octets = octets_of(sign)
    if flags_of(sign) & _PUSHED or is_marked(sign):
        return
    if octets == 0:
        open_segments(t, i)
        flow.until, flow.high, flow.ready, flow.expects = flow.high, 0, FAR, sign
        return
    end = sequence_of(sign) + octets & _SEQUENCES - 1
    if flow.high == end and flow.unpushed == end and flow.unit > 0:
        open_segments(t, i)
        flow.high, flow.ready, flow.expects = 0, (-flow.unit & UNIT - 1) // octets, after_segment(sign)


@part
def enter_segments(t: Any, i: Any, flow: Any) -> None:
    """Enter the segments of a run of lane i into their unit, and store the last ones; or count its acknowledgments."""
    if flow.expects == NOTHING:
        return
    octets, many = octets_of(flow.expects), flow.high
    if octets == 0:
        t.counters[ACKNOWLEDGED] += many
        flow.high, flow.until = flow.until, FAR
    else:
        for k in range(min(many, LATELY) - 1, -1, -1):
            idents, place = (flow.unpushed, k) if k < 4 else (flow.until, k - 4)
            sequence = sequence_of(flow.expects) - (k + 1) * octets & _SEQUENCES - 1
            note_segment(t, i, sequence, idents >> 16 * place & _IDENT)
        unit = t.units[flow.tail]
        flow.until = FAR
        flow.high = flow.unpushed = sequence_of(flow.expects)
        flow.unit += many * octets
        if many:  # else the last packet of the flow was a copy
            flow.seen_ns = flow.last_ns
            unit.end_ns = max(unit.end_ns, flow.last_ns)
        unit.octets += many * octets
        unit.size += many * octets
        unit.packets += many
    flow.ready, flow.expects = -1, NOTHING
