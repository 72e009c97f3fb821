"""Detect a rank whose own work takes longer than before, or than the work of its peers.

Source: blame by waiting. In synchronous training all ranks' steps take equally long, so durations do not show the cause. The
time that a rank works before it sends is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from prism.detectors import constants as c
from prism.detectors.peers.context_peers import above_mates
from prism.detectors.peers.peer_ranks import against_peers, ordinary, peers_of_stage, ranks_elsewhere
from prism.detectors.peers.slow_groups import PIECES, Piece, Slow, by_host, one_of_two, overlapping, partner
from prism.findings.message_values import beside
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import (
    HIGH,
    OFTEN,
    RARE,
    Shift,
    by_chance,
    even,
    held,
    middle,
    shifts,
    spread,
    standing_out,
    unlike_others,
    usual,
)
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import quantile
from prism.model import Finding, Severity, SubjectType


def slow_rank(
    view: View,
    *,
    factor: float = c.SLOWER,
    always: float = c.ALWAYS_SLOWER,
    sigmas: float = c.SIGMAS,
    apart: float = 2.0,
    share: float = c.WORTH,
) -> list[Finding]:
    """Detect ranks slower by `factor` or more for three steps or longer, or slower than their peers by `always` in all steps.

    A slow rank deviates by `sigmas` from the noise, and by `apart` times the change of the other ranks' work. It loses at least
    `share` of a step. If the steps took no longer, no rank waited: in a pipeline, whose bubbles may hide the delay, that is
    reported as information.
    """
    if view.work[0].shape[1] < c.LEAST_STEPS or len(view.work[0]) < 2:
        return []
    out = _slower(view, "typical", np.log(factor), sigmas, apart, share)
    if view.parallelism.piped:  # joined pieces are unreliable there, unless the total grew
        more = _grew_in_all(view, _slower(view, "largest", np.log(factor), sigmas, apart, share))
        more += _above_mates(view, np.log(factor), sigmas, share)
        out += [slow for slow in more if not any(overlapping(slow.one, known.one) for known in out)]
    else:
        out = out or _slower(view, "largest", np.log(factor), sigmas, apart, share)
    out = out or _always_slow(view, np.log(always), sigmas, apart, share)
    return [_finding(view, slow, mates) for slow, mates in by_host(view, one_of_two(view, out))]


def _slower(view: View, piece: Piece, height: float, sigmas: float, apart: float, share: float) -> list[Slow]:
    """Find ranks that took longer than usual for a piece of their work in some steps, unlike their peers."""
    worked, total = view.work[PIECES.index(piece)], view.work[2]
    moved = against_peers(view, np.log(worked))
    calm, piped = ordinary(worked), view.parallelism.piped
    sigma, usually = spread(moved), (middle(worked, axis=1) if piped else usual(calm, share=HIGH))[:, 0]
    stage_peers = {rank: ranks for ranks, _ in peers_of_stage(view) for rank in ranks.tolist()}
    out = []
    for rank, noise in standing_out(moved, sigma, least=view.least, height=height, score=sigmas).items():
        every = shifts(moved[rank], noise, least=view.least, height=height, score=sigmas)
        strangers = ranks_elsewhere(view, np.arange(len(worked)), rank)
        own = ranks_elsewhere(view, stage_peers.get(rank, strangers[:0]), rank)
        inside = [np.arange(one.start, one.stop) for one in every]
        outside = np.delete(calm[rank : rank + 1], np.concatenate([np.zeros(0, np.int64), *inside]), axis=1)
        else_seen = float(usual(outside, share=HIGH)[0, 0])
        for one in every:
            along = middle(moved[strangers, one.start : one.stop], axis=1)[:, 0]
            other = partner(view, rank, strangers[along >= one.height / apart])
            rest = _moved_most(np.maximum(along[strangers != other], 0.0))  # ranks that wait for data work in shorter pieces
            lost = float(np.nanmedian(total[rank, one.start : one.stop]) * (1 - np.exp(-one.height)))
            now = np.nanmedian(worked[rank, one.start : one.stop])
            if now < np.fmax(middle(usually[own]), else_seen) * np.exp(height / 2):
                continue  # it works like others, or like itself at other times
            if held(moved[rank], one, one.height / 2) < OFTEN or not even(moved[rank], one, noise):  # hiccups
                continue
            if by_chance(unlike_others(moved, rank, one, strangers[along < one.height / 2]), rank, one) > RARE:
                continue  # frequent hiccups, some adjacent
            if piped and _less_in_all(total[rank], one):
                continue  # short pieces vanish while it waits: a long one becomes typical
            if one.height >= apart * rest and lost >= share * view.period:
                out.append(Slow(rank, one, lost, rest, 1.0, piece, other))
    spans = [(slow.one.start, slow.one.stop) for slow in out]
    out = [slow._replace(grew=view.slowdown(slow.one.start, slow.one.stop, spans)) for slow in out]
    return [s for s in out if piped or severity(s.grew, s.lost / view.period) is not Severity.INFO]


def _less_in_all(total: Floats, one: Shift) -> bool:
    """Whether a rank's total work fell in some steps, by a quarter or more of the growth of its piece (in logarithms)."""
    other = np.delete(total, np.arange(one.start, one.stop))
    return bool(middle(total[one.start : one.stop]) < middle(other) * np.exp(-one.height / 4))


def _grew_in_all(view: View, found: Sequence[Slow]) -> list[Slow]:
    """Select ranks whose total work grew by about what their slowness predicts, and by twice as much as that of any rank
    elsewhere.

    The growth must exceed the work in their other steps, and that of their peers.
    """
    if not found:
        return []
    total, stage_peers = ordinary(view.work[2]), peers_of_stage(view)
    grown: dict[tuple[int, int], Floats] = {}
    out = []
    for slow in found:
        start, stop = during = slow.one.start, slow.one.stop
        if during not in grown:
            high = usual(np.delete(total, np.arange(start, stop), axis=1), share=HIGH)[:, 0]
            for own, _ in stage_peers:
                high[own] = np.fmax(high[own], middle(high[own]))
            grown[during] = middle(total[:, start:stop], axis=1)[:, 0] - high
        others = grown[during][ranks_elsewhere(view, np.arange(len(total)), slow.rank)]
        if grown[during][slow.rank] >= max(slow.lost / 2, 2 * np.nanmax(others, initial=0.0)):
            out.append(slow)
    return out


def _above_mates(view: View, height: float, sigmas: float, share: float) -> list[Slow]:
    """Find ranks that took longer than their context-parallel mates in some steps, and lost at least `share` of a step."""
    out = []
    for rank, one, mates, rest in above_mates(view, height, sigmas):
        lost = float(np.nanmedian(view.work[2][rank, one.start : one.stop]) * (1 - np.exp(-one.height)))
        if lost >= share * view.period:
            out.append(Slow(rank, one, lost, rest, view.slowdown(one.start, one.stop), "largest", beside=mates))
    return out


def _always_slow(view: View, height: float, sigmas: float, apart: float, share: float) -> list[Slow]:
    """Find ranks that were slower than their peers in all steps: in their largest piece of work, or in a typical one and in
    total.

    If reductions overlap the work, ranks send last in their turn, and the pieces in between are unreliable.
    """
    out = []
    levels = [
        _Level(level, usual(level, share=c.SEEN_SELDOM)[:, 0]) for level in (np.log(ordinary(work)) for work in view.work)
    ]
    for stage_peers, pairs in peers_of_stage(view):
        for rank in _high(view, stage_peers, height / 2) if pairs is None else stage_peers.tolist():
            sure = pairs is None and not view.parallelism.piped
            for piece, lead, support in _ways(levels, ranks_elsewhere(view, stage_peers, rank), rank, pairs, sure, height):
                if min(lead.over, support.over) < max(height, c.MORE_APART * apart * lead.rest, sigmas * lead.noise):
                    continue
                lost = float(middle(view.work[2][rank]) * (1 - np.exp(-lead.over)))
                if lead.steady(height / 2) and lost >= share * view.period:
                    grew = view.period / max(view.period - lost, view.period / 10)
                    steps = len(lead.above)
                    shift = Shift(0, steps, lead.over, lead.over / lead.noise)
                    out.append(Slow(rank, shift, lost, lead.rest, grew, piece))
                    break
    return out


class _Level(NamedTuple):
    """Logarithm of the work of each rank in each step, and the level that each rank reaches in a tenth of the steps."""

    work: Floats
    high: Floats


def _ways(
    levels: Sequence[_Level], strangers: Ints, rank: int, pairs: list[Ints] | None, sure: bool, height: float
) -> Iterator[tuple[Piece, _Above, _Above]]:
    """Yield the pieces by which a rank exceeds its peers by `height`, each with a second one that must exceed as well.

    In a pipeline, and for two ranks, where none is `sure`, a piece may be two joined ones; alone it is not enough.
    """
    typical, largest = None, _above(levels[1], strangers, rank, pairs, sure, height)
    if largest.over >= height:
        typical = None if sure else _above(levels[0], strangers, rank, pairs, sure, height)
        yield "largest", largest, typical or largest
    typical = typical or _above(levels[0], strangers, rank, pairs, sure, height)
    if typical.over >= height:
        yield "typical", typical, _above(levels[2], strangers, rank, pairs, sure, height)


def _high(view: View, stage_peers: Ints, height: float) -> list[int]:
    """Select those of many peers that usually exceed the median of all: one rank hardly moves this median."""
    levels = [np.log(work[stage_peers]) for work in view.work[:2]]
    over = [middle(level - middle(level, axis=0), axis=1)[:, 0] for level in levels]
    return [int(rank) for rank in stage_peers[np.nan_to_num(over, nan=-np.inf).max(axis=0) >= height]]


class _Above(NamedTuple):
    """Excess of one rank over its peers in each step, usually, its noise, and the spread of the others."""

    above: Floats
    over: float
    noise: float
    rest: float

    def steady(self, height: float, *, most: float = c.NINE_IN_TEN) -> bool:
        """Whether it exceeds them by `height` in most steps."""
        known = self.above[np.isfinite(self.above)]
        return len(known) > 0 and bool(np.mean(known >= height) >= most)


def _above(level: _Level, strangers: Ints, rank: int, pairs: list[Ints] | None, sure: bool, height: float) -> _Above:
    """Compare one rank with its peers, if it exceeds them by `height`. Of two ranks, the slower one is odd if other `pairs` are
    alike.

    If no rank waits for data (`sure`), ranks that sometimes seem to work less do not differ, but show often how long they work.
    """
    work = level.work
    nothing = _Above(np.zeros(work.shape[1]), 0.0, np.inf, np.inf)
    if not len(strangers) or (pairs is not None and not pairs):
        return nothing
    above = work[rank] - middle(work[strangers], axis=0)[0]
    if not np.isfinite(above).any():
        return nothing
    over = float(middle(above))
    if sure and over >= height:
        over = min(over, float(middle(work[rank])) - _nine_in_ten(level.high[strangers]))
    if over < height:
        return nothing
    noise = max(spread(above) / np.sqrt(work.shape[1]), 1e-9)
    own = [strangers] if pairs is None else pairs
    among = np.concatenate([(1 if pairs is None else 2) * (work[ranks] - middle(work[ranks], axis=0)) for ranks in own])
    among = middle(among, axis=1)
    among = np.maximum(among, 0.0) if sure else among
    return _Above(above, over, noise, _moved_most(among))


def _moved_most(moved: Floats) -> float:
    """Largest change of nine in ten of the others."""
    return _nine_in_ten(np.abs(moved[np.isfinite(moved)]))


def _nine_in_ten(values: Floats) -> float:
    """Quantile 0.9 of the known values; 0 if there are none."""
    return quantile(np.sort(values[~np.isnan(values)]), c.NINE_IN_TEN)


def _peers(slow: Slow, others: float) -> str:
    """Text: change of the compute time of the ranks that it was compared with."""
    whose = "the ranks beside it" if slow.beside else "its peers"
    return f"{whose} are unchanged" if others < c.UNCHANGED else f"{whose} changed by {others:.2f}× at most"


def severity(slowdown: float, lost: float) -> Severity:
    """Severity of a slow rank. Steps must have grown by at least an eighth of the share `lost`; bubbles may hide the rest."""
    if slowdown < 1 + max(c.WORTH, lost / 8):
        return Severity.INFO
    return Severity.CRITICAL if slowdown >= c.CRITICAL else Severity.WARNING


def _finding(view: View, slow: Slow, mates: list[int]) -> Finding:
    one = slow.one
    address = view.job.endpoints[slow.rank]
    host = view.topology.host(address) if view.topology is not None else None
    start, end = view.during(one.start, one.stop)
    factor, others = float(np.exp(one.height)), float(np.exp(slow.rest))
    worked = view.work[PIECES.index(slow.piece)][slow.rank]
    now = float(np.nanmedian(worked[one.start : one.stop]) / 1e6)
    always = one.stop - one.start == len(worked)
    than = "on comparable ranks" if always else "usually"
    level = severity(slow.grew, slow.lost / view.period)
    where = f" on {len(mates) + 1} of its ranks" if mates and host else ""
    subject: SubjectType = "host" if mates and host else "endpoint"
    ids: tuple[str, ...] = (host,) if mates and host else (address,)
    if slow.partner >= 0:
        subject, ids = "link", tuple(sorted([address, view.job.endpoints[slow.partner]]))
        where = " on one of the two, which start together" if not view.parallelism.piped else " on one of the two"
    return Finding(
        detector="slow_rank",
        kind="slow_rank",
        job=view.job.id,
        severity=level,
        subject=subject,
        ids=ids,
        start_ns=start,
        end_ns=end,
        slowdown=round(max(slow.grew, 1.0), 3),
        score=round(min(one.score, c.MOST_SCORE), 2),
        message=(
            f"compute time before sending{where} is {beside(f'{now:.1f} ms', f'{now / factor:.1f} ms', factor, than=than)}; "
            f"{_peers(slow, others)} {'but steps take no longer' if level is Severity.INFO else 'and wait for it'}"
        ),
        evidence={
            "steps": view.numbers(one.start, one.stop),
            "piece": slow.piece,
            "ranks": [view.job.endpoints[rank] for rank in (slow.rank, *mates)],
            "work_ms": round(now, 3),
            "usual_work_ms": round(now / factor, 3),
            "lost_ms_per_step": round(slow.lost / 1e6, 3),
            "others_moved": round(others, 3),
        }
        | ({"beside": [view.job.endpoints[rank] for rank in slow.beside]} if slow.beside else {}),
    )
