"""Describe one job: by step and edge (`job_steps`), which records show work, and its pauses."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.graph import constants as c
from prism.graph.job_steps import Floats, Steps
from prism.loops.arrays.intervals import union

__all__ = ["Floats", "View"]


class Pause(NamedTuple):
    """A silence of the whole job from `start` to `end`, ns, that made step `step` longer by `over`, ns, than usual
    silences do.
    """

    step: int
    start: int
    end: int
    over: int


class View(Steps):
    """One job by step and edge, with the records that show work, and its pauses."""

    @cached_property
    def work_relevant(self) -> NDArray[np.bool_]:
        """Mask of records of `around` that show whether a rank works: the job's own, and bulk that it sends away (a
        checkpoint).

        Answers to a monitor and fetched data are neither the end of own work nor the end of a wait. Bulk is a hundredth of a
        rank's octets.
        """
        flows = self.around
        members = flows.among(self.job.endpoints)
        sends, hears = members.take(flows.src), members.take(flows.dst)
        inside = sends & hears
        away = np.flatnonzero(sends > hears)
        if not len(away):
            return inside
        ends, weight = np.concatenate([flows.src[inside], flows.dst[inside]]), np.tile(flows.octets[inside], 2)
        own = np.bincount(ends, weights=weight, minlength=len(members))
        pair = flows.src[away].astype(np.int64) * len(members) + flows.dst[away]
        pairs, place = np.unique(pair, return_inverse=True)
        bulk = np.bincount(place, weights=flows.octets[away], minlength=len(pairs))[place] >= c.BULK * own[flows.src[away]]
        inside[away[bulk]] = True
        return inside

    @cached_property
    def comparable(self) -> NDArray[np.bool_]:
        """Mask of steps of known duration without a pause: what else delays a step with a pause is hardly visible.

        The first step is left out: its begin is an estimate.
        """
        out = np.isfinite(self.durations)
        out[:1] = False
        out[[pause.step for pause in self.pauses]] = False
        return out

    @cached_property
    def pauses(self) -> list[Pause]:
        """Longest silence of each step, if it is longer than usual by the share `PAUSE` of a step."""
        flows, n = self.flows, len(self.ends)
        payload = ~flows.control()
        if n < c.SPAN or not payload.any():
            return []
        every = payload.all()  # as in most RDMA jobs
        begin, end = union(*(column if every else column[payload] for column in (flows.start_ns, flows.end_ns)))
        silence = begin[1:] - end[:-1]
        step = np.searchsorted(self.ends, begin[1:], "left")  # a silence belongs to the step that it delays
        most = np.zeros(n + 1, np.int64)
        np.maximum.at(most, step, silence)
        first = np.flatnonzero(silence == most[step])[::-1]  # the first of equal silences of a step
        longest = {k: i for k, i in zip(step[first].tolist(), first.tolist(), strict=True) if 0 < k < n}
        if not longest:
            return []
        usual = float(np.median([silence[i] for i in longest.values()]))
        long = {
            k for k, i in longest.items() if silence[i] - usual >= c.PAUSE * self.period and silence[i] >= c.LONG * usual
        }  # a span of steps with long silences is slow
        runs = np.split(np.array(sorted(long)), np.flatnonzero(np.diff(sorted(long)) > 1) + 1)
        alone = [(k, longest[k]) for run in runs if len(run) < c.SPAN for k in run.tolist()]
        return [Pause(k, int(end[i]), int(begin[i + 1]), int(silence[i] - usual)) for k, i in alone]
