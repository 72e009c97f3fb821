"""Run approved actions: store each change of state before it takes effect, and post each action once."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from collectors.clickhouse.drivers import Database, StoreError, Table, TableColumn
from collectors.operations.logs import log_event
from prism.alerts.alert_settings import Hook, Limits
from prism.alerts.receivers.delivery_results import Delivery
from prism.feedback.actions import Action, Change, after_post, from_rows, post, targets
from prism.notify.webhooks import deliver
from prism.report.json_report import finding_json
from prism.tracking.board import Case

ACTIONS = Table(
    name="actions",
    columns=(
        TableColumn("id", "String"),
        TableColumn("version", "UInt64"),
        TableColumn("begun_ns", "Int64"),
        TableColumn("told", "String", codec="ZSTD(1)"),
    ),
    order=("id",),
    time="begun_ns",
    keep_s=730 * 86_400,
    replacing="version",
)
MAX_ACTIONS = 2000  # actions in memory
MAX_PENDING = 200  # actions that wait for approval


class ActionRunner:
    """Actions of the configured hooks. Thread-safe. Methods raise StoreError, and ValueError for impossible requests."""

    def __init__(
        self,
        hooks: Sequence[Hook] = (),
        database: Database | None = None,
        *,
        limits: Limits | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.hooks = {one.name: one for one in hooks}
        self._database, self._limits, self._clock = database, limits or Limits(), clock
        self._lock, self._pool = threading.RLock(), ThreadPoolExecutor(1, thread_name_prefix="prism-actions")
        self._known: dict[str, Action] = {}
        if database is not None:
            database.create(ACTIONS)
            self._load(database)

    def _load(self, database: Database) -> None:
        sql = (
            "SELECT id, argMax(told, version) AS newest, max(begun_ns) AS b FROM actions GROUP BY id ORDER BY b DESC LIMIT 2000"
        )
        found = database.query(sql)
        rows = list(zip(map(str, found.get("id", ())), map(str, found.get("newest", ())), strict=True))
        for row in reversed(rows):
            try:
                self._known |= from_rows([row])
            except (ValueError, TypeError, KeyError):
                log_event("an action in the store cannot be read", id=row[0])
        for one in [one for one in self._known.values() if one.state == "approved"]:
            why = "the service ended before the hook answered; look there whether it was done"
            self._keep(one.changed("failed", self._clock(), "prism", why))  # never posted again without a person

    def close(self) -> None:
        """Wait for running posts."""
        self._pool.shutdown()

    def all(self) -> tuple[Action, ...]:
        """List all actions, newest first."""
        return tuple(sorted(self._known.values(), key=lambda one: (-one.trail[0].at_ns, one.id)))

    def get(self, id_: str) -> Action | None:
        """Find an action by id."""
        return self._known.get(id_)

    def propose(self, hook: str, case: Case, *, by: str, dry_run: bool = True) -> Action:
        """Propose an action on a case; it waits for approval."""
        known = self.hooks.get(hook)
        if known is None:
            raise ValueError(
                f"no hook is named {hook!r}; hooks: {', '.join(self.hooks) or 'none; set actions in the alerts file'}"
            )
        if known.dry_run and not dry_run:
            raise ValueError(f"hook {hook} makes dry runs only; dry_run: false in the alerts file lets it act")
        with self._lock:
            if sum(one.state == "proposed" for one in self._known.values()) >= MAX_PENDING:
                raise ValueError(f"{MAX_PENDING} actions wait for approval; approve or reject some first")
            now = self._clock()
            finding: dict[str, Any] = finding_json(case.finding)
            made = Action(
                f"act_{secrets.token_hex(8)}",
                hook,
                case.id,
                targets(case.finding),
                dry_run,
                (Change("proposed", now, by),),
                finding,
            )
            self._keep(made)
        return made

    def decide(self, id_: str, *, approved: bool, by: str) -> Action:
        """Approve an action, which posts it, or reject it. Raises KeyError for an unknown id."""
        with self._lock:
            made = self._known[id_].changed("approved" if approved else "rejected", self._clock(), by)
            hook = self.hooks.get(made.hook)
            if approved and hook is None:
                raise ValueError(f"hook {made.hook} is no longer in the alerts file")
            self._keep(made)
        if approved and hook is not None:
            self._pool.submit(self._run, made, hook)
        return made

    def _run(self, action: Action, hook: Hook) -> None:
        try:
            made = post(action, hook, self._clock())
            went = deliver(made, allow=hook.allow, limits=self._limits, ca_file=hook.ca_file, hidden=hook.hidden)
        except Exception as error:  # any error at all must appear in the trail
            went = Delivery(False, f"internal error {type(error).__name__}")
        with self._lock:
            over = after_post(action, went, self._clock())
            self._known[over.id] = over
            try:
                self._keep(over)
            except StoreError as error:
                log_event("the end of an action is not saved", id=over.id, error=error)
        log_event("action", id=over.id, hook=hook.name, state=over.state, dry_run=over.dry_run, why=went.why)

    def _keep(self, action: Action) -> None:
        if self._database is not None:
            told = json.dumps(asdict(action), allow_nan=False)
            begun = action.trail[0].at_ns
            row: dict[str, Sequence[Any]] = {
                "id": [action.id],
                "version": [len(action.trail)],
                "begun_ns": [begun],
                "told": [told],
            }
            self._database.insert(ACTIONS, row, token=f"actions {action.id} {len(action.trail)}", again=False)
        self._known[action.id] = action
        while len(self._known) > MAX_ACTIONS:
            del self._known[next(iter(self._known))]
