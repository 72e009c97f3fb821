import httpx
import pytest

from prism.api.server.web_server import served
from tests.prism.api.conftest import make_service


def test_rates_of_each_kind(api, service):
    board = service.boards.newest
    source = board.source
    a, b = board.jobs[0].found.job.endpoints[:2]
    asked = {"start_ns": source.start_ns, "end_ns": source.start_ns + 50_000, "bins": 5}
    found = api.get("/rates", params=asked).json()
    assert {(one["id"], one["way"]) for one in found["items"]} == {(a, "out"), (a, "in"), (b, "out"), (b, "in")}
    assert len(found["items"][0]["gbit_s"]) == 5
    assert found["items"][0]["speed_gbit_s"] is None
    (pair,) = api.get("/rates", params={**asked, "by": "pair", "id": f"{a}>{b}"}).json()["items"]
    assert pair["mean_gbit_s"] == pytest.approx(20 * 1000 * 8 / 50_000)
    assert {one["id"] for one in api.get("/rates", params={**asked, "by": "link"}).json()["items"]} == {"leaf0>spine0"}
    assert api.get("/rates", params={**asked, "by": "switch", "limit": 1}).json()["items"][0]["id"] in ("leaf0", "spine0")
    assert api.get("/rates", params={"job": "none"}).status_code == 404
    assert api.get("/rates", params={**asked, "job": board.jobs[0].id}).json()["items"]


def test_a_culprit_beside_its_peers(api, service):
    case = service.boards.newest.cases[0]
    found = api.get(f"/findings/{case.id}/rates").json()
    assert found["ids"] == list(case.finding.ids)
    assert api.get("/findings/none/rates").status_code == 404


def test_without_records_there_are_no_rates():
    with served(make_service(records=None)) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/api/v1/rates").status_code == 404
