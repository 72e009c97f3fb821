"""Sort finished flow records by start time and write them to columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation.primitives import compiled
from collectors.flows.flow_state import OUT
from collectors.memory.pages import large

Rows = NDArray[Any]  # of state.OUT
WHOLE = np.dtype(f"V{OUT.itemsize}")
ORDER = ("octets", "end_ns", "dst_qp", "dst_port", "src_port", "dst", "src", "start_ns")


class Columns(NamedTuple):
    """Columns of completed records."""

    start_ns: Rows
    end_ns: Rows
    src: Rows
    dst: Rows
    src_port: Rows
    dst_port: Rows
    protocol: Rows
    dst_qp: Rows
    octets: Rows
    packets: Rows
    messages: Rows
    retransmits: Rows
    ecn: Rows
    cnp: Rows
    tcp_flags: Rows
    busy_ns: Rows
    exporter: Rows
    path: Rows
    job_id: Rows


def columns_of(parts: Sequence[Rows]) -> Columns:
    """Merge the records of all parts, sorted by start, then by flow."""
    start, order, place, count = large(4 * sum(map(len, parts)), np.dtype(np.int64)).reshape(4, -1)
    np.concatenate([np.zeros(0, np.int64), *(part["start_ns"] for part in parts)], out=start)
    count[:] = np.arange(len(start))
    _sort(start, order, count, place, parts)
    columns, begin = empty_columns(len(start)), 0
    place[order] = count
    for part in parts:
        # permute in place order: records are almost sorted, so that this is one sequential pass
        _spread(part, place[begin : begin + len(part)], columns)
        begin += len(part)
    return columns


def empty_columns(n: int) -> Columns:
    """Allocate columns for `n` records in one piece."""
    block, begin = large(n * sum(OUT[name].itemsize for name in Columns._fields), np.dtype(np.uint8)), 0
    found = dict[str, Rows]()
    # largest type first, so that each column is aligned
    for name in sorted(Columns._fields, key=lambda name: -OUT[name].itemsize):
        end = begin + n * OUT[name].itemsize
        found[name], begin = block[begin:end].view(OUT[name]), end
    return Columns(**found)


def _sort(start: Ints, order: Ints, count: Ints, scratch: Ints, parts: Sequence[Rows]) -> None:
    """Write the rows of all parts in order; `count`: numbers from 0."""
    if not len(start):
        return
    low, bits = start.min(), len(start).bit_length()
    if int(start.max()) - int(low) >= 1 << (63 - bits):
        order[:] = np.argsort(start, kind="stable")
    else:  # numbers, which is faster than places
        np.subtract(start, low, out=order)
        order <<= bits
        order |= count
        order.sort()
        order &= (1 << bits) - 1
    by_time = np.take(start, order, out=scratch, mode="clip")
    same = np.zeros(len(order), np.bool_)
    same[1:] = by_time[1:] == by_time[:-1]
    tied = np.flatnonzero(same | np.r_[same[1:], False])
    if len(tied):
        rows = np.sort(order[tied])
        some = _picked(parts, rows)
        order[tied] = rows[np.lexsort([some[name] for name in ORDER])]


def _picked(parts: Sequence[Rows], rows: Ints) -> Rows:
    """Select records of all parts by ascending numbers."""
    ends = np.cumsum([len(part) for part in parts])
    bounds = [0, *np.searchsorted(rows, ends).tolist()]
    # whole records, which numpy moves at once instead of field by field
    found = [
        part.view(WHOLE)[rows[low:high] - (end - len(part))]
        for part, low, high, end in zip(parts, bounds, bounds[1:], ends, strict=False)
    ]
    return np.concatenate(found).view(OUT)


@compiled
def _spread(records: Any, places: Any, columns: Any) -> None:
    """Write records to their places in all columns in one pass; numpy would need a pass per column."""
    for i in range(np.uint64(len(records))):
        record, k = records[i], np.uint64(places[i])
        columns.start_ns[k], columns.end_ns[k] = record.start_ns, record.end_ns
        columns.src[k], columns.dst[k] = record.src, record.dst
        columns.src_port[k], columns.dst_port[k] = record.src_port, record.dst_port
        columns.protocol[k], columns.dst_qp[k] = record.protocol, record.dst_qp
        columns.octets[k], columns.packets[k] = record.octets, record.packets
        columns.messages[k], columns.retransmits[k] = record.messages, record.retransmits
        columns.ecn[k], columns.cnp[k] = record.ecn, record.cnp
        columns.tcp_flags[k], columns.busy_ns[k] = record.tcp_flags, record.busy_ns
        columns.exporter[k], columns.path[k] = record.exporter, record.path
        columns.job_id[k] = record.job_id
