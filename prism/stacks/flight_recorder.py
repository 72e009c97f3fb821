"""Read Flight Recorder dumps of torch.distributed: the last started and completed collective of each rank, per process group.

Dumps are pickles or JSON. A pickle may hold any code; only plain containers and values are read, everything else is refused.
Format: PyTorch, torch/csrc/distributed/c10d/FlightRecorder.hpp (version 2.x).
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST = 100_000  # maximum entries of a dump
LARGEST = 256 << 20  # maximum octets


@dataclass(frozen=True)
class GroupState:
    """Progress of a rank in one process group. Numbers are sequence numbers of collectives; −1 if unknown."""

    group: str
    description: str
    ranks: tuple[int, ...]
    enqueued: int
    started: int
    completed: int
    operation: str  # last enqueued operation if it is not complete, else empty
    octets: int


@dataclass(frozen=True)
class Recording:
    """Flight Recorder dump of one rank."""

    name: str
    rank: int | None
    groups: tuple[GroupState, ...]


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"holds {module}.{name}, which is no plain value")

    def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002 - the caller names it
        raise pickle.UnpicklingError("holds a persistent reference")


def parse(data: bytes, name: str, rank: int | None) -> Recording | None:
    """Parse a dump; None if the data is none. Raises ValueError if it is one but invalid."""
    if len(data) > LARGEST:
        raise ValueError(f"{name}: a dump of more than {LARGEST >> 20} MiB")
    document = _document(data, name)
    if not isinstance(document, Mapping) or not isinstance(document.get("entries"), list):
        return None
    entries = [one for one in document["entries"][-MOST:] if isinstance(one, Mapping)]
    config = document.get("pg_config")
    status = document.get("pg_status")
    keys = {_group(one)[0] for one in entries} | set(map(str, status if isinstance(status, Mapping) else {}))
    groups = tuple(_state(key, entries, _of(config, key), _of(status, key)) for key in sorted(keys))
    own = document.get("rank")
    return Recording(name, own if rank is None and isinstance(own, int) else rank, groups)


def _document(data: bytes, name: str) -> Any:
    if data.lstrip()[:1] == b"{":
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None
    if data[:1] != b"\x80":
        return None
    try:
        return _Plain(io.BytesIO(data)).load()
    except pickle.UnpicklingError as error:
        raise ValueError(f"{name}: {error}; a Flight Recorder dump holds plain values only") from None
    except (EOFError, ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError):
        raise ValueError(f"{name}: a damaged or truncated pickle") from None


def _of(mapping: Any, key: str) -> Mapping[str, Any]:
    found = mapping.get(key) if isinstance(mapping, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _group(entry: Mapping[str, Any]) -> tuple[str, str]:
    named = entry.get("process_group")
    if isinstance(named, list | tuple) and named:
        return str(named[0]), str(named[1]) if len(named) > 1 else ""
    return str(entry.get("pg_id", "")), ""


def _state(key: str, entries: list[Mapping[str, Any]], config: Mapping[str, Any], status: Mapping[str, Any]) -> GroupState:
    own = [one for one in entries if _group(one)[0] == key and not one.get("is_p2p")]
    left = [one for one in own if one.get("state") != "completed" and not one.get("retired")]
    last = left[0] if left else {}
    states = {
        state: max((_int(one.get("collective_seq_id")) for one in own if _reached(one, state)), default=-1) for state in _ORDER
    }
    return GroupState(
        key,
        str(config.get("desc") or (_group(own[0])[1] if own else "")),
        tuple(int(one) for one in re.findall(r"\d{1,7}", str(config.get("ranks", "")))),
        max(states["scheduled"], _int(status.get("last_enqueued_collective"))),
        max(states["started"], _int(status.get("last_started_collective"))),
        max(states["completed"], _int(status.get("last_completed_collective"))),
        str(last.get("profiling_name", ""))[:80],
        _octets(last),
    )


_ORDER = ("scheduled", "started", "completed")
_WIDTHS = {"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Long": 8, "Int": 4, "Byte": 1, "Char": 1}


def _reached(entry: Mapping[str, Any], state: str) -> bool:
    own = entry.get("state")
    return own in _ORDER[_ORDER.index(state) :] or bool(entry.get("retired"))


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _octets(entry: Mapping[str, Any]) -> int:
    total = 0
    kinds = entry.get("input_dtypes")
    sizes = entry.get("input_sizes")
    for place, shape in enumerate(sizes if isinstance(sizes, list) else ()):
        kind = kinds[place] if isinstance(kinds, list) and place < len(kinds) else ""
        count = 1
        for one in shape if isinstance(shape, list) else ():
            count *= max(_int(one), 0)
        total += count * _WIDTHS.get(str(kind), 4)
    return total
