import dataclasses
import json
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.model import PHASES, Diagnosis, Spans
from prism.report import chrome_trace
from prism.topology import Endpoint, Topology


@pytest.fixture
def made(diagnosis):
    return json.loads(chrome_trace.dumps(diagnosis))


def tracks(made):
    """Slices by (pid, tid), and the name of every track."""
    slices, names = defaultdict(list), {}
    for event in made["traceEvents"]:
        at = (event["pid"], event.get("tid"))
        if event["ph"] == "X":
            slices[at].append(event)
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[at] = event["args"]["name"]
    return slices, names


def test_every_event_is_valid(made):
    for event in made["traceEvents"]:
        assert event["ph"] in ("X", "M", "C", "s", "f", "i")
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int) or event["ph"] == "C"
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
    made = json.loads(chrome_trace.dumps(two))
    processes = {e["pid"]: e["args"]["name"] for e in made["traceEvents"] if e["name"] == "process_name"}
    assert processes == {1: "job job-1", 2: "job job-2"}
    slices, names = tracks(made)
    by_name = {names[at]: slices[at] for at in slices if at[0] == 1}
    steps = by_name["rank 5 · 10.10.5.1 · stage 2 · steps"]
    assert [s["name"] for s in steps] == [f"step {i}" for i in range(20)]
    assert {s["name"] for s in by_name["rank 5 · 10.10.5.1 · stage 2 · compute"]} == {"compute"}
    phases = by_name["rank 5 · 10.10.5.1 · stage 2 · phases"]
    assert [s["name"] for s in phases] == ["compute", "dp", "idle"] * 20
    assert [s["args"]["step"] for s in phases[:4]] == [0, 0, 0, 1]
    assert sum(s["dur"] for s in phases) == sum(s["dur"] for s in steps)
    assert by_name["rank 0 · 10.10.0.1 · stage 0 · communication"][0]["args"] == {"peer": "10.10.1.1"}
    assert len(by_name["rank 0 · 10.10.0.1 · stage 0 · communication (2)"]) == 20
    assert by_name["events"][0]["name"] == "checkpoint"
    assert by_name["findings"][0]["name"] == "Slow rank 10.10.5.1"


def test_times_count_from_the_start_in_microseconds(diagnosis, made):
    assert made["otherData"]["start_ns"] == str(diagnosis.source.start_ns)
    slices, names = tracks(made)
    finding = next(slices[at][0] for at, name in names.items() if name == "findings")
    assert finding["ts"] == 14_300_000.0
    assert finding["dur"] == 14_800_000.0
    assert finding["args"]["evidence"]["expected_ms"] is None


def test_a_finding_without_a_job_is_shown(diagnosis, make_finding):
    made = json.loads(chrome_trace.dumps(Diagnosis(diagnosis.source, (), (make_finding(job=""),))))
    slices, names = tracks(made)
    assert names == {(0, 1): "findings"}
    assert len(slices[0, 1]) == 1


def test_an_empty_diagnosis_is_an_empty_trace(diagnosis):
    assert json.loads(chrome_trace.dumps(Diagnosis(diagnosis.source, (), ())))["traceEvents"] == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20))))
def test_lanes_hold_every_slice_once_and_no_two_at_a_time(raw):
    slices = [chrome_trace.Slice(start, start + length, "x", {}) for start, length in raw]
    lanes = chrome_trace._lanes(slices)
    assert sorted(s[:2] for lane in lanes for s in lane) == sorted(s[:2] for s in slices)
    for lane in lanes:
        assert all(a[1] <= b[0] for a, b in pairwise(lane))
    busiest = max((sum(a <= t < b for a, b, *_ in slices) for t in range(71)), default=0)
    assert len(lanes) <= max(busiest, 1) + sum(a == b for a, b, *_ in slices)


@pytest.fixture
def piped(diagnosis):
    """The diagnosis, with octets, and transfers from rank 0 to rank 2 along the pipeline."""
    (found,) = diagnosis.jobs
    spans, at = found.timeline.spans, np.arange(20, dtype=np.int64) * 1_000_000_000 + diagnosis.source.start_ns
    start, end = np.tile(at, 2) + 5_000_000, np.tile(at, 2) + 7_000_000 + np.tile(np.arange(20), 2)
    sends = np.repeat([True, False], 20)
    more = Spans(
        np.concatenate([spans.start_ns, start]),
        np.concatenate([spans.end_ns, end]),
        np.concatenate([spans.rank, np.where(sends, 0, 2)]).astype(np.int32),
        np.concatenate([spans.phase, np.full(40, PHASES.index("pp"))]).astype(np.int8),
        np.concatenate([spans.peer, np.where(sends, 2, 0)]).astype(np.int32),
        np.concatenate([np.zeros(len(spans), np.int64), np.where(sends, 1_000_000, -1_000_000)]),
    )
    timeline = dataclasses.replace(found.timeline, spans=more)
    return dataclasses.replace(diagnosis, jobs=(dataclasses.replace(found, timeline=timeline),))


def test_arrows_lead_from_who_sends_to_who_is_sent(piped):
    made = json.loads(chrome_trace.dumps(piped))
    slices, names = tracks(made)
    arrows = {ph: {e["id"]: e for e in made["traceEvents"] if e["ph"] == ph and e["cat"] == "transfer"} for ph in "sf"}
    assert set(arrows["s"]) == set(arrows["f"]) == set(range(1, 21))
    for number, begun in arrows["s"].items():
        for event, endpoint in ((begun, "rank 0 · 10.10.0.1"), (arrows["f"][number], "rank 2 · 10.10.2.1")):
            at = (event["pid"], event["tid"])
            assert names[at].startswith(endpoint)
            (within,) = [s for s in slices[at] if s["ts"] <= event["ts"] <= s["ts"] + s["dur"] and s["name"] == "pp"]
            assert within["dur"] > 0
        assert arrows["f"][number]["bp"] == "e"
        assert begun["ts"] <= arrows["f"][number]["ts"]


def test_arrows_and_counters_are_bounded(piped):
    made = json.loads(chrome_trace.dumps(piped, arrows=5, values=80))
    kinds = Counter(event["ph"] for event in made["traceEvents"])
    assert (kinds["s"], kinds["f"]) == (10, 10)  # five transfers, five waits
    assert 0 < kinds["C"] <= 80 + 8
    longest = [
        e for e in json.loads(chrome_trace.dumps(piped, arrows=1))["traceEvents"] if e["ph"] == "s" and e["cat"] == "transfer"
    ]
    assert longest[0]["ts"] > 19_000_000


def test_counters_hold_all_that_was_moved(piped):
    by_name = defaultdict(list)
    for event in json.loads(chrome_trace.dumps(piped))["traceEvents"]:
        if event["ph"] == "C":
            by_name[event["name"]].append(event)
    assert set(by_name) == {f"10.10.{r}.1 · Gbit/s" for r in range(8)}
    for endpoint, way, other in (("10.10.0.1", "sent", "received"), ("10.10.2.1", "received", "sent")):
        shown = by_name[f"{endpoint} · Gbit/s"]
        gbit = sum((b["ts"] - a["ts"]) / 1e6 * a["args"][way] for a, b in pairwise(shown))
        assert gbit == pytest.approx(20 * 8e6 / 1e9, rel=0.02)
        assert all(e["args"][other] == 0 for e in shown)
        assert shown[-1]["args"] == {"sent": 0.0, "received": 0.0}


def test_without_octets_there_are_no_counters(made):
    assert not [e for e in made["traceEvents"] if e["ph"] in "Csf"]


def test_a_track_is_named_by_rank_host_and_gpu(diagnosis):
    endpoint = diagnosis.jobs[0].job.endpoints[5]
    topology = Topology({endpoint: Endpoint("server5", 3, "leaf1")})
    assert chrome_trace.track(diagnosis.jobs[0], 5, topology) == "rank 5 · server5 · GPU 3"
    assert chrome_trace.track(diagnosis.jobs[0], 4, topology) == f"rank 4 · {diagnosis.jobs[0].job.endpoints[4]}"


def test_findings_are_markers_where_they_begin(diagnosis):
    made = json.loads(chrome_trace.dumps(diagnosis))
    marks = [event for event in made["traceEvents"] if event["ph"] == "i"]
    assert len(marks) == len([one for one in diagnosis.findings if one.job == diagnosis.jobs[0].job.id])
    assert all(event["s"] == "p" and event["ts"] >= 0 for event in marks)


def test_waits_are_flows_between_the_phases_of_ranks(diagnosis):
    found = diagnosis.jobs[0]
    spans, phases = found.timeline.spans, found.timeline.phases
    idle = np.flatnonzero(phases.phase == PHASES.index("idle"))[:3]
    ends, ranks = phases.end_ns[idle], phases.rank[idle]
    peers = ((ranks + 1) % len(found.job.endpoints)).astype(np.int32)
    dp = np.full(3, PHASES.index("dp"), np.int8)
    received = Spans(ends, ends + 1000, ranks, dp, peers, np.full(3, -1000))
    timeline = dataclasses.replace(found.timeline, spans=received)
    made = json.loads(chrome_trace.dumps(dataclasses.replace(diagnosis, jobs=(dataclasses.replace(found, timeline=timeline),))))
    flows = [event for event in made["traceEvents"] if event.get("cat") == "wait"]
    assert [event["ph"] for event in flows] == ["s", "f"] * 3
    assert len(spans) != 3
    slices, names = tracks(made)
    for begin, end in zip(flows[::2], flows[1::2], strict=True):
        assert begin["ts"] <= end["ts"]
        for one, phase in ((begin, None), (end, "idle")):
            at = (one["pid"], one["tid"])
            [inside] = [s for s in slices[at] if s["ts"] <= one["ts"] < s["ts"] + s["dur"]]
            assert names[at].endswith("· phases")
            assert phase in (None, inside["name"])
