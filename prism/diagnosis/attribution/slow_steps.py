"""Find slow steps and the candidate that explains most of what they lost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution._delay_spans import SlowSpan, slow_spans
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.comparisons import Case, Comparison, Mask
from prism.diagnosis.attribution.explained_delay import explained_shares, tables_of
from prism.diagnosis.attribution.lane_rates import lost_rate, rate_fit, strained
from prism.diagnosis.attribution.twins import guilty_twin
from prism.diagnosis.stops.constants import STEP_BORDER
from prism.diagnosis.switch_evidence.switch_queues import queues
from prism.graph.constants import PAUSE
from prism.graph.job_view import View
from prism.loops.arrays.change_points import Shift, by_chance
from prism.loops.constants import MAD_TO_SIGMA
from prism.loops.detection.transfer_delays import Floats

BOTH = 2  # of two candidates, either may be the cause


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
    stall: bool = False  # one step in which all ranks waited for one, for at least a usual step


def verdicts(case: Case) -> list[Verdict]:
    """Find the causes of a job's slow steps, the clearest first; if there are none, parts that are slow against peers in all
    steps.
    """
    out: list[Verdict] = []
    if case.may_have_slow_steps and (own := case.versus_own_steps) is not None:
        out = _slower_than_usual(case.view, own)
        out += [one for one in _stalls(case.view, own) if not any(known.start <= one.start < known.stop for known in out)]
    if not any(one.slowdown >= 1 + c.WORTH for one in out) and (peers := case.versus_peers) is not None:
        out += _always_slower(case.view, peers)
    return out


def _slower_than_usual(view: View, comparison: Comparison) -> list[Verdict]:
    """Find causes of spans of steps that took longer than others, or in which a part was slower.

    Adjacent spans with the same cause are one, if it is also the cause of both together.
    """
    out: list[Verdict] = []
    for one in slow_spans(view, comparison.delays, comparison.gone)[: c.EXAMINED]:
        if any(one.start < known.stop and known.start < one.stop for known in out):
            continue
        found = _cause_of(view, comparison, one)
        beside = [
            known
            for known in out
            if found and _same_cause(known, found) and one.start <= known.stop and known.start <= one.stop
        ]
        if found and beside:
            near = [found, *beside]
            start, stop = min(v.start for v in near), max(v.stop for v in near)
            span = replace(one, start=start, stop=stop, score=max(v.score for v in near))
            whole = _cause_of(view, comparison, span)
            if whole and _same_cause(whole, found):
                out, found = [known for known in out if known not in beside], whole
        out += [found] if found else []
    return [one for one in out if one.candidate.cause == "network" or one.slowdown >= 1 + c.WORTH]


def _same_cause(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts blame the same parts."""
    return (one.candidate.cause, one.candidate.ids) == (other.candidate.cause, other.candidate.ids)


def _cause_of(view: View, comparison: Comparison, one: SlowSpan) -> Verdict | None:
    """Find the cause of a span of steps; None if it may be chance, or if no candidate explains enough."""
    during = comparison.during(one.start, one.stop)
    shares, fit = comparison.shares(during), rate_fit(comparison, during)
    if one.chance <= c.RARE:
        shares = np.where(fit >= c.ALWAYS, np.maximum(shares, fit), shares)
    if shares.max(initial=0.0) < c.DOUBT:  # replays take long
        return None
    chances = {k: _chance(view, comparison, k, one, during) for k in comparison.best(shares)}
    if all(chance is None for chance in chances.values()):
        return None
    mine = comparison.replayed(shares, during)
    likely = mine + c.DOUBT * np.log(c.MEASURED) * _queues_at(view, comparison, one)
    top = int(np.argmax(likely))
    chance = chances[top] if top in chances else _chance(view, comparison, top, one, during)
    if chance is None:
        return None
    found = _verdict(view, comparison, mine, one, during, likely=likely)
    found = replace(found, probability=found.probability / (1 + chance))  # one fault against chance
    return found if found.share >= c.MIN_EXPLAINED - c.FEWER * comparison.which[top].larger else None


def _queues_at(view: View, comparison: Comparison, one: SlowSpan) -> Mask:
    """Whether packets wait at a switch of each candidate, longer than in other steps. bool[candidates]."""
    at = {name for hop in queues(view, one.start, one.stop) for name in hop}
    return np.array([who.subject in ("link", "switch") and not at.isdisjoint(who.ids) for who in comparison.which])


def _chance(view: View, comparison: Comparison, top: int, one: SlowSpan, during: Mask) -> float | None:
    """Expected number of spans like this one that a candidate explains by chance; None if it cannot be blamed for the span."""
    best = comparison.which[top]
    if best.subject == "group":
        return None  # of a pipeline with slow stages on several hosts the data may be longer
    if best.cause == "network" and best.subject in ("endpoint", "host"):
        return 0.0
    chance = float(np.sqrt(one.chance * chance_of(comparison, top, one.start, one.stop)))  # of two estimates
    return chance if chance <= c.RARE and _exceeds_scatter(view, comparison, top, during) else None


def _stalls(view: View, comparison: Comparison) -> list[Verdict]:
    """Find single steps that took at least one step longer because one rank, or the ranks of one host, stood still.

    If all ranks stand still, as in an evaluation, no candidate explains most of the delays and none is blamed. A rank that
    stands still between steps, for example to write a checkpoint, is not blamed either.
    """
    more, usual = comparison.delays.more, float(np.median(view.durations[comparison.delays.model]))
    longest = min(c.STALL * usual, max(c.STALL_NS, PAUSE * usual))
    if np.count_nonzero(more >= c.MIN_EXPLAINED * longest) > max(c.RARE * len(more), 1):
        return []  # many steps are slow: this is usual for the job
    out = []
    alone = np.append(more[1:] < c.MIN_EXPLAINED * longest, False)  # a span of slow steps may begin with the last one
    for step in np.flatnonzero((more >= c.STALL * usual) | ((more >= longest) & alone)).tolist():
        during = comparison.during(step, step + 1)
        mine = comparison.explained(during)
        best = comparison.which[int(np.argmax(mine))]
        if best.cause != "work" or best.subject == "group" or mine.max() < c.ALWAYS - c.FEWER * best.larger:
            continue
        if not _within_step(view, comparison, best, step):
            continue
        one = SlowSpan(step, step + 1, float(more[step] / (c.MIN_LOSS * usual)))
        found = _verdict(view, comparison, mine, one, during)
        if found.lost >= c.MIN_EXPLAINED * more[step]:
            out.append(replace(found, stall=True))
    return out


def _within_step(view: View, comparison: Comparison, one: Candidate, step: int) -> bool:
    """Whether most other ranks had begun a step before the candidate's longest new delay, and the step did not end with it."""
    delays, t = comparison.delays, comparison.delays.transfers
    own = np.flatnonzero((t.step == step) & np.isin(t.lane, one.lanes))
    last = own[np.argmax(np.nan_to_num(delays.new[0, own]))]
    inside = t.step == step
    before = inside & (delays.at[0] < delays.at[0, last] - np.nan_to_num(delays.new[0, last]) / 2)
    moved = float(t.octets[before].sum() / max(t.octets[inside].sum(), 1.0))
    others = [i for i, address in enumerate(view.job.endpoints) if address not in one.ids and view.host(address) not in one.ids]
    begun = np.isin(others, np.concatenate([t.src[before], t.dst[before]]))
    return moved < 1 - STEP_BORDER and len(others) > 0 and bool(begun.mean() >= c.MIN_EXPLAINED)


def chance_of(comparison: Comparison, top: int, start: int, stop: int) -> float:
    """Expected number of spans like `start` … `stop` by chance, from delays of candidates of the same kind in other steps."""
    usual = max(float(np.median(comparison.gone.total)), comparison.delays.took, 1.0)
    best = comparison.which[top]
    alike = [
        k
        for k, other in enumerate(comparison.which)
        if (other.cause, other.subject, other.way) == (best.cause, best.subject, best.way)
    ]
    levels = (comparison.share[alike] + c.FEWER * best.larger) * comparison.gone.total / usual
    row = alike.index(top)
    return by_chance(levels, row, Shift(start, stop, float(np.median(levels[row, start:stop])), 0.0))


def _always_slower(view: View, comparison: Comparison) -> list[Verdict]:
    """Find a rank, host or NIC that was slow against its peers in all steps."""
    during = comparison.during(0, comparison.delays.transfers.steps)
    mine = comparison.explained(during)
    fit = rate_fit(comparison, during)
    nics = fit >= c.ALWAYS
    if nics.any():
        nics &= strained(comparison, during, lost_rate(comparison, during))
    if nics.any():  # slow transfers show more than late ones: these may wait for them
        mine = np.where(nics, np.maximum(mine, fit), np.minimum(mine, fit[nics].max() - c.DOUBT))
    top = int(np.argmax(mine))
    best = comparison.which[top]
    compared = np.isfinite(comparison.delays.late[0, during[comparison.delays.transfers.step]])
    if mine[top] < (c.MIN_EXPLAINED if nics[top] else c.ALWAYS) or best.subject != "endpoint":
        return []
    if compared.mean() < c.MIN_EXPLAINED and not nics[top]:
        return []  # lanes without peers allow no conclusion
    if best.cause == "network" and len(comparison.slowed(best, during)) < 2:
        return []  # a single connection may take another path or carry other traffic
    one = SlowSpan(0, comparison.delays.transfers.steps, float(mine[top] / c.DOUBT))
    found = _verdict(view, comparison, mine, one, during)
    if best.cause == "work" and (found.slowdown < 1 + 2 * c.WORTH or found.probability < c.ALWAYS):
        return []
    return [found]


def _verdict(
    view: View, comparison: Comparison, mine: Floats, one: SlowSpan, during: Mask, *, likely: Floats | None = None
) -> Verdict:
    """Build the verdict on the likeliest candidate, with its probability and those of the others.

    `mine` is what each of them explains; `likely` the same, increased by other evidence.
    """
    likely = mine if likely is None else likely
    which, top = comparison.which, int(np.argmax(likely))
    whole = float(np.nansum(view.durations[during]))
    cost = min(comparison.cost(which[top], during), (1 - c.LEAST) * whole)
    alike = np.exp((likely - likely[top]) / c.DOUBT)
    others, seen = list[tuple[Candidate, float, float]](), {_place(view, which[top])}
    mass = 1.0 + float(np.exp((c.MIN_EXPLAINED - likely[top]) / c.DOUBT))  # most delays may have a cause that is not listed
    for k in np.argsort(-likely, kind="stable")[: c.BEST].tolist():
        place = _place(view, which[k])
        contains = which[k].subject == "group" and {*which[top].ids} & {*which[k].ids, *map(view.host, which[k].ids)}
        if place not in seen and which[k].ids != which[top].ids and not contains:
            seen.add(place)
            mass += float(alike[k])
            others.append((which[k], float(alike[k]), float(mine[k])))
    best, sure, share = which[top], 1 / mass, float(mine[top])
    if best.cause == "network" and rate_fit(comparison, during)[top] >= c.ALWAYS:
        sure = c.MEASURED * sure / (c.MEASURED * sure + 1 - sure)
    tied = c.DOUBT if len(np.flatnonzero(during)) == 1 else c.TIED_PROBABILITY  # a stop is not in proportion to usual work
    pair = _pair(view, comparison, best, others[0][0], during, tied=others[0][1] / mass >= tied) if others else None
    if pair is not None:
        both, guilty, together = pair
        share = max(share, together) if not best.larger else share
        best, sure = (best, others[0][0], both)[guilty], (1 + others[0][1]) / mass * (1 if guilty == BOTH else 1 - c.RARE)
        others = others[1:]
    return Verdict(
        best, one.start, one.stop, share, cost, whole / max(whole - cost, 1.0), comparison.always,
        tuple((o, p / mass) for o, p, _ in others[:4]), sure, one.score, comparison, during,
        tuple(share for _, _, share in others[:4]),
    )  # fmt: skip


def _pair(
    view: View, comparison: Comparison, one: Candidate, other: Candidate, during: Mask, *, tied: bool
) -> tuple[Candidate, int, float] | None:
    """Join two candidates that the records hardly distinguish: the joined one, which is late (0, 1, `BOTH`), what it explains.

    None if each of them explains delays that the other does not, or if they are not `tied` and nothing decides between them.
    """
    both = _joined(one, other, comparison.always)
    if both is None:
        return None
    part = comparison.gone.before if one.cause == "work" else comparison.gone.within
    late = part[:, during].sum(axis=1)
    shared = late[np.intersect1d(one.lanes, other.lanes)].sum()
    mine, either = late[one.lanes].sum(), late[both.lanes].sum()
    tied &= bool(shared >= c.MIN_EXPLAINED * either)
    decided = tied or (during.sum() > 1 and shared >= c.ALWAYS * mine)
    guilty = guilty_twin(view, comparison, one, other, during) if decided else None
    if guilty is None and not tied:
        return None
    tables = tables_of([both], len(comparison.gone.moved))
    together = min(float(np.median(explained_shares(tables, comparison.gone)[0, during])), 1.0)
    return both, BOTH if guilty is None else guilty, together


def _exceeds_scatter(view: View, comparison: Comparison, top: int, during: Mask) -> bool:
    """Whether the excess of some steps, or a candidate's delays in them, exceeds the scatter of other steps: some rank is
    always last.

    The delays are compared with the longest delay of any candidate of the same cause in nearly all steps of usual duration.
    """
    other = ~during & np.isfinite(view.durations)
    if not other.any():
        return True
    more, each = comparison.delays.more, comparison.share * comparison.gone.total
    scatter = MAD_TO_SIGMA * float(np.median(np.abs(more[other] - np.median(more[other]))))
    if np.median(more[during]) >= c.CLEAR * scatter:
        return True
    calm = other & (more < c.MIN_LOSS * float(np.median(view.durations[comparison.delays.model])))
    alike = np.array([one.cause == comparison.which[top].cause for one in comparison.which])
    longest = each[alike][:, calm].max(axis=0)
    return bool(calm.any() and np.median(each[top, during]) >= c.CLEAR * np.quantile(longest, c.ALWAYS))


def _joined(one: Candidate, other: Candidate, always: bool) -> Candidate | None:
    """Join two candidates of one kind to the link between them, if the records cannot distinguish them.

    So are a switch and the only host behind it, whose lanes are the same. Not against peers (`always`): both may only have
    another place than their peers.
    """
    if one.cause == "network" and one.subject != other.subject and np.array_equal(one.lanes, other.lanes):
        return replace(one, subject="link", ids=tuple(sorted((*one.ids, *other.ids))))
    alike = one.subject == other.subject if one.cause == "network" else {one.subject, other.subject} <= {"endpoint", "host"}
    if always or one.cause != other.cause or not alike or one.subject not in ("endpoint", "host", "switch"):
        return None
    ids = tuple(sorted((*one.ids, *other.ids)))
    return Candidate(one.cause, "link", ids, np.union1d(one.sends, other.sends), np.union1d(one.receives, other.receives))


def _place(view: View, one: Candidate) -> tuple[str, ...]:
    """Location of a candidate: all parts of one host are one location."""
    return (one.cause, view.host(one.ids[0])) if one.subject in ("endpoint", "host") else (one.subject, *one.ids)
