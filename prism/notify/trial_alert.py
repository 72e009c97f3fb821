"""Send a test alert to a receiver. Nothing is stored."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

from prism.alerts.alert_settings import Receiver, Settings
from prism.alerts.grouping import group_key
from prism.alerts.notifications import Alert, Notification
from prism.alerts.receivers.delivery_results import Delivery
from prism.alerts.receivers.webhook_bodies import post
from prism.notify.delivery import sent


def send_trial(receiver: Receiver, settings: Settings) -> Delivery:
    """Send an alert and its resolution; return the first failure, else the last result."""
    now = time.time_ns()
    name = secrets.token_hex(6)
    alert = Alert(
        labels={**settings.labels, "alertname": "test", "severity": "warning", "test": name},
        annotations={
            "summary": "Test alert from Prism: nothing is wrong",
            "description": "Sent by `prism alert test`. No action needed.",
        },
        started_ns=now - 1_000_000_000,
        link=settings.external_url,
        case=f"test-{name}",
    )
    going = Notification(
        f"prism_test_{name}", receiver.name, group_key({"test": name}), {"test": name}, (alert,), "test", now, next_ns=now
    )
    over = replace(going, id=f"{going.id}_over", alerts=(replace(alert, ended_ns=now),), reason="test resolved")
    went = Delivery(False, "no attempt was made")
    for notification in (going, over) if receiver.resolved else (going,):
        made = post(notification, receiver, external_url=settings.external_url, now_ns=time.time_ns())
        went = sent(made, receiver, settings.limits)
        if not went.ok:
            break
    return went
