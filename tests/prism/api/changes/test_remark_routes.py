import httpx

from prism.api.server.web_server import served
from prism.service.tokens import Tokens
from tests.prism.api.conftest import make_feedback, make_service


def test_a_finding_is_acknowledged_marked_and_noted(tmp_path):
    tokens = Tokens(tmp_path / "tokens.json")
    admin, reader = tokens.create("ada", "admin"), tokens.create("bob", "read")
    service = make_service(feedback=make_feedback(tmp_path), tokens=tokens)
    case = service.boards.newest.cases[0]
    with served(service) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as api:
        api.headers["Authorization"] = f"Bearer {admin}"
        path = f"/findings/{case.id}/remarks"
        assert api.post(path, json={"act": "acknowledge"}).json()["by"] == "ada"
        assert api.post(path, json={"act": "false", "text": "a new kernel"}).status_code == 201
        (mark, care) = api.get("/remarks", params={"finding": case.id}).json()["items"]
        assert (mark["act"], mark["text"], care["act"]) == ("false", "a new kernel", "acknowledge")
        (label,) = api.get("/labels").json()["items"]
        assert (label["case"], label["right"], label["kind"]) == (case.id, False, case.finding.kind)
        assert label["ranks"] == 24
        assert "case,right" in api.get("/labels", headers={"Accept": "text/csv"}).text
        assert api.post(path, json={"act": "praise"}).status_code == 422
        assert api.post(path, json={"act": "note", "colour": 1}).status_code == 422
        assert api.post("/findings/none/remarks", json={"act": "note"}).status_code == 404
        assert api.post(path, json={"act": "note"}, headers={"Authorization": f"Bearer {reader}"}).status_code == 403


def test_a_service_that_keeps_none_says_so():
    with served(make_service()) as port:
        answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/remarks")
        assert (answer.status_code, "keeps no remarks" in answer.text) == (404, True)
        assert "remarks" not in httpx.get(f"http://127.0.0.1:{port}/api/v1").json()["links"]
