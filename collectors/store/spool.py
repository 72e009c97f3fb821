"""Keep flow records on disk until they are stored. A batch is one file with a checksum, written atomically.

`add` returns when the batch is on disk: from then on it survives the end of any process. Each batch has a unique token, by
which the store recognises a repeated batch.
"""

from __future__ import annotations

import heapq
import json
import logging
import os
import re
import secrets
import stat
import struct
import time
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.clickhouse.folder_lock import lock_folder
from collectors.columns.record import COLUMNS, Column, Flows
from collectors.operations.logs import log_event

MAGIC, VERSION, KNOWN = b"PRISMSP1", 2, (1, 2)
HEADER = struct.Struct("<8sIQI")  # magic, schema version, octets of the body, crc32 of the body
ENDING, BAD = ".rows", ".bad"
NAME_PATTERN = re.compile(
    r"[0-9]{20}-[0-9a-f]{16}-[0-9]{8,12}-[1-9][0-9]{0,7}\.rows", re.ASCII
)  # time, source, number, records
OCTETS = 4 << 30  # of all files
BROKEN = (pa.ArrowException, ValueError, KeyError, TypeError, IndexError)
DAMAGED, FULL = "spool file damaged", "spool full"


class SpoolFullError(OSError):
    """The spool has reached its limit."""


@dataclass(frozen=True, order=True)
class Batch:
    """A file of the spool; `name` sorts by age and contains its token and number of records."""

    name: str

    @property
    def token(self) -> str:
        """Token for the store."""
        return self.name.split(".")[0].split("-", 1)[1].rsplit("-", 1)[0]

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.name.split(".")[0].rsplit("-", 1)[1])

    @property
    def made_ns(self) -> int:
        """Creation time."""
        return int(self.name.split("-", 1)[0])


class Spool:
    """A folder of batches, used by one process at a time; at most `octets` in total. `dropped` counts records by reason.

    Any other file that ends in `.rows` is set aside at the start: renamed to end in `.bad`, logged and counted in `strange`.
    The same happens to an unreadable batch.

    Raises StoreError if another process uses the folder, or it cannot be used.
    """

    def __init__(self, folder: str | Path, *, octets: int = OCTETS) -> None:
        self.folder, self.most = Path(folder), octets
        self.dropped: Counter[str] = Counter()
        self.strange = 0
        self._held = lock_folder(self.folder, "prism.lock")
        self._source, self._number = secrets.token_hex(8), 0
        self._sizes: dict[Batch, int] = {}
        for path in sorted(self.folder.glob(f"*{ENDING}.part")):
            if path.is_file():
                path.unlink()  # it was never announced
        for path in sorted(self.folder.glob(f"*{ENDING}")):
            size = _size_of(path)
            if size:
                self._sizes[Batch(path.name)] = size
            else:
                self.strange += 1
                self._set_aside(path, "not a batch of records: wrong name, no content, or no regular file")

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def octets(self) -> int:
        """Octets of all files."""
        return sum(list(self._sizes.values()))

    @property
    def records(self) -> int:
        """Number of waiting records."""
        return sum(batch.records for batch in list(self._sizes))

    def oldest_s(self, now_ns: int) -> float:
        """Age of the oldest batch, s; 0 without one."""
        oldest = self.first()
        return max(0.0, (now_ns - oldest.made_ns) / 1e9) if oldest else 0.0

    def made(self, batch: Batch) -> bool:
        """Check whether this process made a batch."""
        return batch.token.startswith(f"{self._source}-")

    def first(self) -> Batch | None:
        """Return the oldest batch."""
        return min(list(self._sizes), default=None)

    def second(self) -> Batch | None:
        """Return the second oldest batch."""
        return next(iter(heapq.nsmallest(2, list(self._sizes))[1:]), None)

    def add(self, flows: Flows) -> Batch:
        """Write a batch to disk. Raises SpoolFullError, and OSError if the disk refuses; then nothing was added."""
        body = pack_records(flows)
        if self.octets + len(body) > self.most:
            raise SpoolFullError(28, FULL, str(self.folder))
        self._number += 1
        batch = Batch(f"{time.time_ns():020}-{self._source}-{self._number:08}-{len(flows)}{ENDING}")
        path, part = self.folder / batch.name, self.folder / f"{batch.name}.part"
        try:
            with open(part, "wb") as file:
                file.write(HEADER.pack(MAGIC, VERSION, len(body), zlib.crc32(body)))
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
            self._sync()
        except OSError:
            part.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            raise
        self._sizes[batch] = len(body) + HEADER.size
        return batch

    def read(self, batch: Batch) -> Flows | None:
        """Read a batch. None if the file is damaged: it is set aside, and its records are counted as dropped once."""
        if batch not in self._sizes:
            return None  # set aside before
        path, flows = self.folder / batch.name, None
        try:
            flows = _unpacked(path.read_bytes())
        except FileNotFoundError:
            log_event("spool file is missing, records lost", level=logging.ERROR, file=path, records=batch.records)
        except OSError as error:
            self._set_aside(path, error.strerror or str(error))
        else:
            if flows is None or len(flows) != batch.records:
                self._set_aside(path, "its content is damaged (wrong checksum or format)")
        if flows is None or len(flows) != batch.records:
            self.dropped[DAMAGED] += batch.records
            self._sizes.pop(batch, None)
            return None
        return flows

    def remove(self, batch: Batch) -> None:
        """Remove a stored batch."""
        (self.folder / batch.name).unlink(missing_ok=True)
        self._sizes.pop(batch, None)

    def close(self) -> None:
        """Release the folder."""
        self._held.release()

    def _set_aside(self, path: Path, why: str) -> None:
        """Rename an unreadable file and log it, so that it is read only once; if that fails, it stays."""
        try:
            # names have at most 255 octets
            short = self.folder / (path.name if len(os.fsencode(path.name)) < 240 else path.name[:50])
            aside = next(name for i in range(1000) if not os.path.lexists(name := f"{short}{BAD}{i or ''}"))
            os.rename(path, aside)
        except (OSError, StopIteration):
            aside = ""
        log_event("spool file set aside" if aside else "spool file ignored", level=logging.ERROR, file=path, why=why, now=aside)

    def _sync(self) -> None:
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _size_of(path: Path) -> int:
    """Return the octets of a file that may be a batch; 0 for anything else: other name, folder, link, empty file."""
    try:
        found = os.lstat(path) if NAME_PATTERN.fullmatch(path.name) else None
    except OSError:
        return 0
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else 0


def pack_records(flows: Flows) -> memoryview:
    """Pack records as an Arrow stream, with only the endpoints that they use.

    Each column is stored as offsets from its minimum in as few octets as possible: faster and smaller than compression. A
    constant column is its minimum alone.
    """
    flows = flows.narrowed()
    least, columns = dict[str, int](), dict[str, NDArray[Any]]()
    for name, values in ((c.name, getattr(flows, c.name)) for c in COLUMNS):
        known = values[:1] if values.strides == (0,) else values
        least[name], most = int(known.min()), int(known.max())
        if least[name] < most:
            columns[name] = np.empty(len(flows), np.min_scalar_type(most - least[name]))
            np.subtract(values, least[name], out=columns[name], casting="unsafe")
    books = {"endpoints": tuple(flows.endpoints), "exporters": flows.exporters, "paths": flows.paths}
    told = books | {"least": least, "records": len(flows)}
    table = pa.table(columns).replace_schema_metadata({"prism": json.dumps(told, separators=(",", ":"))})
    size = pa.MockOutputStream()
    _written(table, size)
    octets = pa.allocate_buffer(size.size())  # in one allocation: a growing buffer is copied repeatedly
    _written(table, pa.FixedSizeBufferWriter(octets))
    return memoryview(octets)


def _written(table: pa.Table, sink: Any) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _unpacked(octets: bytes) -> Flows | None:
    if len(octets) < HEADER.size:
        return None
    magic, version, length, crc = HEADER.unpack_from(octets)
    body = memoryview(octets)[HEADER.size :]
    if magic != MAGIC or version not in KNOWN or length != len(body) or crc != zlib.crc32(body):
        return None
    try:
        table = pa.ipc.open_stream(pa.py_buffer(body)).read_all()
        told = json.loads(table.schema.metadata[b"prism"])
        columns = {name: table[name].to_numpy() for name in table.column_names}
        flows = Flows.build(
            {c.name: _whole(c, columns, told) for c in COLUMNS},
            endpoints=tuple(told["endpoints"]),
            exporters=tuple(told["exporters"]),
            paths=tuple(map(tuple, told["paths"])),
        )
        return flows if _is_coded(flows) else None
    except BROKEN:
        return None


def _is_coded(flows: Flows) -> bool:
    """Check whether every code is valid."""
    books = ((flows.src, flows.endpoints), (flows.dst, flows.endpoints), (flows.exporter, flows.exporters or "?"))
    return all(
        not len(codes) or (int(codes.min()) >= 0 and int(codes.max()) < len(names))
        for codes, names in (*books, (flows.path, flows.paths))
    )


def _whole(column: Column, columns: Mapping[str, NDArray[Any]], told: Mapping[str, Any]) -> NDArray[Any]:
    """Restore a column's values. The first version of files has them unpacked."""
    least = np.array(told.get("least", {}).get(column.name, 0)).astype(column.dtype)
    if column.name not in columns:
        return np.broadcast_to(least, int(told["records"]))
    values = columns[column.name].astype(column.dtype)
    return values + least if least else values
