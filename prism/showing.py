"""What `prism serve` shows of what it knows: pages and REST on a socket, alerts to receivers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from collectors.logs import say
from collectors.metrics import Count
from prism.alertfile import read_alerts
from prism.alerting import Alerts
from prism.alerts.settings import Settings
from prism.api.serving import Wish, shown
from prism.outbox import Outbox
from prism.serve import Parts, Shown
from prism.service import Service


def to_all(pages: Wish | None, alerts: str | Path | None) -> Shown:
    """Pages where they are wished for, and alerts as a settings file says. Raises OSError, ValueError at once."""
    settings = read_alerts(alerts) if alerts else Settings(())

    @contextmanager
    def lasting(parts: Parts) -> Iterator[None]:
        told = Alerts(settings, Outbox(parts.database) if settings.receivers else None)

        def counts() -> Iterator[Count]:
            yield from parts.counts()
            yield from told.counts()

        with ExitStack() as undo:
            undo.enter_context(_telling(told, parts))
            if pages is not None:
                service = Service(parts.watch.boards, parts.records, counts=counts, health=parts.health)
                say("pages", url=undo.enter_context(shown(service, pages)))
            yield

    return lasting


@contextmanager
def _telling(alerts: Alerts, parts: Parts) -> Iterator[None]:
    """Alerts in a thread of their own; what is being delivered at the end is waited for."""
    stop = threading.Event()
    thread = threading.Thread(target=alerts.run, args=(parts.watch.boards, stop), name="prism-alerts")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
