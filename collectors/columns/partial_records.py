"""Collect partial records while packets stream by, then join those with the same record number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints

Table = dict[str, NDArray[Any]]

JOIN: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or}


def reduce_runs(rows: Mapping[str, NDArray[Any]], starts: NDArray[np.intp], rules: Mapping[str, str]) -> Table:
    """Reduce each run of rows to one row, each column of `rules` by its rule: sum, min, max, or, first.

    `starts`: start of each run.
    """
    return {
        name: rows[name][starts] if rule == "first" else JOIN[rule].reduceat(rows[name], starts) for name, rule in rules.items()
    }


class Pieces:
    """Pieces of records. `rules` defines how the columns of two pieces of one record are joined, the earlier piece first."""

    def __init__(self, rules: Mapping[str, str], *, many: int = 1 << 18) -> None:
        self.rules = {"record": "first", **rules}
        self.many = many
        self.parts: list[Table] = []
        self.rows = self.given = 0

    def numbers(self, n: int) -> Ints:
        """Allocate numbers for n new records."""
        self.given += n
        return np.arange(self.given - n, self.given)

    def add(self, pieces: Mapping[str, NDArray[Any]]) -> None:
        """Add pieces: `record` numbers and every column of the rules. Joins stored pieces if there are many."""
        n = len(pieces["record"])
        if not n:
            return
        self.parts.append({name: pieces[name] for name in self.rules})
        self.rows += n
        if self.rows > self.many:
            self.parts = [self.joined()]
            self.rows = len(self.parts[0]["record"])
            self.many = max(self.many, 2 * self.rows)

    def take(self, over: NDArray[np.bool_]) -> None:
        """Remove records by a mask over the rows of `joined`; later pieces of them make other records."""
        rows = self.joined()
        self.parts = [{name: column[~over] for name, column in rows.items()}]
        self.rows = len(self.parts[0]["record"])

    def joined(self) -> Table:
        """Return one row per record number, in order of number."""
        if not self.parts:
            return {name: np.zeros(0, np.int64) for name in self.rules}
        rows = {name: np.concatenate([p[name] for p in self.parts]) for name in self.rules}
        order = np.argsort(rows["record"], kind="stable")
        rows = {name: column[order] for name, column in rows.items()}
        return reduce_runs(rows, run_starts(rows["record"]), self.rules)


def run_starts(values: NDArray[Any]) -> NDArray[np.intp]:
    """Find the starts of runs of equal values."""
    if not len(values):
        return np.zeros(0, np.intp)
    return np.flatnonzero(np.r_[True, values[1:] != values[:-1]])


def run_sizes(starts: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the length of each run of n rows."""
    return np.asarray(np.diff(np.r_[starts, n]), dtype=np.intp)


def positions(starts: NDArray[np.intp], n: int) -> Ints:
    """Return the position of each of n rows inside its run."""
    return np.arange(n) - np.repeat(starts, run_sizes(starts, n))


def hash_columns(*columns: NDArray[Any]) -> NDArray[np.uint64]:
    """Hash integer columns row by row to 64 bits: different rows collide with a probability of 2^-64.

    The finaliser is that of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    """
    h = np.full(len(columns[0]), 0x9E3779B97F4A7C15, np.uint64)
    for column in columns:
        h ^= column.astype(np.int64).view(np.uint64)
        h ^= h >> np.uint64(30)
        h *= np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(27)
        h *= np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(31)
    return h


def running_max(values: Ints, starts: NDArray[np.intp], before: Ints) -> Ints:
    """Compute the maximum before each row inside its run; `before`: the start value of each run. Values within +-2^40."""
    n = len(values)
    run = np.repeat(np.arange(len(starts)), run_sizes(starts, n))
    shifted = np.empty(n, np.int64)
    shifted[1:] = values[:-1]
    shifted[starts] = before
    return np.asarray(np.maximum.accumulate(shifted + (run << 42)) - (run << 42), dtype=np.int64)
