import dataclasses
import json
from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism import trace
from prism.model import Diagnosis


@pytest.fixture
def made(diagnosis):
    return json.loads(trace.dumps(diagnosis))


def tracks(made):
    """Slices by (pid, tid), and the name of every track."""
    slices, names = defaultdict(list), {}
    for event in made["traceEvents"]:
        at = (event["pid"], event["tid"])
        if event["ph"] == "X":
            slices[at].append(event)
        elif event["name"] == "thread_name":
            names[at] = event["args"]["name"]
    return slices, names


def test_every_event_is_valid(made):
    for event in made["traceEvents"]:
        assert event["ph"] in ("X", "M")
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0


def test_slices_of_a_track_do_not_overlap(made):
    slices, names = tracks(made)
    assert set(slices) == set(names)
    for lane in slices.values():
        for before, after in pairwise(lane):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-3


def test_a_process_per_job_and_tracks_per_rank_by_stage(diagnosis, make_job):
    two = dataclasses.replace(diagnosis, jobs=(*diagnosis.jobs, make_job("job-2", first=20)))
    made = json.loads(trace.dumps(two))
    processes = {e["pid"]: e["args"]["name"] for e in made["traceEvents"] if e["name"] == "process_name"}
    assert processes == {1: "job job-1", 2: "job job-2"}
    slices, names = tracks(made)
    by_name = {names[at]: slices[at] for at in slices if at[0] == 1}
    steps = by_name["10.10.5.1 · stage 2 · steps"]
    assert [s["name"] for s in steps] == [f"step {i}" for i in range(20)]
    assert {s["name"] for s in by_name["10.10.5.1 · stage 2 · compute"]} == {"compute"}
    phases = by_name["10.10.5.1 · stage 2 · phases"]
    assert [s["name"] for s in phases] == ["compute", "dp", "idle"] * 20
    assert [s["args"]["step"] for s in phases[:4]] == [0, 0, 0, 1]
    assert sum(s["dur"] for s in phases) == sum(s["dur"] for s in steps)
    assert by_name["10.10.0.1 · stage 0 · communication"][0]["args"] == {"peer": "10.10.1.1"}
    assert len(by_name["10.10.0.1 · stage 0 · communication (2)"]) == 20
    assert by_name["events"][0]["name"] == "checkpoint"
    assert by_name["findings"][0]["name"] == "slow rank 10.10.5.1"


def test_times_count_from_the_start_in_microseconds(diagnosis, made):
    assert made["otherData"]["start_ns"] == str(diagnosis.source.start_ns)
    slices, names = tracks(made)
    finding = next(slices[at][0] for at, name in names.items() if name == "findings")
    assert finding["ts"] == 14_300_000.0
    assert finding["dur"] == 14_800_000.0
    assert finding["args"]["evidence"]["expected_ms"] is None


def test_a_finding_without_a_job_is_shown(diagnosis, make_finding):
    made = json.loads(trace.dumps(Diagnosis(diagnosis.source, (), (make_finding(job=""),))))
    slices, names = tracks(made)
    assert names == {(0, 1): "findings"}
    assert len(slices[0, 1]) == 1


def test_an_empty_diagnosis_is_an_empty_trace(diagnosis):
    assert json.loads(trace.dumps(Diagnosis(diagnosis.source, (), ())))["traceEvents"] == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20))))
def test_lanes_hold_every_slice_once_and_no_two_at_a_time(raw):
    slices = [(start, start + length, "x", {}) for start, length in raw]
    lanes = trace._lanes(slices)
    assert sorted(s[:2] for lane in lanes for s in lane) == sorted(s[:2] for s in slices)
    for lane in lanes:
        assert all(a[1] <= b[0] for a, b in pairwise(lane))
    busiest = max((sum(a <= t < b for a, b, *_ in slices) for t in range(71)), default=0)
    assert len(lanes) <= max(busiest, 1) + sum(a == b for a, b, *_ in slices)
