"""Parts of a step that look like steps: layers of a sharded model, whose calls all move the same.

What comes back is the pattern of the distances between calls, not any volume. Forward, every layer's parameters are gathered;
backward, which takes longer, they are gathered again and gradients scattered.

Source: Rajbhandari et al., "ZeRO" (SC 2020), stage 3.
"""

from __future__ import annotations

import numpy as np

from prism.kernels.intervals import Floats, Ints


def cycle(ends: Ints, *, most: float = 0.25, least: int = 4) -> tuple[int, int] | None:
    """Period of a pattern in the distances of `ends`, ns, and the place of the first end after which it begins anew.

    Folding by the period leaves at most the share `most` of half the distances' interquartile range; the pattern comes `least`
    times. None where distances are alike, or nothing comes back.
    """
    length = np.log(np.maximum(np.diff(ends), 1).astype(np.float64))
    if len(length) < 2 * least:
        return None
    low, high = np.percentile(length, (25, 75))
    spread = float(high - low) / 2  # pauses every few steps do not show in it
    if spread < 0.15:
        return None
    left = {period: _folded(length, period) for period in range(2, len(length) // least + 1)}
    best = min(left.values())
    if best > most * spread:
        return None
    period = min(p for p, rest in left.items() if rest <= max(1.25 * best, 0.1 * spread))
    usual = np.array([np.median(np.diff(ends)[k::period]) for k in range(period)])
    return period, _forward(usual)


def _deviation(classes: Floats) -> float:
    return float(np.median(np.abs(classes - np.median(classes, axis=1, keepdims=True))))


def _folded(length: Floats, period: int) -> float:
    """What deviation is left within places of a period."""
    whole = length[: len(length) // period * period].reshape(-1, period)
    return _deviation(whole.T)


def _forward(usual: Floats) -> int:
    """Where the shorter of a period's two even parts begins."""
    n = len(usual)
    best, place = np.inf, 0
    for i in range(n):
        turned = np.roll(usual, -i)
        total, square = np.cumsum(turned), np.cumsum(turned**2)
        j = np.arange(1, n)
        one = square[j - 1] - total[j - 1] ** 2 / j
        two = (square[-1] - square[j - 1]) - (total[-1] - total[j - 1]) ** 2 / (n - j)
        cost = np.where(total[j - 1] < total[-1] / 2, one + two, np.inf)
        if len(cost) and cost.min() < best:
            best, place = float(cost.min()), i
    return place
