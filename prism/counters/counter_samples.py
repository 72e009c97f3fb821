"""Hold polled samples: cumulative counters of ports, each with its reading time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Samples:
    """Cumulative counters. Arrays of equal length; −1 if a counter is unknown.

    `ports` names each port as (switch, port); `port` is the index into it. Counters of a port grow until they wrap or restart.
    """

    ports: tuple[tuple[str, str], ...]
    port: NDArray[np.int32]
    time_ns: NDArray[np.int64]
    in_octets: NDArray[np.int64]
    out_octets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.port)


class Gathering:
    """Collect rows in any order; counters of a port that arrive separately are joined by time."""

    def __init__(self) -> None:
        self._ports: dict[tuple[str, str], int] = {}
        self._rows: dict[tuple[int, int], list[int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, switch: str, port: str, time_ns: int, *, in_octets: int = -1, out_octets: int = -1) -> None:
        """Add one reading; -1 is unknown."""
        place = self._ports.setdefault((switch, port), len(self._ports))
        row = self._rows.setdefault((place, time_ns), [-1, -1])
        if in_octets >= 0:
            row[0] = in_octets
        if out_octets >= 0:
            row[1] = out_octets

    def samples(self) -> Samples:
        """Return all rows, ordered by port and time."""
        keys = sorted(self._rows)
        table = np.array([(*key, *self._rows[key]) for key in keys], np.int64).reshape(len(keys), 4)
        return Samples(tuple(self._ports), table[:, 0].astype(np.int32), table[:, 1], table[:, 2], table[:, 3])


def joined(parts: Sequence[Samples]) -> Samples:
    """Join samples of several files; ports with one name are one port."""
    names: dict[tuple[str, str], int] = {}
    codes = [np.array([names.setdefault(name, len(names)) for name in one.ports], np.int32) for one in parts]
    port = [code[one.port] for code, one in zip(codes, parts, strict=True) if len(one)]
    if not port:
        return Gathering().samples()
    columns = [
        np.concatenate([getattr(one, name) for one in parts if len(one)]) for name in ("time_ns", "in_octets", "out_octets")
    ]
    place = np.concatenate(port)
    order = np.lexsort((columns[0], place))
    return Samples(tuple(names), place[order], *(column[order] for column in columns))
