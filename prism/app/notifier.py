"""Tells receivers what is wrong, from boards: the thread of `prism serve` that runs what `prism.alerts` decides."""

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
from collectors.operations.logs import say
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
    """Tells each receiver what changes on boards, one thing at a time; with an `outbox`, also after a restart.

    While the store is away it tells nevertheless, and keeps what it told once the store is back. `clock` gives ns since the
    epoch, `chance` 0 … 1 for jitter. What somebody acknowledged in the `journal` is not repeated.
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
        self._flights: dict[str, tuple[Notification, Future[Delivery]]] = {}
        self._unsaved: dict[str, Notification] = {}
        self._save_at = self._show_at = 0
        self._stale = False  # the copy of what waits
        self._board = Board()
        self._alerts: list[Alert] = []
        self._victims: dict[str, str] = {}
        self._silences: list[Silence] = []
        self._stamp: tuple[int, int, int] | None = None
        self._muted: dict[str, str] = {}
        self._looks = dict.fromkeys(self._boxes, FOREVER)  # when something may be due though nothing changed, ns
        self._tally: Counter[tuple[str, str]] = Counter()
        self._troubles: Counter[str] = Counter()
        self._listed: Any = None

    def run(self, boards: Boards, stop: threading.Event) -> None:
        """Until `stop`; then what is being delivered is waited for, as long as a delivery may take."""
        if not self.settings.receivers:
            stop.wait()
            return
        if not self._load(stop):
            return
        self._show()  # so that commands find the list before the first notification
        with ThreadPoolExecutor(len(self._boxes), thread_name_prefix="deliver") as pool:
            while not stop.is_set():
                board = boards.after(self._board.revision, timeout_s=self._turn_s)
                try:
                    self.turn(board, pool)
                except Exception as error:  # whatever it is: who is to wake people does not end because of it
                    self._trouble("turn", error)
                    stop.wait(self._pause_s)
        self._land()
        self._keep(now=True)
        self._show()

    def turn(self, board: Board, pool: ThreadPoolExecutor) -> None:
        """Look once: what came back, what is new, what is due."""
        landed, changed = self._land(), self._silences_changed() | self._remarks_changed()
        if board.revision and (changed or board is not self._board or self._clock() >= min(self._looks.values())):
            self._see(board)
            landed = set(self._boxes)
        for name in landed if self._board.revision else ():
            self._make(self._boxes[name])
        self._keep()
        self._send(pool)
        self._stale |= bool(landed)
        if self._stale and self._clock() >= self._show_at:
            self._show()

    def _load(self, stop: threading.Event) -> bool:
        """What was told before; False if it was stopped before the store could be read."""
        while self._outbox is not None and not stop.is_set():
            try:
                for told in self._outbox.load():
                    if told.receiver in self._boxes:
                        self._boxes[told.receiver].restore(told)
                return True
            except StoreError as error:
                self._trouble("store", error)
                stop.wait(self._pause_s)
        return not stop.is_set()

    def _see(self, board: Board) -> None:
        """The alerts of a board, and which of them are muted now."""
        now = self._clock()
        if board is not self._board:
            settings = self.settings
            self._board = board
            self._victims = explained_cases(board.cases, board.topology)
            told = settings.telling.severities
            self._alerts = alerts(board, severities=told, extra_labels=settings.labels, external_url=settings.external_url)
        muted, cared = {}, self._journal.acknowledged()
        for alert in self._alerts:
            covering = find_silence(alert.labels, self._silences, now)
            if covering is not None:
                muted[alert.fingerprint] = f"silenced ({covering.id})"
            elif cared.get(alert.case) == alert.labels["severity"]:  # what has become worse since is told
                muted[alert.fingerprint] = "acknowledged"
            elif alert.case in self._victims:
                muted[alert.fingerprint] = self._victims[alert.case]
        self._muted = muted

    def _remarks_changed(self) -> bool:
        before, self._noted = self._noted, self._journal.revision
        return before != self._noted

    def _silences_changed(self) -> bool:
        """Silences anew where the file changed; one that cannot be read leaves them as they were."""
        stamp = silence_file.file_stamp(self.settings.folder)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._silences = silence_file.read(self.settings.folder)
        except (OSError, ValueError) as error:
            self._trouble("silences", error)
        return True

    def _make(self, box: ReceiverState) -> None:
        """What a receiver is to be told, and when that is to be asked again though nothing changed."""
        if box.disabled:
            self._looks[box.receiver.name] = FOREVER
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
        for told in plan.notifications:
            box.record(told)
            if told.reason != REFRESH:
                self._unsaved[told.id] = told
        for group in plan.blocked_groups:
            box.retry_soon(group, now, self.settings)
        box.drop_old_groups(now, self.settings)
        times = [due.at_ns for due in plan.decisions.values()]
        times += [at for one in self._silences for at in (one.start_ns, one.end_ns)]
        self._looks[box.receiver.name] = min((at for at in times if at > now), default=FOREVER)

    def _keep(self, *, now: bool = False) -> None:
        """What changed, into the store; what the store does not take now it is given later."""
        if self._outbox is None:
            self._unsaved.clear()
        elif self._unsaved and (now or self._clock() >= self._save_at):
            try:
                self._outbox.save(list(self._unsaved.values()))
                self._unsaved.clear()
            except StoreError as error:
                self._save_at = self._clock() + round(self._pause_s * S)
                self._trouble("store", error)

    def _send(self, pool: ThreadPoolExecutor) -> None:
        """Begin what is due: one thing per receiver at a time."""
        now = self._clock()
        for name, box in self._boxes.items():
            told = None if name in self._flights or box.disabled else box.next_due(now)
            if told is not None:
                made = post(told, box.receiver, external_url=self.settings.external_url, now_ns=now)
                job = pool.submit(sent, made, box.receiver, self.settings.limits)
                self._flights[name] = told, job

    def _land(self) -> set[str]:
        """What became of deliveries that are over; of which receivers."""
        landed = set()
        for name, (told, job) in list(self._flights.items()):
            if job.done():
                del self._flights[name]
                error = job.exception()
                went = (
                    job.result() if error is None else Delivery(False, f"internal error {type(error).__name__}", may_retry=True)
                )
                self._landed(self._boxes[name], told, went)
                landed.add(name)
        return landed

    def _landed(self, box: ReceiverState, told: Notification, went: Delivery) -> None:
        now, receiver = self._clock(), box.receiver
        box.tried_ns[told.group] = now + round(went.after_s * S)  # news do not hurry what the receiver asked to wait with
        if told.reason == REFRESH and not went.ok:
            went = replace(went, may_retry=False)  # the next refresh says more
        done = update_notification(told, went, now, self.settings.retrying, self._chance())
        if went.gone:
            done = replace(done, gone=receiver.digest)
        box.record(done)
        if told.reason != REFRESH:
            self._unsaved[done.id] = done
        self._tally[receiver.name, done.state if done.state != "waiting" else "failed"] += 1
        if not went.ok:
            level = logging.ERROR if done.state == "dead" else logging.WARNING
            say(
                "notification not delivered",
                level=level,
                receiver=receiver.name,
                id=told.id,
                state=done.state,
                tries=done.tries,
                why=went.why,
            )
        if went.ok:
            box.retry_all(now)

    def _show(self) -> None:
        """A copy of what waits and what is dead, for `prism alert list`."""
        shown = self.listing()
        self._stale, self._show_at = False, self._clock() + round(self._turn_s * S)
        if shown != self._listed:
            try:
                save(f"{self.settings.folder}/{LISTING}", shown)
                self._listed = shown
            except OSError as error:
                self._trouble("listing", error)

    def listing(self) -> dict[str, Any]:
        """What waits, what nobody got, which receivers are disabled, what is muted: plain values, no secrets."""
        return list_pending(self._boxes.values(), self._alerts, self._muted)

    def counts(self) -> Iterable[Count]:
        """Counters and levels for `/metrics`."""
        waiting = keyed({name: len(box.waiting) for name, box in self._boxes.items()})
        disabled = keyed({name: bool(box.disabled) for name, box in self._boxes.items()})
        muted = keyed(Counter(why.partition(" ")[0] for why in dict(self._muted).values()))
        tally: dict[tuple[str, ...], float] = {key: float(n) for key, n in list(self._tally.items())}
        troubles = keyed(self._troubles)
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

    def _trouble(self, what: str, error: Exception) -> None:
        self._troubles[what] += 1
        say("alerting error, trying again", level=logging.WARNING, place=what, error=error)
