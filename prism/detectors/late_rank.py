"""Detect a rank that enters its group's collectives after all others, so that its peers wait.

One-sided writes arrive even if the receiver is not ready. So the data that a rank receives does not show when its work began,
but its first send in a step does, compared with peers of its group. If senders wait for the receiver's readiness (TCP), the
late rank and its neighbour are equally late: then this detector names none, and slow_rank finds the rank that worked longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from prism.detectors import constants as c
from prism.detectors.peers.host_rings import ring_delays, sorted_sends
from prism.detectors.peers.reduction_trees import sent_after, tree_of
from prism.detectors.slow_rank import severity
from prism.findings.message_values import percent
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import (
    OFTEN,
    RARE,
    Shift,
    by_chance,
    even,
    held,
    middle,
    shifts,
    spread,
    unlike_others,
    usual,
)
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import on_end
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.call_lateness import firsts, lateness
from prism.loops.detection.stuck_rings import kept
from prism.model import Finding


def late_rank(view: View, *, share: float = c.LATE, sigmas: float = c.SIGMAS, apart: float = 2.0) -> list[Finding]:
    """Detect ranks that first sent later than their group by more than `share` of a step, and `apart` times later than any
    other.

    Of several ranks of one host only the latest is named: waits inside the host are invisible.
    """
    seen = lateness_of(view)
    if seen is None:
        return []
    late, lost, judged, within = seen.late, seen.lost, seen.judged, seen.within
    sigma = spread(late - middle(late, axis=1), floor=share / 20)
    found = []
    for ranks in judged:
        found += _late_spans(late, np.array(ranks), sigma, share, sigmas, apart, view.least)
    found = [(rank, one) for rank, one in found if _explains(view, one, float(within[rank]))]
    found = [
        (rank, one._replace(height=_grown(lost[rank], one))) if np.isfinite(lost[rank]).any() else (rank, one)
        for rank, one in found
    ]
    return _one_per_host(view, found, seen)


class Late(NamedTuple):
    """Lateness of ranks in each step, as shares of a step: sum and longest single delay, float64[ranks, steps].

    `judged` lists the groups examined, `hidden` the ranks of rings with invisible lanes, and `unsure` those that may be other
    ranks of their host. `within` is the share of a step in which each could become late, float64[ranks]. `worked` is the
    silence of ranks in trees before they sent, after all that they had done before, as shares of a step, like `late`.
    """

    late: Floats
    lost: Floats
    judged: list[list[int]]
    hidden: set[int]
    unsure: set[int]
    within: Floats
    worked: Floats


def lateness_of(view: View) -> Late | None:
    """Compute how late ranks were in the collectives of their groups; None if unknown."""
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    groups = [g.members for g in view.parallelism.groups if g.kind == "dp" and len(g.members) > 2]
    if not groups or len(view.ends) < c.LEAST_STEPS or view.parallelism.piped:
        return None  # in a pipeline all later stages of a late rank are late
    late, lost, worked = (np.full((len(place), len(view.ends)), np.nan) for _ in range(3))
    within = np.ones(len(place))
    judged = list[list[int]]()
    hidden, unsure = set[int](), set[int]()
    met: dict[int, set[int]] = defaultdict(set)  # examined groups of each rank
    sent, start = view.sent, sending(view.flows)
    for whole in sorted(groups, key=len, reverse=True):
        tree = tree_of(view, whole)
        members = tree.leaves if tree is not None else whole
        ranks = [place[m] for m in members]
        if set.intersection(*(met[rank] for rank in ranks)):
            continue  # members of a subset may be late because of a rank outside
        inside = np.zeros(len(view.flows.endpoints), np.bool_)
        inside[[view.code[m] for m in whole]] = True
        begins = begins_of(view, ranks)
        rows, cuts = on_end([sent[view.code[m]] for m in members])
        met_there = inside[view.flows.dst.take(rows)]
        rows, cuts = rows[met_there], np.append(0, np.cumsum(met_there))[cuts]
        own = [rows[low:high] for low, high in pairwise(cuts.tolist())]
        parted = ring_delays(view, ranks, own, start, begins)
        if parted is not None:
            late[ranks], lost[ranks], others = parted
            hidden, unsure = hidden.union(ranks), unsure | others
            judged.append(ranks)
            continue
        calls = _calls(view, own, start, begins)
        if calls is not None and not view.one_sided:
            continue  # if senders wait for receivers, the whole ring begins each call late
        first = firsts(view.flows.start_ns.take(rows), cuts, begins)
        if calls is not None:
            late[ranks], lost[ranks] = calls
        elif not view.one_sided and np.isnan(first).all(axis=1).any():
            continue  # the late rank may wait for an invisible one
        else:
            late[ranks] = (first - middle(first, axis=0)) / view.period
            within[ranks] = middle((first - begins)[:, 1:], axis=1)[:, 0] / view.period
        if tree is not None and view.one_sided:
            inner = [place[m] for m in tree.inside]
            spoke, needs = sent_after(view, tree, begins)
            late[inner] = (spoke - np.fmax(needs, middle(first, axis=0))) / view.period
            within[inner] = middle((spoke - begins)[:, 1:], axis=1)[:, 0] / view.period
            ranks = [*ranks, *inner]
            worked[ranks] = (np.concatenate([first, spoke]) - _own_begins(view, ranks, begins)) / view.period
        for rank in ranks:
            met[rank].add(len(judged))
        judged.append(ranks)
    return Late(late, lost, judged, hidden, unsure, within, worked) if judged else None


def begins_of(view: View, ranks: Sequence[int]) -> Ints:
    """Begin of each step for all of some ranks, ns: when the last of them has ended the previous step."""
    own = [view.timeline.steps[rank][:, 1] for rank in ranks]
    own = [ends for ends in own if len(ends) == len(view.ends)]
    ends = np.max(own, axis=0) if own else view.ends
    return np.concatenate([[np.iinfo(np.int64).min], ends[:-1]])


def _own_begins(view: View, ranks: Sequence[int], begins: Ints) -> Ints:
    """End of the previous step of each of some ranks, or of all ranks if unknown; int64[ranks, steps]."""
    own = [view.timeline.steps[rank][:, 1] for rank in ranks]
    return np.stack([np.append(begins[:1], ends[:-1]) if len(ends) == len(begins) else begins for ends in own])


def _calls(view: View, own: Sequence[Ints], start: Ints, begins: Ints) -> tuple[Floats, Floats] | None:
    """Compute for which share of a step each member of a ring was later than all others in its calls, or delayed the ring.

    The sum, and the longest single delay: float64[ranks, steps] each. None if there is no ring, or too few calls.
    """
    if any(not len(rows) or (view.flows.dst.take(rows) != view.flows.dst[rows[0]]).any() for rows in own):
        return None
    sent = sorted_sends(view.flows, own, start)
    late = lateness(sent, begins)
    if late is None:
        return None
    found, (whole, most) = kept(sent, begins), np.zeros((2, *late.shape))
    np.add.at(whole, (found.edge, found.step), found.long)
    np.maximum.at(most, (found.edge, found.step), found.long)
    return np.maximum(late, whole) / view.period, np.maximum(late, most) / view.period


def _late_spans(
    late: Floats, ranks: Ints, sigma: float, share: float, sigmas: float, apart: float, least: int
) -> list[tuple[int, Shift]]:
    """Find members of one group that were late in a span of steps, or always: by half as much or more in most of these
    steps.
    """
    often = usual(late)[:, 0]
    found = []
    for at, rank in enumerate(ranks.tolist()):
        noise = max(sigma, spread(np.diff(late[rank]), floor=0.0) / float(np.sqrt(2)))  # some ranks vary more than most
        for one in shifts(late[rank] - often[rank], noise, least=least, height=share, score=sigmas):
            others = ranks[ranks != rank]
            moved = np.abs(middle(late[others, one.start : one.stop], axis=1)[:, 0] - often[others])
            if np.isnan(moved).all():
                continue
            rest = float(np.nanmax(moved))
            own = _unhidden(late, rank, others, one) - often[rank]
            steady = held(own, one, one.height / 2) >= OFTEN and even(own, one, noise)
            if one.height < apart * rest or not steady:
                continue
            level = late[ranks] - often[ranks, None]
            mostly = middle(level[:, one.start : one.stop], axis=1)[:, 0] >= one.height / 2
            if by_chance(unlike_others(level, at, one, np.flatnonzero(~mostly)), at, one) <= RARE:
                found.append((rank, one))
        always = often[rank] >= share and np.mean(late[rank] >= share / 2) >= OFTEN
        if (
            always
            and often[rank] >= apart * float(np.nanmax(np.abs(often[ranks[ranks != rank]])))
            and often[rank] >= 2 * spread(late[rank], floor=0.0)  # jitter makes the slowest rank late by varying amounts
        ):
            score = often[rank] / noise * np.sqrt(late.shape[1])
            found.append((rank, Shift(0, late.shape[1], float(often[rank]), float(score))))
    return found


def _explains(view: View, one: Shift, within: float) -> bool:
    """Whether a rank's lateness explains most of its steps' excess, or no other step is as long: the last rank after an
    evaluation does not cause the evaluation.

    The lateness arises within the share `within` of a step: a rank that works longer until then does so during the whole step.
    """
    own, other = view.durations[one.start : one.stop], np.delete(view.durations, np.arange(one.start, one.stop))
    if not (np.isfinite(own).any() and np.isfinite(other).any()):
        return True
    least = float(np.nanmin(own))
    excess = least - float(np.nanmedian(other))
    return bool(2 * one.height * view.period >= excess * within or np.nanmax(other) < least)


def _unhidden(late: Floats, rank: int, others: Ints, one: Shift) -> Floats:
    """Lateness of a rank; NaN in steps in which another rank delayed all for longer, if these are not most of a span."""
    latest = np.nansum(np.maximum(late[others], 0), axis=0)
    alone = np.where((latest > late[rank]) & (latest >= one.height / 2), np.nan, late[rank])
    return alone if np.isfinite(alone[one.start : one.stop]).mean() > 0.5 else late[rank]


def _grown(series: Floats, one: Shift) -> float:
    """Excess of a series in some steps over the other steps; its median if it is all steps."""
    other = np.delete(series, np.arange(one.start, one.stop))
    return float(np.nanmedian(series[one.start : one.stop]) - (np.nanmedian(other) if len(other) else 0.0))


def _one_per_host(view: View, found: list[tuple[int, Shift]], seen: Late) -> list[Finding]:
    """Select the latest rank of each host and time; the host if others of it are equally late, or it is unsure: waits
    inside a host are invisible.
    """
    late: dict[str, list[list[tuple[int, Shift]]]] = defaultdict(list)
    for rank, one in sorted(found, key=lambda f: -f[1].height):
        address = view.job.endpoints[rank]
        known = late[view.host(address)]
        meets = [own for own in known if one.start < own[0][1].stop and own[0][1].start < one.stop]
        if meets:
            meets[0].append((rank, one))
        else:
            known.append([(rank, one)])
    out, slow = [], [(one.start, one.stop) for _, one in found]
    for host, own in ((host, own) for host, times in sorted(late.items()) for own in times):
        rank, one = own[0]
        finding = _finding(view, rank, one, slow, seen)
        if rank in seen.unsure or any(r != rank and c.NEARLY_EQUAL * other.height > one.height for r, other in own):
            finding = replace(finding, subject="host", ids=(host,))
        out.append(finding)
    return out


def _finding(view: View, rank: int, one: Shift, slow: list[tuple[int, int]], seen: Late) -> Finding:
    address = view.job.endpoints[rank]
    start, end = view.during(one.start, one.stop)
    always = one.stop - one.start == len(view.ends)
    grew = 1 / max(1 - one.height, 1 / c.MOST_SLOWDOWN) if always else view.slowdown(one.start, one.stop, slow)
    late_ms = one.height * view.period / 1e6
    silent = seen.worked[rank]
    worked, least = (_grown(silent, one), np.nanmedian(silent) * one.height / 2) if np.isfinite(silent).any() else (0.0, 1.0)
    return Finding(
        detector="late_rank",
        kind="slow_rank",
        job=view.job.id,
        severity=severity(grew, one.height),
        subject="endpoint",
        ids=(address,),
        start_ns=start,
        end_ns=end,
        slowdown=round(max(grew, 1.0), 3),
        score=round(min(one.score, c.MOST_SCORE), 2),
        message=(
            f"starts its group's collectives {late_ms:.1f} ms {'after its peers' if always else 'later than usual'} "
            f"({percent(one.height)} of a step), and {'they wait' if always else 'its peers wait'} for it"
        ),
        evidence={"steps": view.numbers(one.start, one.stop), "late_ms": round(late_ms, 3), "late_share": round(one.height, 4)}
        | ({"unseen": "lanes between ranks of a host"} if rank in seen.hidden else {})
        | ({"worked_ms": round(worked * view.period / 1e6, 3)} if worked >= least else {}),
    )
