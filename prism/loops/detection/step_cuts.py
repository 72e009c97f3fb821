"""Find positions at which long steps can be cut into parts with equal shares of a rank's rests."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from prism.loops import constants as c
from prism.loops.arrays.change_points import spread
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import median


def cuts(
    place: Floats, rest: Ints, bounds: Ints, parts: int, *, loose: float = c.LOOSE_PART, short: float = c.SHORT_REST
) -> Floats:
    """Compute the shares of a step's octets at which 1/parts, 2/parts, … of a rank's rests are over in every step; NaN if
    unclear.

    `place` is the share of its step's octets sent before each record, `rest` the rest before it, ns; those of step k are at
    `bounds[k]` to `bounds[k + 1]`. The rests over at a cut may vary between steps by `loose` of a part. Rests below the share
    `short` of all are ignored. float64[parts − 1].
    """
    out = np.full(parts - 1, np.nan)
    steps = [slice(a, b) for a, b in pairwise(bounds.tolist()) if rest[a:b].any()]
    if not steps:
        return out
    own = steps[int(np.argsort([s.stop - s.start for s in steps])[len(steps) // 2])]
    known = np.unique(place[own][rest[own] >= short * rest[own].sum()])
    between = (known[1:] + known[:-1]) / 2
    done = np.stack([_done(place[s], rest[s], between) for s in steps])
    usual = np.array([median(column) for column in done.T])
    firm = np.array([spread(column, floor=0.0) for column in done.T]) <= loose / parts
    for j in range(1, parts):
        off = np.where(firm, np.abs(usual - j / parts), np.inf)
        if len(off) and off.min() <= 0.5 / parts:
            out[j - 1] = between[np.argmin(off)]
    return out


def _done(place: Floats, rest: Ints, at: Floats) -> Floats:
    """Share of a step's rests that is over at some shares of its octets."""
    total = np.concatenate([[0.0], np.cumsum(rest)])
    return np.asarray(total[np.searchsorted(place, at)] / total[-1], dtype=np.float64)
