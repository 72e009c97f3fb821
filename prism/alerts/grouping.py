"""Group alerts and decide when a group is due. Pure functions that return the reason, as in Alertmanager."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prism.alerts.alert_settings import Grouping
from prism.alerts.notifications import Alert, Notification

S = 1_000_000_000


class Due(NamedTuple):
    """Decision for a group: notify `now` or not, why, and the next time to check, ns. 0: only after a change."""

    now: bool
    why: str
    at_ns: int = 0


@dataclass(frozen=True)
class Log:
    """State of a group at one receiver: the last notification, and the alerts that the receiver considers open.

    `cases`: time of the last notification of each case, ns.
    """

    last: Notification | None = None
    open: Mapping[str, Alert] = field(default_factory=dict)
    cases: Mapping[str, int] = field(default_factory=dict)

    def with_notification(self, notification: Notification) -> Log:
        """Return the log with one more notification. A notification with a known id replaces its earlier state."""
        going = dict(self.open)
        for alert in sorted(
            notification.alerts, key=lambda alert: alert.firing
        ):  # an ended alert may continue under other labels
            if alert.firing:
                going[alert.fingerprint] = alert
            else:
                going.pop(alert.fingerprint, None)
        return Log(notification, going, {**self.cases, **{alert.case: notification.made_ns for alert in notification.alerts}})

    def with_state(self, notification: Notification) -> Log:
        """Return the log with a new state of the last notification."""
        return replace(self, last=notification) if self.last is not None and self.last.id == notification.id else self

    def without_cases_before(self, before_ns: int) -> Log:
        """Return the log without cases whose last notification is older than `before_ns`."""
        return replace(self, cases={case: at for case, at in self.cases.items() if at >= before_ns})


def due(
    now_ns: int,
    *,
    since_ns: int,
    firing: Collection[str],
    ended: Collection[str],
    log: Log,
    grouping: Grouping,
    worse: Collection[str] = (),
) -> Due:
    """Decide whether a group is notified now.

    Parameters
    ----------
    now_ns : int
        Current time, ns since the epoch.
    since_ns : int
        Time at which something new in the group was first seen, ns.
    firing : collection of str
        Fingerprints of open, unmuted alerts.
    ended : collection of str
        Fingerprints of notified alerts that are over.
    log : Log
        Earlier notifications of the group.
    grouping : Grouping
        Waiting times.
    worse : collection of str
        Fingerprints of `firing` that became critical since the last notification.

    Returns
    -------
    Due
        The decision, its reason, and the next time to check. A group with a notification in delivery is never due.
    """
    last = log.last
    if last is not None and last.state == "waiting":
        return Due(False, "the last notification is still being delivered")
    new = [one for one in firing if one not in log.open or one in worse]
    rested = last.made_ns + round(grouping.interval_s * S) if last is not None else 0
    if new:
        flaps = last is not None and {a.fingerprint for a in last.alerts}.issuperset(new)
        ready = since_ns + round(grouping.wait_s * S)
        at = max(ready, rested) if log.open or flaps else ready
        what = "worse" if set(new) <= set(worse) else "new alerts" if log.open else "new group"
        if at <= now_ns:
            return Due(True, f"{what}: {len(new)}", at)
        return Due(False, f"{what}, waiting for more alerts" if at == ready else f"{what}, notified recently", at)
    if ended:
        why = "all resolved" if not firing else f"resolved: {len(ended)}"
        return Due(rested <= now_ns, why if rested <= now_ns else f"{why}, notified recently", rested)
    if firing and last is not None:
        at = last.made_ns + round(grouping.repeat_s * S)
        return Due(at <= now_ns, "repeated: still firing" if at <= now_ns else "nothing new", at)
    return Due(False, "nothing to notify")


def grouped(alerts: Sequence[Alert], by: Sequence[str]) -> dict[str, list[Alert]]:
    """Sort alerts into groups by the key of their group; order is kept."""
    found: dict[str, list[Alert]] = {}
    for alert in alerts:
        found.setdefault(group_key(group_labels(alert, by)), []).append(alert)
    return found


def group_labels(alert: Alert, by: Sequence[str]) -> dict[str, str]:
    """Select the labels of an alert that its group shares; missing labels are left out."""
    return {name: alert.labels[name] for name in sorted(by) if name in alert.labels}


def group_key(labels: Mapping[str, str]) -> str:
    """Format the key of a group as Alertmanager does: `{}:{job="x"}`, values in Go's quotes."""
    return "{}:{" + ", ".join(f"{name}={quoted(value)}" for name, value in sorted(labels.items())) + "}"


def quoted(text: str) -> str:
    """Quote text as Go does."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f'"{escaped}"'
