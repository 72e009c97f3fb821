"""Plan the notifications of a receiver: compare the board's alerts with those already notified."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from prism.alerts.alert_settings import Grouping, Receiver, Settings
from prism.alerts.alert_texts import format_duration, format_time
from prism.alerts.grouping import Due, Log, S, due, group_labels, grouped
from prism.alerts.notifications import REFRESH, Alert, Notification

ALERTMANAGER_GROUPING = Grouping(by=(), wait_s=0, interval_s=0)  # an Alertmanager groups by itself


@dataclass(frozen=True)
class Plan:
    """Notifications to send, groups with news behind a failing delivery (`blocked_groups`), and the decision for each group.

    `since_ns`: time at which something new in a group was first seen; input of the next call.
    """

    notifications: tuple[Notification, ...] = ()
    blocked_groups: tuple[str, ...] = ()
    decisions: Mapping[str, Due] = field(default_factory=dict)
    since_ns: Mapping[str, int] = field(default_factory=dict)


def plan_notifications(
    now_ns: int,
    alerts: Sequence[Alert],
    receiver: Receiver,
    settings: Settings,
    *,
    at_ns: int,
    muted: Mapping[str, str] | None = None,
    logs: Mapping[str, Log] | None = None,
    since_ns: Mapping[str, int] | None = None,
) -> Plan:
    """Plan the notifications of one receiver at `now_ns`.

    Parameters
    ----------
    now_ns : int
        Time of the plan.
    alerts : sequence of Alert
        All alerts of the board.
    receiver, settings : Receiver, Settings
        The receiver, and the settings of grouping and selection.
    at_ns : int
        Time at which the data of the board end.
    muted : mapping
        Fingerprint to reason, for alerts that are inhibited or silenced. An end is sent even if it is muted.
    logs : mapping
        Earlier notifications to this receiver, by group.
    since_ns : mapping
        `Plan.since_ns` of the previous call.

    Returns
    -------
    Plan
        New notifications, and the decision for every group.
    """
    muted, logs, since_ns = muted or {}, logs or {}, since_ns or {}
    grouping = _grouping(receiver, settings)
    fitting = [alert for alert in alerts if all(m.matches(alert.labels) for m in receiver.match)]
    groups = grouped(fitting, grouping.by)
    made, hurry, why, since = [], [], {}, {}
    for key in dict.fromkeys((*groups, *(key for key, log in logs.items() if log.open))):
        log = logs.get(key, Log()) if receiver.resolved else _without_ended(logs.get(key, Log()), groups.get(key, []))
        firing, ended = _firing_and_ended(groups.get(key, []), log, muted, settings, at_ns=at_ns)
        changed = [alert for alert in firing if _severity(alert) != _severity(log.open.get(alert.fingerprint, alert))]
        worse = [alert for alert in changed if _severity(alert) == "critical"]
        new = [alert for alert in firing if alert.fingerprint not in log.open or alert in worse]
        if new:
            since[key] = since_ns.get(key, now_ns)
        found = why[key] = due(
            now_ns,
            since_ns=since.get(key, now_ns),
            firing=[alert.fingerprint for alert in firing],
            ended=[alert.fingerprint for alert in ended],
            log=log,
            grouping=grouping,
            worse=[alert.fingerprint for alert in worse],
        )
        if found.now:
            # alerts that the receiver does not know come first, in case the list is cut
            notification = new + ended + [alert for alert in firing if alert not in new]
            if receiver.kind == "alertmanager":  # an Alertmanager treats a changed label as another alert
                notification += [_ended_alert(log.open[alert.fingerprint], alert, at_ns) for alert in changed]
            again = receiver.kind == "alertmanager" and not new and not ended
            made.append(_notification(now_ns, key, notification, receiver, grouping, log, REFRESH if again else found.why))
        elif (new or ended or receiver.kind == "alertmanager") and log.last is not None and log.last.state == "waiting":
            hurry.append(key)
    return Plan(tuple(made), tuple(hurry), why, since)


def _grouping(receiver: Receiver, settings: Settings) -> Grouping:
    return replace(ALERTMANAGER_GROUPING, repeat_s=receiver.refresh_s) if receiver.kind == "alertmanager" else settings.grouping


def _without_ended(log: Log, alerts: Sequence[Alert]) -> Log:
    """Drop ended alerts from the log of a receiver that wants no ends."""
    going = {alert.case for alert in alerts if alert.firing}
    return replace(log, open={name: alert for name, alert in log.open.items() if alert.case in going})


def _firing_and_ended(
    alerts: Sequence[Alert], log: Log, muted: Mapping[str, str], settings: Settings, *, at_ns: int
) -> tuple[list[Alert], list[Alert]]:
    """Split the alerts of a group into open ones and ended ones that the receiver knows.

    An open alert keeps its first known start. An alert that ended less than `over_s` ago stays open, because it may resume.
    Kinds in `always` are notified once even if they have already ended.
    """
    telling = settings.telling
    firing, ended = [], []
    for alert in alerts:
        known = log.open.get(alert.fingerprint)
        unheard = alert.labels["alertname"].replace(" ", "_") in telling.always and alert.case not in log.cases
        recent = at_ns - alert.ended_ns <= telling.always_s * S
        if known is not None:
            alert = replace(alert, started_ns=min(known.started_ns, alert.started_ns))
        if alert.firing or (known is None and unheard and recent):
            if alert.fingerprint not in muted:
                firing.append(replace(alert, ended_ns=0))
        elif known is not None:
            ended.append(alert)
    rests = round(telling.over_s * S)
    firing += [replace(one, ended_ns=0) for one in ended if at_ns - one.ended_ns < rests and one.fingerprint not in muted]
    ended = [one for one in ended if at_ns - one.ended_ns >= rests]
    there = {alert.fingerprint for alert in alerts}
    going = {alert.case: alert for alert in firing}
    for name, known in log.open.items():
        if name not in there:
            ended.append(_ended_alert(known, going.get(known.case), at_ns))
    return firing, ended


def _ended_alert(known: Alert, now: Alert | None, at_ns: int) -> Alert:
    """End an alert that is no longer on the board, or is there under other labels."""
    ended = max(at_ns, known.started_ns + 1)
    if now is None:
        duration = format_duration(ended - known.started_ns)
        over = f"Resolved: lasted {duration}, from {format_time(known.started_ns)} to {format_time(ended)}."
        return replace(known, ended_ns=ended, annotations={**known.annotations, "since": over, "description": over})
    said = f"It continues as {now.labels['severity']}: {now.annotations.get('summary', '')}"
    return replace(known, ended_ns=ended, annotations={**known.annotations, "description": said})


def _severity(alert: Alert) -> str:
    return alert.labels.get("severity", "")


def _notification(
    now_ns: int, key: str, notification: list[Alert], receiver: Receiver, grouping: Grouping, log: Log, why: str
) -> Notification:
    number = log.last.number + 1 if log.last is not None else 0
    kept = notification[: receiver.most] if receiver.kind != "alertmanager" else notification
    kept = sorted(kept, key=lambda alert: not alert.firing)
    content = [f"{alert.fingerprint} {alert.case} {alert.firing}" for alert in kept]
    name = hashlib.blake2s("\n".join((receiver.name, key, str(number), *content)).encode(), digest_size=12).hexdigest()
    return Notification(
        id=f"prism_{name}",
        receiver=receiver.name,
        group=key,
        group_labels=group_labels(kept[0], grouping.by),
        alerts=tuple(kept),
        reason=why,
        made_ns=now_ns,
        number=number,
        next_ns=now_ns,
        truncated=len(notification) - len(kept),
    )
