"""One small diagnosis that the tests of reports, terminals and traces share, and how properties are tried."""

import gc

import numpy as np
import pytest
from hypothesis import settings

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

# The same examples each time: what passes here passes anywhere. New ones are found by `pytest --hypothesis-profile=search`.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile("same")


def pytest_collection_finish():
    """Modules live as long as the tests: who collects garbage need not look through them, half a second each time."""
    gc.collect()
    gc.freeze()


MS = 1_000_000
START = 1_795_214_542_677_184_076


def make_timeline(ranks: int, steps: int, step_ms: int = 1000, begin: int = START) -> Timeline:
    ends = begin + MS * step_ms * np.arange(1, steps + 1, dtype=np.int64)
    each = np.stack([ends - step_ms * MS, ends], axis=1)
    rank, step = (x.ravel() for x in np.meshgrid(np.arange(ranks), np.arange(steps), indexing="ij"))
    base = begin + MS * step_ms * step.astype(np.int64)
    n = len(base)
    spans = Spans(  # per step: compute, then two DP spans that overlap
        start_ns=np.concatenate([base, base + 600 * MS, base + 700 * MS]),
        end_ns=np.concatenate([base + 650 * MS, base + 800 * MS, base + 950 * MS]),
        rank=np.tile(rank, 3).astype(np.int32),
        phase=np.repeat([PHASES.index("compute"), PHASES.index("dp"), PHASES.index("dp")], n).astype(np.int8),
        peer=np.concatenate([np.full(n, -1), (rank + 1) % ranks, (rank - 1) % ranks]).astype(np.int32),
    )
    bounds = base[:, None] + MS * np.array([0, 600, 950, step_ms])  # of compute, DP, waiting
    worked = Phases(
        start_ns=bounds[:, :-1].ravel(),
        end_ns=bounds[:, 1:].ravel(),
        rank=np.repeat(rank, 3).astype(np.int32),
        step=np.repeat(step, 3).astype(np.int32),
        phase=np.tile([PHASES.index("compute"), PHASES.index("dp"), PHASES.index("idle")], n).astype(np.int8),
    )
    event = Event("checkpoint", begin + MS * step_ms * 2, begin + MS * step_ms * 2 + 300 * MS)
    return Timeline(tuple(each for _ in range(ranks)), (event,), spans, worked)


def _make_job(name: str = "job-1", *, first: int = 0, ranks: int = 8, steps: int = 20) -> JobDiagnosis:
    endpoints = tuple(f"10.10.{first + r}.1" for r in range(ranks))
    hosts = tuple(f"server{first + r}" for r in range(ranks))
    dp = tuple(Group("dp", endpoints[i : i + 2], "traffic", 0.99) for i in range(0, ranks, 2))
    pp = tuple(Group("pp", endpoints[i::2], "traffic", 0.97) for i in range(2))
    pairs = (Pair(endpoints[0], endpoints[1], "dp", 4_000_000), Pair(endpoints[0], endpoints[2], "pp", 1_000_000))
    stages = {e: r // 2 for r, e in enumerate(endpoints)}
    return JobDiagnosis(
        Job(name, endpoints, hosts, START, START + steps * 1000 * MS),
        Parallelism(Layout(dp=2, pp=ranks // 2, confidence=0.98), dp + pp, pairs, stages),
        make_timeline(ranks, steps),
    )


def _make_finding(i: int = 0, severity: Severity = Severity.CRITICAL, job: str = "job-1") -> Finding:
    return Finding(
        detector="slow_rank",
        kind="slow_rank",
        job=job,
        severity=severity,
        subject="endpoint",
        ids=(f"10.10.{5 + i}.1",),
        start_ns=START + 14_300 * MS,
        end_ns=START + 29_100 * MS,
        slowdown=1.42,
        score=9.1 - i,
        message=f"10.10.{5 + i}.1 computes 1.7 × longer than the other ranks of its stage, and its peers wait for it",
        evidence={"compute_ms": np.float64(61.2), "expected_ms": float("nan"), "ranks": (5,)},
        confidence=0.97,
        lost_gpu_s=312.4,
        isolate=Isolation(("server5",), (), 0.93, ((("server5",), 0.93), (("server4",), 0.07))),
    )


@pytest.fixture
def diagnosis() -> Diagnosis:
    source = Source(
        files=("leaf0.pcap.gz", "leaf1.pcap.gz", "spine0.pcap.gz"),
        packets=171_767,
        flows=9_312,
        skipped={"not IP": 12},
        start_ns=START,
        end_ns=START + 43_665 * MS,
    )
    findings = (_make_finding(), _make_finding(1, Severity.INFO))
    return Diagnosis(source, (_make_job(),), findings, ("3 endpoints talk to every job and belong to none",))


@pytest.fixture
def make_job():
    return _make_job


@pytest.fixture
def make_finding():
    return _make_finding
