"""Run `prism serve`: collectors, store, analysis and outputs in one process.

The parts do not know each other. Records come from sockets (to store and analysis at once), or from a store that
`prism-collect` fills elsewhere. Outputs that show boards (pages, alerts) receive the `Parts` while the service runs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.cli.option_values import MOST_RATE
from collectors.clickhouse import drivers
from collectors.clickhouse import store_folders as places
from collectors.clickhouse.drivers import Database
from collectors.compilation import compiled
from collectors.compilation.warming import Warming, compiled_beside
from collectors.exports.admission import Admission
from collectors.listening.datagram_queue import DatagramQueue
from collectors.listening.listener import Listener
from collectors.listening.receiver_threads import Intake
from collectors.listening.udp_sockets import parse_endpoint
from collectors.live.listen_command import decoders, opened_sockets
from collectors.live.session import allow_list, signals
from collectors.operations.logs import log_event
from collectors.operations.metrics import Count, flat
from collectors.store.store_sink import Storing
from prism.app._booking_store import known_names
from prism.app.analysis_thread import Analysis, Counting, WatchedSink, witnessing
from prism.app.booking_sources import Names
from prism.exporters.live_survey import Survey
from prism.inventory.bookings import Booking
from prism.inventory.operator_hints import Hints
from prism.live.board_changes import changes, json_line, line
from prism.live.live_analysis import Watch
from prism.live.stalled_process import ProcessActivity
from prism.storage.live_state import State
from prism.storage.stored_flows import StoredRecords
from prism.topology import Topology
from prism.tracking.board import Board
from prism.tracking.flow_sources import Records
from prism.workers.distributed_analysis import StoredSource
from prism.workers.executors import beside, cores, workers
from prism.workers.worker_cluster import Scheduled

KINDS = ("sflow", "netflow", "ipfix")


@dataclass(frozen=True)
class ServeOptions:
    """The options of `prism serve`. `listen` are URLs such as sflow://127.0.0.1:6343; `store` as in `clickhouse.opened`.

    Records on their way to the store wait in the folder `spool`. Workers of the Dask `scheduler` analyse jobs if there is one:
    they receive records that are collected here, and read records of others from their server. Without it, processes beside
    this one analyse, so that collection does not wait. `names`: jobs of schedulers.
    """

    store: str
    spool: str | Path
    listen: Sequence[str] = ()
    topology: Topology | None = None
    hints: Hints | None = None
    allow: Sequence[str] | None = None
    allow_file: str | None = None
    exporters: int = 1000
    rate: float | None = MOST_RATE
    buffer: int = 32 << 20
    scheduler: str = ""
    names: Names | None = None


@dataclass(frozen=True)
class Parts:
    """The running parts of the service, for its outputs."""

    watch: Watch
    analysis: Analysis
    database: Database
    records: Records
    counts: Callable[[], Iterator[Count]]
    health: Callable[[], Mapping[str, Any]]
    survey: Survey | None = None
    bookings: Callable[[], Sequence[Booking]] = tuple


Shown = Callable[[Parts], AbstractContextManager[Any]]  # outputs that last as long as the service: pages, alerts


def place(text: str) -> tuple[str, str]:
    """Parse sflow://[ADDRESS]:PORT into protocol and address. Raises ValueError."""
    kind, slashes, where = text.partition("://")
    if not slashes or kind not in KINDS or not where:
        raise ValueError(f"{text}: must be one of {', '.join(f'{kind}://ADDRESS:PORT' for kind in KINDS)}")
    return kind, where.rstrip("/")


def made(folder: str) -> Path:
    """Create a data folder for this user if it is missing. Raises OSError, ValueError if it is a store itself."""
    path = Path(folder)
    if places.is_stored(path) and not places.is_stored(path / places.INNER):
        raise ValueError(
            f"{folder}: is a store itself; --data names the folder around a store, here perhaps {path.absolute().parent}"
        )
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def serve(
    options: ServeOptions,
    *,
    shown: Sequence[Shown] = (),
    on_line: Callable[[str], None] | None = None,
    as_json: bool = False,
) -> None:
    """Run the service until SIGTERM or SIGINT.

    Parameters
    ----------
    options : ServeOptions
        Options of the command.
    shown : sequence of callable
        Outputs such as pages and alerts.
    on_line : callable, optional
        Receives a line for each case that opens or closes.
    as_json : bool
        Whether these lines are JSON.

    Raises
    ------
    OSError, ValueError, StoreError
        At the start only.
    """
    places = [parse_endpoint(kind, where) for kind, where in map(place, options.listen)]
    with signals() as stop_signals, ExitStack() as undo, Warming(told=_compiling) as warming:
        compiled.be_patient(warming.start, compiled_beside)
        warming.start_if_needed()
        database = drivers.opened(options.store)
        undo.callback(database.close)
        apart = beside(max(cores() - 1, 1)) if places and not options.scheduler else workers(1, options.scheduler)
        executor = undo.enter_context(apart)
        kept = StoredSource(options.store) if executor is not None and not places and "://" in options.store else None
        names = options.names or Names(())
        read = StoredRecords(database)
        watch = Watch(options.topology, executor=executor, kept=kept, hints=options.hints, bookings=names.bookings)
        undo.enter_context(known_names(names, database))
        listener: Listener | None = None
        survey = Survey() if places else None
        sink: Storing | None = None
        if places:
            admission = Admission(
                allowed=allow_list(options.allow, options.allow_file), most=options.exporters, rate=options.rate
            )
            inbox, ready = DatagramQueue(), decoders({one.kind for one in places})
            sockets = list(opened_sockets(places, options.buffer, undo, exposed=admission.allowed is None))
            sink = Storing(options.store, options.spool)
            undo.callback(sink.close, patience_s=0.0)  # if the sink did not run: its thread must not outlive the store
            listener = Listener(Intake(sockets, admission, inbox), inbox, ready, WatchedSink(sink, watch, survey=survey))
        activity = ProcessActivity()
        left = sink.left if sink is not None else lambda: 0
        analysis = Analysis(watch, State(database), None if places else read, past=read, spooled=left, activity=activity)

        def counts() -> Iterator[Count]:
            yield from analysis.counts()
            yield from _compiled(warming)
            yield from names.counts()
            if listener is not None:
                yield from listener.counts()

        def health() -> Mapping[str, Any]:
            store = {} if sink is None else {"store": {**sink.health(), "ok": sink.health()["state"] != "failed"}}
            away = {"scheduler": executor.health()} if isinstance(executor, Scheduled) else {}
            listed = {"schedulers": names.health()} if options.names is not None else {}
            return {"analysis": analysis.health(), **store, **away, **listed, "compiling": warming.health()}

        parts = Parts(watch, analysis, database, read, counts, health, survey, names.bookings)
        stop = threading.Event()
        undo.enter_context(_thread(analysis.run, stop, "prism-analysis"))
        for one in shown:
            undo.enter_context(one(parts))
        if on_line is not None:
            undo.enter_context(_thread(lambda until: _report_changes(watch, on_line, until, as_json), stop, "prism-tell"))
        log_event("serving", store=database.where, listening=len(places))
        try:
            if listener is not None:
                counting = [one for one in listener.decoders.values() if isinstance(one, Counting)]
                listener.run(
                    stop_signals.stop, between=witnessing(listener.drain, watch, counting, activity=activity, survey=survey)
                )
            while not stop_signals.stop.is_set():
                stop.wait(0.25)
        finally:
            stop.set()
            log_event("stopped", **{name: int(number) for name, number in flat(counts()).items()})


def _compiling(warming: Warming) -> None:
    """Log that compilation began, ended or failed."""
    details: dict[str, Any] = {"loops": warming.total, "done": warming.done, "seconds": round(warming.seconds, 1)}
    if warming.state == "failed":
        log_event("compilation failed, loops are interpreted", level=logging.ERROR, hint="run prism warm", **details)
    elif warming.total:
        log_event("compiling in the background" if warming.state == "running" else "compilation finished", **details)


def _compiled(warming: Warming) -> Iterator[Count]:
    yield Count("prism_loops_compiled", "loops compiled since the start", {(): warming.done}, level=True)
    yield Count("prism_loops_to_compile", "loops without compiled code at the start", {(): warming.total}, level=True)
    yield Count("prism_loops_seconds", "time spent on compilation, seconds", {(): warming.seconds}, level=True)


@contextmanager
def _thread(run: Callable[[threading.Event], None], stop: threading.Event, name: str) -> Iterator[None]:
    thread = threading.Thread(target=run, args=(stop,), name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _report_changes(watch: Watch, on_line: Callable[[str], None], stop: threading.Event, as_json: bool) -> None:
    before = Board()
    while not stop.is_set():
        board = watch.boards.after(before.revision, timeout_s=0.5)
        before = before if before.revision else watch.known  # cases from before a restart are not reported again
        for change in changes(before, board):
            on_line(json_line(change) if as_json else line(change))
        before = board
