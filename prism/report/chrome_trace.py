"""Write a diagnosis as a Chrome trace for Perfetto: a process per job, tracks per rank for steps, phases, communication.

Format: "Trace Event Format", events `X` (slices), `M` (names), `s` and `f` (arrows along pipelines, from the sender), `i`
(starts of findings), `C` (counters: a rank's sent and received traffic). Times are microseconds since `otherData.start_ns`,
because the epoch in nanoseconds does not fit a float. Slices of a track (tid) never overlap: overlapping spans use a second
track. Flows of the category `wait` lead from the activity of a rank to the wait of the rank that depended on it
(prism.report.wait_causes).

Arrows and counters are bounded per job: the longest transfers have arrows, counters get coarser. One file per rank, as from
PyTorch's profiler: `prism.report._kineto`.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from prism.model import PHASES, Diagnosis, Event, Finding, JobDiagnosis
from prism.report._traffic_series import octets_per_bin, transfers
from prism.report.json_report import to_json
from prism.report.wait_causes import waits
from prism.topology import Topology
from prism.tracking.step_numbers import numbers

JSON = dict[str, Any]


class Slice(NamedTuple):
    """A slice of a track; `arrow`: number of the arrow that starts (above 0) or ends (below 0) in it, 0 for none."""

    start_ns: int
    end_ns: int
    name: str
    args: Mapping[str, Any]  # shown on click
    arrow: int = 0


def dumps(diagnosis: Diagnosis, topology: Topology | None = None, *, arrows: int = 20_000, values: int = 100_000) -> str:
    """Write the trace as text, one event per line; `arrows` and `values` limit arrows and counter values per job."""
    starts = [diagnosis.source.start_ns, *(found.job.start_ns for found in diagnosis.jobs)]
    starts += [int(found.timeline.spans.start_ns.min()) for found in diagnosis.jobs if len(found.timeline.spans)]
    zero = min(starts)
    made = events(diagnosis, zero, topology, arrows=arrows, values=values)
    lines = ",\n".join(json.dumps(event, allow_nan=False) for event in made)
    about = json.dumps({"start_ns": str(zero), "files": list(diagnosis.source.files)})
    return f'{{"displayTimeUnit": "ms", "otherData": {about}, "traceEvents": [\n{lines}\n]}}\n'


def events(
    diagnosis: Diagnosis, zero_ns: int, topology: Topology | None = None, *, arrows: int = 20_000, values: int = 100_000
) -> Iterator[JSON]:
    """Generate the trace's events; times count from `zero_ns`. Findings without a reported job get their own process."""
    told = to_json(diagnosis, topology)["findings"]
    findings = [(found, shown) for found, shown in zip(diagnosis.findings, told, strict=True)]
    known = {found.job.id for found in diagnosis.jobs}
    drawn = 0  # arrows of earlier jobs: numbers are unique in the file
    for pid, found in enumerate(diagnosis.jobs, 1):
        process = _Process(pid, f"job {found.job.title}", zero_ns)
        mine = [_finding_slice(f, shown) for f, shown in findings if f.job == found.job.id]
        process.add("findings", mine)
        process.add("events", [_event_slice(event) for event in found.timeline.events])
        sent, given = transfers(found.timeline.spans, "pp", max_transfers=arrows)
        ends = np.zeros(len(found.timeline.spans), np.int64)
        ends[sent] = np.arange(drawn + 1, drawn + 1 + len(sent))
        ends[given] = -ends[sent]
        drawn += len(sent)
        phases = _add_ranks(process, found, ends.tolist(), topology)
        drawn += _add_waits(process, found, phases, drawn, arrows)
        process.mark(mine)
        _add_counters(process, found, values)
        yield from process.events
    rest = [_finding_slice(f, shown) for f, shown in findings if f.job not in known]
    if rest:
        process = _Process(0, "no job", zero_ns)
        process.add("findings", rest)
        yield from process.events


class _Process:
    """Events of one process; tracks are numbered in the order in which they are added."""

    def __init__(self, pid: int, name: str, zero_ns: int) -> None:
        self.pid, self.zero_ns, self.tracks = pid, zero_ns, 0
        self.events: list[JSON] = [{"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": name}}]

    def add(self, name: str, slices: Sequence[Slice]) -> int:
        """Add slices on as many tracks as they need without overlap, none for no slices; return the first track's number."""
        first = self.tracks + 1
        for i, lane in enumerate(_lanes(slices)):
            self.tracks += 1
            at = {"pid": self.pid, "tid": self.tracks}
            title = f"{name} ({i + 1})" if i else name
            self.events.append({"ph": "M", **at, "name": "thread_name", "args": {"name": title}})
            self.events.append({"ph": "M", **at, "name": "thread_sort_index", "args": {"sort_index": self.tracks}})
            for start, end, label, args, arrow in lane:
                time = {"ts": (start - self.zero_ns) / 1000, "dur": (end - start) / 1000}
                self.events.append({"ph": "X", **at, "name": label, **time, "args": dict(args)})
                if arrow:  # it is drawn between the slices around these times
                    ends = {"ph": "s"} if arrow > 0 else {"ph": "f", "bp": "e"}
                    middle = {"ts": ((start + end) // 2 - self.zero_ns) / 1000}
                    self.events.append({**ends, **at, "id": abs(arrow), "name": label, "cat": "transfer", **middle})
        return first

    def flow(self, number: int, name: str, begin: tuple[int, int], end: tuple[int, int]) -> None:
        """Add an arrow from one track and time, ns, to another."""
        for ph, (tid, time) in (("s", begin), ("f", end)):
            at = {"ph": ph, "pid": self.pid, "tid": tid, "id": number, "ts": (time - self.zero_ns) / 1000}
            self.events.append({**at, "name": name, "cat": "wait"} | ({"bp": "e"} if ph == "f" else {}))

    def mark(self, findings: Sequence[Slice]) -> None:
        """Add a marker across the process at the start of each finding."""
        for one in findings:
            at = {"ph": "i", "s": "p", "pid": self.pid, "tid": 0, "ts": (one.start_ns - self.zero_ns) / 1000}
            self.events.append({**at, "name": one.name, "cat": "finding", "args": dict(one.args)})

    def count(self, name: str, times_ns: Sequence[int], values: Sequence[Mapping[str, float]]) -> None:
        """Add a counter, which keeps each value until the next time."""
        at = {"ph": "C", "pid": self.pid, "name": name}
        self.events += [
            {**at, "ts": (time - self.zero_ns) / 1000, "args": dict(shown)}
            for time, shown in zip(times_ns, values, strict=True)
        ]


def _lanes(slices: Sequence[Slice]) -> list[list[Slice]]:
    """Partition intervals into the fewest lanes without overlap, earlier slices first."""
    lanes: list[list[Slice]] = []
    free: list[tuple[int, int]] = []  # end of its last slice, lane
    for item in sorted(slices, key=lambda s: s[:2]):
        start, end = item[0], max(item[0], item[1])
        if free and free[0][0] <= start:
            lane = heapq.heappop(free)[1]
        else:
            lane = len(lanes)
            lanes.append([])
        lanes[lane].append(item._replace(end_ns=end))
        heapq.heappush(free, (end, lane))
    return lanes


def _finding_slice(found: Finding, shown: JSON) -> Slice:
    args = {key: shown[key] for key in ("severity", "message", "slowdown", "score", "evidence")}
    return Slice(found.start_ns, found.end_ns, shown["title"], args)


def _event_slice(event: Event) -> Slice:
    return Slice(event.start_ns, event.end_ns, event.kind, {})


def _add_ranks(process: _Process, found: JobDiagnosis, arrows: Sequence[int], topology: Topology | None) -> dict[int, int]:
    """Add tracks of every rank, by stage: its steps, phases, compute and communication; `arrows` by row of spans.

    Returns the track of each rank's phases.
    """
    tracks = {}
    endpoints, stages = found.job.endpoints, found.parallelism.stages
    spans = found.timeline.spans
    by_rank = np.argsort(spans.rank, kind="stable")
    bounds = np.searchsorted(spans.rank[by_rank], np.arange(len(endpoints) + 1))
    for rank in sorted(range(len(endpoints)), key=lambda r: (stages.get(endpoints[r], 0), r)):
        stage = f" · stage {stages[endpoints[rank]]}" if endpoints[rank] in stages else ""
        name = f"{track(found, rank, topology)}{stage}"
        steps = zip(numbers(found.timeline, rank).tolist(), found.timeline.steps[rank].tolist(), strict=True)
        process.add(f"{name} · steps", [Slice(begin, end, f"step {i}", {}) for i, (begin, end) in steps])
        tracks[rank] = process.add(f"{name} · phases", _phases(found, rank))
        quiet: list[Slice] = []
        busy: list[Slice] = []
        for row in by_rank[bounds[rank] : bounds[rank + 1]].tolist():
            phase, peer = PHASES[spans.phase[row]], int(spans.peer[row])
            args = {"peer": endpoints[peer]} if peer >= 0 else {}
            into = quiet if phase in ("compute", "idle") else busy
            into.append(Slice(int(spans.start_ns[row]), int(spans.end_ns[row]), phase, args, arrows[row]))
        process.add(f"{name} · compute", quiet)
        process.add(f"{name} · communication", busy)
    return tracks


def _add_waits(process: _Process, found: JobDiagnosis, phases: Mapping[int, int], drawn: int, max_arrows: int) -> int:
    """Add arrows of waits between the tracks of phases, numbered after the `drawn` ones; return their number."""
    known = waits(found.timeline, most=max_arrows)
    for number, one in enumerate(known, drawn + 1):
        process.flow(number, "wait", (phases[one.peer], one.peer_ns), (phases[one.rank], one.end_ns - 1))
    return len(known)


def track(job: JobDiagnosis, rank: int, topology: Topology | None) -> str:
    """Name a rank's tracks: rank · host · GPU; by address if its host is unknown."""
    endpoint = job.job.endpoints[rank]
    place = topology.endpoints.get(endpoint) if topology is not None else None
    if place is None or place.host is None:
        return f"rank {rank} · {endpoint}"
    return f"rank {rank} · {place.host}" + (f" · GPU {place.rail}" if place.rail is not None else "")


def _phases(found: JobDiagnosis, rank: int) -> list[Slice]:
    """List the phases of a rank over all its steps, in order."""
    worked = found.timeline.phases
    low, high = np.searchsorted(worked.rank, [rank, rank + 1])
    columns = (column[low:high].tolist() for column in (worked.start_ns, worked.end_ns, worked.phase, worked.step))
    return [
        Slice(start, end, PHASES[phase], {"step": found.timeline.first + step})
        for start, end, phase, step in zip(*columns, strict=True)
    ]


def _add_counters(process: _Process, found: JobDiagnosis, max_values: int) -> None:
    """Add counters of sent and received traffic of every rank, Gbit/s, in equal bins of at least a millisecond."""
    spans, ranks = found.timeline.spans, found.job.endpoints
    if not len(spans) or len(spans.octets) != len(spans):
        return
    begin, end = int(spans.start_ns.min()), int(spans.end_ns.max()) + 1
    stretches = max(min(max_values // len(ranks), (end - begin) // 1_000_000, 10_000), 1)
    edges = np.linspace(0, end - begin, stretches + 1).astype(np.int64) + begin
    by_rank = np.argsort(spans.rank, kind="stable")
    bounds = np.searchsorted(spans.rank[by_rank], np.arange(len(ranks) + 1))
    for rank, endpoint in enumerate(ranks):
        rows = by_rank[bounds[rank] : bounds[rank + 1]]
        ways = [rows[spans.octets[rows] > 0], rows[spans.octets[rows] < 0]]
        octets = np.stack([octets_per_bin(spans.start_ns[r], spans.end_ns[r], np.abs(spans.octets[r]), edges) for r in ways])
        rate = np.round(octets * 8 / np.diff(edges), 3)  # octets per nanosecond to Gbit/s
        new = np.flatnonzero(np.any(np.diff(rate, axis=1, prepend=-1.0), axis=0))
        shown = [{"sent": sent, "received": received} for sent, received in rate[:, new].T.tolist()]
        process.count(f"{endpoint} · Gbit/s", [*edges[new].tolist(), end], [*shown, {"sent": 0.0, "received": 0.0}])
