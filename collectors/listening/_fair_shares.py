"""Share the queue between exporters while the decoder is behind, so that a flood of one does not push out the others."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Codes, Ints, Mask

UNIT = 2048  # octets: a datagram counts as one unit, and one more for each so many octets


class Shares:
    """What waits of each exporter, by its slot (`Admission`), in units of `UNIT` octets; from any thread.

    `most`: so many units may wait in all once there is too much; who sends little gets all of its own, what is left is shared
    evenly among the others (max-min fairness).
    """

    def __init__(self, *, most: int = 1 << 15) -> None:
        self.most = most
        self._waiting: Ints = np.zeros(0, np.int64)
        self._lock = threading.Lock()

    def add(self, slots: Codes, length: Ints) -> Ints:
        """Datagrams wait from now on, of these slots and lengths in octets. What to give to `done` once they were decoded."""
        units = np.bincount(slots, 1 + length // UNIT).astype(np.int64)
        with self._lock:
            self._grow(len(units))
            self._waiting[: len(units)] += units
        return units

    def done(self, units: Ints) -> None:
        """What was added once waits no more."""
        with self._lock:
            self._waiting[: len(units)] -= units

    def fit(self, slots: Codes, length: Ints) -> Mask:
        """Which of these datagrams may wait too: of each exporter the first, as far as its share goes."""
        units = 1 + length // UNIT
        asked = np.bincount(slots, units).astype(np.int64)
        with self._lock:
            self._grow(len(asked))
            waiting = self._waiting.copy()
        wanted = waiting.copy()
        wanted[: len(asked)] += asked
        left = level(wanted, self.most) - waiting
        order = np.argsort(slots, kind="stable")
        along = np.cumsum(units[order])
        starts = np.flatnonzero(np.r_[True, slots[order][1:] != slots[order][:-1]]) if len(slots) else np.zeros(0, np.intp)
        before = np.repeat(along[starts] - units[order][starts], np.diff(np.r_[starts, len(slots)]))
        keep = np.zeros(len(slots), np.bool_)
        keep[order] = along - before <= left[slots[order]]
        return keep

    def _grow(self, size: int) -> None:
        if size > len(self._waiting):
            self._waiting = np.r_[self._waiting, np.zeros(size - len(self._waiting), np.int64)]


def level(wanted: NDArray[np.int64], most: int) -> int:
    """The largest number of which everybody may have as much as wanted, so that it is at most so much in all."""
    ordered = np.sort(wanted[wanted > 0])
    if int(ordered.sum()) <= most:
        return int(ordered.max(initial=0))
    before = np.cumsum(ordered) - ordered
    fair = (most - before) // np.arange(len(ordered), 0, -1)  # if all from here on get the same
    return int(fair[np.argmax(ordered > fair)])
