"""Run the whole analysis, top-down: flows to jobs, groups, timelines and findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Transits
from prism.diagnosis.assessment.confidence import Completeness, completeness
from prism.diagnosis.assessment.root_causes import merge_by_cause
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.finding_assessment import assess_findings
from prism.diagnosis.attribution.unexplained_steps import unexplained
from prism.diagnosis.attribution.verdicts import combine_findings
from prism.diagnosis.stops.crash import crash
from prism.diagnosis.stops.hang import hang
from prism.diagnosis.uneven_work.job_findings import job_findings
from prism.evidence.record_contents import with_bursts
from prism.findings.advice import first_names
from prism.findings.titles import title
from prism.graph.constants import SPAN
from prism.graph.job_view import View
from prism.inventory.operator_hints import Hints, contradictions
from prism.jobs import around, largest_first, naming, recognize, rows_of
from prism.jobs.back_to_back import only_transfers
from prism.jobs.endpoint_pairs import pairs_of, parts, split_by_part
from prism.layout.answer.inference import Inferred, infer_members, unknown_layout
from prism.loops.arrays.record_merging import Bursts, bursts
from prism.model import Diagnosis, Finding, Job, JobDiagnosis, Parallelism, Source, Timeline
from prism.steps.examined_traffic import Examined
from prism.steps.job_events import after_pauses, events, uneven
from prism.steps.phases.rank_phases import phases
from prism.steps.timeline import reconstruct
from prism.topology import Topology
from prism.tracking.identity import distinct
from prism.tracking.step_numbers import Known, first_of

# spread of the logarithms of step durations: above UNEVEN sub-steps were taken for steps, above WILD there are no steps
UNEVEN, WILD = 0.3, 0.5
MAX_RANK_RECORDS = 2000  # records of a rank above which touching records are merged
# Records above which almost touching ones are merged before the analysis, and the same for clusters of few endpoints. Merging
# hides sizes and times of messages: of 107 layouts of drawn jobs of 32 and 64 GPUs four are wrong with it, none without. But a
# record takes 2.4 µs instead of 0.5 (medians of six), and jobs of 512 GPUs, with 2.5 million, must take 2 s. Chosen.
MAX_RECORDS, MAX_RECORDS_OF_FEW, FEW_ENDPOINTS = 1 << 20, 1 << 23, 256
# Probability that traffic trains a model; below, it gives no job where records are complete. Of 300 drawn and recorded jobs one
# had less than 0.56 where sums do not decide; solvers and halo exchange have 0.27 to 0.5, small inference and rings more.
LEAST_TRAINING = 0.5
MIN_LOCKSTEP = 0.5  # minimum share of octets in lockstep for a job without visible steps


def diagnose(
    flows: Flows,
    source: Source,
    *,
    topology: Topology | None = None,
    transits: Transits | None = None,
    jobs: Sequence[Job] | None = None,
    window: tuple[int, int] | None = None,
    least: int = 3,
    known: Known | None = None,
    hints: Hints | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Diagnosis:
    """Analyse `flows`: find jobs, layouts, steps and faults.

    Parameters
    ----------
    flows : Flows
        Flow records of a window.
    source : Source
        Description of the input, copied to the result.
    topology : Topology or None
        Host, rail and leaf of each address.
    transits : Transits or None
        Delays and losses inside switches.
    jobs : sequence of Job or None
        Known jobs; by default they are recognised.
    window : (int, int) or None
        Time in which records were collected, ns; by default from the first record to the last.
    least : int
        Minimum number of consecutive slow steps in a finding.
    known : Known or None
        Numbered steps of the only job in `jobs`.
    hints : Hints or None
        Facts from the operator about the site and its jobs; priors.
    progress : callable
        Called with the number of finished jobs and of all jobs.

    Returns
    -------
    Diagnosis
        Jobs, findings and unexplained traffic.
    """
    transits = transits if transits is not None else Transits.empty(flows.exporters)
    life, records = flows.window, len(flows)
    talkers, addresses = flows.talkers, tuple(flows.endpoints)
    flows = merge_records(flows) if too_many(records, talkers) else flows
    told: list[CandidateAnalysis] = []
    for done, job in enumerate(jobs or ()):
        progress(done, len(jobs or ()))
        own = naming(around(flows, job), job)
        given: Mapping[str, Any] = {"topology": topology, "transits": transits, "hints": hints}
        told.append(diagnose_job(own, job, window or life, least=least, known=known, **given))
    apart = parts(pairs_of(flows), topology) if jobs is None else ()
    divisions = split_by_part(flows, apart)
    del flows  # the columns of a division need their room
    for done, own in enumerate(divisions):
        progress(done, len(apart))
        given = {"topology": topology, "transits": transits, "hints": hints}
        own_jobs = recognize(own, topology, window=life, hints=hints)
        told += [diagnose_job(naming(around(own, j), j), j, window or life, least=least, **given) for j in own_jobs]
    told = told if jobs is not None else number_candidates(told)
    return merge_analyses(source, told, topology, records, talkers, hints, addresses)


def too_many(records: int, endpoints: int) -> bool:
    """Whether so many records between so many endpoints are merged before they are analysed."""
    return records > (MAX_RECORDS if endpoints > FEW_ENDPOINTS else MAX_RECORDS_OF_FEW)


def merge_records(flows: Flows) -> Flows:
    """Merge the records of a large cluster to dozens per connection instead of thousands.

    Merges only records that follow each other at about the rate of a transfer. Pauses, which separate steps and their parts,
    remain.
    """
    return bursts(flows, near=2.0, parts=64, of=False).flows


@dataclass(frozen=True, eq=False)
class CandidateAnalysis:
    """Analysis of a candidate for a job; `found` is None if it has no steps and is no job."""

    job: Job
    found: JobDiagnosis | None = None
    findings: tuple[Finding, ...] = ()
    steady: bool = True

    def called(self, name: str) -> CandidateAnalysis:
        """Return the same analysis with another job id."""
        job, found = replace(self.job, id=name), self.found
        findings = tuple(replace(f, job=name, ids=(name,) if f.subject == "job" else f.ids) for f in self.findings)
        return replace(self, job=job, found=found and replace(found, job=job), findings=findings)


def diagnose_job(
    flows: Flows,
    job: Job,
    window: tuple[int, int],
    *,
    topology: Topology | None = None,
    transits: Transits,
    least: int = 3,
    known: Known | None = None,
    hints: Hints | None = None,
) -> CandidateAnalysis:
    """Analyse the records around a job: all that begin or end at its endpoints. Parameters as in `diagnose`."""
    flows = with_bursts(flows)
    view, burst = infer_job(flows, transits, job, window[1], topology, least, known, hints)
    return diagnose_view(flows, view, burst, window, trains=known is not None)


def diagnose_view(
    flows: Flows, view: View, burst: Bursts | None, window: tuple[int, int], *, trains: bool = False
) -> CandidateAnalysis:
    """Find the faults of a job that was inferred from `flows` as `view` and `burst`.

    Longer windows may have shown that it `trains`: one with few steps does not deny it.
    """
    job, topology, least = view.job, view.topology, view.least
    spread = uneven(view)
    seen = completeness(view)
    if view.parallelism.training < LEAST_TRAINING and not seen.reasons and not trains:
        return CandidateAnalysis(job)
    if spread >= WILD and view.parallelism.lockstep < MIN_LOCKSTEP:
        return CandidateAnalysis(job)
    steady = spread < UNEVEN
    raw = [*crash(view), *hang(view)] if steady else []
    happened = events(view, raw, window)
    case = Case(view)
    raw = combine_findings(case, raw, seen) if steady else raw

    def quote(finding: Finding) -> str:
        return f"{title(finding, topology)}: {finding.message}"

    findings = after_pauses(view, assess_findings(view, merge_by_cause(raw, happened, quote=quote), seen))
    if steady and least >= SPAN:  # whole recordings
        findings += job_findings(view, case.transfers, seen, findings)
        findings += unexplained(case, findings, seen)
    del case  # the phases need its room
    records, parallelism = (flows, _in_records(view, burst)) if burst else (view.flows, view.parallelism)
    worked = phases(records, job, parallelism, view.timeline)
    if only_transfers(records, worked, job.endpoints):
        return CandidateAnalysis(job)
    timeline = replace(view.timeline, events=happened, phases=worked)
    return CandidateAnalysis(job, JobDiagnosis(job, _trusted(view.parallelism, seen), timeline), tuple(findings), steady)


def infer_job(
    flows: Flows,
    transits: Transits,
    job: Job,
    until: int,
    topology: Topology | None = None,
    least: int = 3,
    known: Known | None = None,
    hints: Hints | None = None,
) -> tuple[View, Bursts | None]:
    """Infer layout and timeline of a job, and the bursts that replace its records."""
    burst = bursts(flows) if len(flows) > MAX_RANK_RECORDS * len(job.endpoints) else None
    around_job = burst.flows if burst else flows
    merged = burst is not None and too_many(len(flows), len(job.endpoints))
    job, inferred = infer_members(around_job if merged else flows, job, topology, hints)
    rows = rows_of(around_job, job)
    own = around_job if len(rows) == len(around_job) and np.all(rows[1:] > rows[:-1]) else around_job.take(rows)
    parallelism, examined = _inferred(inferred, own, rows, job, None if merged else burst, topology)
    timeline = _numbered(_timeline(flows, own, rows, job, burst, parallelism, examined, topology), known)
    view = View(own, around_job, transits, job, parallelism, timeline, topology, until, rows, least)
    return view, burst


def _in_records(view: View, burst: Bursts) -> Parallelism:
    """Convert row numbers of streams from bursts to the original records."""
    inside = view.inside if view.inside is not None else np.arange(len(view.flows))
    streams = tuple(replace(s, rows=burst.records(inside[s.rows])) for s in view.parallelism.streams)
    return replace(view.parallelism, streams=streams)


def number_candidates(analyses: Sequence[CandidateAnalysis]) -> list[CandidateAnalysis]:
    """Sort candidates that were recognised in parts, largest first, and give each an id."""
    analyses = sorted(analyses, key=lambda one: largest_first(one.job))
    return [one.called(now.id) for one, now in zip(analyses, distinct([one.job for one in analyses]), strict=True)]


def merge_analyses(
    source: Source,
    analyses: Sequence[CandidateAnalysis],
    topology: Topology | None,
    records: int,
    talkers: int,
    hints: Hints | None = None,
    addresses: Collection[str] = (),
) -> Diagnosis:
    """Merge the analyses of all candidates to one diagnosis, with `records` between `talkers` endpoints.

    Contradictions to the `hints` are reported too; `addresses`: the endpoints in the records.
    """
    found = tuple(one.found for one in analyses if one.found is not None)
    findings = tuple(finding for one in analyses for finding in one.findings)
    unexplained = [*_unexplained(analyses, found, topology, records, talkers)]
    if hints is not None:
        unexplained += contradictions(hints, found, addresses, topology)
    return Diagnosis(source, found, findings, tuple(unexplained))


def _inferred(
    inferred: Inferred | None,
    own: Flows,
    rows: NDArray[np.intp],
    job: Job,
    burst: Bursts | None,
    topology: Topology | None,
) -> tuple[Parallelism, Examined | None]:
    """Return groups, streams and stages of a job in its `own` records, and the repetition of its traffic.

    `rows`: their places among the records that were `inferred` from, or among the bursts of these.
    """
    if inferred is None:
        return replace(unknown_layout(own, job), training=float(topology is None)), None
    of = inferred.best.of
    if burst is not None:
        first = np.full(len(burst.flows), -1, np.int32)
        first[burst.of[::-1]] = of[::-1]
        of = first
    found = inferred.best.parallelism(own, of[rows])
    found = replace(found, alternatives=inferred.alternatives, lockstep=inferred.lockstep, training=inferred.training)
    return found, inferred.examined


def _timeline(
    flows: Flows,
    own: Flows,
    rows: NDArray[np.intp],
    job: Job,
    burst: Bursts | None,
    parallelism: Parallelism,
    examined: Examined | None,
    topology: Topology | None,
) -> Timeline:
    """Build the timeline of a job from its `own` records, which are `rows` of the `flows` or of their bursts."""
    if burst is None:
        return reconstruct(own, job, parallelism, examined=examined, topology=topology)
    place = np.full(len(burst.flows), -1, np.int32)
    place[rows] = np.arange(len(rows))
    return reconstruct(own, job, parallelism, records=flows, of=place[burst.of], examined=examined, topology=topology)


def _trusted(parallelism: Parallelism, seen: Completeness) -> Parallelism:
    """Return the layout with less confidence where records are missing: its probability times their completeness."""
    layout = parallelism.layout
    return replace(parallelism, layout=replace(layout, confidence=round(layout.confidence * seen.share, 3)))


def _unexplained(
    told: Sequence[CandidateAnalysis], found: Sequence[JobDiagnosis], topology: Topology | None, records: int, talkers: int
) -> Iterator[str]:
    """Describe unexplained traffic."""
    if not records:
        yield "the input contains no payload"
    elif not found:
        yield f"no training job: the {records:,} flow records between {talkers} endpoints show no common steps"
    for job in (one.job for one in told if one.found is None):
        yield f"{len(job.endpoints)} endpoints exchange payload but show no steps: {first_names(job.endpoints)}"
    for job in (one.job for one in told if not one.steady):
        yield f"job {job.id}: step boundaries are not clear, so no fault can be located"
    for one in found:
        unknown = sum(pair.octets for pair in one.parallelism.pairs if pair.kind == "unknown")
        total = sum(pair.octets for pair in one.parallelism.pairs)
        if unknown > 0.05 * total:
            yield f"job {one.job.id}: {unknown / total:.0%} of its traffic belongs to no detected group"
        if one.parallelism.layout.confidence < 0.8:
            yield f"job {one.job.id}: the layout does not explain all of its traffic, or part of the traffic was not captured"
    if topology is None and found:
        yield "without --topology, parallelism inside hosts is not visible and no switch can be blamed"


def _numbered(timeline: Timeline, known: Known | None) -> Timeline:
    """Number the steps of a timeline after those already known."""
    return timeline if known is None else replace(timeline, first=first_of(timeline, known))
