"""Write a diagnosis as JSON for other programs, schema `prism-report/1`.

Findings: `title` is the fault and its place (prism.findings.titles). `slowdown` is observed step time over counterfactual step
time without the culprit (evidence `what_if`, null if it could not be replayed; `observed_slowdown` is the detector's value).
`lost_gpu_seconds` is the loss of the job's GPUs so far, `confidence` the expected share of correct claims of this kind.
`isolate` lists what to remove first: `hosts` (endpoints without a topology) that contain the culprit with `confidence`, or
`parts`, a switch or the ends of a link; `alternatives` are all suspects, each with its `ids` and `probability`, given that a
fault exists. Step numbers are those of the job (prism.tracking.step_numbers), also in messages; evidence `steps` is [first,
after the last].

`name` of a job comes from the operator's hints or a scheduler, else it is the id. `scheduler`, if one lists the job, has
`source`, `id`, `name`, `user`, `queue`, `hosts`, `endpoints`, `start_ns` and `end_ns` (0: it is running). `silent` are the
endpoints whose payload stays inside their host.

`phases` of a job and of each rank are shares of the time in steps, by `model.PHASES` (prism.steps.phases.rank_phases), without
those of length 0. Their times are in the Chrome trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from json.encoder import encode_basestring_ascii as quoted
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.findings.titles import title
from prism.inventory.bookings import Booking
from prism.model import PHASES, Diagnosis, Finding, Group, JobDiagnosis, Layout, Pair, Phase, Source
from prism.topology import Topology

SCHEMA = "prism-report/1"


class Rows(dict[str, Sequence[Any]]):
    """Many items of one kind as columns; written one by one, with common keys stored once."""


def to_json(
    diagnosis: Diagnosis, topology: Topology | None = None, bookings: Mapping[str, Booking] | None = None
) -> dict[str, Any]:
    """Convert the report to plain dicts, lists, text, ints and finite floats; other numbers become None.

    `topology`: hosts for titles of findings; `bookings`: scheduler's entries by job id.
    """
    return {key: _plain(value) for key, value in _report(diagnosis, topology, bookings or {}).items()}


def dumps(diagnosis: Diagnosis, topology: Topology | None = None, bookings: Mapping[str, Booking] | None = None) -> str:
    """Write the report as indented text with each pair of numbers (a step) on one line, and a final newline."""
    return _text(_report(diagnosis, topology, bookings or {}), "\n") + "\n"


def step_ms(job: JobDiagnosis) -> dict[str, float | None]:
    """Compute median and 95th percentile of a job's step durations, ms; None with fewer than two steps."""
    durations = job.timeline.durations_ms()
    if not len(durations):
        return {"median": None, "p95": None}
    return {"median": float(np.median(durations)), "p95": float(np.percentile(durations, 95))}


def input_json(source: Source) -> dict[str, Any]:
    """Convert the source of the data to `input` of the report."""
    told: dict[str, Any] = _plain(_input(source))
    return told


def _report(diagnosis: Diagnosis, topology: Topology | None, bookings: Mapping[str, Booking]) -> dict[str, Any]:
    """Build the report from the values of the diagnosis."""
    return {
        "schema": SCHEMA,
        "input": _input(diagnosis.source),
        "jobs": [_job(found, bookings.get(found.job.id)) for found in diagnosis.jobs],
        "findings": [_finding(found, topology) for found in diagnosis.findings],
        "unexplained": list(diagnosis.unexplained),
    }


def _input(source: Source) -> dict[str, Any]:
    return {
        "files": source.files,
        "packets": source.packets,
        "flows": source.flows,
        "skipped": source.skipped,
        "start_ns": source.start_ns,
        "end_ns": source.end_ns,
        "warnings": source.warnings,
    }


def _job(found: JobDiagnosis, booking: Booking | None) -> dict[str, Any]:
    job, parallelism, timeline = found.job, found.parallelism, found.timeline
    layout = parallelism.layout
    unknown = 0 if layout.pp == 1 else None
    spent = timeline.phases.by_rank(len(job.endpoints))
    return {
        "id": job.id,
        "name": job.name or job.id,
        **({"scheduler": vars(booking)} if booking is not None else {}),
        "endpoints": job.endpoints,
        "silent": job.silent,
        "hosts": job.hosts,
        "start_ns": job.start_ns,
        "end_ns": job.end_ns,
        "parallelism": _sizes(layout),
        "confidence": layout.confidence,
        "alternatives": [
            _sizes(one.layout) | {"confidence": one.layout.confidence, "why": one.why} for one in parallelism.alternatives
        ],
        "groups": _by_column(Group, parallelism.groups),
        "pairs": _by_column(Pair, parallelism.pairs),
        "step_ms": step_ms(found),
        "phases": _shares(spent.sum(axis=0, keepdims=True))[0],
        "events": [vars(event) for event in timeline.events],
        "ranks": Rows(
            endpoint=job.endpoints,
            stage=[parallelism.stages.get(endpoint, unknown) for endpoint in job.endpoints],
            steps=timeline.steps,
            phases=_shares(spent),
        ),
    }


def _sizes(layout: Layout) -> dict[str, int]:
    return {kind: getattr(layout, kind) for kind in ("dp", "pp", "tp", "ep", "cp")}


def _by_column(kind: type, things: Sequence[Any]) -> Rows:
    """Convert items of one kind to columns, by the names of their fields."""
    return Rows({name: list(map(attrgetter(name), things)) for name in kind.__annotations__})


def _shares(time: NDArray[np.float64]) -> list[dict[Phase, float]]:
    """Compute `model.shares` of each row of times, to four places."""
    parts = time / np.maximum(time.sum(axis=1, keepdims=True), 1.0)
    return [{phase: round(part, 4) for phase, part in zip(PHASES, row, strict=True) if part > 0} for row in parts.tolist()]


def finding_json(finding: Finding, topology: Topology | None = None) -> dict[str, Any]:
    """Convert one finding as in the report."""
    told: dict[str, Any] = _plain(_finding(finding, topology))
    return told


def _finding(found: Finding, topology: Topology | None) -> dict[str, Any]:
    fields = dict(vars(found))
    ids, lost, isolate = fields.pop("ids"), fields.pop("lost_gpu_s"), found.isolate
    alternatives = [{"ids": names, "probability": share} for names, share in isolate.alternatives]
    return fields | {
        "title": title(found, topology),
        "subject": {"type": found.subject, "ids": ids},
        "lost_gpu_seconds": lost,
        "isolate": vars(isolate) | {"alternatives": alternatives},
    }


def _plain(value: Any) -> Any:
    """Convert a value: no NumPy types, tuples, enums or infinite numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Rows):
        return [dict(zip(value, row, strict=True)) for row in zip(*map(_plain, value.values()), strict=True)]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)


def _number(value: float) -> str:
    return float.__repr__(value) if math.isfinite(value) else "null"


# Writers by exact type, which is faster to check than isinstance.
_LEAVES: dict[type, Callable[[Any], str]] = {str: quoted, int: repr, float: _number}


def _texts(values: Iterable[Any], line: str) -> list[str]:
    return [write(value) if (write := _LEAVES.get(type(value))) else _text(value, line) for value in values]


def _text(value: Any, line: str) -> str:
    """Write the `_plain` form of a value as text; `line` is the line break with the indent of its position.

    Direct writing, because `json` takes five times as long to indent as to write.
    """
    if isinstance(value, str):
        return quoted(str(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 2 and value.dtype.kind == "i" and len(value):
        return f"[{line} {f',{line} '.join(['[%d, %d]'] * len(value)) % tuple(value.ravel().tolist())}{line}]"
    if isinstance(value, np.ndarray | np.generic):
        return _text(value.tolist(), line)
    if isinstance(value, float):
        return _number(value)
    if value is None:
        return "null"
    inner = line + " "
    if isinstance(value, Rows):
        return _list(_rows(value, inner), line)
    if isinstance(value, Mapping):
        items = [f"{quoted(str(key))}: {text}" for key, text in zip(value, _texts(value.values(), inner), strict=True)]
        return f"{{{inner}{f',{inner}'.join(items)}{line}}}" if items else "{}"
    if isinstance(value, list | tuple | set | frozenset):
        items = _texts(value, inner)
        if len(items) == 2 and all(item.lstrip("-").isdigit() for item in items):
            return f"[{items[0]}, {items[1]}]"
        return _list(items, line)
    return quoted(str(value))


def _list(items: list[str], line: str) -> str:
    return f"[{line} {f',{line} '.join(items)}{line}]" if items else "[]"


def _rows(rows: Rows, line: str) -> list[str]:
    """Write each item of columns as text, like a mapping."""
    inner = line + " "
    form = f"{{{inner}{f',{inner}'.join(f'{quoted(key)}: %s' for key in rows)}{line}}}"
    return [form % row for row in zip(*(_texts(column, inner) for column in rows.values()), strict=True)]
