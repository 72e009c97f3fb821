"""Delivery state of one receiver in memory: sent, waiting and failed notifications."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from prism.alerts.alert_settings import Receiver, Settings
from prism.alerts.grouping import Log, S
from prism.alerts.notifications import REFRESH, Notification

DEAD = 200  # dead letters to show


class Mailbox:
    """Notifications of a receiver, by group."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.logs: dict[str, Log] = {}
        self.since_ns: dict[str, int] = {}
        self.tried_ns: dict[str, int] = {}  # time of the last try of each group
        self.dead: deque[Notification] = deque(maxlen=DEAD)
        self.disabled = ""  # why the receiver refuses everything

    @property
    def waiting(self) -> list[Notification]:
        """List the waiting notifications, oldest first."""
        return sorted(self._waiting(), key=lambda told: (told.made_ns, told.id))

    def told(self, told: Notification) -> None:
        """Record a notification that was made, tried, delivered or given up. Call in the order in which they were made."""
        log = self.logs.get(told.group, Log())
        again = log.last is not None and log.last.id == told.id
        self.logs[told.group] = log.changed(told) if again else log.after(told)
        if told.state == "dead" and told.reason != REFRESH:
            self.dead.append(told)
        if told.gone and told.gone == self.receiver.digest:
            self.disabled = told.error

    def recall(self, told: Notification) -> None:
        """Restore a notification after a restart. The content of a dead letter counts as not sent; it goes out under a new id.
        """
        if told.state != "dead":
            self.told(told)
            return
        log = self.logs.get(told.group, Log())
        self.told(told)
        self.logs[told.group] = replace(log, last=told)

    def next(self, now_ns: int) -> Notification | None:
        """Find the oldest notification that is due; None if there is none."""
        return next((told for told in self.waiting if told.next_ns <= now_ns), None)

    def hurry(self, group: str, now_ns: int, settings: Settings) -> None:
        """Retry a failing notification earlier because new alerts wait behind it, with a minimum pause."""
        pause = self.receiver.refresh_s if self.receiver.kind == "alertmanager" else settings.grouping.interval_s
        pause = max(pause, settings.retrying.after_s[0])
        self._due(group, max(now_ns, self.tried_ns.get(group, 0) + round(pause * S)))

    def awake(self, now_ns: int) -> None:
        """Retry all waiting notifications now, because the receiver answers again."""
        for told in self.waiting:
            self._due(told.group, now_ns)

    def forget(self, now_ns: int, settings: Settings) -> None:
        """Drop groups without open alerts that nothing refers to any more."""
        oldest = now_ns - round((2 * settings.telling.always_s + settings.grouping.interval_s) * S)
        for group, log in list(self.logs.items()):
            last = log.last
            if last is not None and not log.open and last.state != "waiting" and last.made_ns < oldest:
                del self.logs[group]
                self.tried_ns.pop(group, None)
            else:
                self.logs[group] = log.without(oldest)

    def _waiting(self) -> Iterator[Notification]:
        return (log.last for log in list(self.logs.values()) if log.last is not None and log.last.state == "waiting")

    def _due(self, group: str, at_ns: int) -> None:
        log = self.logs[group]
        if log.last is not None and log.last.state == "waiting" and log.last.next_ns > at_ns:
            self.logs[group] = replace(log, last=replace(log.last, next_ns=at_ns))
