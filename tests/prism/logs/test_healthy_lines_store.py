from types import SimpleNamespace

import pytest

from collectors.clickhouse import drivers
from prism.logs.healthy_lines_store import HealthyStore, stopped
from prism.logs.parsing.iterations import Mark
from prism.logs.parsing.log_scanner import Kinds, scan
from tests.prism.alerts.stories import NOW, S, case, finding


@pytest.fixture
def database(tmp_path):
    made = drivers.opened(str(tmp_path / "store"))
    yield made
    made.close()


def events(text):
    return scan("a", [text], Kinds()).events()


def test_lines_of_healthy_runs_outlive_a_restart(database):
    kept = HealthyStore(database)
    assert kept.load().templates == ()
    kept.learn(events(b"ERROR: no ninja found\nERROR: retry 5 failed\n"))
    known = HealthyStore(database).learn(events(b"ERROR: retry 9 failed\n"))
    assert len(known.templates) == 2
    assert known.runs == 2
    assert known.drain().match("ERROR: retry 7 failed") is not None


def test_a_run_that_hung_is_not_healthy():
    hung = case("c7", finding("hang", start=NOW))
    state = SimpleNamespace(cases=lambda since: [one for one in (case(), hung) if one.finding.end_ns >= since])
    marks = [[Mark(1, 5, NOW - 9 * S, 1.0), Mark(2, 6, NOW + S, 1.0)], [Mark(1, 5, None, 1.0)]]
    assert stopped(state, marks) == "hang of job job1 (finding c7)"
    assert stopped(state, [[Mark(1, 5, NOW - 9 * S, 1.0)]]) == ""
    assert stopped(state, [[Mark(1, 5, None, 1.0)]]) == ""
