"""Medians and quantiles of few numbers, by the thousand: NumPy takes longer to begin than such a loop to end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Ints


@compiled
def quantile(ordered: NDArray[Any], share: float) -> float:
    """The quantile `share`, 0 … 1, of ascending values, between two of them in proportion (NumPy's `linear`); 0 without any."""
    n = len(ordered)
    if n == 0:
        return 0.0
    at = (n - 1) * share
    low = int(at)
    part, high = at - low, min(low + 1, n - 1)
    apart = ordered[high] - ordered[low]
    return float(ordered[low] + apart * part if part < 0.5 else ordered[high] - apart * (1 - part))


@compiled
def median(values: NDArray[Any]) -> float:
    """The median of values in any order; 0 without any."""
    n = len(values)
    if n == 0:
        return 0.0
    ordered = np.sort(values)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)


def bounded(gap: NDArray[np.float64], shaded: NDArray[np.bool_], rank: Ints, op: Ints, kind: Ints) -> None:
    """Bounds the `gap` of each shaded point by the median of the clear ones of its rank, stream and kind, else of all ranks."""
    order = np.lexsort((shaded, rank, kind, op))
    one, two = order[:-1], order[1:]
    alike = (op[one] == op[two]) & (kind[one] == kind[two])
    kinds = np.split(order, np.flatnonzero(~alike) + 1) if len(order) else []
    for own in kinds:
        if not shaded[own].any():
            continue
        others = gap[own[~shaded[own]]]
        usual = median(others) if len(others) else np.inf
        for rows in np.split(own, np.flatnonzero(np.diff(rank[own])) + 1):
            clear = len(rows) - int(np.count_nonzero(shaded[rows]))
            most = median(gap[rows[:clear]]) if clear else usual
            gap[rows[clear:]] = np.minimum(gap[rows[clear:]], most)
