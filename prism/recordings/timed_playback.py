"""Play recorded flows as if they arrived now: by the clock of the recording, each record at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows, Transits
from prism.live.live_analysis import Watch
from prism.tracking.board import Board
from prism.tracking.record_windows import SECOND, select_transits


class Tick(NamedTuple):
    """Records that arrived up to `clock_ns`, after the tick before."""

    clock_ns: int
    flows: Flows
    transits: Transits


def ticks(flows: Flows, transits: Transits, *, every_s: float = 0.1, shift_ns: int = 0) -> Iterator[Tick]:
    """Yield the records by their end, delays and losses by the end of their interval, shifted by `shift_ns`."""
    if not len(flows):
        return
    flows = flows.take(np.argsort(flows.end_ns, kind="stable"))
    over = transits.start_ns + transits.bin_ns
    lost = np.argsort(transits.losses.end_ns, kind="stable")
    transits, over = select_transits(transits, np.argsort(over, kind="stable"), lost), np.sort(over)
    if shift_ns:
        flows, transits = moved(flows, transits, shift_ns)
        over = over + shift_ns
    clock, last = int(flows.start_ns.min()), int(flows.end_ns[-1])
    a = b = c = 0
    while clock <= last:
        clock += int(every_s * SECOND)
        to, until, gone = (int(np.searchsorted(times, clock)) for times in (flows.end_ns, over, transits.losses.end_ns))
        yield Tick(clock, flows.take(np.arange(a, to)), select_transits(transits, np.arange(b, until), slice(c, gone)))
        a, b, c = to, until, gone


def moved(flows: Flows, transits: Transits, by_ns: int) -> tuple[Flows, Transits]:
    """Shift records and transits in time."""
    later = replace(flows, start_ns=flows.start_ns + by_ns, end_ns=flows.end_ns + by_ns)
    return later, replace(transits, start_ns=transits.start_ns + by_ns, losses=transits.losses.moved(by_ns))


def play(watch: Watch, played: Iterator[Tick], *, wait: Callable[[int], bool] = lambda _clock_ns: True) -> Iterator[Board]:
    """Play ticks through a watch and yield a board per window; `wait` returns at that time, or False to stop.

    After the last tick, one more window covers the rest.
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
            yield watch.analyse_window(watch.watermark(clock))
    if clock:
        yield watch.analyse_window(clock, last=True)
