"""Build the outputs of `prism serve`: pages and REST on a socket, alerts to receivers."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from collectors.operations.logs import log_event
from collectors.operations.metrics import Count
from collectors.store import retention
from prism.alerts.alert_settings import Settings
from prism.api.server.web_server import ServerRequest, serve
from prism.app.notifier import Alerts
from prism.app.serve import Parts, Shown
from prism.feedback.action_runner import ActionRunner
from prism.feedback.remark_journal import Journal
from prism.notify.alert_settings_file import read_alerts
from prism.past.run_history import Runs, kept_runs
from prism.service.service_file import Running, local_url, service_note
from prism.service.service_settings import Feedback, Service
from prism.storage.outbox import Outbox
from prism.tracking.board import Case


def to_all(
    pages: ServerRequest | None, alerts: str | Path | None, folder: str | Path | None = None, *, perfetto: str = ""
) -> Shown:
    """Build the outputs: pages if requested, and alerts from a settings file. Raises OSError, ValueError at once.

    `perfetto` is the address at which pages open traces. The address of the pages is written to the `folder`, for commands on
    this host (`service_file`).
    """
    if perfetto and not perfetto.startswith(("http://", "https://")):
        raise ValueError(f"--perfetto {perfetto}: must be http://… or https://…")
    settings = read_alerts(alerts) if alerts else Settings(folder=str(folder or "."))

    @contextmanager
    def lasting(parts: Parts) -> Iterator[None]:
        outbox, journal = Outbox(parts.database), Journal(parts.database)
        alerting = Alerts(settings, outbox if settings.receivers else None, journal=journal)
        desk = ActionRunner(settings.actions, parts.database, limits=settings.limits)
        feedback = Feedback(journal, desk, settings, settings.folder, outbox.newest)

        def counts() -> Iterator[Count]:
            yield from parts.counts()
            yield from alerting.counts()

        runs = Runs(parts.database)
        with ExitStack() as undo:
            undo.callback(desk.close)
            undo.enter_context(kept_runs(runs, parts.watch.boards))
            undo.enter_context(_alerting(alerting, parts))
            if pages is not None:
                known, owner = partial(retention.status, parts.database), secrets.token_urlsafe(32)
                given: dict[str, Any] = {"counts": counts, "health": parts.health, "store": known, "owner": owner}
                given |= (
                    {"perfetto": perfetto, "bookings": getattr(parts, "bookings", tuple)}
                    | {"history": _history(parts), "runs": runs.all}
                    | {
                        "feedback": feedback,
                        "survey": parts.survey,
                        "heard": lambda: getattr(parts.watch, "heard", {}),
                    }
                )
                url = undo.enter_context(serve(Service(parts.watch.boards, parts.records, **given), pages))
                if folder is not None:
                    running = Running(local_url(url), os.getpid(), parts.database.where, owner)
                    undo.enter_context(service_note(folder, running))
                log_event("pages", url=url)
            yield

    return lasting


@contextmanager
def _alerting(alerts: Alerts, parts: Parts) -> Iterator[None]:
    """Run alerts in their own thread; at the end, wait for deliveries in progress."""
    stop = threading.Event()
    thread = threading.Thread(target=alerts.run, args=(parts.watch.boards, stop), name="prism-alerts")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _history(parts: Parts) -> Callable[[int], Sequence[Case]] | None:
    state = getattr(parts, "analysis", None)
    return state.state.cases if state is not None and state.state is not None else None
