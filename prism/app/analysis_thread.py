"""Run the analysis thread of the service: analyse due windows, save state, read records that others stored."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from collectors.clickhouse.drivers import StoreError
from collectors.columns.record import Flows, concatenated
from collectors.exports.counter_names import DATAGRAMS, LOST, RECEIVED, RECORDS, counter
from collectors.exports.evidence import Evidence
from collectors.exports.evidence_store import EvidenceConverter
from collectors.operations.logs import log_event
from collectors.operations.metrics import Count, keyed
from collectors.writers.sinks import Sink
from prism.exporters.exporter_silence import ExporterReception
from prism.exporters.live_survey import Survey
from prism.live.live_analysis import Watch
from prism.live.stalled_process import ProcessActivity, record_gap
from prism.storage.live_state import State
from prism.tracking.board import Board, Gap
from prism.tracking.flow_sources import Records
from prism.tracking.job_tracking import Followed, RecordRange
from prism.tracking.record_windows import NO_FLOWS, SECOND

TURN_S, IDLE_TURN_S = 0.05, 0.5  # seconds between two checks for records; before the first record
IDLE_S = 5  # seconds between two reads of a store that holds no records yet


@runtime_checkable
class Counting(Protocol):
    """A decoder of exports; see `collectors.exports.counter_names`."""

    @property
    def exporters(self) -> Mapping[str, Mapping[str, int]]:
        """Counters of each exporter."""


def witnessing(
    drain: Callable[[], Evidence],
    watch: Watch,
    decoders: Iterable[Counting] = (),
    *,
    every_s: float = 0.25,
    activity: ProcessActivity | None = None,
    survey: Survey | None = None,
    clock: Callable[[], int] = time.time_ns,
) -> Callable[[], None]:
    """Build a function that forwards exporters' delay and loss evidence, and their activity, to a watch.

    Call it in the thread of the `decoders`, of which it is the `activity`. It reads the decoders' counters every `every_s`.
    """
    witness = EvidenceConverter()
    known: dict[str, tuple[int, ExporterReception]] = {}  # by exporter: datagrams received, and its state
    next_ns = 0

    def forward() -> None:
        nonlocal next_ns
        evidence, now = drain(), clock()
        if activity is not None:
            activity.mark_running(now)
        if survey is not None and evidence.counters:
            survey.count(evidence.counters)
        if evidence.delays or evidence.drops or evidence.counters:
            watch.add(witness.transits(evidence), now)
        if now >= next_ns:
            next_ns = now + int(every_s * SECOND)
            for decoder in {id(one): one for one in decoders}.values():
                for name, tally in decoder.exporters.items():
                    known[name] = _exporter_state(tally, known.get(name), now)
            watch.set_reception({name: heard for name, (_, heard) in known.items()})

    return forward


def _exporter_state(
    tally: Mapping[str, int], before: tuple[int, ExporterReception] | None, now_ns: int
) -> tuple[int, ExporterReception]:
    """Return the number of datagrams received from an exporter, and its state."""
    received = tally.get(counter(DATAGRAMS, RECEIVED), 0)
    lost = sum(tally.get(counter(unit, LOST), 0) for unit in (DATAGRAMS, RECORDS))
    count, last = before if before is not None else (0, ExporterReception(0))
    return received, ExporterReception(
        now_ns if received != count else last.at_ns, lost, now_ns if lost != last.lost else last.lost_ns
    )


class WatchedSink:
    """A sink that forwards records to another sink and to a watch."""

    def __init__(
        self, sink: Sink, watch: Watch, *, survey: Survey | None = None, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self.sink, self._watch, self._survey, self._clock = sink, watch, survey, clock

    def write(self, flows: Flows) -> None:
        """Write records to both."""
        now = self._clock()
        self._watch.add(flows, now)
        if self._survey is not None:
            self._survey.add(flows, now)
        self.sink.write(flows)

    def tick(self, now_ns: int) -> None:
        """Advance the time of the other sink."""
        self.sink.tick(now_ns)

    def close(self) -> None:
        """Close the other sink."""
        self.sink.close()

    def counts(self) -> Iterator[Count]:
        """Counters of the other sink."""
        return self.sink.counts()


class Analysis:
    """Run a watch until it is stopped.

    Parameters
    ----------
    watch : Watch
        The analysis.
    state : State, optional
        Jobs, cases, windows and gaps are saved there and restored at the start.
    stored : Records, optional
        Records that others write are read from there, again for `overlap_s` so that late ones are included.
    past : Records, optional
        Records from before a restart; `stored` by default.
    spooled : callable
        Number of records from before a restart that are not stored yet; they are awaited for `patience_s`. Later records are
        not stored before them, so none is analysed twice.
    activity : ProcessActivity, optional
        While its thread is suspended, no window is analysed.
    clock : callable
        ns since the epoch.
    """

    def __init__(
        self,
        watch: Watch,
        state: State | None = None,
        stored: Records | None = None,
        *,
        past: Records | None = None,
        spooled: Callable[[], int] = lambda: 0,
        overlap_s: float = 30.0,
        patience_s: float = 0.75,
        activity: ProcessActivity | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.watch, self.state, self.stored, self.past = watch, state, stored, past or stored
        self.failed = self.unsaved = self._read_ns = 0
        self._overlap, self._clock = int(overlap_s * SECOND), clock
        self._spooled, self._turns = spooled, int(patience_s / TURN_S)
        self.activity = activity or ProcessActivity()

    def run(self, stop: threading.Event) -> None:
        """Run until `stop`. Errors are logged and counted, and the next window tries again."""
        self._resume(stop)
        while not stop.is_set():
            try:
                if not self.turn():
                    stop.wait(TURN_S if self.watch.first_ns else IDLE_TURN_S)
            except StoreError as error:
                self._failed("store", error, stop)
            except Exception as error:  # a window that cannot be analysed must not end the service
                self._failed("analysis", error, stop)
        self._save(self.watch.boards.newest)

    def turn(self) -> bool:
        """Read new records, and analyse a window if it is due; return whether it was."""
        now = self._clock()
        pause = SECOND if self.watch.first_ns else IDLE_S * SECOND
        if self.stored is not None and now - max(self.watch.until_ns, self._read_ns) >= pause:
            self._read_ns = now
            self._read(self.stored, now)
        self.watch.take()
        if not self.activity.settled(now):
            return False
        if held := self.activity.take():
            self._add_suspension(*held)
        if not self.watch.due(now):
            return False
        self._save(self.watch.analyse_window(self.watch.watermark(now)))
        return True

    def _add_suspension(self, begin_ns: int, end_ns: int) -> None:
        """Record a suspension between two times as a gap if records are missing."""
        ends = self.watch.recent.between(begin_ns - self._overlap, self._clock()).end_ns
        log_event("held up", level=logging.WARNING, seconds=round((end_ns - begin_ns) / SECOND, 1))
        if found := record_gap(ends, begin_ns, end_ns):
            self.watch.missed(Gap(*found, "paused"))

    def _read(self, stored: Records, now: int) -> None:
        since = (self.watch.until_ns or now) - self._overlap
        self.watch.replace(since, stored.between(since, now + self._overlap), now)

    def _resume(self, stop: threading.Event) -> None:
        if self.state is not None:
            any(not self._spooled() or stop.wait(TURN_S) for _ in range(self._turns))
        while self.state is not None and not stop.is_set():
            try:
                jobs, tracked, until, windows, gaps = self.state.load()
                if until:
                    flows = self._past(self.past, jobs, until) if self.past is not None else NO_FLOWS
                    self.watch.resume(
                        jobs, tracked, until, flows, collection_stopped=self.stored is None, windows=windows, known=gaps
                    )
                    log_event("resumed", jobs=len(jobs), cases=len(tracked), until_ns=until)
                return
            except StoreError as error:
                self._failed("store", error, stop)

    def _past(self, past: Records, jobs: Sequence[Followed], until: int) -> Flows:
        """Read the records in the windows of known jobs up to a time, and the records after it."""
        after = RecordRange(until, until + self._overlap)
        return concatenated([past.between(*own[:2], endpoints=own.endpoints) for own in (*self.watch.past(jobs, until), after)])

    def _save(self, board: Board) -> None:
        if self.state is None or not board.revision:
            return
        try:
            self.state.save(self.watch.jobs, self.watch.tracked, board.windows[:1], board.at_ns, board.gaps)
        except StoreError as error:  # the next window saves the changes
            self.unsaved += 1
            log_event("state not saved, the next window tries again", level=logging.ERROR, error=error)

    def _failed(self, what: str, error: Exception, stop: threading.Event) -> None:
        self.failed += 1
        log_event(f"{what} failed, trying again", level=logging.ERROR, error=repr(error))
        stop.wait(1.0)

    def counts(self) -> Iterator[Count]:
        """Counters of the analysis."""
        board, watch = self.watch.boards.newest, self.watch
        took = board.windows[0].took_s if board.windows else 0.0
        yield Count("prism_analysis_windows", "windows analysed", {(): board.revision})
        yield Count("prism_analysis_failed", "windows whose analysis failed", {(): self.failed})
        yield Count("prism_analysis_unsaved", "failures to save jobs and findings", {(): self.unsaved})
        yield Count("prism_analysis_records", "records passed to the analysis", {(): board.source.flows})
        yield Count(
            "prism_analysis_skipped", "records excluded from the analysis, by reason", keyed(board.source.skipped), ("reason",)
        )
        yield Count("prism_analysis_window_seconds", "duration of the analysis of the newest window", {(): took}, level=True)
        yield Count("prism_analysis_lag_seconds", "age of the newest analysed record", {(): self._lag_s()}, level=True)
        yield Count("prism_analysis_rows", "records in memory", {(): len(watch.recent)}, level=True)
        silent = "exporters that stopped sending while others continue"
        yield Count("prism_analysis_quiet_exporters", silent, {(): len(watch.quiet)}, level=True)

    def health(self) -> Mapping[str, Any]:
        """Health of the analysis: not ok if no records arrive while jobs run."""
        board = self.watch.boards.newest
        took = board.windows[0].took_s if board.windows else 0.0
        quiet = sorted(self.watch.quiet)
        details = {
            "failed": self.failed,
            "unheard": self.watch.unheard,
            "quiet_exporters": quiet,
            "lag_s": self._lag_s(),
            "window_s": took,
        }
        return {"ok": (self.failed == 0 or self._lag_s() < 60) and not self.watch.unheard, **details}

    def _lag_s(self) -> float:
        at = self.watch.boards.newest.at_ns or self.watch.until_ns or self.watch.first_ns
        return (self._clock() - at) / SECOND if at else 0.0
