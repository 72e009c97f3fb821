"""What answers about the service itself look like: windows, records, uploads, health; see `schemas`."""

from __future__ import annotations

from typing import Any, Literal

from prism.api.schemas import Model, Ns, Number
from prism.uploads import State
from prism.views import Mode


class Window(Model):
    """A stretch of time that was analysed at once."""

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
    """An upload and how far it is; `board` is what to add to other addresses once it is done."""

    id: str
    state: State
    stage: str
    done: int
    total: int
    error: str | None
    files: list[str]
    octets: int
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
    """How the parts are."""

    ok: bool
    mode: Mode
    board: BoardAge
    parts: dict[str, Any]
    counters: list[Counter]


class Session(Model):
    """Whether tokens are needed, and what this one allows."""

    needed: bool
    scope: Literal["read", "admin"] | None


class Ok(Model):
    """It is well."""

    ok: bool
