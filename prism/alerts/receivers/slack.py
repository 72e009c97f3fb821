"""A message for Slack's incoming webhooks, in blocks (https://docs.slack.dev/reference/block-kit/blocks)."""

from __future__ import annotations

from typing import Any

from prism.alerts.notifications import Alert, Notification

HEADER, SECTION = 150, 3000  # limits of Slack, characters
MAX_ALERTS = 10  # alerts in a message; Slack allows 50 blocks


def slack(notification: Notification, external_url: str = "") -> dict[str, Any]:
    """Build the message: open alerts, worst first, then ended ones; `text` is for the lock screen."""
    title = headline(notification)
    ordered = sorted(notification.alerts, key=lambda alert: (not alert.firing, alert.labels.get("severity") != "critical"))
    header = {"type": "plain_text", "text": _cut(title, HEADER), "emoji": True}
    blocks: list[dict[str, Any]] = [{"type": "header", "text": header}]
    blocks += [_section(_alert(alert)) for alert in ordered[:MAX_ALERTS]]
    rest = len(ordered) - MAX_ALERTS + notification.truncated if len(ordered) > MAX_ALERTS else notification.truncated
    notes = [f"and {rest} more"] if rest else []
    notes += [f"<{external_url}|dashboard>"] if external_url else []
    notes.append(f"{escaped(notification.reason)} · {notification.id}")
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": " · ".join(notes)}]})
    return {"text": escaped(_cut(title, SECTION)), "blocks": blocks}


def headline(notification: Notification) -> str:
    """Describe the worst alert in one line."""
    going = [alert for alert in notification.alerts if alert.firing]
    shown = min(going or notification.alerts, key=lambda alert: alert.labels.get("severity") != "critical")
    word = shown.labels.get("severity", "").upper() if going else "RESOLVED"
    more = len(going or notification.alerts) - 1
    return f"{word}: {shown.annotations.get('summary', '')}" + (f" (and {more} more)" if more else "")


def escaped(text: str) -> str:
    """Escape text so that Slack sees no links and no mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _alert(alert: Alert) -> str:
    word = alert.labels.get("severity", "").upper() if alert.firing else "RESOLVED"
    said = escaped(_cut(alert.annotations.get("summary", ""), 300))
    named = f"<{alert.link}|{said.replace('|', '¦')}>" if alert.link else said
    return f"*{word}* {named}\n" + _cut(escaped(alert.annotations.get("description", "")), SECTION - 700)


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, SECTION)}}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
