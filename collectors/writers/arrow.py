"""Write Arrow IPC files (Feather 2) of flow records for other tools: pandas, polars, DuckDB.

Columns have our names; addresses, exporter and path are plain texts, and nothing is compressed, so that readers can map the
file.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from collectors.columns.record import COLUMNS, Flows
from collectors.columns.switch_names import check_names
from collectors.formats.foreign_records import TEXT

ROWS = 1 << 16  # rows of a record batch: some MB
SCHEMA = pa.schema([pa.field(c.name, pa.string() if c.name in TEXT else pa.from_numpy_dtype(c.dtype)) for c in COLUMNS])


class Writer:
    """An Arrow IPC file for adding records. A context; readable after it is closed. `count`: number of records."""

    def __init__(self, path: str | Path) -> None:
        self.count = 0
        self._file = pa.ipc.new_file(str(path), SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def add(self, flows: Flows) -> None:
        """Add records. Raises ValueError for a switch name with a bar or a line end."""
        check_names(flows)
        texts = {"src": flows.endpoints, "dst": flows.endpoints, "exporter": flows.exporters or ("",)}
        texts["path"] = tuple("|".join(way) for way in flows.paths)
        words = {name: pa.array(list(given), pa.string()) for name, given in texts.items()}
        for start in range(0, len(flows), ROWS):
            part = slice(start, start + ROWS)
            columns = [_column(getattr(flows, c.name)[part], words.get(c.name)) for c in COLUMNS]
            self._file.write_batch(pa.record_batch(columns, schema=SCHEMA))
        self.count += len(flows)


def _column(values: Any, words: pa.Array | None) -> pa.Array:
    return pa.array(values) if words is None else words.take(pa.array(values))
