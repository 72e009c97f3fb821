"""What each receiver is told now: the board's alerts against what it was told before."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from prism.alerts.alert_settings import Grouping, Receiver, Settings
from prism.alerts.alert_texts import lasting, moment
from prism.alerts.grouping import Due, Log, S, due, group_labels, grouped
from prism.alerts.notifications import REFRESH, Alert, Notification

PUSHED = Grouping(by=(), wait_s=0, interval_s=0)  # Alertmanager groups by itself


@dataclass(frozen=True)
class Plan:
    """What to make, for whom something new waits behind a delivery that fails, and why each group is (not) told.

    `since_ns`: when something new was first seen in a group, for the next time.
    """

    made: tuple[Notification, ...] = ()
    hurry: tuple[str, ...] = ()
    why: Mapping[str, Due] = field(default_factory=dict)
    since_ns: Mapping[str, int] = field(default_factory=dict)


def planned(
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
    """Whom to tell what now.

    `alerts` are all of the board, which knows what was up to `at_ns`; `muted`: fingerprints of those that are not told, with
    why; `logs`: by group what this receiver was told. An end is told to who was told the beginning, even if it is muted now.
    """
    muted, logs, since_ns = muted or {}, logs or {}, since_ns or {}
    grouping = _grouping(receiver, settings)
    fitting = [alert for alert in alerts if all(m.fits(alert.labels) for m in receiver.match)]
    groups = grouped(fitting, grouping.by)
    made, hurry, why, since = [], [], {}, {}
    for key in dict.fromkeys((*groups, *(key for key, log in logs.items() if log.open))):
        log = logs.get(key, Log()) if receiver.resolved else _forgotten(logs.get(key, Log()), groups.get(key, []))
        firing, ended = _sorted_out(groups.get(key, []), log, muted, settings, at_ns=at_ns)
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
            told = new + ended + [alert for alert in firing if alert not in new]  # what is not known yet, in case it is cut
            if receiver.kind == "alertmanager":  # to which an alert with another label is another one
                told += [_gone(log.open[alert.fingerprint], alert, at_ns) for alert in changed]
            again = receiver.kind == "alertmanager" and not new and not ended
            made.append(_notification(now_ns, key, told, receiver, grouping, log, REFRESH if again else found.why))
        elif (new or ended or receiver.kind == "alertmanager") and log.last is not None and log.last.state == "waiting":
            hurry.append(key)
    return Plan(tuple(made), tuple(hurry), why, since)


def _grouping(receiver: Receiver, settings: Settings) -> Grouping:
    return replace(PUSHED, repeat_s=receiver.refresh_s) if receiver.kind == "alertmanager" else settings.grouping


def _forgotten(log: Log, alerts: Sequence[Alert]) -> Log:
    """The log of a receiver that is not told of ends: what is over is forgotten."""
    going = {alert.case for alert in alerts if alert.firing}
    return replace(log, open={name: alert for name, alert in log.open.items() if alert.case in going})


def _sorted_out(
    alerts: Sequence[Alert], log: Log, muted: Mapping[str, str], settings: Settings, *, at_ns: int
) -> tuple[list[Alert], list[Alert]]:
    """What is told to go on, and what was told and is over.

    Since when is as it was told first. What has been over for less than `over_s` may go on, so it is not told yet. Kinds that
    are always told are told to go on once, even if they are over already.
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
            ended.append(_gone(known, going.get(known.case), at_ns))
    return firing, ended


def _gone(known: Alert, now: Alert | None, at_ns: int) -> Alert:
    """The end of an alert that is not on the board any more, or under other labels."""
    ended = max(at_ns, known.started_ns + 1)
    if now is None:
        over = f"Resolved: lasted {lasting(ended - known.started_ns)}, from {moment(known.started_ns)} to {moment(ended)}."
        return replace(known, ended_ns=ended, annotations={**known.annotations, "since": over, "description": over})
    said = f"It continues as {now.labels['severity']}: {now.annotations.get('summary', '')}"
    return replace(known, ended_ns=ended, annotations={**known.annotations, "description": said})


def _severity(alert: Alert) -> str:
    return alert.labels.get("severity", "")


def _notification(
    now_ns: int, key: str, told: list[Alert], receiver: Receiver, grouping: Grouping, log: Log, why: str
) -> Notification:
    number = log.last.number + 1 if log.last is not None else 0
    kept = told[: receiver.most] if receiver.kind != "alertmanager" else told
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
        truncated=len(told) - len(kept),
    )
