"""Whether two series of step ends belong to one clock: to parts of one job, or to two jobs of equal period."""

from __future__ import annotations

import numpy as np

from prism.kernels.intervals import Ints, nearest


def in_step(a: Ints, b: Ints, *, drift: float = 0.02, apart: float = 0.3) -> bool:
    """Whether two series of step ends, ns, are never far apart, and never drift.

    The distance of two jobs of equal period is a random walk; that of two parts of one job is not. `apart` bounds the
    distance, `drift` its robust spread, both in periods. What slows one part holds it back from the other for a while, in which
    steps are longer for both.
    """
    if min(len(a), len(b)) < 3:
        return False
    period = float(np.median(np.diff(a)))
    near = nearest(a, b)
    distance = (near - a) / max(period, 1.0)
    close = np.abs(distance) <= apart
    if close.mean() < 0.8:
        return False
    inner = distance[close]
    often, mostly = np.percentile(np.abs(inner - np.median(inner)), (80, 60))
    return bool(often <= drift or (mostly <= drift and _long_together(a[close], near[close])))


def _long_together(a: Ints, b: Ints, *, least: float = 0.8) -> bool:
    """Whether the steps that two series end are long and short at the same times: by the correlation of their lengths."""
    one, other = (own - own.mean() for own in (np.diff(a), np.diff(b)))
    return float(one @ other) >= least * float(np.sqrt((one @ one) * (other @ other))) > 0
