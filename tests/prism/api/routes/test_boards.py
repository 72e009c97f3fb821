from dataclasses import replace

import httpx
import pytest

from prism.api.server.web_server import served
from tests.prism.api.conftest import RANKS, STEPS


def test_every_part_of_a_job_can_be_read(api):
    (job,) = api.get("/jobs").json()["items"]
    path = f"/jobs/{job['id']}"
    assert len(api.get(path).json()["ranks"]) == RANKS
    assert len(api.get(path, params={"ranks": "2:5"}).json()["ranks"]) == 3
    heat = api.get(f"{path}/steps", params={"ranks": "0:4", "measure": "forward"}).json()["heat"]
    assert (len(heat["value"]), len(heat["value"][0])) == (4, STEPS)
    assert api.get(f"{path}/timeline", params={"level": "phases"}).json()["level"] == "phases"
    assert api.get(f"{path}/graph", params={"by": "leaf"}).json()["by"] == "leaf"
    for part in ("", "/steps", "/timeline", "/graph"):
        assert api.get(f"/jobs/none{part}").status_code == 404


def test_switches_of_the_newest_window_or_of_any_time(api, service):
    shown = api.get("/switches").json()
    window = service.boards.newest.windows[0]
    assert (shown["start_ns"], shown["end_ns"]) == (str(window.start_ns), str(window.end_ns))
    leaf = next(item for item in shown["items"] if item["id"] == "leaf0")
    assert (leaf["octets_out"], leaf["ecn"]) == (40_000, 40)
    assert api.get("/switches", params={"start_ns": 0, "end_ns": 1}).json()["items"][0]["octets_out"] == 0


def test_more_records_than_are_examined_are_reported(service):
    with served(replace(service, limits=replace(service.limits, looked_at=5))) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/api/v1/switches").json()["truncated"] is True


def test_flow_records_of_a_pair(api, service):
    a, b = service.boards.newest.jobs[0].found.job.endpoints[:2]
    rows = api.get("/flows", params={"src": a, "dst": b, "limit": 5}).json()["items"]
    assert len(rows) == 5
    assert {(row["src"], row["dst"]) for row in rows} == {(a, b)}
    assert len(api.get("/flows", params={"src": a, "dst": b, "start_ns": rows[3]["start_ns"]}).json()["items"]) == 17


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/jobs", {"limit": 0}),
        ("/jobs", {"cursor": "x"}),
        ("/board", {"replay": "../../etc"}),
        ("/flows", {"src": "a"}),
        ("/switches", {"start_ns": 2**63}),
        ("/jobs/job-1/steps", {"measure": "everything"}),
        ("/jobs/job-1/timeline", {"ranks": "5"}),
        ("/findings", {"kind": "' OR 1=1 --"}),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_place(api, path, parameters):
    answer = api.get(path, params=parameters)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["where"].startswith("query.")
