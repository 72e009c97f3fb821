"""Number the connections of a job, and find the times from which all are new: the job was started again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.loops import constants as c
from prism.loops.arrays.group_sums import numbered
from prism.loops.arrays.intervals import Ints, union
from prism.loops.arrays.pair_volumes import summed

Rows = NDArray[np.intp]


class Connections(NamedTuple):
    """Connection (one direction) of each of some `rows`, numbered in order of appearance, and first row of each (`at`)."""

    rows: Rows
    number: NDArray[np.int32]
    at: Rows


def connections(flows: Flows, rows: Rows) -> Connections:
    """Number the connections of the given rows. If all have queue pairs, the source port is ignored: in RoCEv2 it is
    entropy.
    """
    src, dst, port, queue = (side.take(rows) for side in (flows.src, flows.dst, flows.dst_port, flows.dst_qp))
    line = queue.astype(np.int64) << 32 | port.astype(np.int64) << 16
    if not queue.all():
        line |= flows.src_port.take(rows)
    return Connections(rows, *numbered(src.astype(np.int64) << 32 | dst, line))


def renewals(flows: Flows, known: Connections, *, most: int = c.MOST_RESTARTS, least: float = c.RENDEZVOUS) -> Ints:
    """Return times, ns, from which all rows use other connections than before: the job restarted.

    More than `most` such times are no restarts. Connections with less than `least` of the octets of the heaviest one belong to
    the following ones: ranks use them to find each other. Empty without ports or queue pairs.
    """
    rows, number, at = known
    if not any(bool(column[rows[at]].any()) for column in (flows.dst_qp, flows.src_port, flows.dst_port)):
        return np.zeros(0, np.int64)
    _, first, last, moved = summed(number, len(at), flows.start_ns.take(rows), flows.end_ns.take(rows), flows.octets.take(rows))
    heavy = moved >= least * moved.max()
    begins, ends = union(first[heavy], last[heavy])
    every = union(first, last)[0]
    between = np.searchsorted(ends, every)
    anew = every[(between > 0) & (every <= np.append(begins, begins[:1])[between])]
    return anew if len(begins) - 1 <= most else anew[:0]
