"""The whole analysis, top-down: flows to jobs, groups, timelines and findings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from collectors.record import Flows, Transits
from prism.detectors import DETECTORS
from prism.detectors.view import View
from prism.jobs import recognize, rows_of
from prism.model import Diagnosis, Finding, Job, JobDiagnosis, Source
from prism.parallelism import infer
from prism.timeline import reconstruct
from prism.topology import Topology


def diagnose(
    flows: Flows,
    source: Source,
    *,
    topology: Topology | None = None,
    transits: Transits | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Diagnosis:
    """Everything that `flows` tell. `progress` is told how many jobs are done, of how many."""
    transits = transits if transits is not None else Transits.empty(flows.exporters)
    found = []
    findings: list[Finding] = []
    jobs = recognize(flows, topology)
    for done, job in enumerate(jobs):
        progress(done, len(jobs))
        view = _view(flows, transits, job, topology)
        findings += [finding for detect in DETECTORS for finding in detect(view)]
        found.append(JobDiagnosis(job, view.parallelism, view.timeline))
    return Diagnosis(source, tuple(found), tuple(findings))


def _view(flows: Flows, transits: Transits, job: Job, topology: Topology | None) -> View:
    """One job with its layout and timeline."""
    own = flows.take(rows_of(flows, job))
    parallelism = infer(own, job, topology)
    timeline = reconstruct(own, job, parallelism)
    members = np.isin(np.array(flows.endpoints), job.endpoints)
    around = flows.take(members[flows.src] | members[flows.dst])
    return View(own, around, transits, job, parallelism, timeline, topology)
