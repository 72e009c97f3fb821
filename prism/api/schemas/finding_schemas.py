"""Schemas of findings, hosts, switches and links; see `job_schemas`."""

from __future__ import annotations

from typing import Any

from pydantic import Field, JsonValue

from prism.api.schemas.job_schemas import JobSummary, Model, Ns, Number, Share
from prism.findings.evidence_terms import TERMS
from prism.model import FindingKind, Severity, SubjectType
from prism.tracking.board import CaseState

EVIDENCE: dict[str, JsonValue] = {name: {"description": text} for name, text in TERMS.items()}


class Subject(Model):
    """The blamed part."""

    type: SubjectType
    ids: list[str]


class Suspect(Model):
    """An alternative suspect."""

    ids: list[str]
    probability: Number


class Isolation(Model):
    """The hosts to isolate first."""

    hosts: list[str]
    parts: list[str]
    confidence: Number
    alternatives: list[Suspect]


class Finding(Model):
    """A finding as in the report. `title`: fault and place. `slowdown` is null if unknown."""

    detector: str
    kind: FindingKind
    job: str
    severity: Severity
    subject: Subject
    start_ns: Ns
    end_ns: Ns
    slowdown: Number
    score: Number
    message: str
    evidence: dict[str, Any] = Field(
        json_schema_extra={"properties": {name: {"description": text} for name, text in TERMS.items()}}
    )
    confidence: Number
    lost_gpu_seconds: Number
    title: str
    isolate: Isolation


class Case(Model):
    """A tracked finding. `ranks`: the ranks of its job that it blames, directly or by their host."""

    id: str
    state: CaseState
    opened_ns: Ns
    updated_ns: Ns
    closed_ns: Ns | None
    finding: Finding
    ranks: list[int]


class CaseMore(Case):
    """A finding with its job, the other findings of that job, and the next actions."""

    job: JobSummary | None
    related: list[str]
    advice: list[str]


class Host(Model):
    """A host that open findings suspect."""

    host: str
    findings: list[str]
    probability: Share
    severity: Severity
    jobs: list[str]
    lost_gpu_seconds: Number


class Switch(Model):
    """A switch; numbers are null without stored records."""

    id: str
    endpoints: int
    jobs: list[str]
    octets_in: int | None
    octets_out: int | None
    ecn: int | None
    cnp: int | None
    retransmits: int | None
    findings: list[str]


class Link(Model):
    """One direction of a link."""

    src: str
    dst: str
    octets: int | None
    findings: list[str]


class Switches(Model):
    """Switches and links in a time range; `truncated`: only the first records were read."""

    start_ns: Ns
    end_ns: Ns
    truncated: bool
    items: list[Switch]
    links: list[Link]
