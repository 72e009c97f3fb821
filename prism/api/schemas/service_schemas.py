"""Schemas of answers about the service itself: windows, records, uploads, health; see `job_schemas`."""

from __future__ import annotations

from typing import Any, Literal

from prism.api.schemas.job_schemas import Model, Ns, Number
from prism.past.uploads import State
from prism.views.board_views import Mode


class Window(Model):
    """An analysed time window."""

    start_ns: Ns
    end_ns: Ns
    flows: int
    late: int
    took_s: Number


class Flow(Model):
    """A flow record."""

    start_ns: Ns
    end_ns: Ns
    src: str
    dst: str
    src_port: int
    dst_port: int
    protocol: int
    dst_qp: int
    job_id: int
    octets: int
    packets: int
    messages: int
    retransmits: int
    ecn: int
    cnp: int
    sampling_rate: int
    exporter: str | None
    path: list[str]


class Replay(Model):
    """An upload and its progress; add `board` to other addresses once it is done.

    `start_ns`, `end_ns`: of a diagnosis of the past, else null. `logs`: number of log files that came with it, for `finding`;
    `incident`: they were joined with the flows.
    """

    id: str
    state: State
    stage: str
    done: int
    total: int
    error: str | None
    files: list[str]
    octets: int
    start_ns: Ns | None
    end_ns: Ns | None
    logs: int
    finding: str | None
    incident: bool
    board: str


class Counter(Model):
    """A counter of a collector."""

    name: str
    labels: dict[str, str]
    value: float


class BoardAge(Model):
    """The newest board."""

    revision: int
    age_s: float


class Health(Model):
    """State of the parts of the service."""

    ok: bool
    mode: Mode
    board: BoardAge
    parts: dict[str, Any]
    counters: list[Counter]


class StoreTable(Model):
    """A table of the store; `wrong`: why it accepts no rows, else empty."""

    name: str
    version: int
    rows: int
    octets: int
    first_ns: Ns
    last_ns: Ns
    keep_s: int
    partitions: int
    wrong: str


class Store(Model):
    """Content of the store."""

    tables: list[StoreTable]


class Session(Model):
    """Whether tokens are needed, and the scope of this one."""

    needed: bool
    scope: Literal["read", "admin"] | None


class Ok(Model):
    """The process answers."""

    ok: bool


class Ready(Ok):
    """All parts are ready. `compiling`: number of compiled loops, of how many, while that continues."""

    compiling: str | None = None
