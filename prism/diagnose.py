"""The whole analysis, top-down: flows to jobs, groups, timelines and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from collectors.record import Flows, Transits
from prism.assess import assessed
from prism.causes import settled
from prism.certainty import Completeness, completeness
from prism.detectors import DETECTORS
from prism.detectors.view import View
from prism.events import events
from prism.identity import distinct
from prism.jobs import recognize, rows_of
from prism.kernels.pauses import without_pauses
from prism.model import Diagnosis, Finding, Job, JobDiagnosis, Parallelism, Source
from prism.parallelism import infer
from prism.phases import phases
from prism.timeline import reconstruct
from prism.topology import Topology

UNEVEN, WILD = 0.3, 0.5  # spread of the logarithms of step durations: parts were taken for steps; there are no steps
LOCKSTEP = 0.5  # a job whose steps are not seen moves at least this share of its octets in lockstep


def diagnose(
    flows: Flows,
    source: Source,
    *,
    topology: Topology | None = None,
    transits: Transits | None = None,
    jobs: Sequence[Job] | None = None,
    window: tuple[int, int] | None = None,
    least: int = 3,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Diagnosis:
    """Everything that `flows` tell. `progress` is told how many jobs are done, of how many.

    `jobs` are those to look at where they are known, else they are recognised. `window` is the time in which records would have
    been seen, ns; by default from the first record to the last. `least` is how many slow steps on end are told of.
    """
    transits = transits if transits is not None else Transits.empty(flows.exporters)
    if window is None and len(flows):
        window = int(flows.start_ns.min()), int(flows.end_ns.max())
    found: list[JobDiagnosis] = []
    findings: list[Finding] = []
    strangers: list[Job] = []
    uneven: list[Job] = []
    candidates = distinct(recognize(flows, topology)) if jobs is None else tuple(jobs)
    since, until = window or (0, 0)
    for done, job in enumerate(candidates):
        progress(done, len(candidates))
        view = _view(flows, transits, job, topology, until, least)
        if view.uneven >= WILD and view.parallelism.lockstep < LOCKSTEP:
            strangers.append(job)
            continue
        steady = view.uneven < UNEVEN
        raw = [finding for detect in DETECTORS for finding in detect(view)] if steady else []
        uneven += [] if steady else [job]
        happened = events(view, raw, (since, until))
        seen = completeness(view)
        findings += assessed(view, settled(raw, happened), seen)
        worked = phases(view.flows, job, view.parallelism, view.timeline)
        timeline = replace(view.timeline, events=happened, phases=worked)
        found.append(JobDiagnosis(job, _trusted(view.parallelism, seen), timeline))
    return Diagnosis(source, tuple(found), tuple(findings), tuple(_unexplained(flows, topology, found, strangers, uneven)))


def _trusted(parallelism: Parallelism, seen: Completeness) -> Parallelism:
    """A layout is as sure as the records that it is told from are complete."""
    layout = parallelism.layout
    return replace(parallelism, layout=replace(layout, confidence=round(layout.confidence * seen.share, 3)))


def _unexplained(
    flows: Flows, topology: Topology | None, found: Sequence[JobDiagnosis], strangers: Sequence[Job], uneven: Sequence[Job]
) -> Iterator[str]:
    """What was not understood, in words."""
    if not len(flows):
        yield "no payload was seen"
    elif not found:
        yield f"no training job: {len(flows):,} flow records between {_talkers(flows)} endpoints show no common steps"
    for job in strangers:
        yield f"{len(job.endpoints)} endpoints exchange payload without steps: {', '.join(job.endpoints[:4])}"
    for job in uneven:
        yield f"job {job.id}: its steps cannot be told, or not from their parts, so nobody is blamed"
    for one in found:
        unknown = sum(pair.octets for pair in one.parallelism.pairs if pair.kind == "unknown")
        total = sum(pair.octets for pair in one.parallelism.pairs)
        if unknown > 0.05 * total:
            yield f"job {one.job.id}: {unknown / total:.0%} of its octets fit no group"
        if one.parallelism.layout.confidence < 0.8:
            yield f"job {one.job.id}: its layout does not fit all of its traffic, or not all of that was seen"
    if topology is None and found:
        yield "without a topology, parallelism inside hosts cannot be seen and switches are not known"


def _talkers(flows: Flows) -> int:
    return len(np.union1d(flows.src, flows.dst))


def _view(flows: Flows, transits: Transits, job: Job, topology: Topology | None, until: int, least: int) -> View:
    """One job with its layout and timeline."""
    rows = rows_of(flows, job)
    own = flows.take(rows)
    clock = without_pauses(own, np.flatnonzero(~own.control()))
    parallelism = infer(clock.on(own), job, topology)
    timeline = reconstruct(own, job, parallelism, clock)
    members = np.isin(np.array(flows.endpoints), job.endpoints)
    outer = np.flatnonzero(members[flows.src] | members[flows.dst])
    inside = np.searchsorted(outer, rows)
    return View(own, flows.take(outer), transits, job, parallelism, timeline, topology, until, inside, least)
