"""Logs of a recorded hang, joined with its flows by a service."""

import json
import time

import httpx
import pytest

from prism.api.server.web_server import served
from prism.past.uploads import Bounds, Uploads
from prism.service.service_settings import Service
from prism.tracking.board import Boards
from tests.prism.web.conftest import GENEROUS, PCAPS, recorded

LATE = b"RuntimeError: [x/gloo/transport/tcp/pair.cc:5] Timed out waiting 6000ms for recv operation to complete\n"


@pytest.fixture(scope="module")
def hang(tmp_path_factory):
    board, records = recorded("hang")
    with (
        Uploads(tmp_path_factory.mktemp("spool"), Bounds(seconds=300)) as uploads,
        served(Service(Boards(board), records, "live", uploads=uploads, limits=GENEROUS)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=60) as api,
    ):
        yield api, board


def logs_of_the_hang():
    """All ranks but the culprit print the time-out."""
    truth = json.loads((PCAPS / "hang" / "truth.json").read_text())
    guilty = truth["faults"][0]["ranks"]
    ranks = next(iter(truth["jobs"].values()))["ranks"]
    texts = [(rank["rank"], b"step 1 loss 1\n" + LATE * (rank["rank"] not in guilty)) for rank in ranks]
    return [("logs", (f"server{rank}/rank{rank}.log", text, "text/plain")) for rank, text in texts], guilty[0]


def over(api, id_):
    for _ in range(600):
        told = api.get(f"/replays/{id_}").json()
        if told["state"] in ("done", "failed", "cancelled"):
            return told
        time.sleep(0.2)
    raise TimeoutError


def test_logs_are_joined_with_the_flows_around_a_finding(hang):
    api, board = hang
    case = next(case for case in board.cases if case.finding.kind == "hang")
    files, guilty = logs_of_the_hang()
    made = api.post("/incidents", data={"finding": case.id}, files=files)
    assert made.status_code == 202, made.text
    told = over(api, made.json()["id"])
    assert (told["state"], told["incident"], told["finding"], told["logs"]) == ("done", True, case.id, len(files)), told
    (brief,) = api.get("/incidents", params={"finding": case.id}).json()["items"]
    whole = api.get(f"/incidents/{brief['id']}").json()
    assert whole["node"] == brief["node"] == f"server{guilty}"
    assert whole["endpoints"] == [f"10.10.{guilty}.1"]
    assert whole["cause"] == "peer"
    assert whole["last_payload"][0]["endpoint"] == whole["endpoints"][0]  # before the hang, not at the end of the records
    assert whole["witnesses_agree"] is True
    assert whole["logs"]["lines"][0]["text"].startswith("RuntimeError")
    assert api.get("/board", params={"replay": brief["id"]}).json()["source"]["flows"] > 0
    assert api.get("/incidents", params={"finding": "other"}).json()["items"] == []


def test_what_is_not_known_is_reported(hang):
    api, board = hang
    files, _ = logs_of_the_hang()
    assert api.post("/incidents", data={"finding": "x"}, files=files[:1]).status_code == 404
    assert api.post("/incidents", data={"finding": board.cases[0].id}).status_code == 422
    assert api.get("/incidents/0123456789abcdef").status_code == 404
