"""A rank that went away in the middle of a step and took the job down."""

from __future__ import annotations

import numpy as np

from collectors.record import FIN, RST
from prism.detectors.view import View
from prism.kernels.intervals import Ints
from prism.model import Finding, Severity


def crash(view: View, *, partial: float = 0.02, patience: float = 1.0) -> list[Finding]:
    """Teardowns that cut a step short: the first rank to close its connections is the one that went away.

    A teardown is when members close connections to one another and the job is silent for `patience` periods after it; it cut
    a step short if more than `partial` of a step's octets had been moved since the last step ended. At the end of a capture
    the silence need not be seen.
    """
    flows, period = view.flows, view.period
    closing = np.flatnonzero((flows.tcp_flags & (FIN | RST)) != 0)
    payload = np.flatnonzero(~flows.control())
    if not len(closing) or not len(payload) or period <= 0:
        return []
    moved = _per_step(view, payload)
    times = flows.start_ns[closing]
    order = np.argsort(times, kind="stable")
    closing, times = closing[order], times[order]
    busy = np.sort(flows.start_ns[payload])
    out = []
    for group in np.split(np.arange(len(times)), np.flatnonzero(np.diff(times) > period) + 1):
        begin, last = int(times[group[0]]), int(times[group[-1]])
        after = np.searchsorted(busy, last, "right")
        if after < len(busy) and busy[after] < last + patience * period:
            continue
        step = np.searchsorted(view.ends, begin)
        since = view.ends[step - 1] if step > 0 else view.begins[0]
        rest = payload[(flows.start_ns[payload] > since) & (flows.start_ns[payload] <= last)]
        cut = float(flows.octets[rest].sum()) / max(moved, 1.0)
        if partial < cut < 1 - partial and (step == len(view.ends) or view.ends[step] > last):
            finding = _finding(view, closing[group], times[group], int(since), cut)
            out += [finding] if finding is not None else []
    return out


def _per_step(view: View, payload: Ints) -> float:
    """Octets of a usual step."""
    n = len(view.ends)
    sums = np.bincount(view.step_of(view.flows.end_ns[payload]), weights=view.flows.octets[payload], minlength=n + 1)[:n]
    return float(np.median(sums)) if n else 0.0


def _finding(view: View, rows: Ints, times: Ints, since: int, cut: float) -> Finding | None:
    """Who closed first, and by how much before anybody else."""
    flows = view.flows
    first: dict[int, int] = {}
    for row, time in zip(rows, times, strict=True):
        first.setdefault(int(flows.src[row]), int(time))
    ranked = sorted(first.items(), key=lambda f: f[1])
    (guilty, at), rest = ranked[0], ranked[1:]
    margin = (rest[0][1] - at) if rest else 0
    address = flows.endpoints[guilty]
    score = 10 + 10 * float(np.log10(1 + margin / 1e6))
    return Finding(
        detector="crash",
        kind="crash",
        job=view.job.id,
        severity=Severity.CRITICAL,
        subject="endpoint",
        ids=(address,),
        start_ns=at,
        end_ns=at,
        slowdown=1.0,
        score=round(score, 2),
        message=(
            f"{address} closed its connections {(at - since) / 1e9:.2f} s into a step, {margin / 1e6:.1f} ms before anybody else "
            f"did, with {cut:.0%} of the step's octets moved"
        ),
        evidence={
            "moved": round(cut, 4),
            "closed_ms": {flows.endpoints[code]: round((time - at) / 1e6, 3) for code, time in ranked[:8]},
        },
    )
