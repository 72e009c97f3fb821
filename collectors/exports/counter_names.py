"""Name the counters of export decoders, and the two sums that always hold. docs/reasons.md explains each reason.

Every decoder of exports has a `tally`, and one per exporter in `exporter_state`, with counters of these names. Units are
`DATAGRAMS` and `RECORDS` (flow records, options records, sFlow samples; templates are none). For each unit

    received = decoded + waiting + errors, by reason

and for records also

    decoded = emitted + merged + dropped, by reason

`emitted` are flow records. `merged` are options, counters and drop notifications, which give no flow record. A set that waits
for its template counts as one record until the template arrives. A biflow counts as two if both directions have traffic. The
rest of a set after its last valid record counts as one.

`lost` is outside these sums: it counts what never arrived, from gaps in sequence numbers. Other counts: "datagrams out of
order", "sequences restarted", "templates new", "templates changed", "templates forgotten", "templates refused: …",
"bad templates: …", "exporters forgotten", "frames: …" (why a frame in a record or sample has no flow), "notices", "delays",
`EVIDENCE_DROPPED`, `UNRATED`, "times corrected: …" (by format), `TOTALS_RESTARTED`, `FORGOTTEN_TOTALS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DATAGRAMS, RECORDS = "datagrams", "records"
RECEIVED, DECODED, WAITING, EMITTED, MERGED, LOST = "received", "decoded", "waiting", "emitted", "merged", "lost"
ERROR, DROPPED = "error: ", "dropped: "  # followed by a reason
TOTALS_RESTARTED, FORGOTTEN_TOTALS = "running totals restarted", "running totals forgotten"
UNRATED = "records of unknown sampling rate"
LATE, RESTARTED = "datagrams out of order", "sequences restarted"
EVIDENCE_DROPPED = "evidence rows dropped"  # above `most_evidence` before they were read


def error(unit: str, reason: str) -> str:
    """The name of the counter of datagrams or records that could not be decoded for a reason."""
    return f"{unit} {ERROR}{reason}"


def dropped(reason: str) -> str:
    """The name of the counter of records that were decoded but give no flow record for a reason."""
    return f"{RECORDS} {DROPPED}{reason}"


def counter(unit: str, what: str) -> str:
    """The counter of a unit: what is one of RECEIVED, DECODED, WAITING, EMITTED, MERGED, LOST."""
    return f"{unit} {what}"


@dataclass(frozen=True)
class CounterTable:
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
    def of(cls, tally: Mapping[str, int], unit: str) -> CounterTable:
        """Read the counters of a unit from a tally. For datagrams, emitted, merged and dropped are 0."""
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
        """Received minus decoded, waiting and errors. Always 0."""
        return self.received - self.decoded - self.waiting - sum(self.errors.values())

    @property
    def undelivered(self) -> int:
        """Decoded minus emitted, merged and dropped. Always 0 for records."""
        return self.decoded - self.emitted - self.merged - sum(self.dropped.values())


def _reasons(tally: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in sorted(tally.items()) if name.startswith(prefix) and n}
