import dataclasses
import json
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.model import Diagnosis, Layout, Parallelism, Severity, Timeline
from prism.report import json_report


def test_the_report_has_the_form_the_design_promises(diagnosis):
    made = json_report.to_json(diagnosis)
    assert made["schema"] == "prism-report/1"
    assert set(made["input"]) >= {"files", "packets", "flows", "skipped", "start_ns", "end_ns"}
    (job,) = made["jobs"]
    assert set(job) == {
        "id", "name", "endpoints", "silent", "hosts",
        "start_ns", "end_ns", "parallelism", "confidence", "alternatives", "groups", "pairs",
        "step_ms", "phases", "events", "ranks",
    }  # fmt: skip
    assert job["parallelism"] == {"dp": 2, "pp": 4, "tp": 1, "ep": 1, "cp": 1}
    assert job["groups"][0] == {"kind": "dp", "members": ["10.10.0.1", "10.10.1.1"], "evidence": "traffic", "confidence": 0.99}
    assert job["pairs"][0] == {"src": "10.10.0.1", "dst": "10.10.1.1", "kind": "dp", "octets": 4_000_000}
    assert job["step_ms"] == {"median": 1000.0, "p95": 1000.0}
    assert job["events"][0]["kind"] == "checkpoint"
    assert [r["stage"] for r in job["ranks"]] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(job["ranks"][0]["steps"]) == 20
    assert job["phases"] == job["ranks"][7]["phases"] == {"compute": 0.6, "dp": 0.35, "idle": 0.05}
    finding = made["findings"][0]
    assert set(finding) == {
        "detector", "kind", "job", "severity", "subject", "start_ns", "end_ns", "slowdown", "score", "message", "evidence",
        "confidence", "lost_gpu_seconds", "isolate", "title",
    }  # fmt: skip
    assert finding["subject"] == {"type": "endpoint", "ids": ["10.10.5.1"]}
    assert finding["severity"] == "critical"
    assert (finding["confidence"], finding["lost_gpu_seconds"]) == (0.97, 312.4)
    assert finding["isolate"] == {
        "hosts": ["server5"],
        "parts": [],
        "confidence": 0.93,
        "alternatives": [{"ids": ["server5"], "probability": 0.93}, {"ids": ["server4"], "probability": 0.07}],
    }


def plain(value):
    if isinstance(value, dict):
        return all(type(k) is str and plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return type(value) in (str, int, float, bool, type(None)) and value == value


def test_only_plain_and_finite_values(diagnosis):
    made = json_report.to_json(diagnosis)
    assert plain(made)
    assert made["findings"][0]["evidence"] == {"compute_ms": 61.2, "expected_ms": None, "ranks": [5]}


def test_text_is_the_same_report_with_a_step_on_one_line(diagnosis):
    text = json_report.dumps(diagnosis)
    assert json.loads(text) == json_report.to_json(diagnosis)
    first, last = diagnosis.jobs[0].timeline.steps[0][0]
    assert f"[{first}, {last}]" in text
    assert text.endswith("}\n")


def by_column(things):
    return json_report.Rows(one=[one for one, _ in things], other=[other for _, other in things])


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.floats().map(np.float64)
arrays = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 2**62)), max_size=3).map(lambda rows: np.array(rows, np.int64))
values = st.recursive(
    leaves | arrays | st.sampled_from(Severity),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.lists(st.tuples(inner, inner), max_size=3).map(by_column)
    ),
)


@given(values)
def test_text_is_as_json_writes_it(value):
    twin = json.dumps(json_report._plain(value), indent=1, allow_nan=False)
    twin = re.sub(r"\[\n\s*(-?\d+),\n\s*(-?\d+)\n\s*\]", r"[\1, \2]", twin)
    assert json_report._text(value, "\n") == twin


@given(st.lists(st.tuples(leaves, leaves), max_size=4))
def test_what_is_identified_by_column_is_as_one_by_one(things):
    assert json_report._plain(by_column(things)) == json_report._plain([{"one": one, "other": other} for one, other in things])


def test_times_keep_every_nanosecond(diagnosis):
    assert json.loads(json_report.dumps(diagnosis))["jobs"][0]["ranks"][0]["steps"][0][0] == diagnosis.jobs[0].job.start_ns


def test_a_job_of_which_little_is_known(diagnosis):
    found = diagnosis.jobs[0]
    bare = dataclasses.replace(
        found,
        parallelism=Parallelism(Layout(pp=2), (), ()),
        timeline=Timeline(tuple(np.zeros((0, 2), np.int64) for _ in found.job.endpoints), (), found.timeline.spans),
    )
    (job,) = json_report.to_json(dataclasses.replace(diagnosis, jobs=(bare,)))["jobs"]
    assert job["step_ms"] == {"median": None, "p95": None}
    assert job["ranks"][0] == {"endpoint": "10.10.0.1", "stage": None, "steps": [], "phases": {}}


def test_an_empty_diagnosis(diagnosis):
    made = json_report.to_json(Diagnosis(diagnosis.source, (), ()))
    assert made["jobs"] == []
    assert made["findings"] == []
