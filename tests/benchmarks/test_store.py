import time

import pytest

from benchmarks import store
from collectors.clickhouse.drivers import opened
from prism.storage.stored_flows import StoredRecords
from tests.collectors.builders import servers


def test_the_sink_is_measured_against_the_engine(capsys):
    assert store.main(["--rows", "2000", "--only", "embedded"]) == 0
    assert "× raw" in capsys.readouterr().out


def test_rows_that_the_engine_makes_are_like_those_that_are_written(tmp_path):
    database, end = opened(str(tmp_path)), time.time_ns()  # a merge drops what is older than rows are kept for
    stored = StoredRecords(database)
    store.fill(database, 100_000, end)
    found = stored.between(0, end)
    database.close()
    meant = store.cluster(100_000, 1, end - 600 * 10**9, 600 * 10**9)
    assert found.start_ns.min() >= meant.start_ns[0] - 10**9
    for name in ("src", "dst", "octets", "packets", "dst_qp", "exporter", "path"):
        ours, theirs = getattr(found, name), getattr(meant, name)
        assert abs(ours.mean() - theirs.mean()) < 0.02 * theirs.mean() + 0.5, name
        assert abs(len(set(ours.tolist())) - len(set(theirs.tolist()))) <= 0.02 * len(set(theirs.tolist())), name


@pytest.mark.parametrize("kind", ["embedded", "server"])
def test_questions_have_answers(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MAX_ROWS", 20_000)
    if kind == "embedded":
        found = dict(store.asked(str(tmp_path / "store"), 40_000))
    else:
        with servers.running(tmp_path) as server:
            found = dict(store.asked(server.url, 40_000))
    assert found.pop("rows") == 40_000
    assert found.pop("parts") > 0
    assert len(found) == 3
    assert all(ms > 0 for ms in found.values())
