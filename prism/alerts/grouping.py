"""Which alerts go out together, and whether they are due: pure, with the reason, as in Alertmanager."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prism.alerts.alert_settings import Grouping
from prism.alerts.notifications import Alert, Notification

S = 1_000_000_000


class Due(NamedTuple):
    """Whether a group is told now, why (not), and when that is to be asked again, ns; 0: not before something changes."""

    now: bool
    why: str
    at_ns: int = 0


@dataclass(frozen=True)
class Log:
    """What a receiver was told of a group: the last notification, and what it believes to go on.

    `cases` are those it was told of, with when last, ns.
    """

    last: Notification | None = None
    open: Mapping[str, Alert] = field(default_factory=dict)
    cases: Mapping[str, int] = field(default_factory=dict)

    def after(self, told: Notification) -> Log:
        """The log with one more notification; told again with another state, it replaces itself."""
        going = dict(self.open)
        for alert in sorted(told.alerts, key=lambda alert: alert.firing):  # what ended may go on under other labels
            if alert.firing:
                going[alert.fingerprint] = alert
            else:
                going.pop(alert.fingerprint, None)
        return Log(told, going, {**self.cases, **{alert.case: told.made_ns for alert in told.alerts}})

    def changed(self, told: Notification) -> Log:
        """The log once the last notification got further."""
        return replace(self, last=told) if self.last is not None and self.last.id == told.id else self

    def without(self, before_ns: int) -> Log:
        """The log without cases that were last told of before."""
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
    """Whether a group is told now.

    `firing`: fingerprints of what goes on and is not muted; `worse`: of those that have become critical since they were told;
    `ended`: of what was told and is over; `since_ns`: when something new in the group was first seen. While a notification is
    on its way nothing else is told.
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
    """Alerts by the key of their group, in their order."""
    found: dict[str, list[Alert]] = {}
    for alert in alerts:
        found.setdefault(group_key(group_labels(alert, by)), []).append(alert)
    return found


def group_labels(alert: Alert, by: Sequence[str]) -> dict[str, str]:
    """The labels of an alert that its group shares, by name; those it does not have are left out."""
    return {name: alert.labels[name] for name in sorted(by) if name in alert.labels}


def group_key(labels: Mapping[str, str]) -> str:
    """A group's key as Alertmanager spells it: `{}:{job="x"}`; values in Go's quotes."""
    return "{}:{" + ", ".join(f"{name}={quoted(value)}" for name, value in sorted(labels.items())) + "}"


def quoted(text: str) -> str:
    """Text in double quotes as Go writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f'"{escaped}"'
