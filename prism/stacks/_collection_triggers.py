"""Decide when to collect stacks: once per hang, when its case opens. Pure; `stack_collection` acts on the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prism.model import Severity
from prism.tracking.board import Board

KINDS = ("hang",)


@dataclass(frozen=True)
class Action:
    """A collection: its case and job, hosts to collect from, and suspects. Names come from the topology."""

    case: str
    job: str
    hosts: tuple[str, ...]
    endpoints: tuple[str, ...]
    suspects: tuple[str, ...]
    at_ns: int

    def environment(self, folder: str) -> dict[str, str]:
        """Variables for the command; lists are separated by spaces. No value becomes part of a command line."""
        return {
            "PRISM_CASE": self.case,
            "PRISM_JOB": self.job,
            "PRISM_HOSTS": " ".join(self.hosts),
            "PRISM_ENDPOINTS": " ".join(self.endpoints),
            "PRISM_SUSPECTS": " ".join(self.suspects),
            "PRISM_FOLDER": folder,
        }


def due(before: Board, current: Board, done: Mapping[str, object]) -> Iterator[Action]:
    """Yield actions for hangs that opened between two boards, or were open before; each case once (`done`)."""
    known = {case.id for case in before.cases if case.state == "open"} & set(done)
    jobs = {status.id: status.found.job for status in current.jobs}
    for case in current.cases:
        finding = case.finding
        if case.state != "open" or case.id in known or case.id in done:
            continue
        if finding.kind not in KINDS or finding.severity == Severity.INFO:
            continue
        job = jobs.get(finding.job)
        suspects = finding.isolate.hosts or finding.ids
        hosts, endpoints = (job.hosts, job.endpoints) if job else ((), ())
        yield Action(case.id, finding.job, hosts, endpoints, suspects, case.opened_ns)
