"""Records in files, for workers that read what they need themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from collectors.columns.record import Flows, concatenated
from collectors.formats.column_mapping import Columns
from collectors.formats.file_types import open_records
from prism.tracking.flow_sources import Memory


class Dumps:
    """Records in dumps: files that are read, and their records chosen, piece by piece, whenever they are asked for.

    Each with the name of the switch of records that name none. Raises as `collectors.formats.file_types.open_records`.
    """

    def __init__(self, files: Sequence[tuple[str, str]], columns: Columns | None = None) -> None:
        self._files, self._columns = tuple(files), columns

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """See `Records`."""
        parts = []
        for name, path in self._files:
            for flows in open_records(path, self._columns, exporter=name):
                inside = (flows.start_ns >= start_ns) & (flows.start_ns < end_ns)
                if endpoints:
                    asked = flows.among(endpoints)
                    inside &= asked[flows.src] & asked[flows.dst]
                parts.append(flows.take(np.flatnonzero(inside)))
        return Memory(concatenated(parts) if parts else Flows.build({"start_ns": []}, endpoints=())).between(
            start_ns, end_ns, limit=limit
        )
