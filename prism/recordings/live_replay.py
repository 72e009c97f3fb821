"""Play recordings through the live analysis, by the clock of the recording."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from collectors.formats.column_mapping import Columns
from prism.inventory.operator_hints import Hints
from prism.live.board_changes import changes, json_line, line
from prism.live.live_analysis import Watch
from prism.recordings.file_analysis import read
from prism.recordings.stored_replay import through
from prism.recordings.timed_playback import play, ticks
from prism.topology import Topology
from prism.tracking.board import Board
from prism.tracking.record_windows import SECOND
from prism.workers.distributed_analysis import StoredSource
from prism.workers.executors import workers

SLOWEST = 0.001  # a second of a recording takes a quarter of an hour


def rate(text: str) -> float:
    """Parse a speed; 0 means as fast as possible. Raises ValueError."""
    try:
        speed = 0.0 if text == "max" else float(text)
    except ValueError:
        speed = -1.0
    if speed != 0 and not SLOWEST <= speed < float("inf"):
        raise ValueError(f"--speed {text}: must be a number from {SLOWEST:g}, or 0 or max for no delay")
    return speed


def by_clock(
    speed: float, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Callable[[int], bool]:
    """Build a function that waits until a recorded time, `speed` times as fast; without waiting at speed 0."""
    first: list[tuple[int, float]] = []

    def wait(recorded_ns: int) -> bool:
        if speed:
            if not first:
                first.append((recorded_ns, clock()))
            ahead = first[0][1] + (recorded_ns - first[0][0]) / SECOND / speed - clock()
            if ahead > 0:
                sleep(ahead)
        return True

    return wait


def play_files(
    inputs: Sequence[tuple[str, str]],
    topology: Topology | None,
    *,
    speed: float = 1.0,
    as_json: bool = False,
    columns: Columns | None = None,
    hints: Hints | None = None,
    store: str = "",
    scheduler: str = "",
    warn: Callable[[str], None] = lambda _line: None,
) -> Iterator[str]:
    """Play files, and yield lines for changes; `warn` receives messages about truncated or skipped data.

    Raises as `file_analysis.read`, `executors.workers` and `stored_replay.through`. Workers of the Dask `scheduler` analyse
    jobs. With a `store`, records are written there first, and workers read those of their jobs there.
    """
    flows, transits, source = read(inputs, topology, lambda *_: None, columns, skips=warn)
    for warning in source.warnings:
        warn(warning)
    if not len(flows):
        warn("nothing to play: the files contain no flow records")
    if store:
        flows = through(store, flows)
    with workers(1, scheduler) as executor:
        kept = StoredSource(store) if store and executor else None
        watch, before = Watch(topology, executor=executor, kept=kept, hints=hints), Board()
        for board in play(watch, ticks(flows, transits), wait=by_clock(speed)):
            for change in changes(before, board):
                yield json_line(change) if as_json else line(change)
            before = board
