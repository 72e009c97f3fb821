import httpx

from prism.alerts.alert_settings import Hook, Secret
from prism.alerts.matchers import parse_matcher
from prism.api.server.web_server import served
from tests.prism.alerts.stories import LOOPBACK
from tests.prism.api.conftest import make_feedback, make_service
from tests.prism.receivers import listening, until

SECRETS = (Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),)


def test_an_action_is_proposed_approved_and_done(tmp_path):
    with listening() as heard:
        hooks = (
            Hook("drain", Secret(heard.url + "/drain"), SECRETS, "Drain the host", allow=LOOPBACK),
            Hook("other", Secret(heard.url), SECRETS, match=(parse_matcher("subject=switch"),)),
        )
        service = make_service(feedback=make_feedback(tmp_path, hooks=hooks))
        case = service.boards.newest.cases[0]
        with served(service) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as api:
            drain, other = api.get("/hooks").json()["items"]
            assert (drain["title"], drain["dry_run"], drain["findings"]) == ("Drain the host", True, [case.id])
            assert other["findings"] == []
            assert api.post("/actions", json={"hook": "x", "finding": case.id}).status_code == 404
            assert api.post("/actions", json={"hook": "drain", "finding": case.id, "dry_run": False}).status_code == 409
            made = api.post("/actions", json={"hook": "drain", "finding": case.id}).json()
            assert (made["state"], made["dry_run"]) == ("proposed", True)
            assert api.post(f"/actions/{made['id']}", json={"approved": True}).json()["state"] == "approved"
            until(lambda: api.get("/actions").json()["items"][0]["state"] == "done")
            assert api.post(f"/actions/{made['id']}", json={"approved": False}).status_code == 409
            assert api.post(f"/actions/act_{'0' * 16}", json={"approved": False}).status_code == 404
        service.feedback.desk.close()
        assert len(heard.posts) == 1
