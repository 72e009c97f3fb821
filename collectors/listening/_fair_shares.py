"""Share the queue between exporters while the decoder is behind, so that a flood of one does not displace the others."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Codes, Ints, Mask

UNIT = 2048  # octets: a datagram counts as one unit, plus one per so many octets


class Shares:
    """Queued units of `UNIT` octets per exporter slot (`Admission`). Thread-safe.

    `most`: total units in the queue under overload; small senders keep all of theirs, the rest is shared evenly (max-min
    fairness).
    """

    def __init__(self, *, most: int = 1 << 15) -> None:
        self.most = most
        self._waiting: Ints = np.zeros(0, np.int64)
        self._lock = threading.Lock()

    def add(self, slots: Codes, length: Ints) -> Ints:
        """Add queued datagrams of these slots and lengths in octets. Returns the value to pass to `done` after decoding."""
        units = np.bincount(slots, 1 + length // UNIT).astype(np.int64)
        with self._lock:
            self._grow(len(units))
            self._waiting[: len(units)] += units
        return units

    def done(self, units: Ints) -> None:
        """Remove the units of an earlier `add`."""
        with self._lock:
            self._waiting[: len(units)] -= units

    def fit(self, slots: Codes, length: Ints) -> Mask:
        """Mark the datagrams that may be queued too: the first of each exporter within its share."""
        units = 1 + length // UNIT
        asked = np.bincount(slots, units).astype(np.int64)
        with self._lock:
            self._grow(len(asked))
            waiting = self._waiting.copy()
        wanted = waiting.copy()
        wanted[: len(asked)] += asked
        left = fair_limit(wanted, self.most) - waiting
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


def fair_limit(requested: NDArray[np.int64], total: int) -> int:
    """Compute the largest common limit such that the sum of min(wanted, limit) is at most `total`."""
    ordered = np.sort(requested[requested > 0])
    if int(ordered.sum()) <= total:
        return int(ordered.max(initial=0))
    before = np.cumsum(ordered) - ordered
    fair = (total - before) // np.arange(len(ordered), 0, -1)  # if all from here on get the same
    return int(fair[np.argmax(ordered > fair)])
