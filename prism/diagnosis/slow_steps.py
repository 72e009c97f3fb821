"""Slow steps: which candidate explains most of what they lost, from when to when."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.candidates import Candidate
from prism.diagnosis.comparisons import Case, Mask, Scene
from prism.diagnosis.delay_spans import Stretch, stretches
from prism.diagnosis.explained_delay import weigh
from prism.graph.job_view import View
from prism.graph.new_delays import Delays
from prism.loops.arrays.change_points import Shift, by_chance
from prism.loops.arrays.intervals import union
from prism.loops.detection.transfer_delays import Floats


@dataclass(frozen=True, eq=False)
class Verdict:
    """A cause of slow steps `start` … `stop` − 1, what it explains of the new delays, its cost, and who else it may be."""

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
    scene: Scene
    during: Mask
    shares: tuple[float, ...]
    stall: bool = False  # one step in which everybody waited for one rank, for as long as steps take


def verdicts(case: Case) -> list[Verdict]:
    """The causes of a job's slow steps, the clearest first; what was always slow where nothing else is."""
    out = _lately(case.view, case.lately) if case.lately is not None else []
    if case.lately is not None:
        out += [one for one in _stalls(case.view, case.lately) if not any(k.start <= one.start < k.stop for k in out)]
    for scene in case.always:
        out = out or _always(case.view, scene)
    return out


def _lately(view: View, scene: Scene) -> list[Verdict]:
    """The causes of stretches of steps that took longer than others, or in which something was slower."""
    out: list[Verdict] = []
    for one in stretches(view, scene.delays, scene.gone)[: c.MOST]:
        if any(one.start < known.stop and known.start < one.stop for known in out):
            continue
        during = scene.during(one.start, one.stop)
        mine = scene.explained(during)
        top = int(np.argmax(mine))
        best = scene.which[top]
        if best.cause == "work" and hidden(view):
            continue
        alone = best.cause == "network" and best.subject in ("endpoint", "host")
        chance = 0.0 if alone else chance_of(scene, top, one.start, one.stop)
        if not alone and (min(one.chance, chance) > c.RARE or not _stands_out(view, scene, top, during)):
            continue
        found = _verdict(view, scene, mine, one, during)
        found = replace(found, probability=found.probability / (1 + chance))  # one fault against those that chance makes
        if found.share >= c.ENOUGH - c.FEWER * best.larger:
            out.append(found)
    return [one for one in out if one.candidate.cause == "network" or one.slowdown >= 1 + c.WORTH]


def _stalls(view: View, scene: Scene) -> list[Verdict]:
    """Single steps that took at least one step longer because one rank, or those of one host, stood still.

    Where all stand still, as while they evaluate, none of them explains most of the delays, and nobody is blamed; nor where one
    stands still between steps, as to write a checkpoint.
    """
    if hidden(view):
        return []
    more, usual = scene.delays.more, float(np.median(view.durations[scene.delays.model]))
    if np.count_nonzero(more >= c.ENOUGH * c.STALL * usual) > max(c.RARE * len(more), 1):
        return []  # it is a habit of the job
    out = []
    for step in np.flatnonzero(more >= c.STALL * usual).tolist():
        during = scene.during(step, step + 1)
        mine = scene.explained(during)
        best = scene.which[int(np.argmax(mine))]
        within = c.AMID < _moved_before(scene, best, step) < 1 - c.AMID
        if best.cause == "work" and within and mine.max() >= c.ALWAYS - c.FEWER * best.larger:
            one = Stretch(step, step + 1, float(more[step] / (c.LOST * usual)), 0.0)
            out.append(replace(_verdict(view, scene, mine, one, during), stall=True))
    return [one for one in out if one.candidate.cause == "work" and one.lost >= c.ENOUGH * more[one.start]]


def _moved_before(scene: Scene, one: Candidate, step: int) -> float:
    """Which share of a step's octets had been sent when the longest new delay of a candidate ended."""
    delays, t = scene.delays, scene.delays.transfers
    own = np.flatnonzero((t.step == step) & np.isin(t.lane, one.lanes))
    last = own[np.argmax(np.nan_to_num(delays.new[0, own]))]
    inside = t.step == step
    before = inside & (delays.at[0] < delays.at[0, last] - np.nan_to_num(delays.new[0, last]) / 2)
    return float(t.octets[before].sum() / max(t.octets[inside].sum(), 1.0))


def chance_of(scene: Scene, top: int, start: int, stop: int) -> float:
    """How often chance makes delays of a candidate like those in some steps, where its like are as late now and then."""
    usual = max(float(np.median(scene.gone.total)), scene.delays.took, 1.0)
    best = scene.which[top]
    alike = [
        k
        for k, other in enumerate(scene.which)
        if (other.cause, other.subject, other.way) == (best.cause, best.subject, best.way)
    ]
    levels = (scene.share[alike] + c.FEWER * best.larger) * scene.gone.total / usual
    row = alike.index(top)
    return by_chance(levels, row, Shift(start, stop, float(np.median(levels[row, start:stop])), 0.0))


def _always(view: View, scene: Scene) -> list[Verdict]:
    """What was slow against its peers in all steps: a rank, its host, a NIC. Those `beside` one another are one host's."""
    during = scene.during(0, scene.delays.transfers.steps)
    mine = scene.explained(during)
    top = int(np.argmax(mine))
    best = scene.which[top]
    whole = best.subject == "host" and best.cause == "work" and not scene.beside
    compared = np.isfinite(scene.delays.late[0, during[scene.delays.transfers.step]])
    if mine[top] < c.ALWAYS or not (best.subject == "endpoint" or whole) or compared.mean() < c.ENOUGH:
        return []  # of those without peers nothing is known
    if best.cause == "network" and len(scene.slowed(best, during)) < 2:
        return []  # one connection alone may have another way, or carry something else
    if best.cause == "work" and hidden(view):
        return []
    one = Stretch(0, scene.delays.transfers.steps, float(mine[top] / c.DOUBT), 0.0)
    found = _verdict(view, scene, mine, one, during)
    if found.slowdown < 1 + c.GROWN or (best.cause == "work" and found.probability < c.ALWAYS):
        return []
    return [found]


def _verdict(view: View, scene: Scene, mine: Floats, one: Stretch, during: Mask) -> Verdict:
    """The verdict on the candidate that explains most, with its probability and the others'."""
    which, top = scene.which, int(np.argmax(mine))
    whole = float(np.nansum(view.durations[during]))
    cost = min(_cost(scene, which[top], during), (1 - c.LEAST) * whole)
    alike = np.exp((mine - mine[top]) / c.DOUBT)
    others, seen, mass = list[tuple[Candidate, float, float]](), {_place(view, which[top])}, 1.0
    for k in np.argsort(-mine, kind="stable")[: c.BEST].tolist():
        place = _place(view, which[k])
        if place not in seen and which[k].ids != which[top].ids:
            seen.add(place)
            mass += float(alike[k])
            others.append((which[k], float(alike[k]), float(mine[k])))
    best, sure, share = which[top], 1 / mass, float(mine[top])
    if others and others[0][1] / mass >= c.TIED and (both := _both(best, others[0][0], scene.always)) is not None:
        best, sure, others = both, (1 + others[0][1]) / mass, others[1:]
        if sure >= c.ALWAYS and best.subject == "link" and not which[top].larger:
            share = max(share, min(float(np.median(weigh([both], scene.gone)[0, during])), 1.0))
    return Verdict(
        best, one.start, one.stop, share, cost, whole / max(whole - cost, 1.0), scene.always,
        tuple((o, p / mass) for o, p, _ in others[:4]), sure, one.score, scene, during,
        tuple(share for _, _, share in others[:4]),
    )  # fmt: skip


def _stands_out(view: View, scene: Scene, top: int, during: Mask) -> bool:
    """Whether some steps, or a candidate's delays in them, are beyond what others scatter by: some rank is always last.

    Delays are compared with the longest of any candidate in nearly all steps that are about as quick as those that are usual.
    """
    other = ~during & np.isfinite(view.durations)
    if not other.any():
        return True
    more, each = scene.delays.more, scene.share * scene.gone.total
    scatter = 1.4826 * float(np.median(np.abs(more[other] - np.median(more[other]))))
    if np.median(more[during]) >= c.CLEAR * scatter:
        return True
    calm = other & (more < c.LOST * float(np.median(view.durations[scene.delays.model])))
    alike = np.array([one.cause == scene.which[top].cause for one in scene.which])
    return bool(calm.any() and np.median(each[top, during]) >= c.CLEAR * np.quantile(each[alike][:, calm].max(axis=0), c.HIGH))


def _cost(scene: Scene, one: Candidate, during: Mask) -> float:
    """What a candidate cost in some steps, ns; 0 where they would have saved too little without it to tell.

    Against the quickest steps all that was lost is its, if it explains it. Of what was always so, its own delays are known.
    """
    delays = scene.delays
    own = scene.gone.within if one.cause == "network" else scene.gone.before
    each = own[np.ix_(one.lanes, np.flatnonzero(during))].max(axis=0, initial=0.0)
    if scene.always:
        return _longer(delays, one, during) if one.cause == "network" else float(each.sum())
    more = np.maximum(delays.more[during], 0.0)
    if one.cause == "network":
        return float(more.sum())
    saved = np.maximum(delays.saved(one.gone(delays.transfers, during))[during], np.minimum(each, more))
    return float(more.sum()) if saved.sum() >= c.SAVED * more.sum() else 0.0


def _longer(delays: Delays, one: Candidate, during: Mask) -> float:
    """For how much longer than its like the slowest lane of a candidate was busy in some steps, ns: transfers may overlap."""
    t, most = delays.transfers, 0.0
    for lane in one.lanes.tolist():
        mine = np.flatnonzero((t.lane == lane) & during[t.step])
        if len(mine):
            begin, end = union(*(column[mine].astype(np.int64) for column in delays.at))
            share = float(delays.slower[mine].sum()) / max(float(t.busy[mine].sum()), 1.0)
            most = max(most, share * float((end - begin).sum()))
    return most


def hidden(view: View) -> bool:
    """Whether stages hand on inside hosts, where nobody sees it: who waits for a stage of its host seems to work."""
    stages = view.parallelism.stages
    return any(len({stages.get(member) for member in members}) > 1 for members in view.parallelism.unseen)


def _both(one: Candidate, other: Candidate, always: bool) -> Candidate | None:
    """Two candidates of one kind as what is between them, where nothing tells which of the two it is.

    Of what was `always` so, both may just have another place than their peers.
    """
    if always or one.cause != other.cause or one.subject != other.subject or one.subject not in ("endpoint", "host", "switch"):
        return None
    ids = tuple(sorted((*one.ids, *other.ids)))
    return Candidate(one.cause, "link", ids, np.union1d(one.sends, other.sends), np.union1d(one.hears, other.hears))


def _place(view: View, one: Candidate) -> tuple[str, ...]:
    """Where a candidate is: those of one host are one place to look at."""
    return (one.cause, view.host(one.ids[0])) if one.subject in ("endpoint", "host") else (one.subject, *one.ids)
