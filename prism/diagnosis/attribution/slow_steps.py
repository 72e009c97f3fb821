"""Find slow steps and the candidate that explains most of what they lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution._delay_spans import SlowSpan, slow_spans
from prism.diagnosis.attribution._tied_candidates import pair, place
from prism.diagnosis.attribution.candidates import Candidate, quiet_hosts
from prism.diagnosis.attribution.comparisons import Case, Comparison, Mask
from prism.diagnosis.attribution.lane_rates import lost_rate, may_be_slower, rate_fit, shares_its_rate
from prism.diagnosis.switch_evidence.switch_queues import Hop, queues
from prism.graph import constants as g
from prism.graph.job_view import View
from prism.loops.arrays.change_points import Shift, by_chance
from prism.loops.detection.transfer_delays import Floats


@dataclass(frozen=True, eq=False)
class Verdict:
    """A cause of slow steps `start` … `stop` − 1: the share of new delays that it explains, its cost, and alternatives."""

    candidate: Candidate
    start: int
    stop: int
    share: float
    lost: float  # ns in all of these steps
    slowdown: float
    always: bool
    others: tuple[tuple[Candidate, float], ...]
    probability: float
    score: float
    comparison: Comparison
    during: Mask
    shares: tuple[float, ...]
    rate_fit: float = 0.0  # largest of all candidates
    queued: Mapping[Hop, float] = field(default_factory=dict)  # hops where packets wait longer than in other steps, ns
    stall: bool = False  # one step in which one rank, or those of one host, stood still


def verdicts(case: Case) -> list[Verdict]:
    """Find the causes of a job's slow steps, the clearest first; if there are none, parts that are slow against peers in all
    steps.
    """
    out: list[Verdict] = []
    if case.may_have_slow_steps and (own := case.versus_own_steps) is not None:
        stalls = _stalls(case.view, own)
        out = _slower_than_usual(case.view, own)
        out += [one for one in stalls if not any(known.start <= one.start < known.stop for known in out)]
    if not any(one.slowdown >= 1 + c.WORTH for one in out) and (peers := case.versus_peers) is not None:
        found = _always_slower(case.view, peers)
        out += [one for one in found if case.view.whole or _holds_elsewhere(case.view, one)]
    return out


def _holds_elsewhere(view: View, one: Verdict) -> bool:
    """Whether the same part is slow against its peers in most cases if steps begin one, two or three quarters later.

    Where steps begin is not always known. Within a collective some members have sent a message that others have not, and are
    compared with others' next one.
    """
    held = 0
    for quarters in (1, 2, 3):
        steps = tuple(own[:-1] + (own[1:] - own[:-1]) * quarters // 4 for own in view.timeline.steps)
        later = replace(view, timeline=replace(view.timeline, steps=steps))
        peers = Case(later).versus_peers
        found = _always_slower(later, peers) if peers is not None else []
        held += any(set(other.candidate.ids) & set(one.candidate.ids) for other in found)
    return held > 1


def _slower_than_usual(view: View, comparison: Comparison) -> list[Verdict]:
    """Find causes of spans of steps that took longer than others, or in which a part was slower.

    Then those of spans among the other steps: a fault is less clear beside a larger one. The first steps of a job take longer
    because programs are compiled: work that is slow in no others shows nothing.
    """
    out, among, tried = list[Verdict](), np.ones(len(view.ends), np.bool_), set[tuple[int, int, bytes]]()
    for _ in range(c.PASSES):
        for one in slow_spans(view, comparison.delays, comparison.gone, among)[: c.EXAMINED]:
            key = (one.start, one.stop, among.tobytes())  # several rows have the same span
            if key not in tried and among[one.start : one.stop].all():
                tried.add(key)
                if (found := _cause_of(view, comparison, one, among)) is not None:
                    out.append(found)
                    among[one.start : one.stop] = False
        if among.all():
            break
    works = (one for one in out if one.candidate.cause == "network" or (not _starts(view, one) and _steps_cost(view, one)))
    return list(works)


def _starts(view: View, one: Verdict) -> bool:
    """Whether slow work is that of a job that starts: in its first steps only, or in a few more if it may be that of all ranks,
    where one of two parts is to blame, and there are no others.
    """
    named = all(address in one.candidate.ids or view.host(address) in one.candidate.ids for address in view.job.endpoints)
    return one.stop <= g.SPAN or (named and one.start < g.SPAN and one.stop <= 2 * g.SPAN)


def _steps_cost(view: View, one: Verdict) -> bool:
    """Whether slow work costs something that counts, in several steps that nothing else explains better: a span may join a step
    to pauses, or to a slow step of another rank.
    """
    delays, own = one.comparison.delays, one.comparison.explains_most(one.candidate)
    slow = view.comparable & own & (delays.more >= c.WORTH * delays.took)
    return one.slowdown >= 1 + c.WORTH and int(np.count_nonzero(slow[one.start : one.stop])) >= g.FEW


def _cause_of(view: View, comparison: Comparison, one: SlowSpan, among: Mask) -> Verdict | None:
    """Find the cause of a span of steps; None if it may be chance `among` the steps that no other cause explains, or if no
    candidate explains enough.
    """
    during = comparison.during(one.start, one.stop)
    during = during & view.comparable if np.count_nonzero(during & view.comparable) >= g.FEW else during
    shares, fit = comparison.shares(during), rate_fit(comparison, during)
    work = ~comparison.tables.network[:, 0]
    if shares[work].max(initial=0.0) >= c.MIN_EXPLAINED and not _slower_lanes_cost(comparison, during):
        fit = np.zeros_like(fit)  # lanes are slower, but that costs little of what work explains
    for k in np.flatnonzero(fit >= np.maximum(shares, c.ALWAYS)).tolist():
        shares[k] = fit[k] if chance_of(view, comparison, k, one.start, one.stop, among) <= c.RARE else shares[k]
    if shares.max(initial=0.0) < c.DOUBT:  # replays take long
        return None
    chances = {k: _chance(view, comparison, k, one, among) for k in comparison.best(shares)}
    if all(chance is None for chance in chances.values()):
        return None
    mine = comparison.replayed(shares, during)
    queued = queues(view, one.start, one.stop)
    likely = mine + c.DOUBT * np.log(c.MEASURED) * _queues_at(comparison, queued)
    top = int(np.argmax(likely))
    chance = chances[top] if top in chances else _chance(view, comparison, top, one, among)
    if chance is None:
        return None
    found = verdict_of(view, comparison, mine, one, during, fit=fit, likely=likely)
    found = replace(found, probability=found.probability / (1 + chance), queued=queued)  # one fault against chance
    return found if found.share >= c.MIN_EXPLAINED - c.FEWER * comparison.which[top].larger else None


def _slower_lanes_cost(comparison: Comparison, during: Mask) -> bool:
    """Whether the slowest lane moves longer than usual by a share of what the steps take longer that counts."""
    slower = comparison.delays.transfers.by_step(comparison.delays.slower)[:, during].max(axis=0, initial=0.0)
    return bool(np.median(slower) >= c.MIN_EXPLAINED * c.SAVED * np.median(comparison.delays.more[during]))


def _queues_at(comparison: Comparison, queued: Mapping[Hop, float]) -> Mask:
    """Whether packets wait at a switch of each candidate, longer than in other steps. bool[candidates]."""
    at = {name for hop in queued for name in hop}
    return np.array([who.subject in ("link", "switch") and not at.isdisjoint(who.ids) for who in comparison.which])


def _chance(view: View, comparison: Comparison, top: int, one: SlowSpan, among: Mask) -> float | None:
    """Expected number of spans like this one that a candidate explains by chance; None if it cannot be blamed for the span."""
    best = comparison.which[top]
    if best.cause == "network" and best.subject in ("endpoint", "host"):
        return 0.0
    chance = chance_of(view, comparison, top, one.start, one.stop, among)
    return chance if chance <= c.RARE else None


def _stalls(view: View, comparison: Comparison) -> list[Verdict]:
    """Find single steps that are far longer because one rank, or the ranks of one host, stood still.

    If all ranks stand still, as in an evaluation, no candidate explains most of the delays and none is blamed. A rank that
    stands still between steps, for example to write a checkpoint, is not blamed either, nor what recurs in other steps.
    """
    more, usual, out = comparison.delays.more, float(np.median(view.durations[comparison.delays.model])), []
    long = more >= g.PAUSE * usual
    long[:1] = False  # the first step of a job is often longer
    for step in np.flatnonzero(long & ~np.append(long[1:], False)).tolist():  # a span of slow steps may begin with the last one
        if np.count_nonzero(2 * more >= more[step]) > max(c.RARE * len(more), 1):
            continue
        during = comparison.during(step, step + 1)
        mine = comparison.explained(during)
        best = comparison.which[int(np.argmax(mine))]
        if best.cause != "work" or mine.max() < c.MIN_EXPLAINED - c.FEWER * best.larger:
            continue
        if not _stands_still(view, comparison, best, step, least=g.PAUSE * usual):
            continue
        found = verdict_of(view, comparison, mine, SlowSpan(step, step + 1, float(more[step] / (c.MIN_LOSS * usual))), during)
        if found.lost >= c.ALWAYS * more[step]:
            out.append(replace(found, stall=True))
    return out if len({one.candidate.ids for one in out}) < g.FEW else []  # each time another: a habit, as evaluations are


def _stands_still(view: View, comparison: Comparison, one: Candidate, step: int, *, least: float) -> bool:
    """Whether a candidate stood still within a step: another rank had begun it, and it did not end with the longest new delay.

    This delay is at least `least`, ns, and exceeds all own work between the candidate's transfers: slow work takes up to twice
    as long.
    """
    delays, t = comparison.delays, comparison.delays.transfers
    own = np.flatnonzero((t.step == step) & np.isin(t.lane, one.lanes))
    last = own[np.argmax(np.nan_to_num(delays.new[0, own]))]
    late, inside = float(np.nan_to_num(delays.new[0, last])), t.step == step
    before = inside & (delays.at[0] < delays.at[0, last] - late / 2)
    moved = float(t.octets[before].sum() / max(t.octets[inside].sum(), 1.0))
    named = [address in one.ids or view.host(address) in one.ids for address in view.job.endpoints]
    begun = not np.all(np.take(named, np.stack([t.src[before], t.dst[before]])))
    rested = delays.rested[:, own]
    long = late >= max(least, float(rested[np.isfinite(rested)].max(initial=0.0)))
    return begun and long and moved < 1 - g.NEAR


def chance_of(view: View, comparison: Comparison, top: int, start: int, stop: int, among: Mask) -> float:
    """Expected number of spans like `start` … `stop` by chance, from delays of candidates of the same kind in other steps,
    `among` those that no other cause explains.

    Without bound if the span holds steps with pauses only.
    """
    if not view.comparable[start:stop].any():
        return np.inf
    usual = max(float(np.median(comparison.gone.total)), comparison.delays.took, 1.0)
    best = comparison.which[top]
    alike = comparison.alike[best.cause, best.subject, best.way]
    levels = (comparison.scattered[alike] + c.FEWER * best.larger) * comparison.gone.total / usual
    row, levels = alike.index(top), np.where(view.comparable & among, levels, np.nan)
    return by_chance(levels, row, Shift(start, stop, float(np.nanmedian(levels[row, start:stop])), 0.0))


def _always_slower(view: View, comparison: Comparison) -> list[Verdict]:
    """Find a rank, host or NIC that was slow against its peers in all steps."""
    during = comparison.during(0, comparison.delays.transfers.steps)
    if not may_be_slower(view, comparison, during):
        return []
    mine = comparison.explained(during)
    fit = rate_fit(comparison, during)
    nics = fit >= c.ALWAYS
    if nics.any():  # a single slow connection may take another path or carry other traffic
        nics &= np.count_nonzero(lost_rate(comparison, during) >= c.SLOW_LANE) > 1
    if nics.any():  # slow transfers show more than late ones: these may wait for them
        mine = np.where(nics, np.maximum(mine, fit), np.minimum(mine, fit[nics].max() - c.DOUBT))
    larger = np.array([one.larger for one in comparison.which])
    nodes = np.array([one.cause == "network" and one.subject == "host" for one in comparison.which])
    mine = mine - c.DOUBT * larger  # parts that do not wait for each other are seldom slow together
    mine = np.where(nodes, 0.0, mine)
    top = int(np.argmax(mine))
    best = comparison.which[top]
    if mine[top] < c.MIN_EXPLAINED or best.subject not in ("endpoint", "host"):
        return []
    found = verdict_of(view, comparison, mine, SlowSpan(0, during.size, float(mine[top] / c.DOUBT)), during, fit=fit)
    if best.cause == "network":
        clear = (nics[top] or mine[top] >= c.ALWAYS) and len(comparison.slowed(best, during)) > 1
        clear = clear and not shares_its_rate(comparison, top, during)
    else:
        compared = np.isfinite(comparison.delays.late[0, during[comparison.delays.transfers.step]])
        clear = compared.mean() >= c.MIN_EXPLAINED and found.slowdown >= 1 + 2 * c.WORTH and found.probability >= c.ALWAYS
        clear = clear and (found.candidate is best or mine[top] >= c.ALWAYS)  # two explain more than one by chance
        clear = clear and not _waits_unseen(view, comparison, best)
    return [found] if clear else []


def _waits_unseen(view: View, comparison: Comparison, best: Candidate) -> bool:
    """Whether a rank may wait for quiet ranks of its host, and not all hosts have some: then others are no peers of it."""
    quiet = quiet_hosts(view, comparison.delays.transfers, least=1 - c.ALWAYS)
    hosts = {view.host(name) for name in best.ids} if best.subject == "endpoint" else set(best.ids)
    return bool(hosts & quiet) and any(view.host(name) not in quiet for name in view.job.endpoints)


def verdict_of(
    view: View,
    comparison: Comparison,
    mine: Floats,
    one: SlowSpan,
    during: Mask,
    *,
    fit: Floats | None = None,
    likely: Floats | None = None,
) -> Verdict:
    """Build the verdict on the likeliest candidate, with its probability and those of the others.

    `mine` is what each of them explains; `likely` the same, increased by other evidence; `fit` is that of `rate_fit`, if it
    counts.
    """
    likely = mine if likely is None else likely
    which, top = comparison.which, int(np.argmax(likely))
    whole = float(np.nansum(view.durations[during]))
    cost = min(comparison.cost(which[top], during), (1 - c.LEAST) * whole)
    alike = np.exp((likely - likely[top]) / c.DOUBT)
    others, seen = list[tuple[Candidate, float, float]](), {place(view, which[top])}
    mass = 1.0 + float(np.exp((c.MIN_EXPLAINED - likely[top]) / c.DOUBT))  # most delays may have a cause that is not listed
    for k in np.argsort(-likely, kind="stable")[: c.BEST].tolist():
        where = place(view, which[k])
        if where not in seen and which[k].ids != which[top].ids:
            seen.add(where)
            mass += float(alike[k])
            others.append((which[k], float(alike[k]), float(mine[k])))
    best, sure, share = which[top], 1 / mass, float(mine[top])
    if best.cause == "network" and fit is not None and fit[top] >= c.ALWAYS:
        sure = c.MEASURED * sure / (c.MEASURED * sure + 1 - sure)
    tied = c.DOUBT if len(np.flatnonzero(during)) == 1 else c.TIED_PROBABILITY  # a stop is not in proportion to usual work
    both = pair(view, comparison, best, others[0][0], during, tied=others[0][1] / mass >= tied) if others else None
    if both is not None:
        best, share = both[0], share if best.larger else max(share, both[1])
        sure, others = (1 + others[0][1]) / mass, others[1:]
    return Verdict(
        best, one.start, one.stop, share, cost, whole / max(whole - cost, 1.0), comparison.always,
        tuple((o, p / mass) for o, p, _ in others[:4]), sure, one.score, comparison, during,
        tuple(share for _, _, share in others[:4]), 0.0 if fit is None else float(fit.max()),
    )  # fmt: skip
