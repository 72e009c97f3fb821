"""Write a job as PyTorch's profiler (Kineto) would: a file per rank for HolisticTraceAnalysis and Perfetto.

The phases of a rank (`Timeline.phases`) become the parts of a GPU trace: `ProfilerStep#N`, kernels of work on a stream, kernels
of communication on a stream per kind with NCCL's names and the ranks of their group; in waits no kernel runs. A kernel belongs
to its step by its launch, so each has one at its start. Limits: work under communication is not visible, so overlap reads as
none; the actual collective is unknown, so `COLLECTIVES` has the usual one of each kind.

Format: "Trace Event Format" with Kineto's `distributedInfo` and arguments; times are whole microseconds since
`baseTimeNanoseconds`, because HolisticTraceAnalysis (0.5) truncates fractions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from prism.model import PHASES, Group, GroupKind, JobDiagnosis, PairKind
from prism.tracking.step_numbers import numbers

JSON = dict[str, Any]
WORK = ("compute", "forward", "backward", "optimizer")
WORK_STREAM = 7  # PyTorch's default stream of kernels
COLLECTIVES: Mapping[PairKind, tuple[str, str]] = {  # name of the collective in c10d, and of the kernel in NCCL
    "dp": ("allreduce", "ncclKernel_AllReduce"),
    "tp": ("allreduce", "ncclKernel_AllReduce"),
    "pp": ("send", "ncclKernel_SendRecv"),
    "ep": ("all_to_all", "ncclKernel_SendRecv"),
    "cp": ("send", "ncclKernel_SendRecv"),
    "unknown": ("", "ncclKernel"),
}
FIRST_LAUNCH = 1_000_000_000  # launch numbers exceed positions in a file: HolisticTraceAnalysis keeps both in one type
STREAMS = {kind: WORK_STREAM + 1 + i for i, kind in enumerate(COLLECTIVES)}


def files(job: JobDiagnosis) -> Iterator[tuple[str, str]]:
    """Yield name and text of the file of each rank; none for a job without steps."""
    worked, ranks = job.timeline.phases, len(job.job.endpoints)
    if not len(worked):
        return
    zero = int(worked.start_ns.min())
    bounds = np.searchsorted(worked.rank, np.arange(ranks + 1))
    wide = len(str(ranks - 1))
    for rank in range(ranks):
        own = slice(int(bounds[rank]), int(bounds[rank + 1]))
        events = [*_names(job.job.endpoints[rank]), *_steps(job, rank, zero), *_kernels(job, rank, own, zero)]
        about = {
            "schemaVersion": 1,
            "distributedInfo": _distributed(job, rank),
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": zero,
            "traceName": f"job {job.job.id}, {job.job.endpoints[rank]}",
        }
        head = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in about.items())
        lines = ",\n".join(json.dumps(event) for event in events)
        yield f"rank{rank:0{wide}}.json", f'{{{head},\n"traceEvents": [\n{lines}\n]}}\n'


def _distributed(found: JobDiagnosis, rank: int) -> JSON:
    number = {endpoint: i for i, endpoint in enumerate(found.job.endpoints)}
    groups = [("default_pg", list(range(len(number))))]
    groups += [(g.kind, sorted(number[m] for m in g.members)) for g in _groups(found, rank)]
    config = [
        {"pg_name": str(i), "pg_desc": kind, "backend_config": "cuda:nccl", "pg_size": len(ranks), "ranks": ranks}
        for i, (kind, ranks) in enumerate(groups)
    ]
    return {"backend": "nccl", "rank": rank, "world_size": len(number), "pg_count": len(config), "pg_config": config}


def _groups(found: JobDiagnosis, rank: int) -> list[Group]:
    return [group for group in found.parallelism.groups if found.job.endpoints[rank] in group.members]


def _names(endpoint: str) -> Iterator[JSON]:
    """Name process 0 (the GPU) and 1 (the program that drives it)."""
    for pid, name in ((0, f"{endpoint} · GPU"), (1, endpoint)):
        yield {"ph": "M", "pid": pid, "tid": 0, "ts": 0, "name": "process_name", "args": {"name": name}}
    for stream, name in ((WORK_STREAM, "work"), *((stream, kind) for kind, stream in STREAMS.items())):
        args = {"name": f"stream {stream} · {name}"}
        yield {"ph": "M", "pid": 0, "tid": stream, "ts": 0, "name": "thread_name", "args": args}


def _steps(found: JobDiagnosis, rank: int, zero: int) -> Iterator[JSON]:
    counted = numbers(found.timeline, rank).tolist()
    for i, (start, end) in zip(counted, found.timeline.steps[rank].tolist(), strict=True):
        args = {"External id": i}
        step = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1}
        yield step | _time(start, end, zero) | {"args": args}


def _kernels(found: JobDiagnosis, rank: int, own: slice, zero: int) -> Iterator[JSON]:
    """Yield the kernels of a rank, each after its launch."""
    worked, said = found.timeline.phases, _collective_metadata(found, rank)
    columns = (worked.start_ns[own], worked.end_ns[own], worked.phase[own])
    for i, (start, end, code) in enumerate(zip(*(column.tolist() for column in columns), strict=True), 1):
        phase, time = PHASES[code], _time(start, end, zero)
        if phase == "idle" or not time["dur"]:
            continue
        tied = {"correlation": FIRST_LAUNCH + i, "External id": i}
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
        yield launch | {"ts": time["ts"], "dur": 0, "args": tied}
        if phase in WORK:
            name, stream, more = phase, WORK_STREAM, {}
        else:
            name, stream, more = COLLECTIVES[phase][1], STREAMS[phase], said[phase]
        kernel = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, **time}
        yield kernel | {"args": {"device": 0, "context": 1, "stream": stream, **tied, **more}}


def _collective_metadata(found: JobDiagnosis, rank: int) -> dict[PairKind, JSON]:
    """Describe the collective of each kind as Kineto does; without a group if the rank is in several of that kind."""
    number = {endpoint: i for i, endpoint in enumerate(found.job.endpoints)}
    by_kind: dict[GroupKind, list[tuple[int, Group]]] = {}
    for place, group in enumerate(_groups(found, rank), 1):
        by_kind.setdefault(group.kind, []).append((place, group))
    out: dict[PairKind, JSON] = {}
    for kind, (collective, _) in COLLECTIVES.items():
        out[kind] = {"Collective name": collective} if collective else {}
        groups = by_kind.get(kind, []) if kind != "unknown" else []
        if len(groups) == 1:
            place, group = groups[0]
            ranks = sorted(number[m] for m in group.members)
            out[kind] |= {
                "Process Group Name": str(place),
                "Process Group Description": kind,
                "Process Group Ranks": json.dumps(ranks),
                "Group size": len(ranks),
            }
    return out


def _time(start: int, end: int, zero: int) -> dict[str, int]:
    """Round both ends to whole microseconds, so that adjacent slices stay adjacent."""
    first, last = (start - zero + 500) // 1000, (end - zero + 500) // 1000
    return {"ts": first, "dur": last - first}
