"""Numbers for flows, and what has to be remembered of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from collectors.pieces import Table, run_sizes, run_starts
from collectors.record import Ints, Mask


class Memory(NamedTuple):
    """One thing remembered of every flow: its array type, its value at first, its shape."""

    dtype: DTypeLike
    first: float = 0
    shape: tuple[int, ...] = ()


class FlowNumbers:
    """Numbers flows by identity; a flow that rested for longer than `idle_ns` is another when it comes back.

    `state` holds one array per column, indexed by the number.
    """

    def __init__(self, idle_ns: int, **columns: Memory) -> None:
        self.idle_ns = idle_ns
        self.columns = {"last_ns": Memory(np.int64), "identity": Memory(np.uint64), **columns}
        self.number: dict[int, int] = {}
        self.count = 0
        self.state: Table = {name: np.full((0, *c.shape), c.first, c.dtype) for name, c in self.columns.items()}

    def lookup(self, identity: NDArray[np.uint64], time: Ints) -> tuple[Ints, NDArray[np.intp]]:
        """Numbers of the flows of rows in the order they came, and the order that sorts rows by flow, else as they came."""
        order = np.argsort(identity, kind="stable")
        key, at = identity[order], time[order]
        fresh = np.ones(len(key), np.bool_)
        fresh[1:] = key[1:] != key[:-1]
        rested = np.diff(at, prepend=at[:1]) > self.idle_ns
        starts = np.flatnonzero(fresh | rested)
        lasts = starts + run_sizes(starts, len(key)) - 1
        numbers = np.zeros(len(starts), np.int64)
        new: list[int] = []
        known, last = self.number, self.state["last_ns"]
        for i, (k, t, first) in enumerate(zip(key[starts].tolist(), at[starts].tolist(), fresh[starts].tolist(), strict=True)):
            n = known.get(k)
            if n is None or not first or t - last[n] > self.idle_ns:
                n = known[k] = self.count + len(new)
                new.append(k)
            numbers[i] = n
        self.grow(new)
        self.state["last_ns"][numbers] = at[lasts]
        out = np.empty(len(key), np.int64)
        out[order] = np.repeat(numbers, lasts + 1 - starts)
        return out, order

    def grow(self, new: list[int]) -> None:
        """Make room for flows of these identities."""
        count, room = self.count + len(new), len(self.state["last_ns"])
        if count > room:
            more = max(count, 2 * room) - room
            for name, c in self.columns.items():
                self.state[name] = np.concatenate([self.state[name], np.full((more, *c.shape), c.first, c.dtype)])
        self.state["identity"][self.count : count] = np.asarray(new, np.uint64)
        self.count = count

    def rested(self, now: int) -> Mask:
        """Which flows cannot go on, having rested too long or having a successor."""
        rested = self.state["last_ns"][: self.count] < now - self.idle_ns
        current = np.zeros(self.count, np.bool_)
        current[np.fromiter(self.number.values(), np.int64, len(self.number))] = True
        return np.asarray(rested | ~current, dtype=np.bool_)

    def forget(self, gone: Mask) -> Ints:
        """Drop flows; the new number of each old one, -1 where it is gone."""
        renumbered = np.where(gone, -1, np.cumsum(~gone) - 1)
        self.state = {name: column[: self.count][~gone] for name, column in self.state.items()}
        self.number = {k: int(renumbered[n]) for k, n in self.number.items() if renumbered[n] >= 0}
        self.count = int(np.count_nonzero(~gone))
        return renumbered

    def previous(self, name: str, values: NDArray[Any], flow: Ints) -> NDArray[Any]:
        """Value of the row before in the same flow, the remembered one where a flow's rows begin. Rows by flow."""
        state = self.state[name]
        starts = run_starts(flow)
        before = np.empty(len(flow), state.dtype)
        before[1:] = values[:-1]
        before[starts] = state[flow[starts]]
        lasts = starts + run_sizes(starts, len(flow)) - 1
        state[flow[lasts]] = values[lasts]
        return before
