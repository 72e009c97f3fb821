"""Records of the past as if they came in now: by the clock of the recording, each when it had ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows, Transits
from prism.live.live_analysis import Watch
from prism.tracking.board import Board
from prism.tracking.record_windows import SECOND, taken


class Tick(NamedTuple):
    """What came in until `clock_ns` and after the tick before."""

    clock_ns: int
    flows: Flows
    transits: Transits


def ticks(flows: Flows, transits: Transits, *, every_s: float = 0.1, shift_ns: int = 0) -> Iterator[Tick]:
    """The records by when they ended, delays and losses by when their time was over; `shift_ns` later than they were."""
    if not len(flows):
        return
    flows = flows.take(np.argsort(flows.end_ns, kind="stable"))
    over = transits.start_ns + transits.bin_ns
    lost = np.argsort(transits.losses.end_ns, kind="stable")
    transits, over = taken(transits, np.argsort(over, kind="stable"), lost), np.sort(over)
    if shift_ns:
        flows, transits = moved(flows, transits, shift_ns)
        over = over + shift_ns
    clock, last = int(flows.start_ns.min()), int(flows.end_ns[-1])
    a = b = c = 0
    while clock <= last:
        clock += int(every_s * SECOND)
        to, until, gone = (int(np.searchsorted(times, clock)) for times in (flows.end_ns, over, transits.losses.end_ns))
        yield Tick(clock, flows.take(np.arange(a, to)), taken(transits, np.arange(b, until), slice(c, gone)))
        a, b, c = to, until, gone


def moved(flows: Flows, transits: Transits, by_ns: int) -> tuple[Flows, Transits]:
    """The same at another time."""
    later = replace(flows, start_ns=flows.start_ns + by_ns, end_ns=flows.end_ns + by_ns)
    return later, replace(transits, start_ns=transits.start_ns + by_ns, losses=transits.losses.moved(by_ns))


def play(watch: Watch, played: Iterator[Tick], *, wait: Callable[[int], bool] = lambda _clock_ns: True) -> Iterator[Board]:
    """The boards of a watch that is given ticks, one for each window; `wait` until it is that time, false to leave off.

    When the ticks are over, one more window ends with what is known then.
    """
    clock = 0
    for tick in played:
        clock = tick.clock_ns
        if not wait(clock):
            return
        if len(tick.transits) or len(tick.transits.losses):
            watch.add(tick.transits, clock)
        if len(tick.flows):
            watch.add(tick.flows, clock)
        watch.take()
        if watch.due(clock):
            yield watch.look(watch.watermark(clock))
    if clock:
        yield watch.look(clock, last=True)
