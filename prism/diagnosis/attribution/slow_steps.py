"""Find slow steps and the candidate that explains most of what they lost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution._delay_spans import SlowSpan, slow_spans
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.comparisons import Case, Comparison, Mask
from prism.diagnosis.attribution.explained_delay import explained_shares, tables_of
from prism.diagnosis.attribution.lane_rates import rate_fit
from prism.diagnosis.attribution.twins import guilty_twin
from prism.diagnosis.stops.constants import STEP_BORDER
from prism.diagnosis.uneven_work.pipeline_causes import MEETING
from prism.graph.constants import PAUSE
from prism.graph.job_view import View
from prism.loops.arrays.change_points import Shift, by_chance
from prism.loops.constants import MAD_TO_SIGMA
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
    stall: bool = False  # one step in which all ranks waited for one, for at least a usual step


def verdicts(case: Case) -> list[Verdict]:
    """Find the causes of a job's slow steps, the clearest first; if there are none, parts that are slow against peers in all
    steps.
    """
    out: list[Verdict] = []
    if (own := case.versus_own_steps) is not None:
        out = _slower_than_usual(case.view, own)
        out += [one for one in _stalls(case.view, own) if not any(known.start <= one.start < known.stop for known in out)]
    for comparison in case.versus_peers:
        if not any(one.slowdown >= 1 + c.WORTH for one in out):
            out += _always_slower(case.view, comparison)
    return out


def _slower_than_usual(view: View, comparison: Comparison) -> list[Verdict]:
    """Find causes of spans of steps that took longer than others, or in which a part was slower.

    Adjacent spans with the same cause are one, if it is also the cause of both together.
    """
    out: list[Verdict] = []
    for one in slow_spans(view, comparison.delays, comparison.gone)[: c.MOST]:
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
    shares, fit = comparison.shares(during), rate_fit(view, comparison, during)
    if one.chance <= c.RARE:
        shares = np.where(fit >= c.ALWAYS, np.maximum(shares, fit), shares)
    chances = {k: _chance(view, comparison, k, one, during) for k in comparison.best(shares)}
    if all(chance is None for chance in chances.values()):  # replays take long
        return None
    mine = comparison.replayed(shares, during)
    top = int(np.argmax(mine))
    chance = chances[top]
    if chance is None:
        return None
    found = _verdict(view, comparison, mine, one, during)
    found = replace(found, probability=found.probability / (1 + chance))  # one fault against chance
    return found if found.share >= c.ENOUGH - c.FEWER * comparison.which[top].larger else None


def _chance(view: View, comparison: Comparison, top: int, one: SlowSpan, during: Mask) -> float | None:
    """Expected number of spans like this one that a candidate explains by chance; None if it cannot be blamed for the span."""
    best = comparison.which[top]
    if best.cause == "work" and (best.subject == "group" or hidden(view)):
        return None  # of a pipeline with slow stages on several hosts the data may be longer
    if best.cause == "network" and best.subject in ("endpoint", "host"):
        return 0.0
    chance = chance_of(comparison, top, one.start, one.stop)
    possible = min(one.chance, chance) <= c.RARE and _exceeds_scatter(view, comparison, top, during)
    return chance if possible else None


def _stalls(view: View, comparison: Comparison) -> list[Verdict]:
    """Find single steps that took at least one step longer because one rank, or the ranks of one host, stood still.

    If all ranks stand still, as in an evaluation, no candidate explains most of the delays and none is blamed. A rank that
    stands still between steps, for example to write a checkpoint, is not blamed either.
    """
    if hidden(view):
        return []
    more, usual = comparison.delays.more, float(np.median(view.durations[comparison.delays.model]))
    longest = PAUSE * usual
    if np.count_nonzero(more >= c.ENOUGH * longest) > max(c.RARE * len(more), 1):
        return []  # many steps are slow: this is usual for the job
    out = []
    alone = np.append(more[1:] < c.ENOUGH * longest, False)  # a span of slow steps may begin with the last one
    for step in np.flatnonzero((more >= c.STALL * usual) | ((more >= longest) & alone)).tolist():
        during = comparison.during(step, step + 1)
        mine = comparison.explained(during)
        best = comparison.which[int(np.argmax(mine))]
        if best.cause != "work" or best.subject == "group" or mine.max() < c.ALWAYS - c.FEWER * best.larger:
            continue
        if not _within_step(view, comparison, best, step):
            continue
        one = SlowSpan(step, step + 1, float(more[step] / (c.LOST * usual)))
        found = _verdict(view, comparison, mine, one, during)
        if found.lost >= c.ENOUGH * more[step]:
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
    return moved < 1 - STEP_BORDER and len(others) > 0 and bool(begun.mean() >= c.ENOUGH)


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
    """Find a rank, host or NIC that was slow against its peers in all steps. `beside`: peers are on the same host."""
    during = comparison.during(0, comparison.delays.transfers.steps)
    mine = comparison.explained(during)
    fit = rate_fit(view, comparison, during)
    nics = (fit >= c.ALWAYS) & np.array([one.subject == "endpoint" for one in comparison.which])
    if nics.any():  # slow transfers show more than late ones: these may wait for them
        mine = np.where(nics, mine, np.minimum(mine, mine[nics].max() - c.NEARLY))
    top = int(np.argmax(mine))
    best = comparison.which[top]
    whole = best.subject == "host" and best.cause == "work" and not comparison.beside
    compared = np.isfinite(comparison.delays.late[0, during[comparison.delays.transfers.step]])
    if mine[top] < (c.ENOUGH if nics[top] else c.ALWAYS) or not (best.subject == "endpoint" or whole):
        return []
    if compared.mean() < c.ENOUGH and not nics[top]:
        return []  # lanes without peers allow no conclusion
    if best.cause == "network" and len(comparison.slowed(best, during)) < 2:
        return []  # a single connection may take another path or carry other traffic
    if best.cause == "work" and hidden(view):
        return []
    one = SlowSpan(0, comparison.delays.transfers.steps, float(mine[top] / c.DOUBT))
    found = _verdict(view, comparison, mine, one, during)
    if found.slowdown < 1 + c.GROWN or (best.cause == "work" and found.probability < c.ALWAYS):
        return []
    return [found]


def _verdict(view: View, comparison: Comparison, mine: Floats, one: SlowSpan, during: Mask) -> Verdict:
    """Build the verdict on the candidate that explains most, with its probability and those of the others."""
    which, top = comparison.which, int(np.argmax(mine))
    whole = float(np.nansum(view.durations[during]))
    cost = min(comparison.cost(which[top], during), (1 - c.LEAST) * whole)
    alike = np.exp((mine - mine[top]) / c.DOUBT)
    others, seen, mass = list[tuple[Candidate, float, float]](), {_place(view, which[top])}, 1.0
    for k in np.argsort(-mine, kind="stable")[: c.BEST].tolist():
        place = _place(view, which[k])
        contains = which[k].subject == "group" and {*which[top].ids} & {*which[k].ids, *map(view.host, which[k].ids)}
        if place not in seen and which[k].ids != which[top].ids and not contains:
            seen.add(place)
            mass += float(alike[k])
            others.append((which[k], float(alike[k]), float(mine[k])))
    best, sure, share = which[top], 1 / mass, float(mine[top])
    if best.cause == "network" and rate_fit(view, comparison, during)[top] >= c.ALWAYS:
        sure = c.MEASURED * sure / (c.MEASURED * sure + 1 - sure)
    tied = c.NEARLY if len(np.flatnonzero(during)) == 1 else c.TIED  # a stop is not in proportion to usual work
    second = others[0] if others and others[0][1] / mass >= tied else None
    if second is not None and (pair := _pair(comparison, best, second[0], during)) is not None:
        both, guilty, together = pair
        sure, others = (1 + second[1]) / mass, others[1:]
        share = max(share, together) if sure >= c.ALWAYS and not best.larger else share
        best, sure = (both, sure) if guilty is None else ((best, second[0])[guilty], sure * (1 - c.RARE))
    return Verdict(
        best, one.start, one.stop, share, cost, whole / max(whole - cost, 1.0), comparison.always,
        tuple((o, p / mass) for o, p, _ in others[:4]), sure, one.score, comparison, during,
        tuple(share for _, _, share in others[:4]),
    )  # fmt: skip


def _pair(comparison: Comparison, one: Candidate, other: Candidate, during: Mask) -> tuple[Candidate, int | None, float] | None:
    """Join two candidates that the records hardly distinguish: the joined one, which of both is late, and what it explains.

    None if each of them explains delays that the other does not.
    """
    both = _joined(one, other, comparison.always)
    if both is None or _shared_delay(comparison, one, other, during) < c.ENOUGH:
        return None
    tables = tables_of([both], len(comparison.gone.moved))
    together = min(float(np.median(explained_shares(tables, comparison.gone)[0, during])), 1.0)
    return both, guilty_twin(comparison, one, other, during), together


def _shared_delay(comparison: Comparison, one: Candidate, other: Candidate, during: Mask) -> float:
    """Share of the new delays of two candidates on lanes between them, 0 … 1."""
    part = comparison.gone.before if one.cause == "work" else comparison.gone.within
    late = part[:, during].sum(axis=1)
    either, both = np.union1d(one.lanes, other.lanes), np.intersect1d(one.lanes, other.lanes)
    return float(late[both].sum() / max(late[either].sum(), 1.0))


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
    calm = other & (more < c.LOST * float(np.median(view.durations[comparison.delays.model])))
    alike = np.array([one.cause == comparison.which[top].cause for one in comparison.which])
    return bool(calm.any() and np.median(each[top, during]) >= c.CLEAR * np.quantile(each[alike][:, calm].max(axis=0), c.HIGH))


def hidden(view: View) -> bool:
    """Whether stages send to each other inside hosts, invisible to the network: a rank that waits there seems to work.

    Not if each of them meets others on the network within a micro-batch: there the delay of an earlier stage shows first.
    """
    stages = view.parallelism.stages
    several = [members for members in view.parallelism.unseen if len({stages.get(member) for member in members}) > 1]
    if not several:
        return False
    meet = {code for edge in view.edges if view.kinds.get(edge) in MEETING for code in edge}
    return any(view.code[member] not in meet for members in several for member in members)


def _joined(one: Candidate, other: Candidate, always: bool) -> Candidate | None:
    """Join two candidates of one kind to the link between them, if the records cannot distinguish them.

    Not against peers (`always`): both may only have another place than their peers.
    """
    if always or one.cause != other.cause or one.subject != other.subject or one.subject not in ("endpoint", "host", "switch"):
        return None
    ids = tuple(sorted((*one.ids, *other.ids)))
    return Candidate(one.cause, "link", ids, np.union1d(one.sends, other.sends), np.union1d(one.receives, other.receives))


def _place(view: View, one: Candidate) -> tuple[str, ...]:
    """Location of a candidate: all parts of one host are one location."""
    return (one.cause, view.host(one.ids[0])) if one.subject in ("endpoint", "host") else (one.subject, *one.ids)
