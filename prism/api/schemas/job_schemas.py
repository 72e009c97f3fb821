"""Schemas of boards and jobs for OpenAPI.

`prism.views.board_views` makes the answers. They do not pass through these schemas; tests compare both.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from prism.api.requests.moments import NS, TIME, is_time
from prism.model import EventKind, GroupKind, PairKind, Phase
from prism.tracking.board import GapReason, JobState
from prism.views.board_views import Mode
from prism.views.timeline_views import Level
from prism.views.traffic_views import By

Ns = Annotated[str, Field(pattern=r"^-?[0-9]+$", description="Nanoseconds since the epoch, as text.")]
Share = Annotated[float, Field(ge=0, le=1)]
Shares = dict[Phase, Share]
Number = float | None
Item = TypeVar("Item")


class Model(BaseModel):
    """A schema without undeclared fields."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_times(cls, value: Any) -> Any:
        """Drop the fields that `moments.add_time_texts` adds; they are not declared one by one."""
        if not isinstance(value, dict):
            return value
        return {n: one for n, one in value.items() if not (n.endswith(TIME) and n.removesuffix(TIME) + NS in value)}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        schema = handler.resolve_ref_schema(handler(core))
        for name in [name for name in schema.get("properties", {}) if is_time(name)]:
            text = {"type": "string", "format": "date-time"}
            about = {"description": f"The moment of {name}, RFC 3339 in UTC.", "anyOf": [text, {"type": "null"}]}
            schema["properties"][name.removesuffix(NS) + TIME] = about
        return schema


class Problem(Model):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] | None = None


class Listed(Model, Generic[Item]):
    """A page of a list; `next` is the cursor of the next one."""

    items: list[Item]
    next: str | None


class Severities(Model):
    """Open findings by severity."""

    critical: int
    warning: int
    info: int


class Counts(Model):
    """Counts of a board.

    `jobs`: not ended; `silent`: those of them that send nothing; `analysed`: all with steps; `closed`: recently closed
    findings.
    """

    jobs: int
    silent: int
    analysed: int
    endpoints: int
    findings: Severities
    closed: int


class Source(Model):
    """The input."""

    files: list[str]
    packets: int
    flows: int
    skipped: dict[str, int]
    warnings: list[str]
    start_ns: Ns
    end_ns: Ns


class Gap(Model):
    """A time in which Prism itself collected nothing. `end_ns`: the first record after it, null before that.

    `reason`: `restart` (the process did not run) or `paused` (the process was stalled).
    """

    begin_ns: Ns
    end_ns: Ns | None
    reason: GapReason


class Board(Model):
    """A board. `age_s`: time since it was published; null in a replay. `gaps`: in collection, newest first."""

    revision: int
    at_ns: Ns
    age_s: float | None
    mode: Mode
    source: Source
    unexplained: list[str]
    counts: Counts
    gaps: list[Gap]


class Layout(Model):
    """Sizes of the parallel dimensions."""

    dp: int
    pp: int
    tp: int
    ep: int
    cp: int


class StepMs(Model):
    """Durations of steps, ms."""

    median: Number
    p95: Number


class Booking(Model):
    """A job in the scheduler. `end_ns`: null while it runs; `hosts`: their number."""

    source: str
    id: str
    name: str | None
    user: str | None
    queue: str | None
    start_ns: Ns | None
    end_ns: Ns | None
    hosts: int


class JobSummary(Model):
    """A job in brief. `sparkline`: step durations, ms; the maximum of neighbours if there are many.

    `name`: from the operator's hints, else from the scheduler.
    """

    id: str
    name: str | None
    scheduler: Booking | None
    state: JobState
    endpoints: int
    hosts: int
    layout: Layout
    confidence: Number
    start_ns: Ns
    end_ns: Ns
    steps: int
    step_ms: StepMs
    sparkline: list[Number]
    phases: Shares
    lost_gpu_seconds: Number
    findings: Severities


class Alternative(Model):
    """A layout that the traffic cannot exclude; `why`: the ambiguity."""

    layout: Layout
    confidence: Number
    why: str


class Group(Model):
    """Ranks that share a collective."""

    kind: GroupKind
    members: list[str]
    evidence: Literal["traffic", "placement"]
    confidence: Number


class Rank(Model):
    """A rank. `groups`: index of its group within each kind; `phases`: null if many ranks are requested."""

    rank: int
    endpoint: str
    host: str | None
    rail: int | None
    leaf: str | None
    rack: str | None
    port: str | None
    stage: int | None
    groups: dict[GroupKind, int]
    steps: int
    median_ms: Number
    phases: Shares | None


class Deviation(Model):
    """Time of a rank per step: before, since, and the median of its stage; `values_ms`: its newest steps."""

    rank: int
    endpoint: str
    host: str | None
    stage: int | None
    group: int | None
    usual_ms: Number
    now_ms: Number
    peers_ms: Number
    deviation_ms: Number
    values_ms: list[Number]


class Event(Model):
    """An event of a job that is no fault."""

    kind: EventKind
    start_ns: Ns
    end_ns: Ns


class Job(JobSummary):
    """A job. `cases`: the ids of its findings; `alternatives`: at most three, most likely first."""

    alternatives: list[Alternative]
    groups: list[Group]
    ranks: list[Rank]
    ranks_total: int
    events: list[Event]
    pairs_total: int
    cases: list[str]


class JobSteps(Model):
    """Steps of the whole job: number of the first, start since `zero_ns`, and duration, ms; null if incomplete."""

    first: int
    start_ms: list[float]
    duration_ms: list[Number]


class Binned(Model):
    """Number of ranks and steps per cell."""

    ranks: int
    steps: int


class Heat(Model):
    """A cell per rank (row) and step (column), ms; of a bin the maximum. Numbers, or [first, last] if binned."""

    ranks: list[int] | list[list[int]]
    steps: list[int] | list[list[int]]
    value: list[list[Number]]
    binned: Binned


class Usual(Model):
    """Usual duration of a step of the job and of a cell, ms: before a finding, or of all steps without one."""

    step_ms: Number
    value_ms: Number
    finding: str | None


class Steps(Model):
    """Durations of steps."""

    zero_ns: Ns
    measure: str
    job: JobSteps
    heat: Heat
    usual: Usual


class Row(Model):
    """A row of a timeline. `group`: its DP group."""

    rank: int
    endpoint: str
    host: str | None
    rail: int | None
    stage: int | None
    group: int | None


class Spans(Model):
    """Bars, by column: index into rows, ms since `zero_ns`, index into phases (-1: a step), the peer's rank (-1: none)."""

    row: list[int]
    start_ms: list[float]
    end_ms: list[float]
    phase: list[int]
    peer: list[int]


class Timeline(Model):
    """A timeline of ranks. `truncated`: some ranks are missing, or steps are joined."""

    zero_ns: Ns
    level: Level
    phases: list[Phase]
    rows: list[Row]
    ranks_total: int
    spans: Spans
    truncated: bool


class Node(Model):
    """An endpoint, a host or a leaf."""

    id: str
    leaf: str | None
    host: str | None
    stage: int | None
    rank: int | None


class Edge(Model):
    """Traffic from one node to another."""

    src: str
    dst: str
    kind: PairKind
    octets: int


class Graph(Model):
    """The traffic graph of a job; `by`: type of the nodes."""

    by: By
    nodes: list[Node]
    edges: list[Edge]
