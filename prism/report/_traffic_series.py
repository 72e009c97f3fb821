"""Compute traffic over time from spans, and match spans of receivers with spans of senders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.loops.arrays.intervals import Floats, Ints
from prism.model import PHASES, Phase, Spans

Rows = NDArray[np.intp]


def octets_per_bin(start: Ints, end: Ints, octets: Ints, edges: Ints) -> Floats:
    """Compute the octets transferred between consecutive `edges` (sorted times, ns); each span counts evenly over its length.

    Returns float64[len(edges) - 1]. If the edges cover all spans, the sum is that of `octets`, except for rounding.
    """
    if not len(start) or len(edges) < 2:
        return np.zeros(max(len(edges) - 1, 0))
    length = np.maximum(end - start, 1)
    times = np.concatenate([start, start + length])
    order = np.argsort(times, kind="stable")
    times = times[order]
    slope = np.cumsum(np.concatenate([octets / length, -octets / length])[order])
    total = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(times))])
    return np.asarray(
        np.maximum(np.diff(np.interp((edges - times[0]).astype(float), (times - times[0]).astype(float), total)), 0.0)
    )


def transfers(spans: Spans, kind: Phase, *, max_transfers: int) -> tuple[Rows, Rows]:
    """Match spans of `kind` in which something was sent with the span of the receiver: rows, of equal length.

    At most `max_transfers`, longest first; spans of length 0 and spans without a counterpart are left out.
    """
    none = np.zeros(0, np.intp)
    if len(spans.octets) != len(spans):
        return none, none
    asked = (spans.phase == PHASES.index(kind)) & (spans.end_ns > spans.start_ns)
    sent = np.flatnonzero(asked & (spans.octets > 0))
    sent = sent[np.argsort(spans.start_ns[sent] - spans.end_ns[sent], kind="stable")[:max_transfers]]
    given = np.flatnonzero(asked & (spans.octets < 0) & np.isin(spans.start_ns, spans.start_ns[sent]))
    waiting: dict[tuple[int, ...], list[int]] = {}
    for row, key in zip(given.tolist(), _keys(spans, given, spans.peer, spans.rank), strict=True):
        waiting.setdefault(key, []).append(row)
    pairs = [
        (row, waiting[key].pop())
        for row, key in zip(sent.tolist(), _keys(spans, sent, spans.rank, spans.peer), strict=True)
        if waiting.get(key)
    ]
    found = np.array(pairs, np.intp).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _keys(spans: Spans, rows: Rows, src: NDArray[np.int32], dst: NDArray[np.int32]) -> list[tuple[int, ...]]:
    """Return the properties that both ends of a record share."""
    columns = (spans.start_ns[rows], spans.end_ns[rows], src[rows], dst[rows], np.abs(spans.octets[rows]))
    return list(zip(*(column.tolist() for column in columns), strict=True))
