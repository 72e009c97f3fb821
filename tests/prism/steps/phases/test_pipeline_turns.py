"""One stage of a pipeline, by hand; jobs as a whole are in test_phases.py."""

import numpy as np
import pytest

from collectors.columns.record import Flows
from prism.model import PHASES, Job, Layout, Parallelism, Spans, Stream, Timeline
from prism.steps.phases.rank_phases import phases

A, B, C, D = ENDPOINTS = ("10.0.0.1", "10.0.1.1", "10.0.2.1", "10.0.3.1")
STAGES = {A: 0, B: 1, C: 2}
SPANS = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64), *(np.zeros(0, kind) for kind in (np.int32, np.int8, np.int32)))
#       sender, receiver, start; each lasts 1. F takes 10, B 20; the first stage's optimizer 5; two micro-batches.
PIPED = [
    (0, 1, 15), (1, 2, 26), (0, 1, 25), (2, 1, 57), (1, 0, 78), (1, 2, 89),
    (2, 1, 120), (1, 0, 141),
]  # fmt: skip
REDUCED = [(0, 3, 162), (1, 3, 142), (2, 3, 121)]


def labels(stages=STAGES, end=165):
    """What each rank did, with when it ended."""
    rows = PIPED + REDUCED
    src, dst, start = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    columns = {"start_ns": start, "end_ns": start + 1, "src": src, "dst": dst, "octets": start * 0 + 9000}
    flows = Flows.build(columns, endpoints=ENDPOINTS)
    pairs = sorted(set(zip(src[: len(PIPED)].tolist(), dst[: len(PIPED)].tolist(), strict=True)))
    streams = [Stream("pp", (ENDPOINTS[a], ENDPOINTS[b]), np.flatnonzero((src == a) & (dst == b))) for a, b in pairs]
    streams.append(Stream("dp", ENDPOINTS, np.arange(len(PIPED), len(rows))))
    steps = tuple(np.array([[0, end]]) for _ in ENDPOINTS)
    parallelism = Parallelism(Layout(pp=3), (), (), stages, tuple(streams))
    found = phases(flows, Job("j", ENDPOINTS, (), 0, end), parallelism, Timeline(steps, (), SPANS))
    told = [(PHASES[p], int(e)) for p, e in zip(found.phase, found.end_ns, strict=True)]
    return [[told[i] for i in np.flatnonzero(found.rank == r)] for r in range(3)]


def test_the_first_stage_goes_forward_ahead_then_back_with_each_gradient():
    first = labels()[0]
    assert first[:4] == [("optimizer", 5), ("forward", 15), ("pp", 16), ("forward", 25)]
    assert ("idle", 78) in first
    assert first[-4:] == [("pp", 142), ("backward", 162), ("dp", 163), ("idle", 165)]


def test_a_stage_between_waits_for_what_it_hands_on():
    inner = labels()[1]
    assert inner[0] == ("optimizer", 5)  # as long as the first stage's
    assert inner[1:5] == [("idle", 15), ("pp", 16), ("forward", 25), ("pp", 27)]
    assert inner[-10:-5] == [("backward", 78), ("pp", 79), ("forward", 89), ("pp", 90), ("idle", 120)]


def test_of_the_last_stage_nobody_can_tell_forward_from_backward():
    last = labels()[2]
    assert {label for label, _ in last} == {"optimizer", "idle", "pp", "compute", "dp"}
    assert ("compute", 57) in last


@pytest.mark.parametrize("stages", [{}, {A: 0}])
def test_without_stages_all_is_work(stages):
    for told in labels(stages):
        assert {label for label, _ in told} <= {"compute", "pp", "dp", "idle"}
