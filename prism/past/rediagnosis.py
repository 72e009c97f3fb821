"""Diagnose a past time span again: its records become an upload, which a limited process replays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO

from collectors.writers.record_files import write
from prism.inventory.bookings import Booking
from prism.inventory.lldp import to_json
from prism.past.time_spans import title
from prism.past.uploads import Upload, Uploads
from prism.topology import Topology
from prism.tracking.flow_sources import Records

GOING = ("queued", "running", "done")


class NothingError(ValueError):
    """There are no records in the time span."""


class TooMuchError(ValueError):
    """The time span holds more records than a diagnosis accepts."""


@dataclass(frozen=True)
class TimeSpanRequest:
    """A time span [start_ns, end_ns), and hints as text (JSON), empty for none."""

    start_ns: int
    end_ns: int
    hints: str = ""

    @property
    def key(self) -> str:
        """Equal for equal time spans and hints."""
        return hashlib.blake2s(f"{self.start_ns} {self.end_ns} {self.hints}".encode(), digest_size=8).hexdigest()


def diagnosed(
    request: TimeSpanRequest,
    records: Records,
    uploads: Uploads,
    *,
    topology: Topology | None = None,
    bookings: Iterable[Booking] = (),
    max_records: int = 4_000_000,
    logs: Sequence[tuple[str, IO[bytes]]] = (),
    finding: str = "",
) -> Upload:
    """Start the upload that diagnoses a time span; return an existing one unless `logs` are to be joined with it.

    Raises NothingError, TooMuchError, and as `Uploads.incoming` and `Records`.
    """
    known = next((one for one in uploads.all() if one.key == request.key and one.state in GOING), None)
    if known is not None and not logs:
        return known
    flows = records.between(request.start_ns, request.end_ns, limit=max_records + 1)
    if not len(flows):
        raise NothingError("no flow records of this time are kept; GET /api/v1/store shows from when to when there are some")
    if len(flows) > max_records:
        raise TooMuchError(
            f"this time has more than {max_records:,} flow records, the limit of one diagnosis; choose a shorter one"
        )
    incoming = uploads.incoming()
    try:
        name = f"{title(request.start_ns, request.end_ns)}.parquet"
        write(incoming.folder / "0.parquet", flows)
        incoming.files.append((name, "0.parquet"))
        for log, source in logs:
            incoming.add_log(log, source)
        span = (request.start_ns, request.end_ns)
        placed = json.dumps(to_json(topology)) if topology is not None else None
        jobs = json.dumps({"jobs": [_plain(one) for one in bookings]})
        return uploads.start(
            incoming, placed, request.hints or None, jobs=jobs, key="" if logs else request.key, span=span, finding=finding
        )
    except BaseException:
        uploads.discard(incoming)
        raise


def _plain(one: Booking) -> dict[str, object]:
    """Convert a booking to the neutral form."""
    texts = {name: getattr(one, name) for name in ("id", "name", "user", "queue")}
    times = {"start": one.start_ns // 10**9 or None, "end": one.end_ns // 10**9 or None}
    return texts | {"hosts": list(one.hosts), "endpoints": list(one.endpoints)} | times
