"""Find uneven work in pipelines: a stage with more work than the others, micro-batches with more work than others.

Each is replayed: how long would a step take if all stages worked as the median one, or if all micro-batches were alike?
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from prism.diagnosis import constants as c
from prism.diagnosis.uneven_work.job_causes import JobCause, cost_text, slowdown_of
from prism.findings.message_values import beside, duration, percent
from prism.graph.constants import PEERS
from prism.graph.job_view import View
from prism.graph.pipeline_replay import pipeline_span
from prism.graph.stage_work import BEGIN, END, Handovers, StageWork, handovers, stage_work, unqueued_work
from prism.loops.arrays.change_points import middle, spread
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Floats

MEETING = ("tp", "cp", "ep")  # kinds of groups that meet within a micro-batch


def pipeline_causes(view: View) -> list[JobCause]:
    """Find uneven work of a pipeline's stages or micro-batches; none if its hand-overs are not known.

    If the work varies over micro-batches, stages are not compared: their least work may be that of different micro-batches.
    """
    found = handovers(view)
    return [] if found is None else _data_imbalance(view, found) or _stage_imbalance(view, found)


def _stage_imbalance(view: View, found: Handovers) -> list[JobCause]:
    """Find a stage that works longer than all others, in every replica and nearly every step.

    The first stage's work is only known to be at most some value: it is never named, but may show that several are heavy.
    """
    work = stage_work(found)
    known = np.flatnonzero(np.isfinite(work.whole))
    inner = known[known > 0]
    if len(known) < PEERS or not len(inner):
        return []
    heavy = int(inner[np.argmax(work.whole[inner])])
    if heavy == 1 and work.whole[0] <= (1 + c.NEARLY) * work.whole[1]:
        work.whole[0] = work.forward[0] = work.backward[0] = np.nan  # the first stage waits for the second: its work is unknown
        known = known[known > 0]
    others = known[known != heavy]
    usual = float(np.median(work.whole[others]))
    more = work.whole[heavy] / usual - 1
    if heavy == len(work.whole) - 1 and not found.alternating:  # its mean work is known, the least of the others
        more -= 2 * _variation(found)[1]
    if more < c.UNEVEN or work.whole[others].max() / usual - 1 > c.ALONE * more or work.busy[heavy] < c.MIN_EXPLAINED:
        return []
    units = _units(view, found, heavy)
    each = work.by_chain[:, heavy] / middle(work.by_chain[:, others], axis=1)[:, 0] - 1
    least = min(float(middle(each[units == unit])) for unit in np.unique(units))
    steps = work.by_step[heavy] / middle(work.by_step[others], axis=0)[0] - 1
    steps = steps[np.isfinite(steps)]
    if not (least >= more / 2 and len(steps)) or np.mean(steps >= more / 2) < c.OFTEN:
        return []
    slowdown = _without_imbalance(view, found, work, heavy)
    if slowdown is None:
        return []
    ranks = tuple(view.job.endpoints[rank] for rank in sorted(found.chains[:, heavy].tolist()))
    probability = 1 - 0.5 ** len(np.unique(units)) - 0.5 ** len(steps)
    took = beside(duration(work.whole[heavy]), duration(usual), 1 + more, than="on the median stage")
    text = (
        f"pipeline stage {heavy} of {len(work.whole)} works {took} per micro-batch, in every replica; its ranks are alike, "
        f"so no part is broken; {cost_text(view, slowdown)}"
    )
    numbers = {
        "stage": heavy, "ranks": list(ranks), "work_ms": round(work.whole[heavy] / 1e6, 3),
        "usual_work_ms": round(usual / 1e6, 3),
        "stages_ms": [None if np.isnan(one) else round(one / 1e6, 3) for one in work.whole.tolist()],
        "busy": round(float(work.busy[heavy]), 3), "replicas": len(np.unique(units)),
    }  # fmt: skip
    score = more / spread(steps, floor=c.UNEVEN / c.SIGMAS)
    stop, alone = len(view.ends), len(np.unique(units)) < 2  # one slow part explains the same
    return [
        JobCause("stage_imbalance", "endpoint", ranks, 1, stop, slowdown, probability, score, text, numbers, claim=not alone)
    ]


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


def _without_imbalance(view: View, found: Handovers, work: StageWork, heavy: int) -> float | None:
    """Ratio of a step to the same step if the heavy stage worked as the median of the others."""
    others = np.arange(len(work.whole)) != heavy
    parts = []
    for own in (work.forward, work.backward):
        usual = float(middle(own[others]))
        now = np.where(np.isfinite(own), own, usual)
        parts.append((now, np.where(others, now, usual)))
    micro = found.forward.shape[-1]
    spans = [_span(found, *(np.tile(part[k][:, None, None], (1, micro, 1)) for part in parts)) for k in (0, 1)]
    return _cost(view, float(spans[0][0]), float(spans[1][0]))


def _span(found: Handovers, forward: Floats, backward: Floats) -> Floats:
    """Duration of the pipeline with this work, ns (`pipeline_span`); a hand-over takes its least time in a step."""
    move = float(middle((found.forward[END] - found.forward[BEGIN]).min(axis=-1)))
    return pipeline_span(forward, backward, move, alternating=found.alternating)


def _data_imbalance(view: View, found: Handovers) -> list[JobCause]:
    """Find work that varies over micro-batches and steps, equally in all stages of a pipeline."""
    common, varied, noise = _variation(found)
    if len(common) < 4 * view.least:
        return []
    probability, score = 1 - (noise / max(varied, c.UNEVEN)) ** 2, varied / c.UNEVEN * c.SIGMAS
    if varied < c.UNEVEN or probability < c.ALWAYS:
        return []
    ahead, back = np.exp(middle(np.log(unqueued_work(found)), axis=1)[:, 0])
    forward = float(middle(ahead[:-1]))
    usual = float(ahead[-1]) if np.isfinite(ahead[-1]) else forward + float(back[:-1].min())
    slowdown = _without_variation(view, found, common, forward, usual)
    if slowdown is None:
        return []
    text = (
        f"the work per micro-batch varies by {percent(varied)} around {duration(usual)}, equally in all pipeline stages "
        f"(they differ by {percent(noise)}), so the data vary and no part is broken; {cost_text(view, slowdown)}"
    )
    numbers = {"spread": round(varied, 3), "stage_spread": round(noise, 3), "usual_work_ms": round(usual / 1e6, 3)}
    who, stop = (view.job.id,), len(view.ends)
    return [JobCause("data_imbalance", "job", who, 1, stop, slowdown, probability, score, text, numbers)]


def _variation(found: Handovers) -> tuple[Floats, float, float]:
    """Variation of work over micro-batches that is common to the stages (logarithms), its spread, and that between stages.

    A replica that is always slower does not count. Spreads are 0 if nothing is known.
    """
    work = np.log(np.maximum(unqueued_work(found), 1.0))
    moved = (work - middle(work, axis=1)).reshape(-1, work.shape[-1])
    moved[np.isfinite(moved).sum(axis=1) < 2] = np.nan
    common = middle(moved, axis=1)
    own, common = moved - common, common.reshape(2 * len(found.chains), -1)
    common = (common - middle(common, axis=1)).ravel()
    common = common[np.isfinite(common)]
    return (common, spread(common, floor=0), spread(own, floor=0)) if len(common) else (common, 0.0, 0.0)


def _without_variation(view: View, found: Handovers, common: Floats, ahead: float, usual: float) -> float | None:
    """Ratio of a step to the same step if all micro-batches took their mean: replays with micro-batches drawn from those seen.

    `ahead` is the usual forward of a stage, `usual` forward and backward, ns. All replicas wait for the slowest.
    """
    stages, micro = found.chains.shape[1], found.forward.shape[-1]
    replicas = len(np.unique(_units(view, found, 0)))
    drawn = np.exp(np.random.default_rng(0).choice(common, (micro, replicas * c.DRAWS)))
    mean = np.full((micro, 1), np.exp(common).mean())
    spans = []
    for loads in (drawn, mean):
        work = np.broadcast_to(loads, (stages, *loads.shape))
        spans.append(_span(found, work * ahead, work * (usual - ahead)))
    return _cost(view, float(spans[0].reshape(replicas, c.DRAWS).max(axis=0).mean()), float(spans[1][0]))


def _cost(view: View, now: float, then: float) -> float | None:
    """Ratio of a step to the same step if its pipeline took `then` instead of `now`, ns; None if a step has no time for `now`.

    Then the hand-overs have another order than was assumed, for example an interleaved one.
    """
    return slowdown_of(view, now - then) if now <= (1 + c.NEARLY) * view.period else None
