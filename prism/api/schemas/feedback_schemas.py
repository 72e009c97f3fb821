"""What requests and answers about remarks, silences, notifications and actions look like; see `job_schemas`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from prism.alerts.notifications import State as NotificationState
from prism.api.schemas.job_schemas import Model, Ns, Number
from prism.feedback.actions import State as ActionState
from prism.feedback.remarks import LONGEST, Act

Text = Annotated[str, Field(max_length=LONGEST)]


class Asked(BaseModel):
    """The body of a request: nothing else is taken."""

    model_config = ConfigDict(extra="forbid")


class NewRemark(Asked):
    """What somebody says of a finding."""

    act: Act
    text: Text = ""


class Remark(Model):
    """What somebody said of a finding."""

    id: str
    finding: str
    act: Act
    at_ns: Ns
    by: str
    text: str


class Label(Model):
    """A finding that was marked as right or false, with what was known then."""

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
    """Which alerts are not told, and for how long from now; of `finding` the matchers are its job, kind and culprit."""

    matchers: list[Annotated[str, Field(max_length=1000)]] = Field(default=[], max_length=20, examples=[["host=server5"]])
    finding: Annotated[str, Field(max_length=64)] | None = None
    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 366)] = 120
    why: Text = ""


class Matched(Model):
    """A finding that a silence matches now."""

    finding: str
    summary: str


class Silence(Model):
    """What is not told. `matches`: the findings that it matches now, at most 100."""

    id: str
    state: Literal["active", "future", "ended"]
    matchers: list[str]
    start_ns: Ns
    end_ns: Ns
    by: str
    why: str
    matches: list[Matched]


class Notification(Model):
    """What a receiver was told, and how far that came. `error`: why the last attempt failed."""

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
    """An action that can be proposed; where `dry_run` is true it is never asked to act."""

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
    """What a person decides."""

    approved: bool


class Change(Model):
    """A change of an action's state, by whom."""

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
