"""Make a board of many ranks and steps without packets, for tests and measurements of views.

python -m benchmarks.boards [RANKS] [STEPS] prints time and size of answers about such a job.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from prism.model import (
    PHASES,
    Diagnosis,
    Event,
    Finding,
    Group,
    Isolation,
    Job,
    JobDiagnosis,
    Layout,
    Pair,
    Parallelism,
    Phases,
    Severity,
    Source,
    Spans,
    Timeline,
)
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, board_of
from prism.views import board_views, finding_views, timeline_views, traffic_views
from prism.views.step_cells import CellRange

MS = 1_000_000
START = 1_795_214_542_677_184_076
PER_HOST, PER_LEAF = 8, 256
WORK = ("forward", "backward", "dp", "idle")  # of every rank in every step


def board(ranks: int = 10_000, steps: int = 200, *, stages: int = 8, seed: int = 0, step_ms: float = 1000.0) -> Board:
    """Make one job with all phases of each step; from the middle on, one rank is slow and all wait for it."""
    topology = _topology(ranks)
    endpoints = tuple(topology.endpoints)
    found = JobDiagnosis(
        Job("job-1", endpoints, topology.hosts(), START, START + int(steps * step_ms * 1.3 * MS)),
        _parallelism(endpoints, stages),
        _timeline(ranks, steps, step_ms, np.random.default_rng(seed)),
    )
    end = int(found.timeline.steps[0][-1, 1])
    source = Source(("simulated",), 0, ranks * steps * 4, {}, START, end)
    return board_of(Diagnosis(source, (found,), (_finding(found, ranks // 3, end),)), topology)


def _topology(ranks: int) -> Topology:
    places = {
        f"10.{r >> 16}.{r >> 8 & 255}.{r & 255}": Endpoint(f"server{r // PER_HOST}", r % PER_HOST, f"leaf{r // PER_LEAF}")
        for r in range(ranks)
    }
    leaves = sorted({place.leaf for place in places.values() if place.leaf})
    return Topology(places, tuple((leaf, f"spine{i}") for leaf in leaves for i in range(2)))


def _parallelism(endpoints: tuple[str, ...], stages: int) -> Parallelism:
    """Make the layout: stages hold neighbouring ranks, which are one DP group; a rank per stage is a pipeline."""
    each = -(-len(endpoints) // stages)
    parts = [endpoints[at : at + each] for at in range(0, len(endpoints), each)]
    columns = [tuple(part[i] for part in parts if i < len(part)) for i in range(each)]
    pairs = [Pair(a, b, "pp", 4 << 20) for column in columns for a, b in pairwise(column)]
    pairs += [Pair(a, b, "dp", 64 << 20) for part in parts for a, b in zip(part, part[1:] + part[:1], strict=True)]
    return Parallelism(
        Layout(dp=each, pp=len(parts), confidence=0.97),
        (
            *(Group("dp", part, "traffic", 0.99) for part in parts),
            *(Group("pp", column, "traffic", 0.98) for column in columns),
        ),
        tuple(pairs),
        {address: stage for stage, part in enumerate(parts) for address in part},
    )


def _timeline(ranks: int, steps: int, step_ms: float, rng: np.random.Generator) -> Timeline:
    work = rng.normal(0.35 * step_ms, 0.01 * step_ms, (ranks, steps, 2))  # forward, backward
    work[ranks // 3, steps // 2 :] *= 1.4
    longest = work.sum(axis=2).max(axis=0) + 0.15 * step_ms  # all wait for the last, then reduce
    ends = START + np.cumsum(longest * MS).astype(np.int64)
    begins = np.concatenate([[START], ends[:-1]])
    forward = begins + (work[:, :, 0] * MS).astype(np.int64)
    backward = forward + (work[:, :, 1] * MS).astype(np.int64)
    reduced = np.minimum(backward + int(0.15 * step_ms * MS), ends)
    bounds = np.stack(
        [np.broadcast_to(begins, forward.shape), forward, backward, reduced, np.broadcast_to(ends, forward.shape)], 2
    )
    rank, step = (x.ravel().astype(np.int32) for x in np.meshgrid(np.arange(ranks), np.arange(steps), indexing="ij"))
    phases = Phases(
        bounds[:, :, :-1].ravel(),
        bounds[:, :, 1:].ravel(),
        np.repeat(rank, len(WORK)),
        np.repeat(step, len(WORK)),
        np.tile(np.array([PHASES.index(word) for word in WORK], np.int8), ranks * steps),
    )
    spans = Spans(backward.ravel(), reduced.ravel(), rank, np.full(len(rank), PHASES.index("dp"), np.int8), (rank + 1) % ranks)
    each = np.stack([begins, ends], axis=1)
    saved = Event("checkpoint", int(ends[steps // 4]), int(ends[steps // 4]) + int(step_ms * MS))
    return Timeline(tuple(each for _ in range(ranks)), (saved,), spans, phases)


def _finding(found: JobDiagnosis, rank: int, end_ns: int) -> Finding:
    endpoint = found.job.endpoints[rank]
    host = found.job.hosts[rank // PER_HOST] if found.job.hosts else endpoint
    return Finding(
        *("slow_rank", "slow_rank", found.job.id, Severity.CRITICAL, "endpoint", (endpoint,)),
        start_ns=int(found.timeline.steps[0][len(found.timeline.steps[0]) // 2, 0]),
        end_ns=end_ns,
        slowdown=1.28,
        score=40.0,
        message=f"{endpoint} computes 1.4 × longer than the other ranks of its stage, and its peers wait for it",
        confidence=0.98,
        lost_gpu_s=1000.0,
        isolate=Isolation((host,), (), 0.95, (((host,), 0.95),)),
    )


def main(ranks: int, steps: int) -> None:
    """Print the cost of answers."""
    shown = board(ranks, steps)
    found, topology = shown.jobs[0].found, shown.topology
    middle = int(found.timeline.steps[0][steps // 2, 0])
    near = CellRange(middle, middle + 3_000_000_000, 0, 1000)
    questions: dict[str, Callable[[], Any]] = {
        "board": lambda: board_views.board(shown),
        "jobs, first": lambda: board_views.jobs(shown),
        "jobs": lambda: board_views.jobs(shown),
        "job": lambda: board_views.job(shown, "job-1"),
        "steps": lambda: timeline_views.steps(found),
        "steps, own work": lambda: timeline_views.steps(found, measure="work"),
        "timeline": lambda: timeline_views.timeline(found),
        "timeline, 1000 ranks, 3 s": lambda: timeline_views.timeline(found, near),
        "graph": lambda: traffic_views.graph(found, topology),
        "graph by leaf": lambda: traffic_views.graph(found, topology, by="leaf"),
        "switches": lambda: traffic_views.switches(shown, None),
        "findings": lambda: finding_views.case_list(shown, shown.cases),
    }
    print(f"{ranks:,} ranks × {steps:,} steps; processor time, so that what else runs does not count")
    for name, ask in questions.items():
        began = time.process_time()
        answered = ask()
        middle_s = time.process_time()
        octets = len(json.dumps(answered, separators=(",", ":")))
        ended = time.process_time()
        print(f"{name:26} {1000 * (middle_s - began):7.1f} ms + {1000 * (ended - middle_s):6.1f} ms JSON {octets:>10,} octets")


if __name__ == "__main__":
    main(*(int(text) for text in (sys.argv[1:] + ["10000", "200"][len(sys.argv) - 1 :])))
