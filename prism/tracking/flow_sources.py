"""Where the analysis and the pages read flow records: one protocol, and records in memory; dumps and the store are others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np

from collectors.columns.record import Flows


class Records(Protocol):
    """Flow records by time."""

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """The records that start in [start_ns, end_ns), by start; of `endpoints` only those where both ends are among them.

        With a `limit`, the first so many.
        """


class Memory:
    """Records that are in memory."""

    def __init__(self, flows: Flows) -> None:
        self.flows = (
            flows
            if np.all(flows.start_ns[1:] >= flows.start_ns[:-1])
            else flows.take(np.argsort(flows.start_ns, kind="stable"))
        )

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """See `Records`."""
        flows = self.flows
        low, high = np.searchsorted(flows.start_ns, (start_ns, end_ns)).tolist()
        if not endpoints and high - low == len(flows) and (limit is None or limit >= len(flows)):
            return flows
        rows = np.arange(low, high)
        if endpoints:
            asked = flows.among(endpoints)
            rows = rows[asked[flows.src[rows]] & asked[flows.dst[rows]]]
        return flows.take(rows[:limit])
