"""A message for a workflow of Microsoft Teams ("post to a channel when a webhook request is received"): an Adaptive Card.

https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook,
https://adaptivecards.io/explorer/. The limit of a message is 28 KB.
"""

from __future__ import annotations

from typing import Any

from prism.alerts.notifications import Alert, Notification
from prism.alerts.receivers.slack import headline

MAX_ALERTS = 8  # alerts in a card
MAX_CHARACTERS = 1500  # characters of an alert: eight of them, each of at most two octets, stay below 28 KB
COLOURS = {"critical": "attention", "warning": "warning"}


def teams(notification: Notification, external_url: str = "") -> dict[str, Any]:
    """Build the message: open alerts, worst first, then ended ones."""
    ordered = sorted(notification.alerts, key=lambda alert: (not alert.firing, alert.labels.get("severity") != "critical"))
    body: list[dict[str, Any]] = [_text(_cut(headline(notification), 300), size="Large", weight="Bolder")]
    for alert in ordered[:MAX_ALERTS]:
        body.append(_text(_title(alert), weight="Bolder", color=_colour(alert), spacing="Medium"))
        body += [_text(_cut(alert.annotations.get("description", ""), MAX_CHARACTERS), spacing="None")]
    rest = len(ordered) - min(len(ordered), MAX_ALERTS) + notification.truncated
    notes = [f"and {rest} more"] if rest else []
    body.append(_text(" · ".join([*notes, notification.reason, notification.id]), isSubtle=True, size="Small"))
    links = [("Open finding", alert.link) for alert in ordered[:1] if alert.link]
    links += [("Dashboard", external_url)] if external_url else []
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": name, "url": url} for name, url in links],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, **more: Any) -> dict[str, Any]:
    """Make a text block without Markdown, since names come from untrusted sources."""
    plain = "".join(f"\\{sign}" if sign in "\\*_[]()`#" else sign for sign in text)
    return {"type": "TextBlock", "text": plain, "wrap": True, **more}


def _title(alert: Alert) -> str:
    word = alert.labels.get("severity", "").upper() if alert.firing else "RESOLVED"
    return _cut(f"{word} {alert.annotations.get('summary', '')}", 300)


def _colour(alert: Alert) -> str:
    return COLOURS.get(alert.labels.get("severity", ""), "default") if alert.firing else "good"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
