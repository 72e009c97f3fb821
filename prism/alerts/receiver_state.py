"""Delivery state of one receiver in memory: sent, waiting and failed notifications."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from prism.alerts.alert_settings import Receiver, Settings
from prism.alerts.grouping import Log, S
from prism.alerts.notifications import REFRESH, Notification

MAX_DEAD_LETTERS = 200  # dead letters to show


class ReceiverState:
    """Notifications of a receiver, by group."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.logs: dict[str, Log] = {}
        self.since_ns: dict[str, int] = {}
        self.tried_ns: dict[str, int] = {}  # time of the last try of each group
        self.dead: deque[Notification] = deque(maxlen=MAX_DEAD_LETTERS)
        self.disabled = ""  # why the receiver refuses everything

    @property
    def waiting(self) -> list[Notification]:
        """List the waiting notifications, oldest first."""
        return sorted(self._waiting(), key=lambda notification: (notification.made_ns, notification.id))

    def record(self, notification: Notification) -> None:
        """Record a notification that was made, tried, delivered or given up. Call in the order in which they were made."""
        log = self.logs.get(notification.group, Log())
        again = log.last is not None and log.last.id == notification.id
        self.logs[notification.group] = log.with_state(notification) if again else log.with_notification(notification)
        if notification.state == "dead" and notification.reason != REFRESH:
            self.dead.append(notification)
        if notification.gone and notification.gone == self.receiver.digest:
            self.disabled = notification.error

    def restore(self, notification: Notification) -> None:
        """Restore a notification after a restart.

        The content of a dead letter counts as not sent; it goes out under a new id.
        """
        if notification.state != "dead":
            self.record(notification)
            return
        log = self.logs.get(notification.group, Log())
        self.record(notification)
        self.logs[notification.group] = replace(log, last=notification)

    def next_due(self, now_ns: int) -> Notification | None:
        """Find the oldest notification that is due; None if there is none."""
        return next((notification for notification in self.waiting if notification.next_ns <= now_ns), None)

    def retry_soon(self, group: str, now_ns: int, settings: Settings) -> None:
        """Retry a failing notification earlier because new alerts wait behind it, with a minimum pause."""
        pause = self.receiver.refresh_s if self.receiver.kind == "alertmanager" else settings.grouping.interval_s
        pause = max(pause, settings.retrying.after_s[0])
        self._retry_at(group, max(now_ns, self.tried_ns.get(group, 0) + round(pause * S)))

    def retry_all(self, now_ns: int) -> None:
        """Retry all waiting notifications now, because the receiver answers again."""
        for notification in self.waiting:
            self._retry_at(notification.group, now_ns)

    def drop_old_groups(self, now_ns: int, settings: Settings) -> None:
        """Drop groups without open alerts that nothing refers to any more."""
        oldest = now_ns - round((2 * settings.telling.always_s + settings.grouping.interval_s) * S)
        for group, log in list(self.logs.items()):
            last = log.last
            if last is not None and not log.open and last.state != "waiting" and last.made_ns < oldest:
                del self.logs[group]
                self.tried_ns.pop(group, None)
            else:
                self.logs[group] = log.without_cases_before(oldest)

    def _waiting(self) -> Iterator[Notification]:
        return (log.last for log in list(self.logs.values()) if log.last is not None and log.last.state == "waiting")

    def _retry_at(self, group: str, at_ns: int) -> None:
        log = self.logs[group]
        if log.last is not None and log.last.state == "waiting" and log.last.next_ns > at_ns:
            self.logs[group] = replace(log, last=replace(log.last, next_ns=at_ns))
