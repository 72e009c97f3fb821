"""Compute metrics per job and exporter, for a limited number of jobs and exporters.

Of more jobs, running ones come first, then those with the largest loss. Each finding is counted once; the newest is the
exemplar (OpenMetrics): its id, and the address of its page if known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from collectors.operations.metrics import Count, Example
from prism.alerts.alert_labels import finding_page
from prism.exporters.export_survey import Sent
from prism.tracking.board import Board
from prism.views import board_views
from prism.views.board_views import Json

MOST_JOBS, MOST_EXPORTERS = 200, 1000
REMEMBERED = 20_000  # findings that are remembered, to count each once
Numbers = dict[tuple[str, ...], float]


class JobMetrics:
    """Metrics of a board's jobs; remembers the findings that it has counted."""

    def __init__(self, external_url: str = "", exporters: Callable[[], Mapping[str, Sent]] = dict) -> None:
        self._url, self._exporters = external_url, exporters
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._found: Numbers = {}
        self._examples: dict[tuple[str, ...], Example] = {}

    def counts(self, board: Board) -> Iterator[Count]:
        """Compute all metrics."""
        every = board_views.jobs(board)
        shown = sorted(every, key=lambda job: (job["state"] == "ended", -(job["lost_gpu_seconds"] or 0), job["id"]))[:MOST_JOBS]
        yield Count(
            "prism_job_left_out",
            "jobs that have no metrics because there are too many",
            {(): len(every) - len(shown)},
            level=True,
        )
        yield from _jobs(shown)
        yield from _bandwidth(board, {job["id"] for job in shown})
        yield self._findings(board, {job["id"] for job in shown})
        yield from _sent(dict(self._exporters()))

    def _findings(self, board: Board, jobs: set[str]) -> Count:
        for case in sorted(board.cases, key=lambda one: one.opened_ns):
            if case.id in self._seen or case.finding.job not in jobs:
                continue
            self._seen[case.id] = None
            key = case.finding.job, case.finding.kind, case.finding.severity.value
            self._found[key] = self._found.get(key, 0) + 1
            link = finding_page(self._url, case.id)
            labels = {"finding": case.id} | ({"url": link} if link and len(link) + len(case.id) <= 110 else {})
            self._examples[key] = Example(labels, 1.0, case.opened_ns / 1e9)
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        found = {key: number for key, number in self._found.items() if key[0] in jobs}
        examples = {key: self._examples[key] for key in found}
        return Count("prism_job_findings", "findings opened", found, ("job", "kind", "severity"), examples=examples)


def _jobs(shown: list[Json]) -> Iterator[Count]:
    def of(name: str, meaning: str, value: Callable[[Json], float | None], factor: float = 1.0) -> Count:
        numbers: Numbers = {(job["id"],): float(found) * factor for job in shown if (found := value(job)) is not None}
        return Count(name, meaning, numbers, ("job",), level=True)

    about: Numbers = {(job["id"], *_job_labels(job)): 1.0 for job in shown}
    yield Count(
        "prism_job_info",
        "what a job is called and how it is laid out",
        about,
        ("job", "name", "user", "queue", "layout", "state"),
        level=True,
    )
    yield of("prism_job_ranks", "ranks of the job", lambda job: job["endpoints"])
    yield of("prism_job_steps", "steps that are kept of the job", lambda job: job["steps"])
    yield of("prism_job_step_seconds", "median duration of its steps", lambda job: job["step_ms"]["median"], 1e-3)
    yield of("prism_job_step_p95_seconds", "95th percentile of its steps' duration", lambda job: job["step_ms"]["p95"], 1e-3)
    newest = "the newest steps: the greatest of each run"
    yield of("prism_job_step_last_seconds", newest, lambda job: job["sparkline"][-1] if job["sparkline"] else None, 1e-3)
    yield of(
        "prism_job_lost_gpu_seconds",
        "what slowness cost all its GPUs, of the findings that are known",
        lambda job: job["lost_gpu_seconds"],
    )
    yield of("prism_job_layout_confidence", "how sure its layout is", lambda job: job["confidence"])
    phases: Numbers = {(job["id"], phase): share for job in shown for phase, share in job["phases"].items()}
    yield Count("prism_job_phase_ratio", "share of its ranks' time; idle is waiting", phases, ("job", "phase"), level=True)
    open_: Numbers = {(job["id"], severity): number for job in shown for severity, number in job["findings"].items()}
    yield Count("prism_job_findings_open", "open findings", open_, ("job", "severity"), level=True)


def _job_labels(job: Json) -> tuple[str, str, str, str, str]:
    booked = job["scheduler"] or {}
    sizes = " x ".join(f"{kind.upper()} {size}" for kind, size in job["layout"].items() if size > 1)
    return job["name"] or "", booked.get("user") or "", booked.get("queue") or "", sizes, job["state"]


def _bandwidth(board: Board, jobs: set[str]) -> Iterator[Count]:
    found: Numbers = {}
    for status in board.jobs:
        seconds = (status.found.job.end_ns - status.found.job.start_ns) / 1e9
        if status.id in jobs and seconds > 0:
            for pair in status.found.parallelism.pairs:
                key = status.id, pair.kind
                found[key] = found.get(key, 0.0) + pair.octets * 8 / seconds
    yield Count(
        "prism_job_bandwidth_bits", "bits a second between its ranks in the newest window", found, ("job", "kind"), level=True
    )


def _sent(exporters: Mapping[str, Sent]) -> Iterator[Count]:
    shown = dict(sorted(exporters.items(), key=lambda item: (-item[1].records, item[0]))[:MOST_EXPORTERS])
    rate: Numbers = {(name,): one.rate for name, one in shown.items()}
    yield Count("prism_exporter_records_rate", "records a second, lately", rate, ("exporter",), level=True)
    last: Numbers = {(name,): one.last_ns / 1e9 for name, one in shown.items()}
    yield Count("prism_exporter_last_seconds", "end of its newest record, s since the epoch", last, ("exporter",), level=True)
    late: Numbers = {(name,): one.offset_ns / 1e9 for name, one in shown.items() if one.offset_ns is not None}
    yield Count(
        "prism_exporter_delay_seconds", "how long after its end a record arrives at least", late, ("exporter",), level=True
    )
