"""Read records from files, for workers that read their own records."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from collectors.columns.record import Flows, concatenated
from collectors.formats.column_mapping import Columns
from collectors.formats.file_types import open_records
from prism.tracking.flow_sources import Memory


class Dumps:
    """Records in dumps: the files are read and filtered, piece by piece, at each call.

    Each file has the name of the switch for records without one. Raises as `collectors.formats.file_types.open_records`.
    """

    def __init__(self, files: Sequence[tuple[str, str]], columns: Columns | None = None) -> None:
        self._files, self._columns = tuple(files), columns

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """Return records, see `Records`."""
        parts = []
        for name, path in self._files:
            for flows in open_records(path, self._columns, exporter=name):
                inside = (flows.start_ns >= start_ns) & (flows.start_ns < end_ns)
                if endpoints:
                    selected = flows.among(endpoints)
                    inside &= selected[flows.src] & selected[flows.dst]
                parts.append(flows.take(np.flatnonzero(inside)))
        return Memory(concatenated(parts) if parts else Flows.build({"start_ns": []}, endpoints=())).between(
            start_ns, end_ns, limit=limit
        )
