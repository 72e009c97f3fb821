"""`prism serve`: collectors, store, analysis and what shows them, composed in one process.

The parts do not know one another. Records come from sockets (and go to the store and the analysis at once), or from a store
that `prism-collect` fills elsewhere. Whoever shows boards (pages, alerts) is given the `Parts`, as long as the service lasts.
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
from collectors.listening.datagram_queue import Inbox
from collectors.listening.listener import Listener
from collectors.listening.receiver_threads import Intake
from collectors.listening.udp_sockets import parse_endpoint
from collectors.live.listen_command import decoders, opened_sockets
from collectors.live.session import allow_list, signals
from collectors.operations.logs import say
from collectors.operations.metrics import Count, flat
from collectors.store.store_sink import Storing
from prism.app.analysis_thread import Analysis, Counting, Watched, witnessing
from prism.app.booking_sources import Names
from prism.app.booking_store import known_names
from prism.exporters.live_survey import Survey
from prism.inventory.bookings import Booking
from prism.inventory.operator_hints import Hints
from prism.live.board_changes import changes, json_line, line
from prism.live.live_analysis import Watch
from prism.live.stalled_process import Pulse
from prism.storage.live_state import State
from prism.storage.stored_flows import StoredRecords
from prism.topology import Topology
from prism.tracking.board import Board
from prism.tracking.flow_sources import Records
from prism.workers.distributed_analysis import Kept
from prism.workers.executors import beside, cores, workers
from prism.workers.worker_cluster import Scheduled

KINDS = ("sflow", "netflow", "ipfix")


@dataclass(frozen=True)
class Wish:
    """The options of `prism serve`. `listen` are URLs such as sflow://127.0.0.1:6343; `store` as in `clickhouse.opened`.

    Records on their way to the store wait in the folder `spool`. Jobs are looked at by the workers of the Dask `scheduler`
    if there is one: what is collected here is sent to them, what others keep on a server they read there. Without, processes
    beside this one look at what it collects, so that what comes in does not wait for that. `names`: jobs of schedulers.
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
    """What runs: for whoever shows it."""

    watch: Watch
    analysis: Analysis
    database: Database
    records: Records
    counts: Callable[[], Iterator[Count]]
    health: Callable[[], Mapping[str, Any]]
    survey: Survey | None = None
    bookings: Callable[[], Sequence[Booking]] = tuple


Shown = Callable[[Parts], AbstractContextManager[Any]]  # pages, alerts: what lasts as long as the service


def place(text: str) -> tuple[str, str]:
    """What comes there and where to listen: of sflow://[ADDRESS]:PORT. Raises ValueError."""
    kind, slashes, where = text.partition("://")
    if not slashes or kind not in KINDS or not where:
        raise ValueError(f"{text}: must be one of {', '.join(f'{kind}://ADDRESS:PORT' for kind in KINDS)}")
    return kind, where.rstrip("/")


def made(folder: str) -> Path:
    """A folder for data, made for this user alone if it is not there. Raises OSError, ValueError where it is a store itself."""
    path = Path(folder)
    if places.is_stored(path) and not places.is_stored(path / places.INNER):
        raise ValueError(
            f"{folder}: is a store itself; --data names the folder around a store, here perhaps {path.absolute().parent}"
        )
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def serve(
    wish: Wish,
    *,
    shown: Sequence[Shown] = (),
    tell: Callable[[str], None] | None = None,
    as_json: bool = False,
) -> None:
    """Run until SIGTERM or SIGINT.

    `shown` are pages, alerts and the like; `tell` is given a line for what opens and closes. Raises OSError, ValueError and
    StoreError at the start.
    """
    places = [parse_endpoint(kind, where) for kind, where in map(place, wish.listen)]
    compiled.be_patient(beside=compiled_beside)
    with signals() as asked, ExitStack() as undo, Warming(told=_compiling) as warming:
        warming.start()
        database = drivers.opened(wish.store)
        undo.callback(database.close)
        apart = beside(max(cores() - 1, 1)) if places and not wish.scheduler else workers(1, wish.scheduler)
        executor = undo.enter_context(apart)
        kept = Kept(wish.store) if executor is not None and not places and "://" in wish.store else None
        names = wish.names or Names(())
        read = StoredRecords(database)
        watch = Watch(wish.topology, executor=executor, kept=kept, hints=wish.hints, bookings=names.bookings)
        undo.enter_context(known_names(names, database))
        listener: Listener | None = None
        survey = Survey() if places else None
        sink: Storing | None = None
        if places:
            admission = Admission(allowed=allow_list(wish.allow, wish.allow_file), most=wish.exporters, rate=wish.rate)
            inbox, ready = Inbox(), decoders({one.kind for one in places})
            sockets = list(opened_sockets(places, wish.buffer, undo, exposed=admission.allowed is None))
            sink = Storing(wish.store, wish.spool)
            undo.callback(sink.close, patience_s=0.0)  # where nothing ran it: its thread must not outlive the store
            listener = Listener(Intake(sockets, admission, inbox), inbox, ready, Watched(sink, watch, survey=survey))
        pulse = Pulse()
        left = sink.left if sink is not None else lambda: 0
        analysis = Analysis(watch, State(database), None if places else read, past=read, spooled=left, pulse=pulse)

        def counts() -> Iterator[Count]:
            yield from analysis.counts()
            yield from _compiled(warming)
            yield from names.counts()
            if listener is not None:
                yield from listener.counts()

        def health() -> Mapping[str, Any]:
            store = {} if sink is None else {"store": {**sink.health(), "ok": sink.health()["state"] != "failed"}}
            away = {"scheduler": executor.health()} if isinstance(executor, Scheduled) else {}
            listed = {"schedulers": names.health()} if wish.names is not None else {}
            return {"analysis": analysis.health(), **store, **away, **listed, "compiling": warming.health()}

        parts = Parts(watch, analysis, database, read, counts, health, survey, names.bookings)
        stop = threading.Event()
        undo.enter_context(_thread(analysis.run, stop, "prism-analysis"))
        for one in shown:
            undo.enter_context(one(parts))
        if tell is not None:
            undo.enter_context(_thread(lambda until: _tell(watch, tell, until, as_json), stop, "prism-tell"))
        say("serving", store=database.where, listening=len(places))
        try:
            if listener is not None:
                counting = [one for one in listener.decoders.values() if isinstance(one, Counting)]
                listener.run(asked.stop, between=witnessing(listener.drain, watch, counting, pulse=pulse, survey=survey))
            while not asked.stop.is_set():
                stop.wait(0.25)
        finally:
            stop.set()
            say("stopped", **{name: int(number) for name, number in flat(counts()).items()})


def _compiling(warming: Warming) -> None:
    """Log that compilation began, ended or failed."""
    told: dict[str, Any] = {"loops": warming.total, "done": warming.done, "seconds": round(warming.seconds, 1)}
    if warming.state == "failed":
        say("compilation failed, loops are interpreted", level=logging.ERROR, hint="run prism warm", **told)
    elif warming.total:
        say("compiling in the background" if warming.state == "running" else "compilation finished", **told)


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


def _tell(watch: Watch, tell: Callable[[str], None], stop: threading.Event, as_json: bool) -> None:
    before = Board()
    while not stop.is_set():
        board = watch.boards.after(before.revision, timeout_s=0.5)
        before = before if before.revision else watch.known  # what was told before a restart is no news
        for change in changes(before, board):
            tell(json_line(change) if as_json else line(change))
        before = board
