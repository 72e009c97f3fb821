"""Opsgenie's Alert API: one alert per group. Its alias opens, extends and closes it.

https://docs.opsgenie.com/docs/alert-api (limits: message 130 characters, description 15,000, alias 512).
"""

from __future__ import annotations

import hashlib
from typing import Any

from prism.alerts.notifications import Notification
from prism.alerts.receivers.slack import headline

MESSAGE, DESCRIPTION = 130, 15_000
PRIORITY = {"critical": "P1", "warning": "P3"}


def alias(notification: Notification) -> str:
    """Build the constant alias of a receiver's group."""
    return hashlib.sha256(f"{notification.receiver}\n{notification.group}".encode()).hexdigest()


def path(notification: Notification) -> str:
    """Build the path below the API's address: open or extend, or close."""
    return "/v2/alerts" if notification.firing else f"/v2/alerts/{alias(notification)}/close?identifierType=alias"


def opsgenie(notification: Notification, external_url: str = "") -> dict[str, Any]:
    """Build the body of the request to `path`."""
    if not notification.firing:
        return {"source": "Prism", "note": f"{headline(notification)} ({notification.id})"[:DESCRIPTION]}
    going = [alert for alert in notification.alerts if alert.firing]
    worst = min(going, key=lambda alert: alert.labels.get("severity") != "critical")
    text = "\n\n".join(f"{one.annotations.get('summary', '')}\n{one.annotations.get('description', '')}" for one in going)
    details = {**{name: value for name, value in worst.labels.items() if value}, "notification": notification.id}
    links = {"finding": worst.link, "dashboard": external_url}
    return {
        "message": headline(notification)[:MESSAGE],
        "alias": alias(notification),
        "description": text[:DESCRIPTION],
        "entity": worst.labels.get("host") or worst.labels.get("ids", ""),
        "source": "Prism",
        "priority": PRIORITY.get(worst.labels.get("severity", ""), "P5"),
        "tags": sorted({one.labels.get("alertname", "alert") for one in going}),
        "details": details | {name: link for name, link in links.items() if link},
    }
