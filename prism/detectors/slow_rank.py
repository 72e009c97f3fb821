"""A rank whose own work takes longer than it did, or than its twins' work does.

Source: blame by waiting. In synchronous training every rank's step takes equally long, so durations say nothing; the time a
rank works before it speaks is its own.
"""

from __future__ import annotations

import numpy as np

from prism.detectors.view import Floats, View
from prism.kernels.shifts import Shift, shifts, spread
from prism.model import Finding, Severity


def slow_rank(view: View, *, factor: float = 1.2, sigmas: float = 6.0, apart: float = 2.0, share: float = 0.02) -> list[Finding]:
    """Ranks that were slower by `factor` or more for three steps or longer.

    A slow rank stands out by `sigmas` from the noise and by `apart` times from how far the others' work moved meanwhile,
    and what it lost is at least `share` of a step. Where the steps took no longer meanwhile, nobody was kept waiting: that is
    told as info.
    """
    typical, _, total = view.work
    if typical.shape[1] < 4 or len(typical) < 2:
        return []
    level = np.log(typical)
    moved = _against_peers(level, axis_baseline=True)
    sigma = spread(moved)
    out = []
    for rank in range(len(level)):
        for one in shifts(moved[rank], sigma, height=np.log(factor), score=sigmas):
            others = np.delete(np.nanmedian(moved[:, one.start : one.stop], axis=1), rank)
            rest = np.nanpercentile(np.abs(others), 90) if np.isfinite(others).any() else 0.0
            lost = float(np.nanmedian(total[rank, one.start : one.stop]) * (1 - np.exp(-one.height)))
            if one.height >= apart * rest and lost >= share * view.period:
                out.append(_finding(view, rank, one, typical[rank], lost, float(np.exp(rest))))
    return out


def _against_peers(level: Floats, *, axis_baseline: bool) -> Floats:
    """Log work less what the whole job did in that step and what the rank usually does; NaN stays unknown."""
    with np.errstate(invalid="ignore"):
        out = level - np.nanmedian(level, axis=1, keepdims=True) if axis_baseline else level.copy()
        return np.asarray(out - np.nanmedian(out, axis=0, keepdims=True), dtype=np.float64)


def _severity(slowdown: float, lost: float) -> Severity:
    """Steps must have grown by at least a quarter of the share `lost`; a pipeline's bubbles may hide the rest."""
    if slowdown < 1 + max(0.02, lost / 4):
        return Severity.INFO
    return Severity.CRITICAL if slowdown >= 1.5 else Severity.WARNING


def _finding(view: View, rank: int, one: Shift, typical: Floats, lost: float, others: float) -> Finding:
    address = view.job.endpoints[rank]
    start, end = view.during(one.start, one.stop)
    factor = float(np.exp(one.height))
    inside = np.zeros(len(typical), np.bool_)
    inside[one.start : one.stop] = True
    now, usual = float(np.nanmedian(typical[inside]) / 1e6), float(np.nanmedian(typical[~inside]) / 1e6)
    host = view.topology.host(address) if view.topology is not None else None
    return Finding(
        detector="slow_rank",
        kind="slow_rank",
        job=view.job.id,
        severity=_severity(view.slowdown(one.start, one.stop), lost / view.period),
        subject="endpoint",
        ids=(address,),
        start_ns=start,
        end_ns=end,
        slowdown=round(max(view.slowdown(one.start, one.stop), 1.0), 3),
        score=round(one.score, 2),
        message=(
            f"{address}{f' ({host})' if host else ''} works {factor:.2f}× as long before it sends ({now:.1f} ms, usually "
            f"{usual:.1f} ms); no other rank changed by more than {others:.2f}×, so the others wait for it"
        ),
        evidence={
            "steps": [one.start, one.stop],
            "work_ms": round(now, 3),
            "usual_work_ms": round(usual, 3),
            "lost_ms_per_step": round(lost / 1e6, 3),
            "others_moved": round(others, 3),
        },
    )
