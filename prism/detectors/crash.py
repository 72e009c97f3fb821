"""A rank that went away in the middle of a step and took the job down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from collectors.record import SYN
from prism.detectors.view import Floats, View
from prism.kernels.closings import closings
from prism.kernels.edges import Pair
from prism.kernels.intervals import Ints
from prism.model import Finding, Severity


def crash(view: View, *, partial: float = 0.3, some: float = 0.1, patience: float = 1.0) -> list[Finding]:
    """Teardowns that cut a step short: the first rank to close its connections is the one that went away.

    A teardown is when members close connections to one another and the job is silent for `patience` periods after it (at
    the end of a capture the silence need not be seen). It cut a step short if at least the share `partial` of the step's
    octets, or of its edges, belongs to edges that had moved some but not all of theirs; where a job simply ends they have
    moved all. `some` are enough where somebody began that step when the first had closed already, and worked on without it.
    A job that is started again on the same endpoints did not simply end either. Where all may have been between two
    collectives and nobody closed alone before the others, the job may have ended after a step that was taken for a part of one:
    nobody is blamed, the finding is info.
    """
    flows, period = view.flows, view.period
    closing = closings(flows)
    if not len(closing) or not view.edges or period <= 0:
        return []
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
        cut, moved, rests = _cut_short(view, step, begin, last)
        back = _came_back(view, last)
        short = back or cut >= partial or (cut >= some and _went_on(view, step, begin, last))
        if short and (step == len(view.ends) or view.ends[step] > last):
            finding = _finding(view, closing[group], times[group], since, moved)
            unsure = rests and not back and not _alone(view.flows.src[closing[group]], times[group], _born(view, begin) > 0)
            out.append(replace(finding, severity=Severity.INFO) if unsure else finding)
    return out


def _cut_short(
    view: View, step: int, begin: int, until: int, *, least: float = 0.005, most: float = 0.95
) -> tuple[float, float, bool]:
    """Share of a step's octets or edges that moved some but not all of theirs, the share moved by all, and whether the job may
    have been between two steps all the same. Of edges also the share of those whose both directions have moved some.

    Forwards alone may be an evaluation if there are any, but gradients come back in a step only, and then all of them. Each
    sender's step begins where its own last one ended.

    Edges seen by a switch whose capture had ended before the teardown say nothing; nor do those that moved whole steps since
    the job's birth, if that was seen: it is the step's end that was misplaced. Else that may be so if all moved the same share,
    as between two collectives: a job that was cut short inside one did not.
    """
    flows = view.flows
    born = _born(view, begin)
    awake = np.zeros(int(flows.exporter.max(initial=0)) + 1, np.int64)
    np.maximum.at(awake, flows.exporter, flows.end_ns)
    seen = {key: e for key, e in view.edges.items() if awake[flows.exporter[e.rows[-1]]] >= begin}
    usual = {key: float(np.median(view.per_step(edge, flows.octets))) for key, edge in seen.items()}
    total = max(sum(usual.values()), 1.0)
    between = moved = count = 0.0
    shares, cut, since = [], dict[Pair, bool](), _since(view, step)
    for key, edge in seen.items():
        now = float(edge.octets[(edge.start > since[key[0]]) & (edge.start <= until)].sum())
        moved += now
        shares.append(now / max(usual[key], 1.0))
        life = float(edge.octets[(edge.start > born) & (edge.start <= until)].sum()) / max(usual[key], 1.0)
        whole = born > 0 and abs(life - round(life)) <= 1 - most
        if shares[-1] > least:
            cut[key] = shares[-1] < most and not whole
        if cut.get(key):
            between += usual[key]
            count += 1
    rests = _alike(np.array(shares), view.per_steps(list(seen), flows.octets)[:, 1:], least)
    mutual = [one for (a, b, *_), one in cut.items() if (b, a) in cut]
    turned = _turned(view, dict(zip(seen, shares, strict=True)), least, most)
    return max(between / total, count / max(len(seen), 1), sum(mutual) / max(len(mutual), 1), turned), moved / total, rests


def _went_on(view: View, step: int, begin: int, until: int, *, least: float = 0.005) -> bool:
    """Whether somebody sent nothing of a step before a teardown began, and some of it while that went on.

    Who only ends that step later than others had begun it before.
    """
    since = _since(view, step)
    for key, edge in view.edges.items():
        usual = float(np.median(view.per_step(edge, view.flows.octets)))
        before, now = ((edge.start > since[key[0]]) & (edge.start <= end) for end in (begin, until))
        if float(edge.octets[before].sum()) <= least * usual < float(edge.octets[now].sum()) - least * usual:
            return True
    return False


def _born(view: View, before: int) -> int:
    """When members last opened connections before a time, ns; 0 where that was not seen."""
    births = view.flows.start_ns[((view.flows.tcp_flags & SYN) != 0) & (view.flows.start_ns < before)]
    return int(births.max()) if len(births) else 0


def _alike(shares: Floats, volumes: Floats, least: float, *, most: float = 0.9) -> bool:
    """Whether edges that moved some `shares` of a step moved the same, and some of it, but for what they vary by by step.

    Those of `most` octets are no further from the middle one than `least`, or twice that. `volumes` are float64[edges, steps].
    """
    if not volumes.size:
        return False
    usual = np.median(volumes, axis=1)
    varies = 1.4826 * np.median(np.abs(volumes / np.maximum(usual, 1.0)[:, None] - 1), axis=1)
    near = np.abs(shares - np.median(shares)) <= np.maximum(least, 2 * varies)
    return bool(np.median(shares) > least and usual[near].sum() >= most * usual.sum())


def _turned(view: View, shares: dict[Pair, float], least: float, most: float) -> float:
    """The share of pairs of which one rank had sent all of a step and the other nothing: forwards went through, and no more.

    0 in a job that evaluates: there such pairs send more in some steps than in others.
    """
    both = [(shares[pair], shares[pair[::-1]], pair) for pair in shares if pair < pair[::-1] and pair[::-1] in shares]
    there = [pair if a > b else pair[::-1] for a, b, pair in both if min(a, b) <= least and most <= max(a, b) <= 2 - most]
    volumes = view.per_steps(there, view.flows.octets)[:, 1:] if there else np.zeros((0, 1))
    steady = volumes.max(axis=1, initial=0.0) <= (2 - most) * np.median(volumes, axis=1)
    return float(np.count_nonzero(steady)) / len(both) if there and steady.all() else 0.0


def _since(view: View, step: int) -> dict[int, int]:
    """When a step of each endpoint began, ns, by its code: when its step before ended, or that of the job."""
    out = {}
    for address, own in zip(view.job.endpoints, view.timeline.steps, strict=True):
        ends = own[:, 1] if len(own) == len(view.ends) else view.ends
        out[view.code[address]] = int(ends[step - 1] if step > 0 else view.begins[0])
    return out


def _alone(who: NDArray[np.int32], times: Ints, born: bool, *, apart: float = 2.0, usual: float = 3.0) -> bool:
    """Whether one closed first, and all others so much later that they only followed: `apart` times as late as they spread.

    Where the job's birth was seen, and so that it ends with no whole step, `usual` times as late as one after the other is
    enough.
    """
    first = np.sort(times[np.sort(np.unique(who, return_index=True)[1])])
    lead, rest = np.diff(first)[:1].sum(), np.diff(first)[1:]
    limit = usual * float(np.median(rest)) if born and len(rest) else apart * rest.sum()
    return len(first) < 2 or bool(lead > limit)


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
