"""Clusters of the grid made fit to be played live: known well before anything goes wrong, ill for long enough to be told."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.grid import Case, faulty
from prism.synth.scenario.specification import Fault, Job

OCTETS = ("gradient_octets", "activation_octets", "tensor_octets", "context_octets", "expert_octets", "checkpoint_octets")
TIMES = ("forward_ms", "backward_ms", "optimizer_ms", "load_ms", "evaluate_s", "begin_s")


def longer(
    case: Case, *, warm: int = 16, warm_s: float = 15.0, ill_s: float = 8.0, least_s: float = 0.3, most_s: float = 10.0
) -> Case:
    """A case whose steps take from `least_s` to `most_s`, with `warm` more of them, or `warm_s`, before anything goes wrong.

    Who is well again soon is told by nobody in time, so a fault lasts `ill_s` or longer: short steps are that many more.
    """
    spec = case.spec
    before = _step_s(spec.jobs[0])
    pace = min(max(before, least_s), most_s) / before
    step = before * pace
    warm = max(warm, math.ceil(warm_s / step))
    lasting = [f.stop - f.first for f in spec.faults if f.stop is not None]
    times = math.ceil(ill_s / step / min(lasting)) if lasting else 1
    jobs = tuple(_paced(job, pace, warm, times) for job in spec.jobs)
    faults = tuple(_later(fault, pace, warm, times, ill_s) for fault in spec.faults)
    nuisances = replace(
        spec.nuisances, monitor_more_s=max(spec.nuisances.monitor_more_s * pace, ill_s * spec.nuisances.monitor)
    )
    return replace(case, spec=replace(spec, jobs=jobs, faults=faults, nuisances=nuisances))


def well(case: Case) -> Case:
    """The same where nothing goes wrong."""
    return replace(case, fault="none", spec=replace(case.spec, faults=()))


def ill(case: Case, kind: str) -> Case:
    """The same where something of a kind of `grid.FAULTS` goes wrong instead."""
    return replace(case, fault=kind, spec=faulty(np.random.default_rng([case.seed]), case.spec, kind))


def _step_s(job: Job) -> float:
    """About how long a step takes, s."""
    return (job.forward_ms + job.backward_ms) * (job.micro + job.pp - 1) * job.accumulation / 1e3


def _paced(job: Job, pace: float, warm: int, times: int) -> Job:
    """A job at another speed whose steps are `times` as many, and `warm` more."""
    slowed: dict[str, Any] = {name: getattr(job, name) * pace for name in TIMES}
    grown: dict[str, Any] = {name: int(getattr(job, name) * pace) for name in OCTETS if getattr(job, name)}
    return replace(job, steps=job.steps * times + warm, **slowed, **{name: max(n, 1) for name, n in grown.items()})


def _later(fault: Fault, pace: float, warm: int, times: int, ill_s: float) -> Fault:
    """A fault of such jobs; who was ill from the start on still is."""
    if not fault.first and fault.stop is None and fault.kind not in ("hang", "crash"):
        return fault
    restart = None if fault.restart_s is None else max(fault.restart_s * pace, ill_s)
    stop = None if fault.stop is None else fault.stop * times + warm
    return replace(
        fault, first=fault.first * times + warm, stop=stop, seconds=max(fault.seconds * pace, ill_s), restart_s=restart
    )
