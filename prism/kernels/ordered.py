"""Medians and quantiles of few numbers, by the thousand: NumPy takes longer to begin than such a loop to end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled


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
