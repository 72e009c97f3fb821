"""Whether the thread that takes records goes on: a process that was stopped (SIGSTOP), or whose host was suspended, takes none.

What came meanwhile may wait in the kernel's receive buffers, so nothing need be missing. Nothing is analysed before the thread
has gone on for a moment: jobs would seem to stand still.
"""

from __future__ import annotations

import threading

import numpy as np

from collectors.columns.record import Ints

SECOND = 1_000_000_000


class Pulse:
    """Times at which the thread was seen to go on, ns. Beats come from one thread, questions from another.

    It was held up where no beat came for `most_s`; what waited is taken within `settle_s`. Without any beat nobody is asked.
    """

    def __init__(self, *, most_s: float = 3.0, settle_s: float = 1.0) -> None:
        self._most, self._settle = int(most_s * SECOND), int(settle_s * SECOND)
        self._newest = 0
        self._held: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def beat(self, now_ns: int) -> None:
        """It goes on now."""
        with self._lock:
            if self._newest and now_ns - self._newest > self._most:
                begin = self._held[0] if self._held else self._newest
                self._held = begin, now_ns
            self._newest = now_ns

    def settled(self, now_ns: int) -> bool:
        """Whether records can be analysed now: it goes on, and has gone on for a moment since it was held up."""
        with self._lock:
            late = bool(self._newest) and now_ns - self._newest > self._most
            return not late and (self._held is None or now_ns - self._held[1] >= self._settle)

    def take(self) -> tuple[int, int] | None:
        """From when until when it was held up since this was last asked, ns."""
        with self._lock:
            held, self._held = self._held, None
            return held


def hole(ends_ns: Ints, begin_ns: int, end_ns: int, *, least_s: float = 2.0) -> tuple[int, int] | None:
    """The longest time without a record that reaches into a time in which the thread was held up, ns.

    None where it is no longer than `least_s` or than half of that time: what waited in the buffers was taken.
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
