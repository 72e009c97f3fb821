"""Detect a rank that left in the middle of a step and stopped the job."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from collectors.columns.record import SYN
from prism.diagnosis.stops import constants as c
from prism.findings.message_values import duration
from prism.graph.job_view import Floats, View
from prism.loops.arrays.edges import Pair
from prism.loops.arrays.intervals import Ints
from prism.loops.constants import MAD_TO_SIGMA
from prism.loops.detection.connection_ends import closings
from prism.model import Finding, Severity


def crash(view: View, *, partial: float = c.CUT_SHORT, some: float = c.CUT_BARELY, patience: float = 1.0) -> list[Finding]:
    """Detect teardowns that interrupt a step; the first rank to close its connections is the one that left.

    In a teardown, members close connections to each other, no step ends meanwhile, and the job is silent for `patience` periods
    afterwards (at the end of a capture the silence need not be visible). If the first rank has closed all of its connections,
    the others may continue for as long before.

    A teardown interrupts a step in three cases. First, edges that had moved some but not all of their octets have at least the
    share `partial` of the step's octets, or of its edges. Second, `some` is enough if a rank began the step after the first had
    closed, and continued without it. Third, some replicas of a pipeline had finished the step and others had not begun it. If a
    job simply ends, all edges have moved everything, or at least those of the rank that left. A job that restarts on the same
    endpoints did not simply end.

    If all ranks may have been between two collectives, and none closed alone before the others, the job may have ended after a
    step that was detected as part of one. It may also have ended if the rank that left had completed a step that others were
    in. Then the finding is information.
    """
    flows, period = view.flows, view.period
    closing = closings(flows)
    if not len(closing) or not view.edges or period <= 0:
        return []
    times = flows.start_ns[closing]
    busy = np.sort(flows.start_ns[~flows.control()])
    out = []
    steps = np.searchsorted(view.ends, times)
    for group in np.split(np.arange(len(times)), np.flatnonzero((np.diff(times) > period) & (np.diff(steps) > 0)) + 1):
        begin, last = int(times[group[0]]), int(times[group[-1]])
        left = _left(view, closing[group])
        still = last + (int(patience * period) if left.gone else 0)
        after = np.searchsorted(busy, still, "right")
        if after < len(busy) and busy[after] < still + patience * period:
            continue
        step = int(steps[group[0]])
        cut, moved, rests = _cut_short(view, step, begin, still)
        back = _came_back(view, last)
        short = cut >= partial or (cut >= some and _went_on(view, step, begin, still))
        short = back or (short and not _had_ended(view, step, left))
        if short and (step == len(view.ends) or view.ends[step] > last):
            began = int(view.ends[step - 1]) if step > 0 else int(view.begins[0])
            finding = _finding(view, left, began, moved)
            unsure = rests and not back and not _alone(left, _last_opened(view, begin) > 0)
            unsure = unsure or (not back and _ahead(view, step, left))
            out.append(replace(finding, severity=Severity.INFO) if unsure else finding)
    return out


class Left(NamedTuple):
    """The rank that closed connections first, at which time, ns; and for each other rank the first close to a third, by code.

    `gone`: the first rank closed all connections with which it trained, and sent nothing afterwards.
    """

    who: int
    at: int
    others: dict[int, int]
    gone: bool


def _left(view: View, closing: Ints) -> Left:
    """Find the rank that left first; `closing` are the records that end connections, sorted. An answer to a close does
    not count.
    """
    flows = view.flows
    src, dst, times = flows.src[closing], flows.dst[closing], flows.start_ns[closing]
    who, others = int(src[0]), dict[int, int]()
    for code, other, time in zip(src.tolist(), dst.tolist(), times.tolist(), strict=True):
        if who not in (code, other):
            others.setdefault(code, time)
    own = src == who
    peers = {key[1] for key in view.edges if key[0] == who}
    later = (flows.src == who) & (flows.start_ns > times[own][-1]) & ~flows.control()
    return Left(who, int(times[0]), others, peers <= set(dst[own].tolist()) and not later.any())


def _cut_short(
    view: View, step: int, begin: int, until: int, *, least: float = c.NOTHING_MOVED, most: float = c.ALL_MOVED
) -> tuple[float, float, bool]:
    """Compute the share of a step's octets or edges that moved partly, the share moved in total, and whether all ranks may have
    been between two collectives.

    For edges also the share of those whose both directions moved partly: forward traffic alone may be an evaluation, but all
    gradients return in a step. Each sender's step begins at the end of its own last step.

    Edges seen by a switch whose capture ended before the teardown do not count. Edges that moved whole steps since the job's
    start, within the variation of steps, do not count either: the step's end was inexact. If the start is not visible, all
    ranks may be between two collectives if all sent the same share.
    """
    flows = view.flows
    born = _last_opened(view, begin)
    awake = np.zeros(int(flows.exporter.max(initial=0)) + 1, np.int64)
    np.maximum.at(awake, flows.exporter, flows.end_ns)
    seen = {key: e for key, e in view.edges.items() if awake[flows.exporter[e.rows[-1]]] >= begin}
    if not seen:
        return 0.0, 0.0, False
    volumes = view.per_steps(list(seen), flows.octets)
    usual = dict(zip(seen, np.median(volumes, axis=1).tolist(), strict=True))
    differ = dict(zip(seen, (_varies(own[1:], usual[key]) for key, own in zip(seen, volumes, strict=True)), strict=True))
    total = max(sum(usual.values()), 1.0)
    between = moved = count = 0.0
    shares, cut, since = [], dict[Pair, bool](), _since(view, step)
    for key, edge in seen.items():
        now = float(edge.octets[(edge.start > since[key[0]]) & (edge.start <= until)].sum())
        moved += now
        shares.append(now / max(usual[key], 1.0))
        life = float(edge.octets[(edge.start > born) & (edge.start <= until)].sum()) / max(usual[key], 1.0)
        whole = born > 0 and abs(life - round(life)) <= np.clip(2 * np.sqrt(life) * differ[key], 2 * least, 1 - most)
        if shares[-1] > least:
            cut[key] = shares[-1] < most and not whole
        if cut.get(key):
            between += usual[key]
            count += 1
    rests = _alike(*_by_rank(list(seen), np.array(shares), volumes), least)
    mutual = [one for (a, b, *_), one in cut.items() if (b, a) in cut]
    share_of = dict(zip(seen, shares, strict=True))
    turned = max(_turned(view, share_of, least, most), _through(view, share_of, least, most))
    return max(between / total, count / max(len(seen), 1), sum(mutual) / max(len(mutual), 1), turned), moved / total, rests


def _had_ended(view: View, step: int, left: Left, *, most: float = c.ALL_MOVED) -> bool:
    """Whether the rank that left had moved all of its step in both directions: then others may only end their step later."""
    since = _since(view, step)[left.who]
    own = [edge for key, edge in view.edges.items() if left.who in key[:2]]
    now = [float(edge.octets[(edge.start > since) & (edge.start <= left.at)].sum()) for edge in own]
    volumes = [float(np.median(view.per_step(edge, view.flows.octets))) for edge in own]
    return bool(own) and all(moved >= most * usual for moved, usual in zip(now, volumes, strict=True))


def _ahead(view: View, step: int, left: Left, *, apart: float = 0.5, least: float = c.NOTHING_MOVED) -> bool:
    """Whether the rank that left had ended a step that others were in, and sent nothing since: the step may have been its last.

    The last stage of a pipeline has its gradients first, and its records may end before those of other stages.
    """
    since = _since(view, step)
    own = [edge for key, edge in view.edges.items() if key[0] == left.who]
    now = sum(float(edge.octets[(edge.start > since[left.who]) & (edge.start <= left.at)].sum()) for edge in own)
    usual = sum(float(np.median(view.per_step(edge, view.flows.octets))) for edge in own)
    return bool(now <= least * usual and since[left.who] - min(since.values()) >= apart * view.period)


def _went_on(view: View, step: int, begin: int, until: int, *, least: float = c.NOTHING_MOVED) -> bool:
    """Whether a rank sent nothing of a step before a teardown began, and part of it during the teardown.

    A rank that only ends this step later had begun it before.
    """
    since = _since(view, step)
    for key, edge in view.edges.items():
        usual = float(np.median(view.per_step(edge, view.flows.octets)))
        before, now = ((edge.start > since[key[0]]) & (edge.start <= end) for end in (begin, until))
        if float(edge.octets[before].sum()) <= least * usual < float(edge.octets[now].sum()) - least * usual:
            return True
    return False


def _last_opened(view: View, before: int) -> int:
    """Last time at which members opened connections before a time, ns; 0 if unknown."""
    births = view.flows.start_ns[((view.flows.tcp_flags & SYN) != 0) & (view.flows.start_ns < before)]
    return int(births.max()) if len(births) else 0


def _by_rank(keys: list[Pair], shares: Floats, volumes: Floats) -> tuple[Floats, Floats]:
    """Shares of edges as one share per sender, float64[ranks], and the senders' octets by step, float64[ranks, steps].

    `volumes` are octets of the edges, float64[edges, steps].
    """
    _, rank = np.unique([key[0] for key in keys], return_inverse=True)
    usual = np.median(volumes, axis=1)
    sent = np.zeros((int(rank.max()) + 1, volumes.shape[1]))
    np.add.at(sent, rank, volumes)
    return np.bincount(rank, shares * usual) / np.maximum(np.bincount(rank, usual), 1.0), sent[:, 1:]


def _alike(shares: Floats, volumes: Floats, least: float, *, most: float = c.MOST_OCTETS) -> bool:
    """Whether ranks moved equal, non-zero `shares` of a step, within their variation between steps.

    Ranks with the share `most` of the octets are within `least` of the median, or twice their variation. `volumes` are
    float64[ranks, steps].
    """
    if not volumes.size:
        return False
    usual = np.median(volumes, axis=1)
    varies = np.array([_varies(own, one) for own, one in zip(volumes, usual, strict=True)])
    near = np.abs(shares - np.median(shares)) <= np.maximum(least, 2 * varies)
    return bool(np.median(shares) > least and usual[near].sum() >= most * usual.sum())


def _varies(volumes: Floats, usual: float) -> float:
    """Robust relative spread of the volumes of steps around the usual one."""
    return MAD_TO_SIGMA * float(np.median(np.abs(volumes / max(usual, 1.0) - 1))) if len(volumes) else 0.0


def _turned(view: View, shares: dict[Pair, float], least: float, most: float) -> float:
    """Share of pairs of which one rank had sent a whole step and the other nothing: only the forward pass was complete.

    0 in a job that evaluates: there such pairs send more in some steps than in others.
    """
    both = [(shares[pair], shares[pair[::-1]], pair) for pair in shares if pair < pair[::-1] and pair[::-1] in shares]
    there = [pair if a > b else pair[::-1] for a, b, pair in both if min(a, b) <= least and most <= max(a, b) <= 2 - most]
    volumes = view.per_steps(there, view.flows.octets)[:, 1:] if there else np.zeros((0, 1))
    steady = volumes.max(axis=1, initial=0.0) <= (2 - most) * np.median(volumes, axis=1)
    return float(np.count_nonzero(steady)) / len(both) if there and steady.all() else 0.0


def _through(view: View, shares: dict[Pair, float], least: float, most: float) -> float:
    """Share of stage pairs that had completed a step in both directions, if all others had done none of it and no rank reduced.

    All replicas of a pipeline complete a step and then reduce; replicas that do not have lost a rank.
    """
    both = [(shares[pair], shares[pair[::-1]]) for pair in shares if view.kinds.get(pair) == "pp" and pair[::-1] in shares]
    done = [most <= min(pair) and max(pair) <= 2 - most for pair in both]
    none = [max(pair) <= least for pair in both]
    reduced = any(share > least for pair, share in shares.items() if view.kinds.get(pair) != "pp")
    whole = any(done) and any(none) and all(a or b for a, b in zip(done, none, strict=True))
    return sum(done) / len(done) if whole and not reduced else 0.0


def _since(view: View, step: int) -> dict[int, int]:
    """Begin of a step of each endpoint, ns, by code: the end of its previous step, or of the job's."""
    out = {}
    for address, own in zip(view.job.endpoints, view.timeline.steps, strict=True):
        ends = own[:, 1] if len(own) == len(view.ends) else view.ends
        out[view.code[address]] = int(ends[step - 1] if step > 0 else view.begins[0])
    return out


def _alone(left: Left, born: bool, *, apart: float = 2.0, usual: float = c.AHEAD_OF_OTHERS) -> bool:
    """Whether one rank left first and all others only followed: the first of them `apart` times later than they spread.

    If the job's start is visible, so that it did not end with a whole step, `usual` times their median distance is enough.
    """
    rest = np.diff(np.sort(np.array(list(left.others.values()), np.int64)))
    limit = usual * float(np.median(rest)) if born and len(rest) else apart * rest.sum()
    return not left.others or bool(min(left.others.values()) - left.at > limit)


def _came_back(view: View, after: int) -> bool:
    """Whether members opened connections to each other again and continued with steps."""
    flows = view.flows
    opened = flows.start_ns[(flows.tcp_flags & SYN) != 0]
    return bool((opened > after).any() and (view.ends > after).sum() > 1)


def _finding(view: View, left: Left, began: int, moved: float) -> Finding:
    """Write the finding: the rank that left first, and by how much before the others, in a step that `began` then."""
    flows = view.flows
    margin = min(left.others.values(), default=int(flows.end_ns.max())) - left.at
    apart = f"{duration(margin)} before the other ranks closed theirs" if left.others else "and no other rank did"
    address = flows.endpoints[left.who]
    score = 10 + 10 * float(np.log10(1 + margin / 1e6))
    closed = sorted(left.others.items(), key=lambda other: other[1])[:7]
    return Finding(
        detector="crash",
        kind="crash",
        job=view.job.id,
        severity=Severity.CRITICAL,
        subject="endpoint",
        ids=(address,),
        start_ns=left.at,
        end_ns=left.at,
        slowdown=1.0,
        score=round(score, 2),
        message=(
            f"closed its connections {duration(left.at - began)} into a step, {apart}; "
            f"{moved:.0%} of the step's data had been transferred"
        ),
        evidence={
            "moved": round(moved, 4),
            "closed_ms": {flows.endpoints[code]: round((at - left.at) / 1e6, 3) for code, at in [(left.who, left.at), *closed]},
        },
    )
