"""Results of the public functions: a diagnosis, a recording and a simulation, with conversions to dicts and Arrow tables.

`model` has the types of a diagnosis. This module adds conversions for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from collectors.columns.record import COLUMNS, Flows, Transits
from collectors.formats.column_mapping import OURS
from collectors.formats.foreign_records import Gatherer, describe_missing
from collectors.packets.plain_decoder import DecodeError
from prism import model
from prism.findings.titles import title
from prism.model import PHASES, JobDiagnosis, Source
from prism.report import json_report
from prism.topology import Topology

Table = Literal["jobs", "steps", "phases", "pairs", "findings"]
TABLES: tuple[Table, ...] = get_args(Table)
_TEXT, _WHOLE, _REAL, _TEXTS = pa.string(), pa.int64(), pa.float64(), pa.list_(pa.string())
_SIZES = ("dp", "pp", "tp", "ep", "cp")
_SPAN = {"start_ns": _WHOLE, "end_ns": _WHOLE}
_RANK = {"job": _TEXT, "endpoint": _TEXT, "rank": _WHOLE, "step": _WHOLE}
_COLUMNS: dict[Table, dict[str, pa.DataType]] = {
    "jobs": {"job": _TEXT, "name": _TEXT, "ranks": _WHOLE}
    | dict.fromkeys(_SIZES, _WHOLE)
    | {"confidence": _REAL, "steps": _WHOLE, "step_ms": _REAL}
    | _SPAN,
    "steps": _RANK | _SPAN,
    "phases": _RANK | {"phase": _TEXT} | _SPAN,
    "pairs": {"job": _TEXT, "src": _TEXT, "dst": _TEXT, "kind": _TEXT, "octets": _WHOLE},
    "findings": dict.fromkeys(("job", "kind", "severity", "subject"), _TEXT)
    | {"ids": _TEXTS, "title": _TEXT, "message": _TEXT}
    | _SPAN
    | {"slowdown": _REAL, "confidence": _REAL, "lost_gpu_seconds": _REAL, "isolate": _TEXTS},
}
_NOTHING = Source((), 0, 0, {}, 0, 0)
_NOWHERE = Topology({})


@dataclass(frozen=True)
class Diagnosis(model.Diagnosis):
    """The result of `prism.replay` and `prism.diagnose`.

    Attributes
    ----------
    source : Source
        Files, number of packets and flow records, skipped input by reason, warnings.
    jobs : tuple of JobDiagnosis
        One entry per training job: `job` (endpoints, hosts), `parallelism` (layout, groups, pairs), `timeline` (steps, phases).
    findings : tuple of Finding
        Faults and observations. Severity `warning` or `critical` is a claim about the cause.
    unexplained : tuple of str
        Traffic that the analysis does not explain, one sentence per case.
    topology : Topology or None
        The topology of the analysis. Titles of findings name hosts of it.

    Examples
    --------
    >>> import prism
    >>> run = prism.simulate("ddp-rdma", seed=1)
    >>> found = prism.diagnose(run, topology=run.topology)
    >>> found.to_dict()["jobs"][0]["parallelism"]
    {'dp': 8, 'pp': 1, 'tp': 1, 'ep': 1, 'cp': 1}
    >>> found.to_arrow("steps").column_names
    ['job', 'endpoint', 'rank', 'step', 'start_ns', 'end_ns']
    """

    topology: Topology | None = None

    def to_dict(self) -> dict[str, Any]:
        """Convert to the report of schema `prism-report/1`.

        Returns
        -------
        dict
            Plain dicts, lists, text, ints, finite floats and None. Times are int nanoseconds since the epoch.

        Reference
        ---------
        The fields are described in `docs/report.md`.
        """
        return json_report.to_json(self, self.topology)

    def to_json(self) -> str:
        """Convert to the text that `prism replay --json FILE` writes.

        Returns
        -------
        str
            JSON of schema `prism-report/1`, indented, with a newline at the end.
        """
        return json_report.dumps(self, self.topology)

    def to_arrow(self, table: Table = "steps") -> pa.Table:
        """Convert one aspect to an Arrow table.

        Parameters
        ----------
        table : {"jobs", "steps", "phases", "pairs", "findings"}
            `jobs`: one row per job. `steps`: one row per rank and step. `phases`: one row per interval of a rank in a step.
            `pairs`: one row per pair of endpoints. `findings`: one row per finding.

        Returns
        -------
        pyarrow.Table
            Columns that end in `_ns` are int64 nanoseconds since the epoch; `step_ms` is the median, in milliseconds.

        Raises
        ------
        ValueError
            If there is no such table.
        """
        if table not in TABLES:
            raise ValueError(f"{table!r}: no such table; tables: {', '.join(TABLES)}")
        schema = pa.schema(_COLUMNS[table].items())
        if table == "findings":
            return pa.Table.from_pylist(list(self._findings()), schema=schema)
        parts = [_ROWS[table](found) for found in self.jobs]
        return pa.concat_tables([schema.empty_table(), *(pa.table(part, schema=schema) for part in parts)])

    def _findings(self) -> Iterator[dict[str, Any]]:
        for one in self.findings:
            plain = {name: getattr(one, name) for name in ("job", "kind", "message", "start_ns", "end_ns", "confidence")}
            yield plain | {
                "severity": one.severity.value,
                "subject": one.subject,
                "ids": list(one.ids),
                "title": title(one, self.topology),
                "slowdown": float(one.slowdown),
                "lost_gpu_seconds": float(one.lost_gpu_s),
                "isolate": list(one.isolate.hosts or one.isolate.parts),
            }


def _job(found: JobDiagnosis) -> dict[str, Any]:
    job, layout = found.job, found.parallelism.layout
    sizes = {size: [getattr(layout, size)] for size in _SIZES}
    return {
        "job": [job.id],
        "name": [job.name or job.id],
        "ranks": [len(job.endpoints)],
        **sizes,
        "confidence": [layout.confidence],
        "steps": [max(map(len, found.timeline.steps), default=0)],
        "step_ms": [json_report.step_ms(found)["median"]],
        "start_ns": [job.start_ns],
        "end_ns": [job.end_ns],
    }


def _steps(found: JobDiagnosis) -> dict[str, Any]:
    steps = found.timeline.steps
    counts = [len(own) for own in steps]
    spans = np.concatenate([np.zeros((0, 2), np.int64), *steps])
    number = np.concatenate([np.zeros(0, np.int64), *map(np.arange, counts)])
    rank = np.repeat(np.arange(len(counts)), counts)
    at = {"rank": rank, "step": number + found.timeline.first, "start_ns": spans[:, 0], "end_ns": spans[:, 1]}
    return _named(found, rank) | at


def _phases(found: JobDiagnosis) -> dict[str, Any]:
    phases = found.timeline.phases
    names = pa.array(PHASES, _TEXT).take(pa.array(phases.phase))
    at = {"rank": phases.rank, "step": phases.step, "phase": names, "start_ns": phases.start_ns, "end_ns": phases.end_ns}
    return _named(found, phases.rank) | at | {"step": phases.step.astype(np.int64) + found.timeline.first}


def _pairs(found: JobDiagnosis) -> dict[str, Any]:
    pairs = found.parallelism.pairs
    fields = {name: [getattr(pair, name) for pair in pairs] for name in ("src", "dst", "kind", "octets")}
    return {"job": [found.job.id] * len(pairs)} | fields


def _named(found: JobDiagnosis, rank: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Build the columns of job and endpoint, one row per entry of `rank`."""
    return {
        "job": pa.repeat(found.job.id, len(rank)),
        "endpoint": pa.array(found.job.endpoints, _TEXT).take(pa.array(rank)),
    }


_ROWS: dict[Table, Callable[[JobDiagnosis], dict[str, Any]]] = {
    "jobs": _job,
    "steps": _steps,
    "phases": _phases,
    "pairs": _pairs,
}


@dataclass(frozen=True, eq=False)
class Recording:
    """The result of `prism.read`: flow records of files, each packet counted once.

    Attributes
    ----------
    flows : Flows
        The flow records, in order of start: one NumPy array per column.
    transits : Transits
        Delays and losses inside switches and between them. Empty if no file has them.
    source : Source
        Files, number of packets and flow records, skipped input by reason, warnings.
    """

    flows: Flows
    transits: Transits = field(default_factory=Transits.empty)
    source: Source = _NOTHING

    def __len__(self) -> int:
        """Return the number of flow records."""
        return len(self.flows)

    def to_dict(self) -> dict[str, Any]:
        """Convert the description of the input to a dict: `files`, `packets`, `flows`, `skipped`, `start_ns`, `end_ns`.

        Returns
        -------
        dict
            The same as `input` of the report. The records are in `to_arrow`.
        """
        return json_report.input_json(self.source)

    def to_arrow(self) -> pa.Table:
        """Convert the flow records to an Arrow table.

        Returns
        -------
        pyarrow.Table
            One row per record. Addresses, exporters and paths are dictionaries of text; times are int64 ns since the epoch.
        """
        return table_of(self.flows)


@dataclass(frozen=True, eq=False)
class Simulation(Recording):
    """The result of `prism.simulate`: flow records with the topology and the truth.

    Attributes
    ----------
    flows, transits, source
        As in `Recording`. `source.files` is empty.
    topology : Topology
        Host, rail and leaf of each endpoint, and the links between switches.
    truth : dict
        Jobs, layouts, steps and faults that were simulated, in the format of `truth.json`.
    """

    topology: Topology = _NOWHERE
    truth: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Convert the truth to a dict.

        Returns
        -------
        dict
            Plain dicts, lists, text and numbers, as in `truth.json`.
        """
        return self.truth


def table_of(flows: Flows) -> pa.Table:
    """Convert flow records to an Arrow table.

    Parameters
    ----------
    flows : Flows
        Any number of records.

    Returns
    -------
    pyarrow.Table
        One row per record, in the same order. Columns are those of the flow record; addresses, exporters and paths are
        dictionaries of text.
    """
    exporters = flows.exporters or ("",)
    paths = tuple("|".join(path) for path in flows.paths) or ("",)
    words = {"src": flows.endpoints, "dst": flows.endpoints, "exporter": exporters, "path": paths}
    columns = {}
    for column in COLUMNS:
        values = pa.array(getattr(flows, column.name))
        if column.name in words:
            values = pa.DictionaryArray.from_arrays(values, pa.array(words[column.name], _TEXT))
        columns[column.name] = values
    return pa.table(columns)


def flows_of(table: Any, name: str = "table") -> Flows:
    """Convert a table to flow records.

    Parameters
    ----------
    table : pyarrow.Table, pandas.DataFrame, polars.DataFrame or any object with `__arrow_c_stream__`
        Columns `start_ns`, `end_ns`, `src`, `dst`, `octets`; the other columns of the flow record are optional.
    name : str
        The name of the table in errors.

    Returns
    -------
    Flows
        The records in order of start.

    Raises
    ------
    DecodeError
        A ValueError. A required column is missing, or more than half of the rows are not valid.
    """
    table = table if isinstance(table, pa.Table) else pa.table(table)
    columns = OURS.present([one for one in table.column_names if table.column_names.count(one) == 1])
    if missing := [OURS.foreign_name(ours) for ours in columns.missing()]:
        raise DecodeError(f"{name}: {describe_missing(missing, table.column_names)}")
    gatherer, at = Gatherer(name, columns), 0
    for batch in table.to_batches():
        gatherer.add({one: batch.column(one) for one in columns.columns_to_read()}, np.arange(at + 1, at + 1 + len(batch)))
        at += len(batch)
    gatherer.check("row")
    return gatherer.flows()
