"""Walk sFlow version 5 datagrams, compiled (sflow_version_5.txt, sflow_transit.txt, sflow_drops.txt).

Nothing here reads outside of the given bounds, and each octet is read a bounded number of times.
"""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from collectors.exports.records.message_loops import Octets, long, number

# Rows of datagram heads. An IPv4 agent is mapped into IPv6, as two halves.
AGENT_HIGH, AGENT_LOW, SUB_AGENT, SEQUENCE, FAULT, CUT, HEADS = range(7)
FAULTS = ("", "truncated header", "unknown version", "bad agent address", "cut off", "bad sample")
SOUND, SHORT, VERSION, AGENT, CUT_OFF, SAMPLE = range(6)

# Rows of samples; -1 for missing values.
_SAMPLE = ("KIND", "DATAGRAM", "RATE", "IN", "OUT", "HEADER_AT", "HEADER", "FRAME", "LINK", "IP_AT", "IP_VERSION")
_MORE = ("QUEUE", "DELAY", "DEPTH", "TIME", "SUPPRESSED", "REASON", "COUNTERS_AT", "BAD")
COLUMNS = len(_SAMPLE) + len(_MORE)
KIND, DATAGRAM, RATE, IN, OUT, HEADER_AT, HEADER, FRAME, LINK, IP_AT, IP_VERSION = range(len(_SAMPLE))
QUEUE, DELAY, DEPTH, TIME, SUPPRESSED, REASON, COUNTERS_AT, BAD = range(len(_SAMPLE), COLUMNS)
FLOW, COUNTER, EXPANDED_FLOW, EXPANDED_COUNTER, DROP = range(1, 6)  # formats of samples
OTHER = 0
_HEADS = (0, 32, 12, 44, 16, 32)  # octets before the records of each
INTERNAL = 0x3FFFFFFF  # an interface of the switch itself

_RAW_HEADER, _IPV4, _IPV6, _EGRESS_QUEUE, _TRANSIT, _QUEUE_DEPTH, _TIMESTAMP = 1, 3, 4, 1036, 1039, 1040, 1043
_GENERIC_COUNTERS, COUNTERS_OCTETS = 1, 88


@compiled
def unpack_datagrams(data: Octets, offset: Ints, length: Ints, heads: Ints, samples: Ints) -> int:
    """Fill the heads [HEADS, datagrams], zeroed, and samples [COLUMNS, room], all -1; return the number of samples.

    Returns -1 if there is no room. There are at most an eighth of the octets as many samples.
    """
    many, room = 0, samples.shape[1]
    for i in range(len(offset)):
        at, end = offset[i], offset[i] + length[i]
        if end - at < 8:
            heads[FAULT, i] = SHORT
            continue
        if long(data, at) != 5:
            heads[FAULT, i] = VERSION
            continue
        kind = long(data, at + 4)
        if kind != 1 and kind != 2:
            heads[FAULT, i] = AGENT
            continue
        size = 4 if kind == 1 else 16
        if end - at < 24 + size:
            heads[FAULT, i] = SHORT
            continue
        if kind == 1:
            heads[AGENT_LOW, i] = (0xFFFF << 32) | long(data, at + 8)
        else:
            heads[AGENT_HIGH, i] = np.int64(number(data, at + 8, 8))
            heads[AGENT_LOW, i] = np.int64(number(data, at + 16, 8))
        at += 8 + size
        heads[SUB_AGENT, i], heads[SEQUENCE, i] = long(data, at), long(data, at + 4)
        count = long(data, at + 12)
        at += 16
        for _ in range(count):
            if end - at < 8 or long(data, at + 4) > end - at - 8:
                heads[FAULT, i] = CUT_OFF
                heads[CUT, i] = 1
                break
            if many == room:
                return -1
            samples[DATAGRAM, many] = i
            sample(data, long(data, at), at + 8, at + 8 + long(data, at + 4), samples, many)
            if samples[BAD, many] > 0:
                heads[FAULT, i] = SAMPLE
            many += 1
            at += 8 + long(data, at + 4)
    return many


@compiled
def sample(data: Octets, kind: int, at: int, end: int, samples: Ints, row: int) -> None:
    """Read one sample: its head, then its records."""
    samples[KIND, row] = OTHER
    if not FLOW <= kind <= DROP:
        return
    if end - at < _HEADS[kind]:
        samples[BAD, row] = 1
        return
    samples[KIND, row] = kind
    read_sample_head(data, kind, at, samples, row)
    at += _HEADS[kind]
    for _ in range(long(data, at - 4)):
        if end - at < 8 or long(data, at + 4) > end - at - 8:
            samples[BAD, row] = 1
            return
        size = long(data, at + 4)
        if kind in (COUNTER, EXPANDED_COUNTER):
            if long(data, at) == _GENERIC_COUNTERS and size >= COUNTERS_OCTETS:
                samples[COUNTERS_AT, row] = at + 8
        elif not packet(data, long(data, at), at + 8, size, samples, row):
            samples[BAD, row] = 1
        at += 8 + size


@compiled
def read_sample_head(data: Octets, kind: int, at: int, samples: Ints, row: int) -> None:
    """Read the head of a sample: sampling rate, interfaces, drop reason."""
    if kind == FLOW:
        samples[RATE, row] = long(data, at + 8)
        samples[IN, row], samples[OUT, row] = interface(data, at + 20), interface(data, at + 24)
    elif kind == EXPANDED_FLOW:
        samples[RATE, row] = long(data, at + 12)
        if long(data, at + 24) == 0:
            samples[IN, row] = interface(data, at + 28)
        if long(data, at + 32) == 0:
            samples[OUT, row] = interface(data, at + 36)
    elif kind == DROP:
        samples[SUPPRESSED, row], samples[REASON, row] = long(data, at + 12), long(data, at + 24)
        samples[IN, row], samples[OUT, row] = interface(data, at + 16), interface(data, at + 20)


@compiled
def interface(data: Octets, at: int) -> int:
    """Read an ifIndex; -1 for none: 0, the switch itself, or, by the upper two bits, discarded, or several."""
    number = long(data, at)
    return number if 0 < number < INTERNAL else -1


@compiled
def packet(data: Octets, kind: int, at: int, size: int, samples: Ints, row: int) -> bool:
    """Read one record of a flow sample; return whether it is long enough for its type."""
    if kind == _RAW_HEADER:
        if size < 16 or long(data, at + 12) > size - 16:
            return False
        samples[LINK, row], samples[HEADER_AT, row], samples[HEADER, row] = long(data, at), at + 16, long(data, at + 12)
        samples[FRAME, row] = max(long(data, at + 4) - long(data, at + 8), samples[HEADER, row])
    elif kind in (_IPV4, _IPV6):
        if size < (32 if kind == _IPV4 else 56):
            return False
        samples[IP_AT, row], samples[IP_VERSION, row] = at, 4 if kind == _IPV4 else 6
    elif kind in (_EGRESS_QUEUE, _TRANSIT, _QUEUE_DEPTH):
        if size < 4:
            return False
        samples[QUEUE if kind == _EGRESS_QUEUE else DELAY if kind == _TRANSIT else DEPTH, row] = long(data, at)
    elif kind == _TIMESTAMP:
        if size < 8:
            return False
        samples[TIME, row] = np.int64(number(data, at, 8))
    return True
