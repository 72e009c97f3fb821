import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from collectors.clickhouse import drivers
from collectors.columns.record import Flows
from collectors.store import flow_rows
from prism.cli.main import app
from prism.recordings.stored_replay import through

pytest.importorskip("chdb")
PCAPS = Path(__file__).parents[3] / "pcaps"


def test_records_that_went_through_the_store_give_the_same_result_and_are_there_once(tmp_path):
    folder = PCAPS / "two_jobs"
    told = []
    for again in range(3):
        out, store = tmp_path / f"{again}.json", ["--store", str(tmp_path / "store")] if again else []
        captures = [str(path) for path in sorted(folder.glob("*.pcap.gz"))]
        words = ["replay", *captures, "--topology", str(folder / "topology.json"), "--json", str(out), *store]
        assert CliRunner().invoke(app, words).exit_code == 0
        told.append(json.loads(out.read_text()))
    for report in told[1:]:
        assert report["input"] == told[0]["input"]
        for job, own in zip(report["jobs"], told[0]["jobs"], strict=True):
            assert {key: job[key] for key in ("id", "endpoints", "parallelism", "step_ms")} == {
                key: own[key] for key in ("id", "endpoints", "parallelism", "step_ms")
            }
            assert [rank["steps"] for rank in job["ranks"]] == [rank["steps"] for rank in own["ranks"]]


def test_what_a_store_would_drop_at_once_is_refused(tmp_path):
    database = drivers.opened(str(tmp_path))
    for table in flow_rows.tables_kept_for(86_400):
        database.create(table)
    database.close()
    old = Flows.build({"start_ns": [10**9], "end_ns": [10**9], "src": [0], "dst": [1]}, endpoints=("10.0.0.1", "10.0.0.2"))
    with pytest.raises(ValueError, match="keeps records for 1 days, and these are older; use a longer --keep or another store"):
        through(str(tmp_path), old)


def test_ends_that_are_no_addresses_are_refused_and_nothing_is_nothing(tmp_path):
    odd = Flows.build({"start_ns": [5], "end_ns": [6], "src": [0], "dst": [1]}, endpoints=("a", "b"))
    with pytest.raises(ValueError, match="names instead of IP addresses"):
        through(str(tmp_path / "store"), odd)
    assert len(through(str(tmp_path / "store"), odd.take(np.zeros(0, np.int64)))) == 0
    assert not (tmp_path / "store").exists()
