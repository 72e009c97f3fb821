"""Sum records by directed pair without moving them. Compiled loops over records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops import constants as c
from prism.loops.arrays.group_sums import Places, numbered
from prism.loops.arrays.intervals import Floats

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Carried:
    """Directed pairs in order of their ends: number of records, first start and last end, ns, octets.

    `number` is the pair of each record, or the number of pairs if it belongs to none.
    """

    number: Numbers
    src: Ints
    dst: Ints
    records: Ints
    first: Ints
    last: Ints
    volume: Ints

    def __len__(self) -> int:
        return len(self.src)

    def rows(self, pairs: Mask) -> Places:
        """Rows of the records of some pairs."""
        return np.flatnonzero(np.append(pairs, False).take(self.number))

    def only(self, kept: Mask) -> Carried:
        """Select some of the pairs."""
        if kept.all():
            return self
        number = _places(np.flatnonzero(kept), len(kept) + 1).take(self.number)
        columns = self.src, self.dst, self.records, self.first, self.last, self.volume
        return Carried(number, *(column[kept] for column in columns))


def carried(flows: Flows, skipped: Mask, among: Mask) -> Carried:
    """Sum all records between different endpoints `among` the selected ones, except `skipped` records."""
    number, at = numbered(flows.src, flows.dst)
    src, dst, n = flows.src[at].astype(np.int64), flows.dst[at].astype(np.int64), len(at)
    if skipped.any():
        number = np.where(skipped, np.int32(n), number)
    sums = summed(number, n, flows.sent_ns, flows.end_ns, flows.octets)
    by = np.lexsort((dst, src))
    by = by[((sums[0] > 0) & (src != dst) & among[src] & among[dst])[by]]
    return Carried(_places(by, n + 1).take(number), src[by], dst[by], *(column[by] for column in sums))


def _places(by: Places, n: int) -> Numbers:
    """Place of each of n numbers in `by`; n if it is absent."""
    out = np.full(n, len(by), np.int32)
    out[by] = np.arange(len(by), dtype=np.int32)
    return out


@compiled
def summed(number: Numbers, n: int, start: Ints, end: Ints, octets: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Number of records, minimum start, maximum end and octets of each of n pairs; records with number n are ignored."""
    records, volume, last = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    first = np.full(n + 1, np.iinfo(np.int64).max)
    for i in range(len(number)):
        k = np.uint64(number[i])
        records[k] += 1
        first[k] = min(first[k], start[i])
        last[k] = max(last[k], end[i])
        volume[k] += octets[i]
    return records[:n], first[:n], last[:n], volume[:n]


def recurrent(known: Carried, start: Ints, octets: Ints, *, least: int = c.RECURRENT, share: float = c.AS_WIDE) -> Mask:
    """Select pairs with traffic throughout the time of their ends, unlike a broadcast, a checkpoint or a copy.

    They have at least `least` records, and spread at least `share` as widely as the heaviest pair at either end, over its time.
    `start` and `octets` are of all records.
    """
    model = _models(known.src, known.dst, known.volume)
    width = widths(known.number, start, octets, known.first[model], known.last[model], c.BINS)
    own = width
    if (model[model] != model).any():
        own = widths(known.number, start, octets, known.first, known.last, c.BINS)
    out: Mask = (known.records >= least) & (width >= np.maximum(share * own[model], c.NO_SINGLE))
    return out


def _models(src: Ints, dst: Ints, volume: Ints) -> Places:
    """Heaviest pair at either end of each pair; of the two, the lighter one."""
    order = np.argsort(-volume, kind="stable").repeat(2)
    ends, first = np.unique(np.stack([src, dst], axis=1)[order[::2]], return_index=True)
    heaviest = np.zeros(int(ends.max(initial=-1)) + 1, np.intp)
    heaviest[ends] = order[first]
    one, other = heaviest[src], heaviest[dst]
    return np.where(volume[one] <= volume[other], one, other)


@compiled
def widths(number: Numbers, start: Ints, octets: Ints, low: Ints, high: Ints, bins: int) -> Floats:
    """Number of the `bins` equal parts of its time, `low` to `high`, ns, over which each pair's octets spread.

    It is the inverse of their summed squared shares.
    """
    n = len(low)
    part, out = np.zeros((n, bins), np.int64), np.empty(n)
    for i in range(len(number)):
        k = number[i]
        if k < n:
            place = (start[i] - low[k]) * bins // max(high[k] - low[k], 1)
            part[k, min(max(place, 0), bins - 1)] += octets[i]
    for k in range(n):
        squares, total = 0.0, max(part[k].sum(), 1)
        for moved in part[k]:
            squares += (moved / total) ** 2
        out[k] = 1 / max(squares, 1e-12)
    return out
