"""Save histories of jobs in the store (`job_history`): only changes are written, at a limited rate, and read after a restart.

A job has one head and at most `SLOTS` parts. A newer part takes the slot of an expired one. So a history needs limited space in
the store, however long the job runs. Changes above the rate are written with a later window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from collectors.clickhouse.drivers import Database, Table, TableColumn
from prism.storage import _job_history as job_history
from prism.tracking.case_tracking import TrackedFinding
from prism.tracking.job_tracking import Followed

DAY = 86_400
SECOND = 1_000_000_000
EVERY_NS = 10 * SECOND  # age at which a history is saved again
RATE, BURST = 1 << 20, 64 << 20  # octets before compression of all histories: per second on average, and at once
SLOTS = 160
OPEN = 3  # newest parts, which windows may still change

HISTORY = Table(
    name="job_history",
    columns=(
        TableColumn("id", "String"),
        TableColumn("slot", "Int32"),
        TableColumn("version", "UInt64"),
        TableColumn("begun_ns", "Int64"),
        TableColumn("told", "String", codec="ZSTD(1)"),
    ),
    order=("id", "slot"),
    time="begun_ns",
    keep_s=90 * DAY,
    replacing="version",
)
HEAD = -1  # slot of the head


@dataclass
class _Known:
    """State of a job in the store: its cases when it was saved, time of the last complete save, and the digest of each part."""

    cases: frozenset[tuple[str, str]] | None = None
    at_ns: int = 0
    members: str = ""
    width_ns: int = 0
    parts: dict[int, bytes] = field(default_factory=dict)


class Histories:
    """The histories of a database. Methods raise StoreError; `unread` counts unreadable texts."""

    def __init__(self, database: Database, *, rate: int = RATE, burst: int = BURST) -> None:
        self._database, self._rate, self._burst = database, rate, burst
        self._room, self._at = float(burst), 0
        self._known: dict[str, _Known] = {}
        self.unread = self.octets = 0  # `octets`: written so far, before compression
        database.create(HISTORY)

    def save(self, jobs: Iterable[Followed], tracked: Iterable[TrackedFinding], at_ns: int) -> None:
        """Save the changes of each job if a case of it opens or closes, else every `EVERY_NS`, within the rate."""
        self._room = min(self._burst, self._room + self._rate * max(at_ns - self._at, 0) / SECOND if self._at else self._burst)
        self._at = at_ns
        cases: dict[str, set[tuple[str, str]]] = {}
        for entry in tracked:
            if entry.told:
                cases.setdefault(entry.case.finding.job, set()).add((entry.case.id, entry.case.state))
        due = []
        for one in jobs:
            known, own = self._known.setdefault(one.id, _Known()), frozenset(cases.get(one.id, ()))
            ended = one.state == "ended" and known.at_ns > one.talked_ns
            now = own != known.cases or (not ended and at_ns - known.at_ns >= EVERY_NS)
            if one.found is not None and one.trusted and now:
                due.append((own == known.cases, known.at_ns, one.id, one, own))
        for _, _, _, one, own in sorted(due, key=lambda row: row[:3]):
            if self._room <= 0:
                return
            if self._put(one, self._known[one.id], at_ns):
                self._known[one.id].cases, self._known[one.id].at_ns = own, at_ns

    def _put(self, one: Followed, known: _Known, at_ns: int) -> bool:
        """Write the changes of a job, newest first; return whether all were written."""
        assert one.found is not None
        members, width = job_history.members(one.found), job_history.width(one.step_ns, known.width_ns)
        if (members, width) != (known.members, known.width_ns):
            known.members, known.width_ns, known.parts = members, width, {}
        numbers = job_history.blocks(one.found.timeline, width)[-SLOTS:]
        known.parts = {block: digest for block, digest in known.parts.items() if block in numbers}
        rows = [(HEAD, job_history.written(job_history.head(one.found, width)))]
        self._spend(len(rows[0][1]))
        written: dict[int, bytes] = {}
        whole = True
        for block in reversed(numbers):
            if block in known.parts and block < numbers[-1] - OPEN:
                continue
            if self._room <= 0:
                whole = False
                break
            part = job_history.part(one.found, width, block)
            digest = part.digest()
            if known.parts.get(block) != digest:
                rows.append((block % SLOTS, job_history.written(part)))
                written[block] = digest
                self._spend(part.octets)
        columns: Mapping[str, list[Any]] = {
            "id": [one.id] * len(rows),
            "slot": [slot for slot, _ in rows],
            "version": [at_ns] * len(rows),
            "begun_ns": [one.job.start_ns] * len(rows),
            "told": [text for _, text in rows],
        }
        self._database.insert(HISTORY, columns, token=f"{HISTORY.name} {at_ns} {one.id}", again=False)
        known.parts |= written
        return whole

    def _spend(self, octets: int) -> None:
        self._room -= octets
        self.octets += octets

    def load(self, followed: Followed) -> Followed:
        """Restore the past of a job if it can be read and has the same members."""
        heads = [
            head
            for text in self._texts(followed.id, newest=1, parts=False)
            if (head := self._read(job_history.read_head, text))
        ]
        if not heads or heads[0].found.job.endpoints != followed.job.endpoints:
            return followed
        (head,), octets, parts = heads, 0, list[job_history.Part]()
        for text in self._texts(followed.id, newest=SLOTS, parts=True):
            part = self._read(job_history.read_part, text)
            octets += part.octets if part else 0
            if octets > job_history.OCTETS:
                break
            parts += [part] if part else []
        try:
            found = job_history.joined(head, parts)
        except ValueError:
            self.unread += 1
            return followed
        self._known[followed.id] = _Known(
            members=job_history.members(found),
            width_ns=head.width_ns,
            parts={part.block: part.digest() for part in job_history.own_parts(head, parts)},
        )
        job = replace(followed.job, end_ns=found.job.end_ns)
        return replace(followed, job=job, found=replace(found, job=job), talked_ns=found.job.end_ns)

    def _texts(self, name: str, *, newest: int, parts: bool) -> Iterator[str]:
        """Yield the head of a job, or its parts from the newest, one at a time: they may be large."""
        sign = ">=" if parts else "<"
        own = f"FROM {HISTORY.name} WHERE id = {{id:String}}"
        sql = f"SELECT slot, max(version) AS newest {own} AND slot {sign} 0 GROUP BY slot"
        known = self._database.query(f"{sql} ORDER BY newest DESC LIMIT {{most:UInt64}}", {"id": name, "most": newest})
        for slot, version in zip(known["slot"].tolist(), known["newest"].tolist(), strict=True):
            sql = f"SELECT told {own} AND slot = {{slot:Int32}} AND version = {{version:UInt64}} LIMIT 1"
            found = self._database.query(sql, {"id": name, "slot": slot, "version": version})
            yield from map(str, found["told"])

    def _read(self, made: Any, text: str) -> Any:
        try:
            return made(text)
        except ValueError:
            self.unread += 1
            return None
