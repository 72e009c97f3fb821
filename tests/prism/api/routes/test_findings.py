import httpx


def test_findings_filtered_and_page_by_page(api, url):
    every = api.get("/findings").json()["items"]
    assert [one["state"] for one in every] == ["open", "closed"]
    assert [one["id"] for one in api.get("/findings", params={"state": "closed"}).json()["items"]] == ["closed"]
    first = api.get("/findings", params={"limit": 1})
    assert first.links["next"]["url"].endswith(first.json()["next"])
    second = api.get("/findings", params={"limit": 1, "cursor": first.json()["next"]}).json()
    assert [first.json()["items"][0]["id"], second["items"][0]["id"]] == [one["id"] for one in every]
    assert second["next"] is None
    assert httpx.get(url + first.links["next"]["url"]).json() == second


def test_findings_by_when_they_closed(api):
    first = api.get("/findings", params={"limit": 1, "order": "closed"}).json()
    assert first["items"][0]["id"] == "closed"
    rest = api.get("/findings", params={"limit": 1, "order": "closed", "cursor": first["next"]}).json()
    assert [one["state"] for one in rest["items"]] == ["open"]
    assert rest["next"] is None


def test_one_finding_and_whom_to_isolate(api):
    claim = api.get("/findings", params={"severity": "critical"}).json()["items"][0]
    more = api.get(f"/findings/{claim['id']}").json()
    assert more["job"]["id"] == "job-1"
    assert more["advice"]
    assert api.get("/findings/none").status_code == 404
    (host,) = api.get("/hosts").json()["items"]
    assert host["findings"] == [claim["id"]]
