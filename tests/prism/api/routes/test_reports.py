import httpx

from prism.api.server.web_server import served
from tests.prism.api.conftest import make_feedback, make_service


def test_lost_hours_by_host_without_those_marked_as_false(tmp_path):
    service = make_service(feedback=make_feedback(tmp_path))
    case = service.boards.newest.cases[0]
    with served(service) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as api:
        (row,) = api.get("/reports/lost", params={"by": "host"}).json()["items"]
        assert (row["name"], row["number"], row["again"]) == (case.finding.isolate.hosts[0], 1, False)
        assert api.get("/reports/lost", headers={"Accept": "text/csv"}).text.startswith("name,gpu_hours,number")
        assert "GPU-hours lost" in api.get("/reports/lost.html", params={"days": 30}).text
        assert api.get("/reports/lost", params={"end_ns": 5}).json()["items"] == []
        api.post(f"/findings/{case.id}/remarks", json={"act": "false"})
        assert api.get("/reports/lost").json()["items"] == []


def test_openmetrics_have_exemplars_and_the_old_text_has_none():
    with served(make_service()) as port:
        url = f"http://127.0.0.1:{port}/metrics"
        new = httpx.get(url, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        old = httpx.get(url)
    assert new.headers["content-type"].startswith("application/openmetrics-text")
    assert '# {finding="' in new.text
    assert "# {" not in old.text
    assert 'prism_job_findings_total{job="job-1"' in old.text


def test_annotations_of_some_jobs_and_a_time(api):
    (one,) = api.get("/annotations").json()["items"]
    assert one["time"] < one["timeEnd"]
    assert api.get("/annotations", params={"jobs": ".*"}).json()["items"] == [one]
    assert api.get("/annotations", params={"jobs": "another"}).json()["items"] == []
    assert api.get("/annotations", params={"until_ns": 5}).json()["items"] == []


def test_effective_training_time_of_jobs(api):
    (row,) = api.get("/reports/ettr").json()["items"]
    assert row["job"] == "job-1"
    assert 0 < row["ratio"] <= 1
    assert set(row["lost_s"]) == {"warm-up", "hang", "crash", "restart", "repeated"}
    assert "Effective training time" in api.get("/reports/lost.html").text
