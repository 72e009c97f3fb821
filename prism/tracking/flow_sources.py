"""Define where analysis and pages read flow records: one protocol, and records in memory. Dumps and the store are others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np

from collectors.columns.record import Flows


class Records(Protocol):
    """Flow records by time."""

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """Return the records that start in [start_ns, end_ns), in order of start.

        With `endpoints`, only those with both ends among them. With a `limit`, only the first ones.
        """


class Memory:
    """Records in memory."""

    def __init__(self, flows: Flows) -> None:
        self.flows = (
            flows
            if np.all(flows.start_ns[1:] >= flows.start_ns[:-1])
            else flows.take(np.argsort(flows.start_ns, kind="stable"))
        )

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """Return records; see `Records.between`."""
        flows = self.flows
        low, high = np.searchsorted(flows.start_ns, (start_ns, end_ns)).tolist()
        if not endpoints and high - low == len(flows) and (limit is None or limit >= len(flows)):
            return flows
        rows = np.arange(low, high)
        if endpoints:
            selected = flows.among(endpoints)
            rows = rows[selected[flows.src[rows]] & selected[flows.dst[rows]]]
        return flows.take(rows[:limit])
