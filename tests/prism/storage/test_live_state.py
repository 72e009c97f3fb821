import json
import time
from dataclasses import replace

import pytest

from collectors.clickhouse import drivers
from prism.model import Job
from prism.report.json_report import finding_json
from prism.storage.live_state import CASES, State, finding_from, job_from, job_json, tracked_from, tracked_json
from prism.tracking.board import Case, Gap, Window
from prism.tracking.case_tracking import TrackedFinding
from prism.tracking.job_tracking import Followed

NOW = time.time_ns()


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    pytest.importorskip("chdb")
    made = drivers.opened(str(tmp_path_factory.mktemp("store")))
    yield made
    made.close()


def job(step=1.4e9):
    return Followed(
        Job("ab12", ("10.0.0.1", "10.0.0.2"), ("server0",), NOW, NOW),
        NOW,
        step_ns=step,
        talked_ns=NOW,
        layouts=(((2, 1, 1, 1, 1), 0.9),),
    )


def test_a_finding_comes_back_from_its_json(make_finding):
    finding = make_finding()
    told = json.loads(json.dumps(finding_json(finding)))
    assert finding_json(finding_from(told)) == finding_json(finding)


def test_jobs_and_cases_come_back_as_they_were_last(database, make_finding):
    state = State(database)
    entry = TrackedFinding(Case("c0", make_finding(), "open", NOW + 5, NOW + 5), 0.1, NOW, told=True)
    state.save([job()], [entry, replace(entry, told=False)], [Window(NOW, NOW + 9, 5)], NOW + 9)
    closed = replace(entry, case=replace(entry.case, state="closed", closed_ns=NOW + 19))
    state.save([job(1.41e9)], [closed], [Window(NOW + 9, NOW + 19, 5, 1, 0.5)], NOW + 19)
    jobs, tracked, until, *_ = State(database).load()
    assert until == NOW + 19
    assert [one.job for one in jobs] == [job().job]
    assert abs(jobs[0].step_ns / 1.4e9 - 1) < 0.05
    (again,) = tracked
    assert (again.case.id, again.case.state, again.case.opened_ns) == ("c0", "closed", NOW + 5)
    assert json.dumps(tracked_json(again)) == json.dumps(tracked_json(closed))


def test_what_is_no_case_is_counted_and_skipped(database):
    state = State(database)
    columns = {"id": ["bad"], "version": [1], "begun_ns": [NOW], "state": ["open"], "told": ['{"case": 3}']}
    database.insert(CASES, columns, token="bad")
    state.load()
    assert state.unread["cases"] == 1


def test_json_of_jobs_and_trails_is_plain(make_finding):
    assert job_from(json.loads(json.dumps(job_json(job())))).job == job().job
    entry = TrackedFinding(Case("c0", make_finding(), "open", 5, 5, usual={"step": 2.5}), 0.1, 4, told=True, usual_ns=3.5)
    again = tracked_from(json.loads(json.dumps(tracked_json(entry))))
    assert (again.usual_ns, again.case.usual) == (3.5, {"step": 2.5})


def test_windows_and_gaps_come_back_the_newest_first(database):
    at = NOW + 1_000_000
    state, shown = State(database), [Window(at + i, at + i + 1, i, 2, 0.5) for i in range(5)]
    before = state.load()
    lasting = Gap(at, 0, "restart")
    for i, window in enumerate(shown):
        state.save([], [], [window], window.end_ns, [lasting if i < 3 else replace(lasting, end_ns=at + 4)])
    state.save([], [], [shown[-1]], shown[-1].end_ns, [replace(lasting, end_ns=at + 4)])  # nothing new
    again = State(database).load()
    assert again.windows == (*reversed(shown), *before.windows)
    assert again.gaps == (replace(lasting, end_ns=at + 4), *before.gaps)
    assert again.until_ns == shown[-1].end_ns
    rows = int(database.query("SELECT count() AS n FROM gaps")["n"][0])
    assert rows <= 2
