"""Shared parts of the live commands: signals, sinks, metrics, and the totals at the end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from collectors.exports.admission import Network, parse_networks
from collectors.listening.udp_sockets import parse_endpoint
from collectors.live.settings_files import read_lines
from collectors.operations.logs import log_event
from collectors.operations.metrics import Counts, flat, served
from collectors.operations.stop_flag import Flag
from collectors.writers.rotating_files import Rotating
from collectors.writers.sinks import JsonLines, Sink

STORES = ("chdb:", "clickhouse:", "clickhouses:")


class Signals(NamedTuple):
    """Requests by signals: `stop` (SIGTERM, SIGINT), `reload` (SIGHUP)."""

    stop: Flag
    reload: Flag


@contextmanager
def signals() -> Iterator[Signals]:
    """Handle signals as flags while the context lasts. Call first, otherwise an early signal kills. In the main thread only."""
    asked = Signals(Flag(), Flag())

    def note(number: int, _: FrameType | None) -> None:
        (asked.reload if number == signal.SIGHUP else asked.stop).set()

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def allow_list(texts: Sequence[str] | None, path: str | None) -> tuple[Network, ...] | None:
    """Read networks from texts and a file; None (everybody) without both. Raises OSError, ValueError."""
    if texts is None and path is None:
        return None
    return parse_networks([*(texts or ()), *(read_lines(path) if path else ())])


def sink_to(out: str, *, rows: int, seconds: float) -> Sink:
    """Open a sink: JSON Lines on standard output (`-`), Parquet files in a folder, or the store.

    Raises OSError, ValueError, StoreError.
    """
    if out == "-":
        return JsonLines()
    if out.startswith(STORES):
        from collectors.store.store_sink import open_sink

        return open_sink(out)
    if not Path(out).is_dir():
        raise ValueError(f"{out}: the folder does not exist; create it, or use - for standard output")
    from collectors.formats.parquet import write_parquet

    return Rotating(out, write_parquet, suffix=".parquet", rows=rows, seconds=seconds)


def run(body: Callable[[], None], counts: Counts, *, metrics: str | None) -> None:
    """Run a collector to its end, with its counters at `/metrics` if requested, and in one line at the end."""
    where = parse_endpoint("metrics", metrics) if metrics else None
    with served(where.host, where.port, counts) if where else nullcontext(0) as port:
        if where:
            log_event("metrics", url=f"http://{where.host or '*'}:{port}/metrics")
        try:
            body()
        finally:
            log_event("stopped", **{name: int(number) for name, number in flat(counts()).items()})
