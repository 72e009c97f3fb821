"""Detect that the collecting thread was suspended: a stopped process (SIGSTOP) or a suspended host collects no records.

Datagrams may wait in the kernel's receive buffers, so records need not be missing. No window is analysed until the thread has
run for a moment: else jobs would seem to hang.
"""

from __future__ import annotations

import threading

import numpy as np

from collectors.columns.record import Ints

SECOND = 1_000_000_000


class ProcessActivity:
    """Times at which the collecting thread was running, ns. Thread-safe: one thread calls `beat`, another the other methods.

    The thread was suspended if `beat` was not called for `most_s`; it processes queued datagrams within `settle_s`. Without any
    call of `beat` it counts as running.
    """

    def __init__(self, *, most_s: float = 3.0, settle_s: float = 1.0) -> None:
        self._most, self._settle = int(most_s * SECOND), int(settle_s * SECOND)
        self._newest = 0
        self._held: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def mark_running(self, now_ns: int) -> None:
        """Record that the thread is running now."""
        with self._lock:
            if self._newest and now_ns - self._newest > self._most:
                begin = self._held[0] if self._held else self._newest
                self._held = begin, now_ns
            self._newest = now_ns

    def settled(self, now_ns: int) -> bool:
        """Check whether records can be analysed: the thread is running, and has been for a moment since it was suspended."""
        with self._lock:
            late = bool(self._newest) and now_ns - self._newest > self._most
            return not late and (self._held is None or now_ns - self._held[1] >= self._settle)

    def take(self) -> tuple[int, int] | None:
        """Return begin and end of a suspension since the last call, ns; None if there was none."""
        with self._lock:
            held, self._held = self._held, None
            return held


def record_gap(ends_ns: Ints, begin_ns: int, end_ns: int, *, least_s: float = 2.0) -> tuple[int, int] | None:
    """Return the longest interval without records that overlaps a suspension, ns.

    None if it is not longer than `least_s`, or not longer than half of the suspension: then the buffers held the datagrams.
    """
    ends = np.sort(ends_ns)
    rests = np.diff(ends)
    inside = np.flatnonzero((ends[:-1] < end_ns) & (ends[1:] > begin_ns)) if len(ends) > 1 else np.zeros(0, np.intp)
    if not len(inside):
        return None
    at = inside[np.argmax(rests[inside])]
    if rests[at] <= max(least_s * SECOND, (end_ns - begin_ns) / 2):
        return None
    return int(ends[at]), int(ends[at + 1])
