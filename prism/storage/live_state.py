"""Save the state that the live analysis needs after a restart: jobs, cases, windows, gaps. Records supply the rest.

Jobs and cases are rows with searchable columns and the whole as JSON. The newest version of an id counts.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from collectors.clickhouse.drivers import Database, Table, TableColumn
from prism.model import Finding, Isolation, Job, Severity
from prism.report.json_report import finding_json
from prism.storage.history_store import Histories
from prism.tracking.board import Case, Gap, Window
from prism.tracking.case_tracking import TrackedFinding
from prism.tracking.job_tracking import LAYOUTS, Followed, favoured
from prism.tracking.outages import MOST as GAPS_KEPT

DAY = 86_400


def _table(name: str, *, days: int) -> Table:
    return Table(
        name=name,
        columns=(
            TableColumn("id", "String"),
            TableColumn("version", "UInt64"),
            TableColumn("begun_ns", "Int64"),
            TableColumn("state", "LowCardinality(String)", "String"),
            TableColumn("told", "String", codec="ZSTD(1)"),
        ),
        order=("id",),
        time="begun_ns",
        keep_s=days * DAY,
        replacing="version",
    )


JOBS, CASES = _table("jobs", days=90), _table("cases", days=90)
WINDOWS = Table(
    name="windows",
    columns=(
        TableColumn("start_ns", "Int64"),
        TableColumn("end_ns", "Int64"),
        TableColumn("flows", "UInt64"),
        TableColumn("late", "UInt64"),
        TableColumn("took_s", "Float64"),
    ),
    order=("end_ns",),
    time="end_ns",
    keep_s=14 * DAY,
)
GAPS = Table(
    name="gaps",
    columns=(
        TableColumn("begin_ns", "Int64"),
        TableColumn("version", "UInt64"),
        TableColumn("end_ns", "Int64"),
        TableColumn("reason", "LowCardinality(String)", "String"),
    ),
    order=("begin_ns",),
    time="begin_ns",
    keep_s=14 * DAY,
    replacing="version",
)
WINDOWS_KEPT = 600  # newest windows that are read


class Saved(NamedTuple):
    """The last saved state; windows and gaps newest first.

    `until_ns`: records had been analysed up to this time, 0 if none.
    """

    jobs: tuple[Followed, ...]
    tracked: tuple[TrackedFinding, ...]
    until_ns: int
    windows: tuple[Window, ...] = ()
    gaps: tuple[Gap, ...] = ()


class State:
    """Jobs, cases, windows and gaps of a database. Methods raise StoreError; `unread` counts invalid rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._saved: dict[str, dict[str, str]] = {}
        self.unread: Counter[str] = Counter()
        self._until = 0  # windows up to this time are saved
        self._gaps: tuple[Gap, ...] = ()
        for table in (JOBS, CASES, WINDOWS, GAPS):
            database.create(table)
        self.histories = Histories(database)

    def save(
        self,
        jobs: Iterable[Followed],
        tracked: Iterable[TrackedFinding],
        windows: Iterable[Window],
        at_ns: int,
        gaps: Iterable[Gap] = (),
    ) -> None:
        """Save the changes, also of each job's history. `at_ns`, the end of the newest window, is the version."""
        jobs, tracked = tuple(jobs), tuple(tracked)
        job_rows = [(one.id, one.job.start_ns, one.state, job_json(one)) for one in jobs if one.trusted]
        self._put(JOBS, job_rows, at_ns)
        cases = [(t.case.id, t.case.opened_ns, t.case.state, tracked_json(t)) for t in tracked if t.told]
        self._put(CASES, cases, at_ns)
        self.histories.save(jobs, tracked, at_ns)
        self._put_plain(WINDOWS, [row for row in windows if row.end_ns > self._until], [])
        self._until = max(self._until, at_ns)
        kept = tuple(gaps)
        new = [gap for gap in kept if gap not in self._gaps]
        self._put_plain(GAPS, new, [at_ns] * len(new))
        self._gaps = kept

    def load(self) -> Saved:
        """Read the last state. It is not saved again."""
        jobs = [one for text in self._newest(JOBS) if (one := self._read(JOBS.name, text, job_from)) is not None]
        jobs = [self.histories.load(one) for one in jobs]
        self.unread["history"] = self.histories.unread
        tracked = [one for text in self._newest(CASES) if (one := self._read(CASES.name, text, tracked_from)) is not None]
        windows = tuple(Window(*row) for row in self._newest_rows(WINDOWS, "end_ns", WINDOWS_KEPT))
        self._gaps = tuple(Gap(*row) for row in self._newest_rows(GAPS, "begin_ns", GAPS_KEPT))
        self._until = windows[0].end_ns if windows else 0
        return Saved(tuple(jobs), tuple(tracked), self._until, windows, self._gaps)

    def cases(self, since_ns: int) -> list[Case]:
        """Return the cases that continued at a time or later, in their last version."""
        text = (self._read(CASES.name, one, tracked_from) for one in self._newest(CASES))
        return [one.case for one in text if one is not None and max(one.case.finding.end_ns, one.case.updated_ns) >= since_ns]

    def _put_plain(self, table: Table, rows: Sequence[Window] | Sequence[Gap], versions: Sequence[int]) -> None:
        """Insert rows whose fields are the columns of a table."""
        times = [int(getattr(row, table.time)) for row in rows]
        for day in _partitions(table, times):
            columns = {
                column.name: [versions[i] if column.name == table.replacing else getattr(rows[i], column.name) for i in day]
                for column in table.columns
            }
            self._database.insert(table, columns, token=f"{table.name} {times[day[0]]} {versions}", again=False)

    def _newest_rows(self, table: Table, order: str, most: int) -> Iterator[tuple[Any, ...]]:
        """Yield the newest rows of a table as plain values without the version; of rows with one time the newest version."""
        names = [column.name for column in table.columns if column.name != table.replacing]
        newest = f", {table.replacing} DESC LIMIT 1 BY {order}" if table.replacing else ""
        sql = f"SELECT {', '.join(names)} FROM {table.name} ORDER BY {order} DESC{newest} LIMIT {{most:UInt64}}"
        found = self._database.query(sql, {"most": most})
        yield from zip(*(found[name].tolist() for name in names), strict=True)

    def _put(self, table: Table, rows: Sequence[tuple[str, int, str, dict[str, Any]]], at_ns: int) -> None:
        texts = {name: json.dumps(document, allow_nan=False) for name, _, _, document in rows}
        before = self._saved.get(table.name, {})
        rows = [row for row in rows if before.get(row[0]) != texts[row[0]]]
        for day in _partitions(table, [begun for _, begun, _, _ in rows]):
            own = [rows[i] for i in day]
            columns: Mapping[str, list[Any]] = {
                "id": [name for name, _, _, _ in own],
                "version": [at_ns] * len(own),
                "begun_ns": [begun for _, begun, _, _ in own],
                "state": [state for _, _, state, _ in own],
                "told": [texts[name] for name, _, _, _ in own],
            }
            self._database.insert(table, columns, token=f"{table.name} {at_ns} {own[0][0]}", again=False)
        self._saved[table.name] = texts

    def _newest(self, table: Table) -> list[str]:
        sql = f"SELECT argMax(told, version) AS newest FROM {table.name} GROUP BY id"
        return [str(text) for text in self._database.query(sql).get("newest", ())]

    def _read(self, name: str, text: str, made: Any) -> Any:
        try:
            return made(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError):
            self.unread[name] += 1
            return None


def _partitions(table: Table, times: list[int]) -> list[list[int]]:
    """Group row indices by partition."""
    out: dict[int, list[int]] = {}
    for i, time in enumerate(times):
        out.setdefault(time // table.partition_ns, []).append(i)
    return list(out.values())


def job_json(followed: Followed) -> dict[str, Any]:
    """Convert a tracked job to JSON, without what records show again."""
    job = followed.job
    return {
        "job": {"id": job.id, "endpoints": job.endpoints, "hosts": job.hosts, "start_ns": job.start_ns, "name": job.name},
        "met_ns": followed.met_ns,
        "step_ns": _roughly(followed.step_ns),
        "state": followed.state,
        "layouts": _agreed(followed),
        "told_by": followed.told_by,
    }


def _agreed(one: Followed) -> list[tuple[tuple[int, ...], float]]:
    """The layout that windows agree on, and its confidence in tenths: smaller changes are not saved."""
    layout = favoured(one.layouts)
    sure = [sure for known, sure in one.layouts if known == layout]
    return [(layout, max(round(sum(sure) / len(sure), 1), 0.1))] if layout else []


def _roughly(step_ns: float) -> float:
    """Round a step to 5 %: smaller changes are not saved."""
    return float(round(1.05 ** round(math.log(step_ns, 1.05)))) if step_ns > 0 else 0.0


def job_from(document: Mapping[str, Any]) -> Followed:
    """Read a job from `job_json`. Raises ValueError, TypeError or KeyError if it is invalid."""
    job = document["job"]
    start = int(job["start_ns"])
    return Followed(
        Job(str(job["id"]), tuple(job["endpoints"]), tuple(job["hosts"]), start, start, name=str(job.get("name", ""))),
        int(document["met_ns"]),
        step_ns=float(document["step_ns"]),
        talked_ns=start,
        state=document["state"],
        layouts=tuple((tuple(layout), float(sure)) for layout, sure in document["layouts"]) * LAYOUTS,
        told_by=int(document.get("told_by", 0)),
    )


def tracked_json(entry: TrackedFinding) -> dict[str, Any]:
    """Convert a tracked case to JSON."""
    case = {name: value for name, value in asdict(replace(entry.case, finding=None)).items() if name != "finding"}  # type: ignore[arg-type]
    rest = {
        name: getattr(entry, name)
        for name in ("doubt", "active_ns", "told", "missed", "windows", "usual_ns", "first_ns", "seen_ns", "again")
    }
    finding = {name: value for name, value in finding_json(entry.case.finding).items() if name != "title"}
    return {"case": case, "finding": finding, **rest}


def tracked_from(document: Mapping[str, Any]) -> TrackedFinding:
    """Read a tracked finding from `tracked_json`. Raises ValueError, TypeError or KeyError if it is invalid."""
    rest = {name: value for name, value in document.items() if name not in ("case", "finding")}
    return TrackedFinding(Case(finding=finding_from(document["finding"]), **document["case"]), **rest)


def finding_from(document: Mapping[str, Any]) -> Finding:
    """Read a finding from `prism.report.json_report.finding_json`. Raises ValueError, TypeError or KeyError if it is
    invalid.
    """
    fields = {name: value for name, value in document.items() if name != "title"}
    subject, isolate, lost = fields.pop("subject"), fields.pop("isolate"), float(fields.pop("lost_gpu_seconds"))
    alternatives = tuple((tuple(one["ids"]), float(one["probability"])) for one in isolate["alternatives"])
    return Finding(
        **{
            **fields,
            "severity": Severity(fields["severity"]),
            "subject": subject["type"],
            "ids": tuple(subject["ids"]),
            "lost_gpu_s": lost,
            "isolate": Isolation(tuple(isolate["hosts"]), tuple(isolate["parts"]), float(isolate["confidence"]), alternatives),
        }
    )
