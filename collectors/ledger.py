"""What became of everything that was received: names of counters, and two laws that always hold.

Every decoder of exports has a `tally`, and one per exporter in `exporters`, with counters of these names. Units are
`DATAGRAMS` and `RECORDS` (flow records, options records, sFlow samples; templates are none). For each unit

    received = decoded + waiting + errors, by reason

and for records also

    decoded = emitted + merged + dropped, by reason

`emitted` are rows of flows. `merged` went into what is known beside flows: options, counters, drop notifications. A set
that waits for its template counts as one record until the template says how many there are; a biflow counts as two where
both directions have traffic; what is left of a set after its last good record counts as one.

Beside the laws, in units that were never received: `lost`, told by gaps in sequence numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DATAGRAMS, RECORDS = "datagrams", "records"
RECEIVED, DECODED, WAITING, EMITTED, MERGED, LOST = "received", "decoded", "waiting", "emitted", "merged", "lost"
ERROR, DROPPED = "error: ", "dropped: "  # a reason follows
LATE, RESTARTED = "datagrams out of order", "sequences restarted"


def error(unit: str, reason: str) -> str:
    """The counter of what could not be decoded for a reason."""
    return f"{unit} {ERROR}{reason}"


def dropped(reason: str) -> str:
    """The counter of records that were decoded and are no flows, for a reason."""
    return f"{RECORDS} {DROPPED}{reason}"


def counter(unit: str, what: str) -> str:
    """The counter of a unit: what is one of RECEIVED, DECODED, WAITING, EMITTED, MERGED, LOST."""
    return f"{unit} {what}"


@dataclass(frozen=True)
class Ledger:
    """The counters of one unit, read from a tally."""

    received: int
    decoded: int
    waiting: int
    errors: Mapping[str, int]
    emitted: int
    merged: int
    dropped: Mapping[str, int]
    lost: int

    @classmethod
    def of(cls, tally: Mapping[str, int], unit: str) -> Ledger:
        """What a tally says of a unit; for datagrams, emitted, merged and dropped are 0."""
        return cls(
            received=tally.get(f"{unit} {RECEIVED}", 0),
            decoded=tally.get(f"{unit} {DECODED}", 0),
            waiting=tally.get(f"{unit} {WAITING}", 0),
            errors=_reasons(tally, f"{unit} {ERROR}"),
            emitted=tally.get(f"{unit} {EMITTED}", 0),
            merged=tally.get(f"{unit} {MERGED}", 0),
            dropped=_reasons(tally, f"{unit} {DROPPED}"),
            lost=tally.get(f"{unit} {LOST}", 0),
        )

    @property
    def unaccounted(self) -> int:
        """What was received and is neither decoded nor waiting nor an error: 0, always."""
        return self.received - self.decoded - self.waiting - sum(self.errors.values())

    @property
    def undelivered(self) -> int:
        """What was decoded and neither emitted nor merged nor dropped: 0 for records, always."""
        return self.decoded - self.emitted - self.merged - sum(self.dropped.values())


def _reasons(tally: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in sorted(tally.items()) if name.startswith(prefix) and n}
