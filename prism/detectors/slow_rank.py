"""A rank whose own work takes longer than it did, or than its twins' work does.

Source: blame by waiting. In synchronous training every rank's step takes equally long, so durations say nothing; the time a
rank works before it speaks is its own.
"""

from __future__ import annotations

import numpy as np

from prism.detectors.view import Floats, View
from prism.kernels.intervals import Ints
from prism.kernels.shifts import Shift, middle, shifts, spread, usual
from prism.model import Finding, Severity


def slow_rank(
    view: View, *, factor: float = 1.2, sigmas: float = 6.0, apart: float = 2.0, share: float = 0.02
) -> list[Finding]:
    """Ranks slower by `factor` or more, for three steps or longer or from first to last.

    A slow rank stands out by `sigmas` from the noise and by `apart` times from how far the others' work moved meanwhile,
    and what it lost is at least `share` of a step. Where the steps took no longer meanwhile, nobody was kept waiting: in a
    pipeline, whose bubbles may hide it, that is told as info.
    """
    typical, _, total = view.work
    if typical.shape[1] < 4 or len(typical) < 2:
        return []
    level = np.log(typical)
    moved = _against_peers(level, _peers(view))
    sigma = spread(moved)
    out = []
    for rank in range(len(level)):
        for one in shifts(moved[rank], sigma, height=np.log(factor), score=sigmas):
            others = np.delete(middle(moved[:, one.start : one.stop], axis=1), rank)
            rest = float(np.nanpercentile(np.abs(others), 90)) if np.isfinite(others).any() else 0.0
            lost = float(np.nanmedian(total[rank, one.start : one.stop]) * (1 - np.exp(-one.height)))
            grew = view.slowdown(one.start, one.stop)
            hidden = severity(grew, lost / view.period) is Severity.INFO
            if one.height >= apart * rest and lost >= share * view.period and not (hidden and view.parallelism.layout.pp == 1):
                out.append(_finding(view, rank, one, typical[rank], lost, rest, grew))
    return out or _always_slow(view, level, np.log(factor), sigmas, apart, share)


def _always_slow(view: View, level: Floats, height: float, sigmas: float, apart: float, share: float) -> list[Finding]:
    """Ranks that were slower than their twins in all steps."""
    typical, _, total = view.work
    steps = level.shape[1]
    out = []
    for twins in _peers(view):
        if len(twins) < 3:
            continue  # of two, nobody can say which is the odd one
        above = np.stack([level[r] - middle(np.delete(level[twins], i, axis=0), axis=0)[0] for i, r in enumerate(twins)])
        height_of = middle(above, axis=1)[:, 0]
        for i, rank in enumerate(twins.tolist()):
            rest = float(np.nanpercentile(np.abs(np.delete(height_of, i)), 90))
            noise = spread(above[i]) / np.sqrt(steps)
            lost = float(np.nanmedian(total[rank]) * (1 - np.exp(-height_of[i])))
            steady = np.mean(above[i] >= height / 2) >= 0.9
            if height_of[i] >= max(height, apart * rest, sigmas * noise) and steady and lost >= share * view.period:
                one = Shift(0, steps, float(height_of[i]), float(height_of[i] / noise))
                grew = view.period / max(view.period - lost, view.period / 10)
                out.append(_finding(view, rank, one, typical[rank], lost, rest, grew))
    return out


def _peers(view: View) -> list[Ints]:
    """Ranks to compare with one another: those who reduce gradients together, else the whole job.

    Members of other groups may have waited, in what looks like work, for what is not on the wire.
    """
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    groups = sorted((g.members for g in view.parallelism.groups if g.kind == "dp" and len(g.members) > 2), key=len)
    own: dict[int, Ints] = {}
    for members in groups:  # the largest group of each rank comes last
        own |= {place[m]: np.array(sorted(place[m] for m in members), np.int64) for m in members}
    if len(own) < len(place):
        return [np.arange(len(place))]
    return [np.array(key) for key in sorted({tuple(ranks.tolist()) for ranks in own.values()})]


def _against_peers(level: Floats, peers: list[Ints]) -> Floats:
    """Log work less what the rank usually does and what its peers did in that step; NaN stays unknown."""
    out = level - usual(level)
    for ranks in peers:
        out[ranks] -= middle(out[ranks], axis=0)
    return out


def severity(slowdown: float, lost: float) -> Severity:
    """Steps must have grown by at least a quarter of the share `lost`; a pipeline's bubbles may hide the rest."""
    if slowdown < 1 + max(0.02, lost / 4):
        return Severity.INFO
    return Severity.CRITICAL if slowdown >= 1.5 else Severity.WARNING


def _finding(view: View, rank: int, one: Shift, typical: Floats, lost: float, rest: float, grew: float) -> Finding:
    address = view.job.endpoints[rank]
    start, end = view.during(one.start, one.stop)
    factor, others = float(np.exp(one.height)), float(np.exp(rest))
    now = float(np.nanmedian(typical[one.start : one.stop]) / 1e6)
    always = one.stop - one.start == len(typical)
    than = "its twins do" if always else f"usual ({now:.1f} ms, else {now / factor:.1f} ms)"
    host = view.topology.host(address) if view.topology is not None else None
    told = severity(grew, lost / view.period)
    return Finding(
        detector="slow_rank",
        kind="slow_rank",
        job=view.job.id,
        severity=told,
        subject="endpoint",
        ids=(address,),
        start_ns=start,
        end_ns=end,
        slowdown=round(max(grew, 1.0), 3),
        score=round(min(one.score, 999.0), 2),
        message=(
            f"{address}{f' ({host})' if host else ''} works {factor:.2f}× as long before it sends as {than}; the others' work "
            f"moved by {others:.2f}× at most, {'but steps took no longer' if told is Severity.INFO else 'and they wait for it'}"
        ),
        evidence={
            "steps": [one.start, one.stop],
            "work_ms": round(now, 3),
            "usual_work_ms": round(now / factor, 3),
            "lost_ms_per_step": round(lost / 1e6, 3),
            "others_moved": round(others, 3),
        },
    )
