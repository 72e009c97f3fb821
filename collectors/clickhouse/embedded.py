"""ClickHouse inside this process (chdb): one folder, locked by one process at a time.

Calls are serialised by a lock. Opening the same folder again in this process shares the engine.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.clickhouse.engine_errors import store_error
from collectors.clickhouse.folder_lock import STORE, FolderLock, describe_owner, in_use_error, lock_folder
from collectors.clickhouse.schema import MAX_ROWS, Tables
from collectors.clickhouse.tables import StoreError, Table, literal

SETTINGS = {
    "async_insert": 0,
    "max_insert_threads": 1,  # these three: a batch becomes one part
    "min_insert_block_size_rows": MAX_ROWS,
    "min_insert_block_size_bytes": 0,
    "max_query_size": 1 << 26,  # queries may name thousands of endpoints
    "output_format_arrow_compression_method": "'none'",
    "output_format_arrow_low_cardinality_as_dictionary": 1,
}
INSERTING = {
    "max_threads": 1,  # keeps the order of rows, so that the engine need not restore it
    "optimize_on_insert": 0,  # rows are summed or replaced later, when parts are merged
}
MERGING = {"merge_selector_base": 10}  # unknown to older servers: merging rows costs more than inserting them
ROOM = 16 << 20  # octets free: on a full disk the engine creates an empty table definition and does not start again
DEFINES = re.compile(r"\s*(?:CREATE|RENAME|ALTER(?!.*\bDROP PARTITION\b))\b", re.DOTALL)
TIMES = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}

_lock = threading.RLock()
_engine: _Engine | None = None


class _Engine:
    """The only engine of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.users = folder, 0
        self.held: FolderLock = lock_folder(folder, STORE)
        try:
            self.session = _session(folder)
        except StoreError:
            self.held.release()
            raise

    def release(self) -> None:
        """Remove one user; the last one closes the engine."""
        global _engine
        self.users -= 1
        if not self.users:
            self.session.close()
            self.held.release()
            _engine = None


class Embedded(Tables):
    """A database in a folder. Raises StoreError if it is in use, without permission, disk space or chdb."""

    plain, settings = False, MERGING

    def __init__(self, folder: str | Path) -> None:
        global _engine
        path = Path(folder).absolute()
        self.where, self._closed = str(folder), False
        if "?" in str(path):
            raise StoreError(f"{folder}: the folder name of a store must not contain ?")
        with _lock:
            if _engine is None:
                _engine = _Engine(path)
            elif _engine.folder != path:
                raise StoreError(
                    f"{folder}: this process already has the store {_engine.folder} open; the engine allows only one"
                )
            _engine.users += 1
            self._engine = _engine

    def close(self) -> None:
        """See `Database`."""
        with _lock:
            if not self._closed:
                self._closed = True
                self._engine.release()

    def _run(self, sql: str) -> dict[str, NDArray[Any]]:
        with _lock:
            if DEFINES.match(sql):
                _check_room(self._engine.folder)
            octets = self._query(sql)
        if not octets:
            return {}
        answer = pa.ipc.open_file(pa.py_buffer(octets)).read_all()
        return {name: _array(column) for name, column in zip(answer.column_names, answer.columns, strict=True)}

    def _put(self, table: Table, columns: dict[str, Any], token: str, *, noted: bool) -> None:
        ones = {name: f"{literal(values[0])} AS {name}" for name, values in columns.items() if _is_one(values)}
        ones = ones if len(ones) < len(columns) else {}
        varied = {name: _arrow(table, name, values) for name, values in columns.items() if name not in ones}
        prism_rows = pa.table(varied)  # noqa: F841 - Python() reads it
        names, asked = ", ".join(columns), ", ".join(ones.get(name, name) for name in columns)
        once = {"insert_deduplication_token": f"'{_plain(token)}'"} if noted else {"insert_deduplicate": 0}
        known = SETTINGS | INSERTING | once
        settings = ", ".join(f"{name} = {value}" for name, value in known.items())
        sql = f"INSERT INTO {table.name} ({names}) SELECT {asked} FROM Python(prism_rows) SETTINGS {settings}"
        with _lock:
            self._check_open()
            try:
                self._engine.session.query(sql)
            except Exception as error:
                raise store_error(error, self.where) from None

    def _query(self, sql: str) -> bytes:
        self._check_open()
        try:
            return bytes(self._engine.session.query(sql, "Arrow").bytes())
        except Exception as error:
            raise store_error(error, self.where) from None

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.where}: the store is closed")


def _session(folder: Path) -> Any:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "permission denied", str(folder))
        from chdb import session as engine

        if not (folder / "metadata" / "prism.sql").exists():
            _check_room(folder)
    except OSError as error:
        raise StoreError(f"{folder}: {(error.strerror or str(error)).lower()}{describe_owner(folder, error)}") from None
    except ImportError:
        raise StoreError("the package chdb is missing; install it: pip install 'llm-prism[embedded]'") from None
    try:
        begin: Any = engine.Session
        session = begin(str(folder))
        for name, value in SETTINGS.items():
            session.query(f"SET {name} = {value}")
        session.query("CREATE DATABASE IF NOT EXISTS prism")
        session.query("USE prism")
    except Exception as error:
        owner = _owner(folder)
        if owner:
            raise in_use_error(folder, owner) from None
        raise _why(folder) or store_error(error, str(folder)) from None
    return session


def _check_room(folder: Path) -> None:
    """Raise StoreError if the disk is almost full."""
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < ROOM:
        needed = f"creating or changing a table needs {ROOM >> 20} MiB free, only {free / (1 << 20):.1f} MiB are"
        raise StoreError(f"{folder}: no space left on device: {needed}", transient=True)


def _why(folder: Path) -> StoreError | None:
    """Find the reason of a failed start in the files; the engine's own message is on standard error."""
    for place, _, names in os.walk(folder):
        for path in (Path(place), *(Path(place, name) for name in names)):
            if not os.access(path, os.R_OK | os.W_OK):
                return StoreError(f"{folder}: permission denied{describe_owner(path, PermissionError())}")
            if path.suffix == ".sql" and not path.stat().st_size:
                return StoreError(f"{folder}: {path.relative_to(folder)} is empty: the disk was full; remove the store")
    return None


def _owner(folder: Path) -> int:
    """Return the process that uses the folder, from the engine's own file; 0 for none."""
    try:
        found = re.match(r"PID: (\d+)", (folder / "status").read_text())
        number = int(found[1]) if found else 0
        if number and number != os.getpid():
            os.kill(number, 0)
            return number
    except PermissionError:
        return number
    except (OSError, ValueError):
        pass
    return 0


def _plain(token: str) -> str:
    return token.replace("\\", "\\\\").replace("'", "\\'")


def _is_one(values: Any) -> bool:
    """Check whether a column is a view of one value, from which the engine makes a column faster."""
    return isinstance(values, np.ndarray) and values.strides == (0,) and len(values) > 0


def _arrow(table: Table, name: str, values: Any) -> Any:
    if isinstance(values, pa.Array):
        return values
    kind = next(c.dtype for c in table.kept(plain=False) if c.name == name)
    return pa.array(list(values), pa.string()) if kind.hasobject else pa.array(np.asarray(values, kind))


def _array(column: Any) -> NDArray[Any]:
    if pa.types.is_timestamp(column.type):
        return np.asarray(column.cast(pa.int64()).to_numpy()) * TIMES[column.type.unit]
    if pa.types.is_dictionary(column.type):
        one = column.unify_dictionaries().combine_chunks()
        return np.asarray(one.dictionary.to_numpy(zero_copy_only=False)[one.indices.to_numpy()])
    return np.asarray(column.to_numpy())
