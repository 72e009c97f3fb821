"""Actions on a finding ("drain this host"): proposed, approved or rejected by a person, posted to a hook.

The body is a Standard Webhooks payload, signed: {"type": "action.requested", "timestamp", "data": {"id", "action", "dry_run",
"targets", "finding", "proposed_by", "approved_by"}}. With `dry_run` the hook only reports what it would do.
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
    """A change of an action's state, for the audit trail."""

    state: State
    at_ns: int
    by: str
    text: str = ""


@dataclass(frozen=True)
class Action:
    """An action on a case: its hook and targets. `finding`: state of the finding when the action was proposed."""

    id: str
    hook: str
    case: str
    targets: tuple[str, ...]
    dry_run: bool
    trail: tuple[Change, ...]
    finding: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """Return the current state."""
        return self.trail[-1].state

    def changed(self, state: State, at_ns: int, by: str, text: str = "") -> Action:
        """Return the action in its next state. Raises ValueError for a transition that is not allowed."""
        allowed: Mapping[State, tuple[State, ...]] = {"proposed": ("approved", "rejected"), "approved": ("done", "failed")}
        if state not in allowed.get(self.state, ()):
            raise ValueError(f"action {self.id} is {self.state}; it cannot become {state}")
        return replace(self, trail=(*self.trail, Change(state, at_ns, by, text)))

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values for REST."""
        trail = [{"state": one.state, "at_ns": str(one.at_ns), "by": one.by, "text": one.text} for one in self.trail]
        own = {"id": self.id, "hook": self.hook, "finding": self.case, "targets": list(self.targets), "dry_run": self.dry_run}
        return own | {"state": self.state, "trail": trail}


def targets(finding: Finding) -> tuple[str, ...]:
    """List the targets of an action: the hosts to isolate, else the parts, else the ids of the finding."""
    return finding.isolate.hosts or finding.isolate.parts or finding.ids


def post(action: Action, hook: Hook, now_ns: int) -> Post:
    """Build the signed request to a hook. The id of the action lets the hook recognise repeated requests."""
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


def after_post(action: Action, delivery: Delivery, now_ns: int) -> Action:
    """Update the action after its hook answered or failed."""
    return action.changed("done" if delivery.ok else "failed", now_ns, "hook", delivery.why)


def from_rows(rows: Sequence[tuple[str, str]]) -> dict[str, Action]:
    """Restore actions from rows (id, JSON), the newest row of an id last. Raises ValueError, TypeError, KeyError."""
    found = {}
    for id_, told in rows:
        fields = json.loads(told)
        trail = tuple(Change(**one) for one in fields["trail"])
        found[id_] = Action(**{**fields, "trail": trail, "targets": tuple(fields["targets"])})
    return found
