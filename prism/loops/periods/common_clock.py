"""Check whether two series of step ends follow one clock: parts of one job, not two jobs of equal period."""

from __future__ import annotations

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import median, quantile


def in_step(a: Ints, b: Ints, *, drift: float = 0.02, apart: float = 0.3) -> bool:
    """Check whether two series of step ends, ns, are never far apart and never drift.

    The distance of two jobs of equal period is a random walk; that of two parts of one job is not. `apart` limits the distance,
    `drift` its robust spread, both in periods. A slowdown of one part delays the other for a while, with longer steps in both.
    """
    if min(len(a), len(b)) < 3:
        return False
    own, near, often, mostly = _drift(np.ascontiguousarray(a), np.ascontiguousarray(b), apart)
    return often <= drift or (mostly <= drift and _long_together(own, near))


@compiled
def _drift(a: Ints, b: Ints, apart: float, least: float = 0.8) -> tuple[Ints, Ints, float, float]:
    """Return ends of both series that are close, and their drift: the spread of 80 % and of 60 %.

    No limits if fewer than `least` of the ends of `a` are close to any of `b`.
    """
    period, n, k = max(median(a[1:] - a[:-1]), 1.0), 0, 0
    own, near, distance = np.empty_like(a), np.empty_like(a), np.empty(len(a))
    for time in a:
        while k < len(b) and b[k] < time:
            k += 1
        before, after = b[max(k - 1, 0)], b[min(k, len(b) - 1)]
        closest = after if abs(after - time) < abs(time - before) else before
        own[n], near[n], distance[n] = time, closest, (closest - time) / period
        n += abs(distance[n]) <= apart
    own, near, distance = own[:n], near[:n], distance[:n]
    if n / len(a) < least:
        return own, near, np.inf, np.inf
    away = np.sort(np.abs(distance - median(distance)))
    return own, near, quantile(away, 0.8), quantile(away, 0.6)


def _long_together(a: Ints, b: Ints, *, least: float = 0.8) -> bool:
    """Check whether the steps of both series are long and short at the same times, by correlation of their lengths."""
    one, other = (own - own.mean() for own in (np.diff(a), np.diff(b)))
    return float(one @ other) >= least * float(np.sqrt((one @ one) * (other @ other))) > 0
