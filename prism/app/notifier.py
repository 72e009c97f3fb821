"""Notify receivers of problems on boards: the thread of `prism serve` that runs the decisions of `prism.alerts`."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from collectors.clickhouse.drivers import StoreError
from collectors.live.state_file import save
from collectors.operations.logs import log_event
from collectors.operations.metrics import Count, keyed
from prism.alerts.alert_labels import alerts
from prism.alerts.alert_settings import Settings
from prism.alerts.inhibition import explained_cases
from prism.alerts.matchers import Silence, find_silence
from prism.alerts.notifications import REFRESH, Alert, Notification
from prism.alerts.planning import plan_notifications
from prism.alerts.receiver_state import ReceiverState
from prism.alerts.receivers.delivery_results import Delivery, update_notification
from prism.alerts.receivers.webhook_bodies import post
from prism.feedback.remark_journal import Journal
from prism.notify import silence_file
from prism.notify.delivery import sent
from prism.notify.pending_notifications import LISTING, list_pending
from prism.storage.outbox import Outbox
from prism.tracking.board import Board, Boards

S = 1_000_000_000
FOREVER = 1 << 63


class Alerts:
    """Notify each receiver of changes on boards, one notification at a time; with an `outbox`, also after a restart.

    While the store is unavailable, notifications are sent anyway and saved later. `clock` returns ns since the epoch, `chance`
    0 … 1 for jitter. Cases acknowledged in the `journal` are not repeated.
    """

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        chance: Callable[[], float] = random.random,
        journal: Journal | None = None,
        turn_s: float = 0.5,
        pause_s: float = 5.0,
    ) -> None:
        self.settings, self._journal, self._noted = settings, journal or Journal(), -1
        self._outbox, self._clock, self._chance = outbox, clock, chance
        self._turn_s, self._pause_s = turn_s, pause_s
        self._boxes = {one.name: ReceiverState(one) for one in settings.receivers}
        self._in_delivery: dict[str, tuple[Notification, Future[Delivery]]] = {}
        self._unsaved: dict[str, Notification] = {}
        self._save_at = self._listing_at = 0
        self._listing_is_stale = False  # the listing of pending notifications
        self._board = Board()
        self._alerts: list[Alert] = []
        self._inhibited: dict[str, str] = {}
        self._silences: list[Silence] = []
        self._stamp: tuple[int, int, int] | None = None
        self._muted: dict[str, str] = {}
        self._next_check_ns = dict.fromkeys(self._boxes, FOREVER)  # time of the next check without any change, ns
        self._tally: Counter[tuple[str, str]] = Counter()
        self._errors: Counter[str] = Counter()
        self._listed: Any = None

    def run(self, boards: Boards, stop: threading.Event) -> None:
        """Run until `stop`; then wait for deliveries in progress, at most for the time that one may take."""
        if not self.settings.receivers:
            stop.wait()
            return
        if not self._load(stop):
            return
        self._write_listing()  # commands find the list before the first notification
        with ThreadPoolExecutor(len(self._boxes), thread_name_prefix="deliver") as pool:
            while not stop.is_set():
                board = boards.after(self._board.revision, timeout_s=self._turn_s)
                try:
                    self.turn(board, pool)
                except Exception as error:  # no error may end the thread that notifies people
                    self._error("turn", error)
                    stop.wait(self._pause_s)
        self._collect_results()
        self._save(now=True)
        self._write_listing()

    def turn(self, board: Board, pool: ThreadPoolExecutor) -> None:
        """Handle finished deliveries, new boards and due notifications once."""
        finished, changed = self._collect_results(), self._silences_changed() | self._remarks_changed()
        if board.revision and (changed or board is not self._board or self._clock() >= min(self._next_check_ns.values())):
            self._update_alerts(board)
            finished = set(self._boxes)
        for name in finished if self._board.revision else ():
            self._plan(self._boxes[name])
        self._save()
        self._send(pool)
        self._listing_is_stale |= bool(finished)
        if self._listing_is_stale and self._clock() >= self._listing_at:
            self._write_listing()

    def _load(self, stop: threading.Event) -> bool:
        """Restore earlier notifications; False if stopped before the store could be read."""
        while self._outbox is not None and not stop.is_set():
            try:
                for notification in self._outbox.load():
                    if notification.receiver in self._boxes:
                        self._boxes[notification.receiver].restore(notification)
                return True
            except StoreError as error:
                self._error("store", error)
                stop.wait(self._pause_s)
        return not stop.is_set()

    def _update_alerts(self, board: Board) -> None:
        """Compute the alerts of a board, and which of them are muted now."""
        now = self._clock()
        if board is not self._board:
            settings = self.settings
            self._board = board
            self._inhibited = explained_cases(board.cases, board.topology)
            severities = settings.telling.severities
            self._alerts = alerts(
                board, severities=severities, extra_labels=settings.labels, external_url=settings.external_url
            )
        muted, acknowledged = {}, self._journal.acknowledged()
        for alert in self._alerts:
            covering = find_silence(alert.labels, self._silences, now)
            if covering is not None:
                muted[alert.fingerprint] = f"silenced ({covering.id})"
            elif acknowledged.get(alert.case) == alert.labels["severity"]:  # severity increased since: notify
                muted[alert.fingerprint] = "acknowledged"
            elif alert.case in self._inhibited:
                muted[alert.fingerprint] = self._inhibited[alert.case]
        self._muted = muted

    def _remarks_changed(self) -> bool:
        before, self._noted = self._noted, self._journal.revision
        return before != self._noted

    def _silences_changed(self) -> bool:
        """Read the silences again if the file changed; after an error the old ones remain."""
        stamp = silence_file.file_stamp(self.settings.folder)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._silences = silence_file.read(self.settings.folder)
        except (OSError, ValueError) as error:
            self._error("silences", error)
        return True

    def _plan(self, box: ReceiverState) -> None:
        """Plan the notifications of a receiver, and the time of the next check without changes."""
        if box.disabled:
            self._next_check_ns[box.receiver.name] = FOREVER
            return
        now = self._clock()
        plan = plan_notifications(
            now,
            self._alerts,
            box.receiver,
            self.settings,
            at_ns=self._board.at_ns,
            muted=self._muted,
            logs=box.logs,
            since_ns=box.since_ns,
        )
        box.since_ns = dict(plan.since_ns)
        for notification in plan.notifications:
            box.record(notification)
            if notification.reason != REFRESH:
                self._unsaved[notification.id] = notification
        for group in plan.blocked_groups:
            box.retry_soon(group, now, self.settings)
        box.drop_old_groups(now, self.settings)
        times = [due.at_ns for due in plan.decisions.values()]
        times += [at for one in self._silences for at in (one.start_ns, one.end_ns)]
        self._next_check_ns[box.receiver.name] = min((at for at in times if at > now), default=FOREVER)

    def _save(self, *, now: bool = False) -> None:
        """Save changed notifications in the store; those that it does not accept are saved later."""
        if self._outbox is None:
            self._unsaved.clear()
        elif self._unsaved and (now or self._clock() >= self._save_at):
            try:
                self._outbox.save(list(self._unsaved.values()))
                self._unsaved.clear()
            except StoreError as error:
                self._save_at = self._clock() + round(self._pause_s * S)
                self._error("store", error)

    def _send(self, pool: ThreadPoolExecutor) -> None:
        """Start the due deliveries: one per receiver at a time."""
        now = self._clock()
        for name, box in self._boxes.items():
            notification = None if name in self._in_delivery or box.disabled else box.next_due(now)
            if notification is not None:
                body = post(notification, box.receiver, external_url=self.settings.external_url, now_ns=now)
                job = pool.submit(sent, body, box.receiver, self.settings.limits)
                self._in_delivery[name] = notification, job

    def _collect_results(self) -> set[str]:
        """Handle finished deliveries; return their receivers."""
        finished = set()
        for name, (notification, job) in list(self._in_delivery.items()):
            if job.done():
                del self._in_delivery[name]
                error = job.exception()
                result = (
                    job.result() if error is None else Delivery(False, f"internal error {type(error).__name__}", may_retry=True)
                )
                self._handle_result(self._boxes[name], notification, result)
                finished.add(name)
        return finished

    def _handle_result(self, box: ReceiverState, notification: Notification, result: Delivery) -> None:
        now, receiver = self._clock(), box.receiver
        # News do not shorten the wait that the receiver requested.
        box.tried_ns[notification.group] = now + round(result.after_s * S)
        if notification.reason == REFRESH and not result.ok:
            result = replace(result, may_retry=False)  # the next refresh replaces it
        done = update_notification(notification, result, now, self.settings.retrying, self._chance())
        if result.gone:
            done = replace(done, gone=receiver.digest)
        box.record(done)
        if notification.reason != REFRESH:
            self._unsaved[done.id] = done
        self._tally[receiver.name, done.state if done.state != "waiting" else "failed"] += 1
        if not result.ok:
            level = logging.ERROR if done.state == "dead" else logging.WARNING
            log_event(
                "notification not delivered",
                level=level,
                receiver=receiver.name,
                id=notification.id,
                state=done.state,
                tries=done.tries,
                why=result.why,
            )
        if result.ok:
            box.retry_all(now)

    def _write_listing(self) -> None:
        """Write a copy of pending and dead notifications for `prism alert list`."""
        shown = self.listing()
        self._listing_is_stale, self._listing_at = False, self._clock() + round(self._turn_s * S)
        if shown != self._listed:
            try:
                save(f"{self.settings.folder}/{LISTING}", shown)
                self._listed = shown
            except OSError as error:
                self._error("listing", error)

    def listing(self) -> dict[str, Any]:
        """List pending and undelivered notifications, disabled receivers and muted alerts: plain values, no secrets."""
        return list_pending(self._boxes.values(), self._alerts, self._muted)

    def counts(self) -> Iterable[Count]:
        """Counters for `/metrics`."""
        waiting = keyed({name: len(box.waiting) for name, box in self._boxes.items()})
        disabled = keyed({name: bool(box.disabled) for name, box in self._boxes.items()})
        muted = keyed(Counter(why.partition(" ")[0] for why in dict(self._muted).values()))
        tally: dict[tuple[str, ...], float] = {key: float(n) for key, n in list(self._tally.items())}
        troubles = keyed(self._errors)
        return (
            Count("prism_alerts_deliveries", "Attempts to deliver a notification, by result", tally, ("receiver", "result")),
            Count("prism_alerts_waiting", "Notifications waiting for delivery", waiting, ("receiver",), level=True),
            Count(
                "prism_alerts_disabled",
                "Receivers that are disabled: they answered 410",
                disabled,
                ("receiver",),
                level=True,
            ),
            Count("prism_alerts_muted", "Alerts not notified now, by reason", muted, ("why",), level=True),
            Count("prism_alerts_troubles", "Errors in alerting, by place", troubles, ("what",)),
        )

    def _error(self, what: str, error: Exception) -> None:
        self._errors[what] += 1
        log_event("alerting error, trying again", level=logging.WARNING, place=what, error=error)
