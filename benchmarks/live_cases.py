"""Adapt cases of the grid to live analysis: enough healthy steps before a fault, and faults of sufficient duration."""

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
    """Change a case to steps of `least_s` to `most_s`, with `warm` more of them, or `warm_s`, before the fault.

    A short fault cannot be reported in time, so a fault lasts at least `ill_s`: with short steps, more of them.
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
    """Remove all faults."""
    return replace(case, fault="none", spec=replace(case.spec, faults=()))


def ill(case: Case, kind: str) -> Case:
    """Replace the faults by one of a kind of `grid.FAULTS`."""
    return replace(case, fault=kind, spec=faulty(np.random.default_rng([case.seed]), case.spec, kind))


def _step_s(job: Job) -> float:
    """Estimate the duration of a step, s."""
    return (job.forward_ms + job.backward_ms) * (job.micro + job.pp - 1) * job.accumulation / 1e3


def _paced(job: Job, pace: float, warm: int, times: int) -> Job:
    """Scale a job to another speed with `times` as many steps, and `warm` more."""
    slowed: dict[str, Any] = {name: getattr(job, name) * pace for name in TIMES}
    grown: dict[str, Any] = {name: int(getattr(job, name) * pace) for name in OCTETS if getattr(job, name)}
    return replace(job, steps=job.steps * times + warm, **slowed, **{name: max(n, 1) for name, n in grown.items()})


def _later(fault: Fault, pace: float, warm: int, times: int, ill_s: float) -> Fault:
    """Shift a fault accordingly; one from the first step on stays there."""
    if not fault.first and fault.stop is None and fault.kind not in ("hang", "crash"):
        return fault
    restart = None if fault.restart_s is None else max(fault.restart_s * pace, ill_s)
    stop = None if fault.stop is None else fault.stop * times + warm
    return replace(
        fault, first=fault.first * times + warm, stop=stop, seconds=max(fault.seconds * pace, ill_s), restart_s=restart
    )
