"""What waits, what nobody got and what is muted, as plain values without secrets: for the command line and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from prism.alerts.notifications import Alert, Notification
from prism.alerts.receiver_state import Mailbox
from prism.alerts.receivers.slack import headline
from prism.alerts.receivers.webhook_bodies import rfc3339

LISTING = "outbox.json"  # where a service writes it
MOST = 10_000  # alerts whose labels are listed


def listed(boxes: Iterable[Mailbox], alerts: Sequence[Alert], muted: Mapping[str, str]) -> dict[str, Any]:
    """`receivers`, `waiting`, `dead` (the newest first), `muted`, and the labels of all alerts that go on: `firing`."""
    boxes = list(boxes)
    return {
        "receivers": [_receiver(box) for box in boxes],
        "waiting": [_letter(told) for box in boxes for told in box.waiting],
        "dead": [_letter(told) for box in boxes for told in reversed(box.dead)],
        "muted": [
            {"summary": alert.annotations.get("summary", ""), "case": alert.case, "why": muted[alert.fingerprint]}
            for alert in alerts
            if alert.fingerprint in muted and alert.firing
        ],
        "firing": [dict(alert.labels) for alert in alerts if alert.firing][:MOST],
    }


def _receiver(box: Mailbox) -> dict[str, Any]:
    host = urlsplit(str(box.receiver.url)).hostname
    return {"name": box.receiver.name, "kind": box.receiver.kind, "host": host, "disabled": box.disabled}


def _letter(told: Notification) -> dict[str, Any]:
    return {
        "id": told.id,
        "receiver": told.receiver,
        "summary": headline(told),
        "reason": told.reason,
        "state": told.state,
        "tries": told.tries,
        "made": rfc3339(told.made_ns),
        "next": rfc3339(told.next_ns) if told.state == "waiting" else None,
        "error": told.error,
    }
