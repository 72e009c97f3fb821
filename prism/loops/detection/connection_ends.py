"""Find the ends of established TCP connections."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import FIN, RST, SYN, Flows
from prism.loops.arrays.group_sums import numbered

Rows = NDArray[np.intp]


def closings(flows: Flows) -> Rows:
    """Find the records that end connections, sorted by start.

    A reset that refuses a connection which was never established ends none: early ranks retry until their peers listen.
    """
    closing = np.flatnonzero((flows.tcp_flags & (FIN | RST)) != 0)
    closing = closing[np.argsort(flows.start_ns[closing], kind="stable")]
    return closing[~_refusals(flows, closing)]


def _refusals(flows: Flows, rows: Rows) -> NDArray[np.bool_]:
    """Mask of records that are resets of an endpoint that never opened the connection, to one that tried to (RFC 9293,
    3.10.7.1).
    """
    opening = np.flatnonzero((flows.tcp_flags & SYN) != 0)
    src, dst, there, back = flows.src, flows.dst, flows.src_port.astype(np.int64), flows.dst_port.astype(np.int64)
    ways = [(src, dst, there, back, opening), (src, dst, there, back, rows), (dst, src, back, there, rows)]
    ends = np.concatenate([a[own].astype(np.int64) << 32 | b[own] for a, b, _, _, own in ways])
    ports = np.concatenate([a[own] << 16 | b[own] for _, _, a, b, own in ways])
    number, first = numbered(ends, ports)
    opened = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(opened, number[: len(opening)], flows.start_ns[opening])
    here, other = (opened[own] <= flows.start_ns[rows] for own in np.split(number[len(opening) :], 2))
    return np.asarray((flows.tcp_flags[rows] & (RST | FIN) == RST) & ~here & other)
