"""Actions on a finding ("drain this host"): proposed, approved or rejected by a person, posted to a hook.

The body is a Standard Webhooks payload, signed: {"type": "action.requested", "timestamp", "data": {"id", "action", "dry_run",
"targets", "finding", "proposed_by", "approved_by"}}. With `dry_run` the hook says what it would do, and does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from prism.alerts.alert_settings import Hook
from prism.alerts.receivers.delivery_results import Delivery
from prism.alerts.receivers.signing import signature
from prism.alerts.receivers.webhook_bodies import Post, rfc3339
from prism.model import Finding

State = Literal["proposed", "approved", "done", "failed", "rejected"]
OVER: tuple[State, ...] = ("done", "failed", "rejected")


@dataclass(frozen=True)
class Change:
    """A change of an action's state: the audit trail."""

    state: State
    at_ns: int
    by: str
    text: str = ""


@dataclass(frozen=True)
class Action:
    """What is to be done about a case: by which hook, to which targets. `finding` is what was known when it was proposed."""

    id: str
    hook: str
    case: str
    targets: tuple[str, ...]
    dry_run: bool
    trail: tuple[Change, ...]
    finding: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """How far it is."""
        return self.trail[-1].state

    def changed(self, state: State, at_ns: int, by: str, text: str = "") -> Action:
        """The action one state further. Raises ValueError where it cannot get there from where it is."""
        allowed: Mapping[State, tuple[State, ...]] = {"proposed": ("approved", "rejected"), "approved": ("done", "failed")}
        if state not in allowed.get(self.state, ()):
            raise ValueError(f"action {self.id} is {self.state}; it cannot become {state}")
        return replace(self, trail=(*self.trail, Change(state, at_ns, by, text)))

    def to_json(self) -> dict[str, Any]:
        """As REST tells it."""
        trail = [{"state": one.state, "at_ns": str(one.at_ns), "by": one.by, "text": one.text} for one in self.trail]
        own = {"id": self.id, "hook": self.hook, "finding": self.case, "targets": list(self.targets), "dry_run": self.dry_run}
        return own | {"state": self.state, "trail": trail}


def targets(finding: Finding) -> tuple[str, ...]:
    """What an action is about: the hosts to isolate, else the parts, else what the finding names."""
    return finding.isolate.hosts or finding.isolate.parts or finding.ids


def post(action: Action, hook: Hook, now_ns: int) -> Post:
    """The request to a hook, signed. The id is the action's, so that a repeated one is known."""
    by = {one.state: one.by for one in action.trail}
    data = {
        "id": action.id,
        "action": action.hook,
        "dry_run": action.dry_run,
        "targets": list(action.targets),
        "finding": {"id": action.case, **action.finding},
        "proposed_by": by.get("proposed", ""),
        "approved_by": by.get("approved", ""),
    }
    payload = {"type": "action.requested", "timestamp": rfc3339(now_ns), "data": data}
    body = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
    seconds = now_ns // 10**9
    headers = [("Content-Type", "application/json"), ("User-Agent", "Prism"), ("webhook-id", action.id)]
    headers += [("webhook-timestamp", str(seconds)), ("webhook-signature", signature(action.id, seconds, body, hook.secrets))]
    return Post(str(hook.url), tuple(headers), body)


def landed(action: Action, went: Delivery, now_ns: int) -> Action:
    """The action after its hook answered, or did not."""
    return action.changed("done" if went.ok else "failed", now_ns, "hook", went.why)


def from_rows(rows: Sequence[tuple[str, str]]) -> dict[str, Action]:
    """Actions of rows (id, JSON), the newest row of an id last. Raises ValueError, TypeError, KeyError."""
    found = {}
    for id_, told in rows:
        fields = json.loads(told)
        trail = tuple(Change(**one) for one in fields["trail"])
        found[id_] = Action(**{**fields, "trail": trail, "targets": tuple(fields["targets"])})
    return found
