"""Format a notification as an email: plain text and HTML, one thread per group."""

from __future__ import annotations

import hashlib
import html
from email.message import EmailMessage
from email.policy import SMTP

from prism.alerts.alert_settings import Receiver
from prism.alerts.notifications import Notification
from prism.alerts.receivers.slack import headline

SUBJECT = 200  # characters


def email(notification: Notification, receiver: Receiver, external_url: str = "") -> bytes:
    """Build the message. All tries of a notification have the same Message-ID, so that a mailbox shows it once."""
    domain = receiver.sender.rpartition("@")[2] or "prism.invalid"
    thread = hashlib.sha256(f"{notification.receiver}\n{notification.group}".encode()).hexdigest()[:24]
    made = EmailMessage(policy=SMTP)
    made["Subject"] = " ".join(headline(notification).split())[:SUBJECT]
    made["From"], made["To"] = receiver.sender, ", ".join(receiver.to)
    made["Message-ID"] = f"<{notification.id}@{domain}>"
    made["In-Reply-To"] = made["References"] = f"<{thread}@{domain}>"
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: suppresses automatic replies
    made.set_content(_text(notification, external_url))
    made.add_alternative(_html(notification, external_url), subtype="html")
    made.set_boundary(f"prism-{hashlib.sha256(notification.id.encode()).hexdigest()[:24]}")
    return made.as_bytes()


def _text(notification: Notification, external_url: str) -> str:
    parts = []
    for alert in sorted(notification.alerts, key=lambda alert: not alert.firing):
        word = alert.labels.get("severity", "").upper() if alert.firing else "RESOLVED"
        said = (f"{word}: {alert.annotations.get('summary', '')}", alert.annotations.get("description", ""), alert.link)
        parts.append("\n".join(said))
    rest = [f"and {notification.truncated} more"] if notification.truncated else []
    return "\n\n".join([*parts, *rest, f"{external_url}\n{notification.reason} - {notification.id}\n"])


def _html(notification: Notification, external_url: str) -> str:
    rows = []
    for alert in sorted(notification.alerts, key=lambda alert: not alert.firing):
        word = alert.labels.get("severity", "").upper() if alert.firing else "RESOLVED"
        title = html.escape(alert.annotations.get("summary", ""))
        named = f'<a href="{html.escape(alert.link)}">{title}</a>' if alert.link else title
        said = html.escape(alert.annotations.get("description", "")).replace("\n", "<br>")
        rows.append(f"<h3>{html.escape(word)}: {named}</h3><p>{said}</p>")
    foot = f'<p><a href="{html.escape(external_url)}">Dashboard</a></p>' if external_url else ""
    more = f"<p>and {notification.truncated} more</p>" if notification.truncated else ""
    origin = f"<p><small>{html.escape(notification.reason)} · {notification.id}</small></p>"
    return f"<html><body>{''.join(rows)}{more}{foot}{origin}</body></html>"
