import pytest

from tests.prism.receivers import until


def test_a_time_is_diagnosed_again(api, service):
    source = service.boards.newest.source
    made = api.post("/diagnoses", json={"start": source.start_ns, "end": "2026-11-30T00:00:00Z"})
    assert made.status_code == 202, made.text
    told = made.json()
    assert made.headers["location"] == f"/api/v1/replays/{told['id']}"
    until(lambda: api.get(f"/replays/{told['id']}").json()["state"] in ("done", "failed"), 300)
    assert api.get("/board", params={"replay": told["id"]}).json()["source"]["flows"] == 40
    assert api.post("/diagnoses", json={"start": source.start_ns, "end": "2026-11-30T00:00:00Z"}).json()["id"] == told["id"]
    assert api.delete(f"/replays/{told['id']}").status_code == 204  # other tests share the service


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"start": 1, "end": 2}, 404),
        ({"start": 2, "end": 1}, 409),
        ({"start": "soon", "end": 2}, 409),
        ({"start": 1, "end": 2, "hints": {"colour": 1}}, 409),
        ({"start": 1}, 422),
        ({"start": 1, "end": 2, "colour": 1}, 422),
    ],
)
def test_what_cannot_be_diagnosed_is_reported(api, body, status):
    assert api.post("/diagnoses", json=body).status_code == status


def test_two_jobs_are_compared(api, service):
    id_ = service.boards.newest.jobs[0].id
    found = api.get("/compare", params={"a": id_, "b": id_}).json()
    assert {row["ratio"] for row in found["rows"]} <= {1.0, None}
    assert found["common"]["endpoints"] == 24
    assert api.get("/compare", params={"a": id_, "b": "none"}).status_code == 404
    assert api.get("/compare", params={"a": id_, "b": id_, "replay_b": "0" * 16}).status_code == 404
