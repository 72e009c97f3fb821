"""List waiting, failed and muted notifications as plain values without secrets, for the command line and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from prism.alerts.notifications import Alert, Notification
from prism.alerts.receiver_state import ReceiverState
from prism.alerts.receivers.slack import headline
from prism.alerts.receivers.webhook_bodies import rfc3339

LISTING = "outbox.json"  # file that the service writes
MAX_FIRING = 10_000  # alerts whose labels are listed


def list_pending(receivers: Iterable[ReceiverState], alerts: Sequence[Alert], muted: Mapping[str, str]) -> dict[str, Any]:
    """List `receivers`, `waiting`, `dead` (newest first), `muted`, and the labels of open alerts (`firing`)."""
    receivers = list(receivers)
    return {
        "receivers": [_receiver(box) for box in receivers],
        "waiting": [_letter(notification) for box in receivers for notification in box.waiting],
        "dead": [_letter(notification) for box in receivers for notification in reversed(box.dead)],
        "muted": [
            {"summary": alert.annotations.get("summary", ""), "case": alert.case, "why": muted[alert.fingerprint]}
            for alert in alerts
            if alert.fingerprint in muted and alert.firing
        ],
        "firing": [dict(alert.labels) for alert in alerts if alert.firing][:MAX_FIRING],
    }


def _receiver(box: ReceiverState) -> dict[str, Any]:
    host = urlsplit(str(box.receiver.url)).hostname
    return {"name": box.receiver.name, "kind": box.receiver.kind, "host": host, "disabled": box.disabled}


def _letter(notification: Notification) -> dict[str, Any]:
    return {
        "id": notification.id,
        "receiver": notification.receiver,
        "summary": headline(notification),
        "reason": notification.reason,
        "state": notification.state,
        "tries": notification.tries,
        "made": rfc3339(notification.made_ns),
        "next": rfc3339(notification.next_ns) if notification.state == "waiting" else None,
        "error": notification.error,
    }
