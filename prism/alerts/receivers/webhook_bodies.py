"""The bodies that receivers expect: Alertmanager's webhook (v4) and API (v2), PagerDuty's Events v2, Standard Webhooks.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config,
https://developer.pagerduty.com/docs/events-api-v2/trigger-events/,
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prism.alerts.alert_settings import Kind, Receiver
from prism.alerts.notifications import Alert, Notification
from prism.alerts.receivers.email import email
from prism.alerts.receivers.opsgenie import opsgenie
from prism.alerts.receivers.opsgenie import path as opsgenie_path
from prism.alerts.receivers.otlp import PATH as LOGS
from prism.alerts.receivers.otlp import otlp
from prism.alerts.receivers.signing import signature
from prism.alerts.receivers.slack import slack
from prism.alerts.receivers.teams import teams

Json = dict[str, Any]
ZERO_TIME = "0001-01-01T00:00:00Z"  # Go's zero time
PUSH = "/api/v2/alerts"
MISSED_REFRESHES = 4  # missed refreshes after which an Alertmanager resolves an alert
SUMMARY, DETAIL = 1024, 8000  # limits of PagerDuty, characters: a summary, a detail


@dataclass(frozen=True)
class Post:
    """An HTTP request to send."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


def post(notification: Notification, receiver: Receiver, *, external_url: str = "", now_ns: int) -> Post:
    """Build the request to a receiver. All tries have the same body, except the end times for an Alertmanager."""
    url = str(receiver.url)
    if receiver.kind == "email":
        return Post(url, (), email(notification, receiver, external_url))
    if receiver.kind == "opsgenie":
        url = url.rstrip("/") + opsgenie_path(notification)
    if receiver.kind == "alertmanager" and not url.rstrip("/").endswith(PUSH):
        url = url.rstrip("/") + PUSH
    if receiver.kind == "otlp" and not url.rstrip("/").endswith(LOGS):
        url = url.rstrip("/") + LOGS
    made = BODIES[receiver.kind](notification, receiver, external_url, now_ns)
    body = json.dumps(made, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
    headers = [("Content-Type", "application/json"), ("User-Agent", "Prism")]
    if receiver.token:
        scheme = "GenieKey" if receiver.kind == "opsgenie" else "Bearer"
        headers.append(("Authorization", f"{scheme} {receiver.token!s}"))
    if receiver.kind in ("webhook", "signed"):
        seconds = now_ns // 10**9
        headers += [("webhook-id", notification.id), ("webhook-timestamp", str(seconds))]
        if receiver.secrets:
            headers.append(("webhook-signature", signature(notification.id, seconds, body, receiver.secrets)))
    return Post(url, tuple(headers), body)


def webhook(notification: Notification, _receiver: Receiver, external_url: str, _now_ns: int = 0) -> Json:
    """Build Alertmanager's webhook body, version 4."""
    return {
        "receiver": notification.receiver,
        "status": status(notification),
        "alerts": [_alert(alert) | {"fingerprint": alert.fingerprint} for alert in notification.alerts],
        "groupLabels": dict(notification.group_labels),
        "commonLabels": shared_entries([alert.labels for alert in notification.alerts]),
        "commonAnnotations": shared_entries([alert.annotations for alert in notification.alerts]),
        "externalURL": external_url,
        "version": "4",
        "groupKey": notification.group,
        "truncatedAlerts": notification.truncated,
    }


def signed(notification: Notification, receiver: Receiver, external_url: str, now_ns: int = 0) -> Json:
    """Build a Standard Webhooks payload with the same content as `webhook`."""
    data = webhook(notification, receiver, external_url, now_ns)
    return {"type": f"alerts.{status(notification)}", "timestamp": rfc3339(notification.made_ns), "data": data}


def alertmanager(notification: Notification, receiver: Receiver, _external_url: str, now_ns: int) -> list[Json]:
    """Build the alerts for an Alertmanager's API. An open alert expires unless it is refreshed."""
    until = rfc3339(now_ns + round(MISSED_REFRESHES * receiver.refresh_s * 1e9))
    found = []
    for alert in notification.alerts:
        fields = _alert(alert)
        del fields["status"]
        fields["endsAt"] = until if alert.firing else fields["endsAt"]
        found.append({name: value for name, value in fields.items() if value != ""})
    return found


def pagerduty(notification: Notification, receiver: Receiver, external_url: str, _now_ns: int = 0) -> Json:
    """Build a PagerDuty event. A group is one incident; the same key opens, extends and resolves it."""
    going = [alert for alert in notification.alerts if alert.firing] or list(notification.alerts)
    worst = min(going, key=lambda alert: alert.labels.get("severity") != "critical")
    more = f" (and {len(going) - 1} more)" if len(going) > 1 else ""
    summary = worst.annotations.get("summary", worst.labels.get("alertname", "alert"))
    source = next((worst.labels[name] for name in ("host", "ids", "job") if worst.labels.get(name)), "prism")
    event: Json = {
        "routing_key": str(receiver.routing_key),
        "event_action": "trigger" if notification.firing else "resolve",
        "dedup_key": hashlib.sha256(f"{notification.receiver}\n{notification.group}".encode()).hexdigest(),
        "client": "Prism",
        "payload": {
            "summary": summary[: SUMMARY - len(more)] + more,
            "source": source,
            "severity": worst.labels.get("severity", "warning"),
            "timestamp": rfc3339(worst.started_ns),
            "component": worst.labels.get("ids", ""),
            "group": worst.labels.get("job", ""),
            "class": worst.labels.get("alertname", ""),
            "custom_details": {
                "what to do": worst.annotations.get("action", ""),
                "firing": _details([alert for alert in notification.alerts if alert.firing]),
                "resolved": _details([alert for alert in notification.alerts if not alert.firing]),
                "notification": notification.id,
            },
        },
        "links": [{"href": alert.link, "text": alert.annotations.get("summary", "")} for alert in going[:5] if alert.link],
    }
    return event | ({"client_url": external_url} if external_url else {})


def _slack(notification: Notification, _receiver: Receiver, external_url: str, _now_ns: int = 0) -> Json:
    return slack(notification, external_url)


def _teams(notification: Notification, _receiver: Receiver, external_url: str, _now_ns: int = 0) -> Json:
    return teams(notification, external_url)


def _opsgenie(notification: Notification, _receiver: Receiver, external_url: str, _now_ns: int = 0) -> Json:
    return opsgenie(notification, external_url)


def _otlp(notification: Notification, _receiver: Receiver, external_url: str, _now_ns: int = 0) -> Json:
    return otlp(notification, external_url)


BODIES: Mapping[Kind, Callable[[Notification, Receiver, str, int], Any]] = {
    "webhook": webhook,
    "signed": signed,
    "alertmanager": alertmanager,
    "pagerduty": pagerduty,
    "slack": _slack,
    "teams": _teams,
    "opsgenie": _opsgenie,
    "otlp": _otlp,
}


def status(notification: Notification) -> str:
    """Return Alertmanager's status: `firing` while any alert is open."""
    return "firing" if notification.firing else "resolved"


def shared_entries(mappings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Select the entries that all mappings share."""
    first = mappings[0] if mappings else {}
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in mappings)}


def rfc3339(time_ns: int) -> str:
    """Format a time as Go does: UTC, with as many digits as needed. Raises ValueError, OverflowError outside the calendar."""
    seconds, rest = divmod(time_ns, 10**9)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _alert(alert: Alert) -> Json:
    return {
        "status": "firing" if alert.firing else "resolved",
        "labels": dict(alert.labels),
        "annotations": dict(alert.annotations),
        "startsAt": rfc3339(alert.started_ns),
        "endsAt": ZERO_TIME if alert.firing else rfc3339(alert.ended_ns),
        "generatorURL": alert.link,
    }


def _details(alerts: Sequence[Alert]) -> str:
    texts = [f"{alert.annotations.get('summary', '')}\n{alert.annotations.get('description', '')}" for alert in alerts]
    return "\n\n".join(texts)[:DETAIL]
