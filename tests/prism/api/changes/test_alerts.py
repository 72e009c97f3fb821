import httpx
import pytest

from prism.alerts.notifications import Notification
from prism.api.server.web_server import served
from tests.prism.alerts.stories import notification
from tests.prism.api.conftest import make_feedback, make_service


@pytest.fixture
def asked(tmp_path):
    sent = notification(name="prism_9", state="sent", tries=2, done_ns=5)
    service = make_service(feedback=make_feedback(tmp_path, notifications=lambda most: [sent][:most]))
    with served(service) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as api:
        yield api, service


def test_a_silence_says_what_it_matches(asked):
    api, service = asked
    case = service.boards.newest.cases[0]
    made = api.post("/silences", json={"finding": case.id, "minutes": 60, "why": "a new fan"})
    assert made.status_code == 201
    (one,) = api.get("/silences").json()["items"]
    assert (one["state"], one["why"], one["by"]) == ("active", "a new fan", "local")
    assert [match["finding"] for match in one["matches"]] == [case.id]
    other = api.post("/silences", json={"matchers": ["host=nobody"]}).json()
    assert other["matches"] == []
    assert api.delete(f"/silences/{one['id']}").status_code == 204
    assert api.delete(f"/silences/{one['id']}").status_code == 404
    assert {one["state"] for one in api.get("/silences").json()["items"]} == {"active", "ended"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"matchers": ["severity"]},
        {"matchers": ["colour=red"]},
        {"matchers": ["host=~("]},
        {"matchers": ["host=a"], "minutes": 0},
    ],
)
def test_what_would_silence_all_or_nothing_is_refused(asked, body):
    assert asked[0].post("/silences", json=body).status_code in (409, 422)


def test_notifications_are_listed_with_their_deliveries(asked):
    (one,) = asked[0].get("/notifications").json()["items"]
    assert (one["id"], one["state"], one["tries"], one["findings"]) == ("prism_9", "sent", 2, ["c1"])
    assert one["summary"].startswith("WARNING: Slow rank")
    assert isinstance(notification(), Notification)
