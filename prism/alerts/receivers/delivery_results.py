"""Interpret a receiver's answer: whether and when to try a notification again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime

from prism.alerts.alert_settings import Retrying
from prism.alerts.notifications import Notification

DAY = 86_400.0


@dataclass(frozen=True)
class Delivery:
    """Result of a delivery. `may_retry`: retry after `after_s`; `gone`: the receiver wants no further notifications."""

    ok: bool
    why: str
    may_retry: bool = False
    after_s: float = 0.0
    gone: bool = False


def interpret_status(status: int, *, retry_after: str = "", now_s: float = 0.0) -> Delivery:
    """Interpret an HTTP status. Redirects, 429 and 5xx may be retried; other 4xx are final."""
    if 200 <= status < 300:
        return Delivery(True, f"HTTP {status}")
    if status == 410:
        return Delivery(False, "HTTP 410: the receiver no longer exists", gone=True)
    if status == 429 or status >= 500:
        return Delivery(False, f"HTTP {status}", may_retry=True, after_s=parse_retry_after(retry_after, now_s=now_s))
    if 300 <= status < 400:
        return Delivery(False, f"HTTP {status}: redirects are not followed; set the final address in url", may_retry=True)
    return Delivery(False, f"HTTP {status}")


def parse_retry_after(retry_after: str, *, now_s: float) -> float:
    """Parse a Retry-After header (RFC 9110, 10.2.3), a number or a date, to seconds: 0 if invalid, at most one day."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), DAY)
    try:
        moment = parsedate_to_datetime(text)
        seconds = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now_s
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return 0.0
    return min(max(seconds, 0.0), DAY)


def update_notification(
    notification: Notification, delivery: Delivery, now_ns: int, retrying: Retrying, chance: float
) -> Notification:
    """Update a notification after a try. `chance` (0 … 1) draws the jitter, so that failed deliveries do not retry together.

    Delivery is given up after the sum of all pauses. Extra early tries do not use up later ones.
    """
    tries = notification.tries + 1
    if delivery.ok:
        return replace(notification, state="sent", tries=tries, done_ns=now_ns, error="")
    over = now_ns - notification.made_ns >= round(sum(retrying.after_s) * 1e9)
    if over or not delivery.may_retry:
        why = f"{delivery.why}; given up after {tries} attempts" if delivery.may_retry else delivery.why
        return replace(notification, state="dead", tries=tries, done_ns=now_ns, error=why)
    pause = max(retrying.after_s[min(tries, len(retrying.after_s)) - 1], delivery.after_s) * (1 + retrying.jitter * chance)
    return replace(notification, tries=tries, next_ns=now_ns + round(pause * 1e9), error=delivery.why)
