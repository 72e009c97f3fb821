"""The thread of a service that analyses: looks when a window is due, keeps what must not be lost, reads what others stored."""

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
from collectors.operations.logs import say
from collectors.operations.metrics import Count, keyed
from collectors.writers.sinks import Sink
from prism.exporters.exporter_silence import Heard
from prism.exporters.live_survey import Survey
from prism.live.live_analysis import Watch
from prism.live.stalled_process import Pulse, hole
from prism.storage.live_state import State
from prism.tracking.board import Board, Gap
from prism.tracking.flow_sources import Records
from prism.tracking.job_tracking import Followed, Wanted
from prism.tracking.record_windows import NO_FLOWS, SECOND

TURN_S, IDLE_TURN_S = 0.05, 0.5  # seconds between two looks for records; before any has come
IDLE_S = 5  # seconds between two reads of a store that holds no records yet


@runtime_checkable
class Counting(Protocol):
    """A decoder of exports; see `collectors.exports.counter_names`."""

    @property
    def exporters(self) -> Mapping[str, Mapping[str, int]]:
        """The tally of each exporter."""


def witnessing(
    drain: Callable[[], Evidence],
    watch: Watch,
    decoders: Iterable[Counting] = (),
    *,
    every_s: float = 0.25,
    pulse: Pulse | None = None,
    survey: Survey | None = None,
    clock: Callable[[], int] = time.time_ns,
) -> Callable[[], None]:
    """A function that hands on to a watch what exporters told of delays and losses since it was called last, and who is heard.

    It is called in the thread in which the `decoders` work, of which it is the `pulse`, and asks them every so often.
    """
    witness = EvidenceConverter()
    known: dict[str, tuple[int, Heard]] = {}  # datagrams that came of each exporter, and what that tells
    due = 0

    def hand_on() -> None:
        nonlocal due
        told, now = drain(), clock()
        if pulse is not None:
            pulse.beat(now)
        if survey is not None and told.counters:
            survey.count(told.counters)
        if told.delays or told.drops or told.counters:
            watch.add(witness.transits(told), now)
        if now >= due:
            due = now + int(every_s * SECOND)
            for decoder in {id(one): one for one in decoders}.values():
                for name, tally in decoder.exporters.items():
                    known[name] = _heard(tally, known.get(name), now)
            watch.hear({name: heard for name, (_, heard) in known.items()})

    return hand_on


def _heard(tally: Mapping[str, int], before: tuple[int, Heard] | None, now_ns: int) -> tuple[int, Heard]:
    """How many datagrams have come of an exporter, and what is known of it then."""
    came = tally.get(counter(DATAGRAMS, RECEIVED), 0)
    lost = sum(tally.get(counter(unit, LOST), 0) for unit in (DATAGRAMS, RECORDS))
    count, told = before if before is not None else (0, Heard(0))
    return came, Heard(now_ns if came != count else told.at_ns, lost, now_ns if lost != told.lost else told.lost_ns)


class Watched:
    """A sink that hands records on to another one and to a watch: both have them the moment they come in."""

    def __init__(
        self, sink: Sink, watch: Watch, *, survey: Survey | None = None, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self.sink, self._watch, self._survey, self._clock = sink, watch, survey, clock

    def write(self, flows: Flows) -> None:
        """Take records."""
        now = self._clock()
        self._watch.add(flows, now)
        if self._survey is not None:
            self._survey.add(flows, now)
        self.sink.write(flows)

    def tick(self, now_ns: int) -> None:
        """Time passes."""
        self.sink.tick(now_ns)

    def close(self) -> None:
        """Close the other one."""
        self.sink.close()

    def counts(self) -> Iterator[Count]:
        """Of the other one."""
        return self.sink.counts()


class Analysis:
    """Runs a watch until it is stopped.

    With `state`, jobs, cases, windows and gaps are kept there and found again. With `stored`, records are read from there as
    others write them: again for `overlap_s`, so that what comes late is seen. `spooled` says how many records from before a
    restart are on their way to the store: windows hold them too, if they are there within `patience_s`. What comes after the
    restart is not stored sooner, so it is not taken twice. Nothing is analysed while the thread of the `pulse` is held up.
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
        pulse: Pulse | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.watch, self.state, self.stored, self.past = watch, state, stored, past or stored
        self.failed = self.unsaved = self._read_ns = 0
        self._overlap, self._clock = int(overlap_s * SECOND), clock
        self._spooled, self._turns = spooled, int(patience_s / TURN_S)
        self.pulse = pulse or Pulse()

    def run(self, stop: threading.Event) -> None:
        """Until `stop`. What fails is said and counted, and tried again with the next window."""
        self._resume(stop)
        while not stop.is_set():
            try:
                if not self.turn():
                    stop.wait(TURN_S if self.watch.first_ns else IDLE_TURN_S)
            except StoreError as error:
                self._failed("store", error, stop)
            except Exception as error:  # one window that cannot be analysed must not end the service
                self._failed("analysis", error, stop)
        self._save(self.watch.boards.newest)

    def turn(self) -> bool:
        """Read what came in, and look if a window is due: whether it was."""
        now = self._clock()
        pause = SECOND if self.watch.first_ns else IDLE_S * SECOND
        if self.stored is not None and now - max(self.watch.until_ns, self._read_ns) >= pause:
            self._read_ns = now
            self._read(self.stored, now)
        self.watch.take()
        if not self.pulse.settled(now):
            return False
        if held := self.pulse.take():
            self._held_up(*held)
        if not self.watch.due(now):
            return False
        self._save(self.watch.look(self.watch.watermark(now)))
        return True

    def _held_up(self, begin_ns: int, end_ns: int) -> None:
        """Nobody took records between two times; that is a gap where some are missing."""
        ends = self.watch.shelf.between(begin_ns - self._overlap, self._clock()).end_ns
        say("held up", level=logging.WARNING, seconds=round((end_ns - begin_ns) / SECOND, 1))
        if found := hole(ends, begin_ns, end_ns):
            self.watch.missed(Gap(*found, "paused"))

    def _read(self, stored: Records, now: int) -> None:
        since = (self.watch.until_ns or now) - self._overlap
        self.watch.replace(since, stored.between(since, now + self._overlap), now)

    def _resume(self, stop: threading.Event) -> None:
        if self.state is not None:
            any(not self._spooled() or stop.wait(TURN_S) for _ in range(self._turns))
        while self.state is not None and not stop.is_set():
            try:
                jobs, trails, until, windows, gaps = self.state.load()
                if until:
                    flows = self._past(self.past, jobs, until) if self.past is not None else NO_FLOWS
                    self.watch.resume(jobs, trails, until, flows, deaf=self.stored is None, windows=windows, known=gaps)
                    say("resumed", jobs=len(jobs), cases=len(trails), until_ns=until)
                return
            except StoreError as error:
                self._failed("store", error, stop)

    def _past(self, past: Records, jobs: Sequence[Followed], until: int) -> Flows:
        """What the windows of known jobs hold up to a time, and what came after it."""
        after = Wanted(until, until + self._overlap)
        return concatenated([past.between(*own[:2], endpoints=own.endpoints) for own in (*self.watch.past(jobs, until), after)])

    def _save(self, board: Board) -> None:
        if self.state is None or not board.revision:
            return
        try:
            self.state.save(self.watch.jobs, self.watch.trails, board.windows[:1], board.at_ns, board.gaps)
        except StoreError as error:  # the next window saves what has changed since
            self.unsaved += 1
            say("state not saved, the next window tries again", level=logging.ERROR, error=error)

    def _failed(self, what: str, error: Exception, stop: threading.Event) -> None:
        self.failed += 1
        say(f"{what} failed, trying again", level=logging.ERROR, error=repr(error))
        stop.wait(1.0)

    def counts(self) -> Iterator[Count]:
        """What the analysis counts."""
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
        yield Count("prism_analysis_rows", "records in memory", {(): len(watch.shelf)}, level=True)
        silent = "exporters that stopped sending while others continue"
        yield Count("prism_analysis_quiet_exporters", silent, {(): len(watch.quiet)}, level=True)

    def health(self) -> Mapping[str, Any]:
        """How the analysis is: not well when it hears nothing any more while jobs run."""
        board = self.watch.boards.newest
        took = board.windows[0].took_s if board.windows else 0.0
        quiet = sorted(self.watch.quiet)
        told = {
            "failed": self.failed,
            "unheard": self.watch.unheard,
            "quiet_exporters": quiet,
            "lag_s": self._lag_s(),
            "window_s": took,
        }
        return {"ok": (self.failed == 0 or self._lag_s() < 60) and not self.watch.unheard, **told}

    def _lag_s(self) -> float:
        at = self.watch.boards.newest.at_ns or self.watch.until_ns or self.watch.first_ns
        return (self._clock() - at) / SECOND if at else 0.0
