"""A rank that went away in the middle of a step and took the job down."""

from __future__ import annotations

import numpy as np

from collectors.record import FIN, RST, SYN
from prism.detectors.view import View
from prism.kernels.intervals import Ints
from prism.model import Finding, Severity


def crash(view: View, *, partial: float = 0.3, patience: float = 1.0) -> list[Finding]:
    """Teardowns that cut a step short: the first rank to close its connections is the one that went away.

    A teardown is when members close connections to one another and the job is silent for `patience` periods after it (at
    the end of a capture the silence need not be seen). It cut a step short if at least the share `partial` of the step's
    octets, or of its edges, belongs to edges that had moved some but not all of theirs; where a job simply ends they have
    moved all. A job that is started again on the same endpoints did not simply end either.
    """
    flows, period = view.flows, view.period
    closing = np.flatnonzero((flows.tcp_flags & (FIN | RST)) != 0)
    if not len(closing) or not view.edges or period <= 0:
        return []
    closing = closing[np.argsort(flows.start_ns[closing], kind="stable")]
    times = flows.start_ns[closing]
    busy = np.sort(flows.start_ns[~flows.control()])
    out = []
    for group in np.split(np.arange(len(times)), np.flatnonzero(np.diff(times) > period) + 1):
        begin, last = int(times[group[0]]), int(times[group[-1]])
        after = np.searchsorted(busy, last, "right")
        if after < len(busy) and busy[after] < last + patience * period:
            continue
        step = int(np.searchsorted(view.ends, begin))
        since = int(view.ends[step - 1]) if step > 0 else int(view.begins[0])
        cut, moved = _cut_short(view, since, begin, last)
        died = cut >= partial or _came_back(view, last)
        if died and (step == len(view.ends) or view.ends[step] > last):
            out.append(_finding(view, closing[group], times[group], since, moved))
    return out


def _cut_short(
    view: View, since: int, begin: int, until: int, *, least: float = 0.005, most: float = 0.95
) -> tuple[float, float]:
    """Share of a step's octets or edges that moved some but not all of theirs in a time, and the share moved by all.

    Edges seen by a switch whose capture had ended before the teardown say nothing; nor do those that moved whole steps since
    the job's birth, if that was seen: it is the step's end that was misplaced.
    """
    flows = view.flows
    births = flows.start_ns[((flows.tcp_flags & SYN) != 0) & (flows.start_ns < begin)]
    born = int(births.max()) if len(births) else 0
    awake = np.zeros(int(flows.exporter.max(initial=0)) + 1, np.int64)
    np.maximum.at(awake, flows.exporter, flows.end_ns)
    seen = {key: e for key, e in view.edges.items() if awake[flows.exporter[e.rows[-1]]] >= begin}
    usual = {key: float(np.median(view.per_step(edge, flows.octets))) for key, edge in seen.items()}
    total = max(sum(usual.values()), 1.0)
    between = moved = count = 0.0
    for key, edge in seen.items():
        now = float(edge.octets[(edge.start > since) & (edge.start <= until)].sum())
        moved += now
        life = float(edge.octets[(edge.start > born) & (edge.start <= until)].sum()) / max(usual[key], 1.0)
        whole = born > 0 and abs(life - round(life)) <= 1 - most
        if least < now / max(usual[key], 1.0) < most and not whole:
            between += usual[key]
            count += 1
    return max(between / total, count / max(len(seen), 1)), moved / total


def _came_back(view: View, after: int) -> bool:
    """Whether members opened connections to one another again and went on with steps."""
    flows = view.flows
    opened = flows.start_ns[(flows.tcp_flags & SYN) != 0]
    return bool((opened > after).any() and (view.ends > after).sum() > 1)


def _finding(view: View, rows: Ints, times: Ints, since: int, moved: float) -> Finding:
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
            f"{address} closed its connections {(at - since) / 1e9:.2f} s into a step, {margin / 1e6:.1f} ms before others "
            f"did, with {moved:.0%} of the step's octets moved"
        ),
        evidence={
            "moved": round(moved, 4),
            "closed_ms": {flows.endpoints[code]: round((time - at) / 1e6, 3) for code, time in ranked[:8]},
        },
    )
