"""Schemas of remarks, silences, notifications and actions; see `job_schemas`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from prism.alerts.notifications import State as NotificationState
from prism.api.schemas.job_schemas import Model, Ns, Number
from prism.feedback.actions import State as ActionState
from prism.feedback.remarks import MAX_CHARACTERS, Act

Text = Annotated[str, Field(max_length=MAX_CHARACTERS)]


class Asked(BaseModel):
    """The body of a request; other fields are refused."""

    model_config = ConfigDict(extra="forbid")


class NewRemark(Asked):
    """A new remark on a finding."""

    act: Act
    text: Text = ""


class Remark(Model):
    """A remark on a finding."""

    id: str
    finding: str
    act: Act
    at_ns: Ns
    by: str
    text: str


class Label(Model):
    """A finding marked as right or false, with its state at that time."""

    case: str
    right: bool
    at_ns: Ns
    by: str
    text: str
    detector: str | None
    kind: str | None
    severity: str | None
    start_ns: Ns | None
    end_ns: Ns | None
    slowdown: Number
    score: Number
    confidence: Number
    lost_gpu_seconds: Number
    message: str | None
    subject: str | None
    ids: list[str]
    job: str | None
    job_name: str | None
    ranks: int | None
    layout: dict[str, int] | None
    evidence: dict[str, Any]


class NewSilence(Asked):
    """A new silence: which alerts, and for how long from now. With `finding`, the matchers are its job, kind and culprit."""

    matchers: list[Annotated[str, Field(max_length=1000)]] = Field(default=[], max_length=20, examples=[["host=server5"]])
    finding: Annotated[str, Field(max_length=64)] | None = None
    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 366)] = 120
    why: Text = ""


class Matched(Model):
    """A finding that a silence matches now."""

    finding: str
    summary: str


class Silence(Model):
    """A silence. `matches`: the findings that it matches now, at most 100."""

    id: str
    state: Literal["active", "future", "ended"]
    matchers: list[str]
    start_ns: Ns
    end_ns: Ns
    by: str
    why: str
    matches: list[Matched]


class Notification(Model):
    """A notification and its delivery state. `error`: why the last attempt failed."""

    id: str
    receiver: str
    state: NotificationState
    summary: str
    reason: str
    findings: list[str]
    tries: int
    made_ns: Ns
    next_ns: Ns | None
    done_ns: Ns | None
    error: str


class Hook(Model):
    """An action that can be proposed; with `dry_run`, the hook only receives dry runs."""

    name: str
    title: str
    dry_run: bool
    findings: list[str]


class NewAction(Asked):
    """An action to propose."""

    hook: Annotated[str, Field(max_length=100)]
    finding: Annotated[str, Field(max_length=64)]
    dry_run: bool = True


class Decision(Asked):
    """The decision of a person."""

    approved: bool


class Change(Model):
    """A change of an action's state, by a person."""

    state: ActionState
    at_ns: Ns
    by: str
    text: str


class Action(Model):
    """An action, with its audit trail."""

    id: str
    hook: str
    finding: str
    targets: list[str]
    dry_run: bool
    state: ActionState
    trail: list[Change]
