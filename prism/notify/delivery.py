"""Deliver a rendered notification over HTTP or SMTP."""

from __future__ import annotations

from prism.alerts.alert_settings import Limits, Receiver
from prism.alerts.receivers.delivery_results import Delivery
from prism.alerts.receivers.webhook_bodies import Post
from prism.notify.smtp import Mail, send
from prism.notify.webhooks import deliver


def sent(post: Post, receiver: Receiver, limits: Limits) -> Delivery:
    """Deliver a message and return the result; its reason contains no secret of the receiver."""
    if receiver.kind == "email":
        letter = Mail(post.url, receiver.sender, receiver.to, post.body, receiver.user, str(receiver.token))
        return send(letter, allow=receiver.allow, limits=limits, ca_file=receiver.ca_file, hidden=receiver.hidden)
    return deliver(post, allow=receiver.allow, limits=limits, ca_file=receiver.ca_file, hidden=receiver.hidden)
