"""Summarise a job as a run for later comparison, and compare a job with earlier runs and with its own start.

A run is a fingerprint (ranks, layout, volumes) with figures (step time, work, bandwidth); see `regressions`. Of a large job
only some groups are measured. Only steps with stored transfers count.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from prism.metrics.aggregate_metrics import aggregate
from prism.metrics.ettr import step_ends
from prism.metrics.regressions import Figure, compare, drift, figures, fingerprint, same_job
from prism.model import JobDiagnosis, Timeline

_working = threading.Lock()
_known: WeakKeyDictionary[Timeline, Run | None] = WeakKeyDictionary()  # a timeline never changes
MAX_GROUPS = 16  # groups of a kind that are measured
MAX_RUNS = 20  # earlier runs, newest first


@dataclass(frozen=True)
class Run:
    """Summary of a run of a job, from `start_ns` to `end_ns`."""

    job: str
    start_ns: int
    end_ns: int
    fingerprint: Mapping[str, Any]
    figures: tuple[Figure, ...]

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values; inverse of `from_json`."""
        return {**vars(self), "fingerprint": dict(self.fingerprint), "figures": [vars(one) for one in self.figures]}


def from_json(fields: Mapping[str, Any]) -> Run:
    """Restore a run from plain values; inverse of `Run.to_json`. Raises TypeError, ValueError, KeyError."""
    print_ = fields["fingerprint"]
    if not isinstance(print_["volumes"], Mapping) or not isinstance(print_["layout"], Mapping):
        raise TypeError("fingerprint: volumes and layout must be mappings")
    own = tuple(Figure(str(f["name"]), float(f["value"]), float(f["error"]), bool(f["more"])) for f in fields["figures"])
    return Run(str(fields["job"]), int(fields["start_ns"]), int(fields["end_ns"]), dict(print_), own)


def summarise_run(job: JobDiagnosis) -> Run | None:
    """Summarise a job as a run; None with too few steps with transfers. Computed once per timeline."""
    with _working:
        if job.timeline not in _known:
            _known[job.timeline] = _run_of(job)
        run = _known[job.timeline]
    return replace(run, job=job.job.id) if run is not None else None


def _run_of(found: JobDiagnosis) -> Run | None:
    sent = found.timeline.spans.octets > 0
    if not sent.any():
        return None
    since = int(found.timeline.spans.start_ns[sent].min())
    steps = tuple(own[own[:, 0] >= since] for own in found.timeline.steps)
    own = aggregate(replace(found, timeline=replace(found.timeline, steps=steps)), most_groups=MAX_GROUPS)
    if own is None:
        return None
    return Run(found.job.id, found.job.start_ns, found.job.end_ns, fingerprint(own), figures(own))


def compare_history(job: JobDiagnosis, runs: Sequence[Run]) -> dict[str, Any]:
    """Compare a job with earlier runs of the same fingerprint, and its last steps with its first.

    `changed`: figures that differ by more than chance, worse ones first; `drift`: None if the steps did not change.
    """
    now = summarise_run(job)
    moved = drift(np.diff(step_ends(job)) / 1e9)
    told: dict[str, Any] = {"job": job.job.id, "drift": vars(moved) if moved else None, "runs": [], "changed": []}
    if now is None:
        return told | {"known": False}
    before = (one for one in runs if one.job != now.job and one.end_ns <= now.start_ns)
    alike = [one for one in before if same_job(now.fingerprint, one.fingerprint)]
    chosen = sorted(alike, key=lambda one: -one.end_ns)[:MAX_RUNS]
    changed = compare(now.figures, [one.figures for one in chosen])
    return told | {
        "known": True,
        "runs": [_run_json(one) for one in chosen],
        "changed": [vars(one) for one in changed],
        "step_s": _step(now),
    }


def _run_json(run: Run) -> dict[str, Any]:
    return {"job": run.job, "start_ns": str(run.start_ns), "end_ns": str(run.end_ns), "step_s": _step(run)}


def _step(run: Run) -> float | None:
    return next((one.value for one in run.figures if one.name == "step"), None)
