"""Packets that switches report as lost: place, flow, reason, number, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]

ERRORS, DISCARDS = -1, -2  # reasons from interface counters; others as in `evidence.REASONS`
TIMES = ("start_ns", "end_ns")
CODES = ("exporter", "src", "dst")
COLUMNS = (*TIMES, *CODES, "in_interface", "out_interface", "reason", "packets")


@dataclass(frozen=True, eq=False)
class Losses:
    """Packets lost in switches in [start, end), from drop reports or from the growth of interface counters.

    -1: address or interface unknown. For a counter, the address is the only one that sends into, or receives from, the
    interface.
    """

    start_ns: Ints
    end_ns: Ints
    exporter: Codes  # the switch, a code into exporters
    src: Codes  # code into endpoints
    dst: Codes
    in_interface: Ints  # ifIndex
    out_interface: Ints
    reason: Ints  # a key of REASONS, or ERRORS, DISCARDS
    packets: Ints
    exporters: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start_ns)

    @classmethod
    def build(cls, columns: Mapping[str, Any], exporters: Sequence[str], endpoints: Sequence[str]) -> Self:
        """Build losses from all columns. Unused names are left out, to save memory."""
        made: dict[str, Any] = {c: np.asarray(columns[c], np.int32 if c in CODES else np.int64) for c in COLUMNS}
        for book, known, used in (("exporters", exporters, ("exporter",)), ("endpoints", endpoints, ("src", "dst"))):
            kept = np.unique(np.concatenate([made[c] for c in used]))
            kept = kept[kept >= 0]
            place = np.full(len(known) + 1, -1, np.int32)  # its last element is for -1
            place[kept] = np.arange(len(kept))
            made |= {c: place[made[c]] for c in used} | {book: tuple(known[code] for code in kept.tolist())}
        return cls(**made)

    @classmethod
    def empty(cls) -> Self:
        """Return no losses."""
        return cls.build(dict.fromkeys(COLUMNS, ()), (), ())

    def take(self, rows: Mask | NDArray[np.intp] | slice) -> Self:
        """Select rows."""
        return replace(self, **{c: getattr(self, c)[rows] for c in COLUMNS})

    def moved(self, by_ns: int) -> Self:
        """Shift the times."""
        return replace(self, **{c: getattr(self, c) + by_ns for c in TIMES})


def concatenate_losses(parts: Sequence[Losses]) -> Losses:
    """Concatenate losses, with one dictionary each of switches and of endpoints."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else Losses.empty()
    exporters, endpoints = dict[str, int](), dict[str, int]()
    columns: dict[str, list[NDArray[Any]]] = {c: [getattr(part, c) for part in parts] for c in COLUMNS}
    for i, part in enumerate(parts):
        for known, names, used in ((exporters, part.exporters, ("exporter",)), (endpoints, part.endpoints, ("src", "dst"))):
            place = np.array([*(known.setdefault(name, len(known)) for name in names), -1], np.int32)
            for c in used:
                columns[c][i] = place[columns[c][i]]
    return Losses.build({c: np.concatenate(own) for c, own in columns.items()}, tuple(exporters), tuple(endpoints))
