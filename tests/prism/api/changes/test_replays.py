import json

import httpx
import pytest

from prism.api.server.web_server import served
from tests.prism.api.conftest import make_service
from tests.prism.api.routes.test_events import events

NAMES = ("leaf0", "leaf1", "spine0")


def test_a_capture_is_uploaded_followed_and_read(api, url, pcaps):
    case = pcaps / "slow_uplink"
    files = [("files", (f"{name}.pcap.gz", (case / f"{name}.pcap.gz").read_bytes())) for name in NAMES]
    topology = [("topology", ("topology.json", (case / "topology.json").read_bytes()))]
    with httpx.stream("GET", f"{url}/api/v1/events", timeout=300) as stream:
        answer = api.post("/replays", files=files + topology)
        assert answer.status_code == 202
        one = answer.json()
        assert answer.headers["location"] == f"/api/v1/replays/{one['id']}"
        if one["state"] != "done":
            assert api.get(f"/board{one['board']}").status_code == 404
        for event in (told for told in events(stream.iter_lines()) if "data" in told):  # the others keep the stream open
            said = json.loads(event["data"])
            if event["event"] == "replay" and said["id"] == one["id"] and said["state"] in ("done", "failed"):
                break
    assert said["state"] == "done", said["error"]
    board = api.get(f"/board{one['board']}").json()
    assert board["source"]["files"] == [f"{name}.pcap.gz" for name in NAMES]
    assert (board["mode"], board["age_s"]) == ("replay", None)
    findings = api.get(f"/findings{one['board']}").json()["items"]
    assert "slow_link" in [found["finding"]["kind"] for found in findings]
    links = api.get(f"/switches{one['board']}").json()["links"]
    assert all(link["octets"] > 0 for link in links)
    assert api.get("/board").json()["source"]["files"] == ["simulated"]
    assert one["id"] in [listed["id"] for listed in api.get("/replays").json()["items"]]
    assert api.delete(f"/replays/{one['id']}").status_code == 204
    assert api.get(f"/board{one['board']}").status_code == 404


@pytest.mark.parametrize(
    ("parts", "status", "why"),
    [
        ([], 422, "body.files: is missing; send it"),
        ([("files", ("a.pcap", b"x")), ("topology", ("t", b"\xff\xfe"))], 422, "UTF-8"),
        ([("files", ("a.pcap", b"x")), ("topology", ("t", b'{"endpoints": 3}'))], 422, "endpoints"),
        ([("files", (f"{i}.pcap", b"x")) for i in range(65)], 422, "at most 64"),
        ([("files", ("a.pcap", b"x")), ("placement", ("t.json", b"{}"))], 422, "a topology in 'topology'"),
        (
            [("files", ("a.pcap", b"x")), ("topology", ("a", b"{}")), ("topology", ("b", b"{}"))],
            422,
            "'topology': more than one",
        ),
        ([("files", ("a.pcap", b"x")), ("hints", ("h", b'{"sites": {}}'))], 422, "hints: unknown key 'sites'"),
    ],
)
def test_what_cannot_be_replayed_is_refused_at_once(api, uploads, parts, status, why):
    before = sorted(uploads.folder.iterdir())
    answer = api.post("/replays", files=parts)
    assert answer.status_code == status
    assert why in answer.json()["detail"]
    assert sorted(uploads.folder.iterdir()) == before


def test_without_a_spool_nothing_is_taken():
    with served(make_service()) as port:
        url = f"http://127.0.0.1:{port}/api/v1/replays"
        assert httpx.post(url, files=[("files", ("a", b"x"))]).status_code == 404
        assert httpx.get(url).json()["items"] == []
        assert httpx.get(f"{url}/0123456789abcdef").status_code == 404


def test_a_replay_that_runs_is_cancelled_and_then_forgotten(api, pcaps):
    name = pcaps / "hang" / "leaf0.pcap.gz"
    one = api.post("/replays", files=[("files", ("leaf0.pcap.gz", name.read_bytes()))]).json()
    while (state := api.get(f"/replays/{one['id']}").json()["state"]) == "queued":
        pass
    assert state == "running"
    answer = api.delete(f"/replays/{one['id']}")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    assert api.delete(f"/replays/{one['id']}").status_code == 204
    assert api.get(f"/replays/{one['id']}").status_code == 404
