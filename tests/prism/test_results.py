"""Conversions of diagnoses and recordings to dicts and Arrow tables."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import prism
from collectors.columns.record import COLUMNS, Flows
from collectors.packets.plain_decoder import DecodeError
from prism.report import json_report
from prism.results import TABLES, Recording, flows_of, table_of


@pytest.fixture(scope="module")
def run():
    return prism.simulate("slow-rank", seed=1)


@pytest.fixture(scope="module")
def found(run):
    return prism.diagnose(run, topology=run.topology)


def test_a_diagnosis_becomes_the_report(found):
    assert found.to_dict() == json.loads(found.to_json())
    assert found.to_dict()["schema"] == json_report.SCHEMA
    assert found.to_dict()["findings"][0]["title"].endswith("(server5)")


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_the_same_columns_with_and_without_rows(found, table):
    nothing = prism.diagnose(Flows.build({"start_ns": []}, endpoints=()))
    assert nothing.to_arrow(table).schema == found.to_arrow(table).schema
    assert len(nothing.to_arrow(table)) == 0
    assert len(found.to_arrow(table)) > 0


def test_tables_hold_what_the_report_holds(found):
    (job,) = found.to_dict()["jobs"]
    (row,) = found.to_arrow("jobs").to_pylist()
    assert (row["dp"], row["pp"], row["ranks"]) == (2, 4, 8)
    assert row["step_ms"] == job["step_ms"]["median"]
    steps = found.to_arrow("steps").to_pandas()
    for rank in job["ranks"]:
        own = steps[steps.endpoint == rank["endpoint"]]
        assert own[["start_ns", "end_ns"]].to_numpy().tolist() == rank["steps"]
        assert own["step"].tolist() == list(range(len(own)))
    pairs = found.to_arrow("pairs").to_pylist()
    assert [{name: pair[name] for name in ("src", "dst", "kind", "octets")} for pair in pairs] == job["pairs"]
    findings = found.to_arrow("findings").to_pylist()
    assert [one["title"] for one in findings] == [one["title"] for one in found.to_dict()["findings"]]


def test_phases_fill_the_steps(found):
    table = found.to_arrow("phases").to_pandas()
    shares = (table.end_ns - table.start_ns).groupby(table.phase).sum()
    expected = found.to_dict()["jobs"][0]["phases"]
    assert (shares / shares.sum()).round(4).to_dict() == pytest.approx(expected, abs=1e-4)


def test_an_unknown_table_is_refused_with_the_names_of_all(found):
    with pytest.raises(ValueError, match=r"'ranks': no such table; tables: jobs, steps, phases, pairs, findings"):
        found.to_arrow("ranks")


def test_records_go_through_a_table_unchanged(run):
    back = flows_of(table_of(run.flows))
    for column in COLUMNS:
        if column.name not in ("src", "dst", "exporter", "path"):
            assert np.array_equal(getattr(back, column.name), getattr(run.flows, column.name)), column.name
    assert table_of(back).to_pylist()[:50] == run.to_arrow().to_pylist()[:50]


def test_tables_of_other_libraries_are_read(run, found):
    frame = run.to_arrow().to_pandas()
    frame = frame.astype(dict.fromkeys(("src", "dst", "exporter", "path"), str))
    again = prism.diagnose(frame, topology=run.topology)
    assert again.to_dict()["jobs"][0]["parallelism"] == found.to_dict()["jobs"][0]["parallelism"]
    assert isinstance(frame, pd.DataFrame)


def test_a_table_without_octets_names_what_is_missing():
    table = pa.table({"start_ns": [1], "end_ns": [2], "src": ["10.0.0.1"], "dst": ["10.0.0.2"]})
    with pytest.raises(DecodeError, match=r"^table: missing column octets; its columns: start_ns, end_ns, src, dst"):
        flows_of(table)


def test_a_table_with_mostly_bad_rows_is_refused():
    bad = {"start_ns": [1, 2], "end_ns": [2, 3], "src": ["a", "b"], "dst": ["c", "d"], "octets": [1, 1]}
    with pytest.raises(DecodeError, match="bad address in src"):
        flows_of(pa.table(bad))


def test_a_recording_says_what_was_read(run):
    assert Recording(run.flows, run.transits, run.source).to_dict()["flows"] == len(run) == len(run.flows)
    assert run.to_dict() is run.truth
