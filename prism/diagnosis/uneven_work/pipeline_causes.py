"""Find uneven work in pipelines: a stage with more work than the others, micro-batches with more work than others.

Each is replayed: how long would a step take if all stages worked as the median one, or if all micro-batches were alike?
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.slowdown_findings import without
from prism.diagnosis.uneven_work.job_causes import JobCause, slowdown_of
from prism.findings.message_values import beside, duration, percent
from prism.graph.job_transfers import Transfers
from prism.graph.job_view import View
from prism.graph.pipeline_replay import pipeline_span
from prism.graph.stage_work import BEGIN, END, Handovers, handovers, stage_work
from prism.loops.arrays.change_points import middle, spread
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Floats
from prism.model import SubjectType

MEETING = ("tp", "cp", "ep")  # kinds of groups that meet within a micro-batch


def pipeline_causes(view: View, transfers: Transfers | None) -> list[JobCause]:
    """Find uneven work of a pipeline's stages or micro-batches; none if its hand-overs are not known.

    If the work varies over micro-batches, stages are not compared: their least work may be that of different micro-batches.
    """
    found = None if transfers is None else handovers(view, transfers)
    return [] if found is None else _data_imbalance(view, found) or _stage_imbalance(view, found)


def _stage_imbalance(view: View, found: Handovers) -> list[JobCause]:
    """Find a stage that works longer than all others, in every replica and nearly every step.

    The first stage's work is only known to be at most some value: it is never named, but may show that several are heavy.
    """
    work, ahead = stage_work(found)
    whole = middle(np.moveaxis(work, 1, 0).reshape(work.shape[1], -1), axis=1)[:, 0]
    known = np.flatnonzero(np.isfinite(whole))
    inner = known[known > 0]
    if not len(inner):
        return []
    heavy = int(inner[np.argmax(whole[inner])])
    if heavy == 1 and abs(whole[0] - whole[1]) <= c.UNEVEN * whole[1]:  # the first stage waits for it: its work is unknown
        whole[0], known = np.nan, inner
    others = known[known != heavy]
    usual = float(np.median(whole[others])) if len(others) else 0.0
    if usual <= 0:  # others show no work at all: there is nothing to compare with
        return []
    more = whole[heavy] / usual - 1
    if heavy == len(whole) - 1 and not found.alternating:  # its mean work is known, the least of the others
        more -= 2 * _variation(found)[1]
    if more < c.UNEVEN or whole[others].max() / usual - 1 > c.MIN_EXPLAINED * more:
        return []
    if not _alike(found, heavy):
        return []
    units = _units(view, found, heavy)
    by_chain, by_step = middle(work, axis=2)[:, :, 0], middle(work, axis=0)[0]
    each = by_chain[:, heavy] / middle(by_chain[:, others], axis=1)[:, 0] - 1
    least = min(float(middle(each[units == unit])) for unit in np.unique(units))
    steps = by_step[heavy] / middle(by_step[others], axis=0)[0] - 1
    steps = steps[np.isfinite(steps)]
    if not (least >= more / 2 and len(steps)) or np.mean(steps >= more / 2) < c.ALWAYS:
        return []
    now = np.where(np.isfinite(whole), whole, usual)
    then = np.where(now == whole[heavy], usual, now)
    slowdown = _slowdown(view, *(_span(found, part[:, None, None], ahead) for part in (now, then)))
    if slowdown is None:
        return []
    ranks = tuple(view.job.endpoints[rank] for rank in sorted(found.chains[:, heavy].tolist()))
    replicas, hosts = len(np.unique(units)), tuple({view.host(rank) for rank in ranks})
    took = beside(duration(whole[heavy]), duration(usual), 1 + more, than="on the median stage")
    text, cost = f"pipeline stage {heavy} of {len(whole)} works {took} per micro-batch", without(view, slowdown)
    numbers = {
        "stage": heavy, "ranks": list(ranks), "work_ms": round(whole[heavy] / 1e6, 3),
        "usual_work_ms": round(usual / 1e6, 3),
        "stages_ms": [None if np.isnan(one) else round(one / 1e6, 3) for one in whole.tolist()],
        "replicas": replicas,
    }  # fmt: skip
    score, stop = more / spread(steps, floor=c.UNEVEN / c.SIGMAS), len(view.ends)
    if replicas == 1 and heavy < len(whole) - 1 and len(hosts) == 1:  # inner stages have as many layers, the last has the loss
        text += f"; either it is slow, or it has more layers than the others; {cost}"
        subject: SubjectType = "endpoint" if len(ranks) == 1 else "host"
        who, probability = ranks if len(ranks) == 1 else hosts, 1 - c.TIED_PROBABILITY
        return [JobCause("slow_rank", subject, who, 1, stop, slowdown, probability, score, text, numbers)]
    text += f", in every replica; its ranks are alike, so no part is broken; {cost}"
    probability, claim = 1 - 0.5**replicas - 0.5 ** len(steps), replicas > 1  # of one, a slow part explains the same
    return [JobCause("stage_imbalance", "endpoint", ranks, 1, stop, slowdown, probability, score, text, numbers, claim=claim)]


def _alike(found: Handovers, stage: int) -> bool:
    """Whether nearly all micro-batches take a stage as long as the median one: all others wait for the one that works longest.

    Else its hand-overs are of several chunks, in an unknown order.
    """
    own = np.nansum(found.work[:, :, stage :: found.chains.shape[1]], axis=(0, 2))
    each = middle(np.where(own > 0, own, np.nan).reshape(-1, own.shape[-1]), axis=0)[0]
    each = each[np.isfinite(each)]
    return not len(each) or bool(np.mean(np.abs(each / np.median(each) - 1) <= c.UNEVEN) >= c.ALWAYS)


def _units(view: View, found: Handovers, stage: int) -> Ints:
    """Number of the unit of each chain's rank of a stage: ranks of one host, and of one group that meets in each micro-batch,
    wait for each other, so that one slow rank makes all of them slow.
    """
    own = found.chains[:, stage].tolist()
    place = {view.job.endpoints[rank]: i for i, rank in enumerate(own)}
    together = [[place[a] for a in group.members if a in place] for group in view.parallelism.groups if group.kind in MEETING]
    hosts: dict[str, list[int]] = {}
    for address, i in place.items():
        hosts.setdefault(view.host(address), []).append(i)
    pairs = [(part[0], other) for part in (*together, *hosts.values()) if part for other in part]
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    return np.asarray(
        connected_components(coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(own),) * 2))[1], np.int64
    )


def _span(found: Handovers, work: Floats, ahead: float) -> Floats:
    """Duration of the pipeline, ns, if stages do this work per micro-batch, [stages, micro-batches, draws] or 1 for alike ones.

    `ahead` is the share of the forward. A hand-over takes its least time in a step.
    """
    move = float(middle((found.forward[END] - found.forward[BEGIN]).min(axis=-1)))
    shape = found.chains.shape[1], found.forward.shape[-1], work.shape[-1]
    forward, backward = (np.broadcast_to(work * share, shape) for share in (ahead, 1 - ahead))
    return pipeline_span(forward, backward, move, alternating=found.alternating, turns=found.turns)


def _data_imbalance(view: View, found: Handovers) -> list[JobCause]:
    """Find work that varies over micro-batches and steps, equally in all stages of a pipeline.

    The replay draws micro-batches from those seen; without the variation all take their mean.
    """
    common, varied, noise = _variation(found)
    if len(common) < 4 * view.least:
        return []
    probability, score = 1 - (noise / max(varied, c.UNEVEN)) ** 2, varied / c.UNEVEN * c.SIGMAS
    if varied < c.UNEVEN or probability < c.ALWAYS:
        return []
    each = middle(np.moveaxis(found.work, 2, 1).reshape(2, found.work.shape[2], -1), axis=2)[..., 0]
    usual, ahead = found.turns * float(middle(np.nansum(each, axis=0))), stage_work(found)[1]
    replicas = len(np.unique(_units(view, found, 0)))
    drawn = np.random.default_rng(0).choice(np.exp(common), (1, found.forward.shape[-1], replicas * c.DRAWS))
    now, then = (_span(found, usual * loads, ahead) for loads in (drawn, np.full((1, 1, 1), np.exp(common).mean())))
    slowdown = _slowdown(view, now.reshape(replicas, c.DRAWS).max(axis=0), then)  # all replicas wait for the slowest
    if slowdown is None:
        return []
    text = (
        f"the work per micro-batch varies by {percent(varied)} around {duration(usual)}, equally in all pipeline stages "
        f"(they differ by {percent(noise)}), so the data vary and no part is broken; {without(view, slowdown)}"
    )
    numbers = {"spread": round(varied, 3), "stage_spread": round(noise, 3), "usual_work_ms": round(usual / 1e6, 3)}
    who, stop = (view.job.id,), len(view.ends)
    return [JobCause("data_imbalance", "job", who, 1, stop, slowdown, probability, score, text, numbers)]


def _variation(found: Handovers) -> tuple[Floats, float, float]:
    """Variation of work over micro-batches that is common to the stages (logarithms), its spread, and that between stages.

    A replica that is always slower does not count, nor what is the same in each step: the schedule lets some wait. Spreads are
    0 if nothing is known.
    """
    work = np.log(np.maximum(found.work, 1.0))
    moved = np.moveaxis(work - middle(work, axis=3), 2, -1).reshape(-1, work.shape[2])
    moved[np.isfinite(moved).sum(axis=1) < 2] = np.nan
    common = middle(moved, axis=1)
    own, common = moved - common, common.reshape(2 * len(found.chains), -1)
    common = (common - middle(common, axis=1)).ravel()
    common = common[np.isfinite(common)]
    return (common, spread(common, floor=0), spread(own, floor=0)) if len(common) else (common, 0.0, 0.0)


def _slowdown(view: View, now: Floats, then: Floats) -> float | None:
    """Ratio of a step to the same step if its pipeline took `then` instead of `now`, ns; None if a step has no time for `now`.

    Then the hand-overs have another order than was assumed, for example an interleaved one.
    """
    saved = float(now.mean() - then.mean())
    return slowdown_of(view, saved) if now.mean() <= (1 + c.UNEVEN) * view.period else None
