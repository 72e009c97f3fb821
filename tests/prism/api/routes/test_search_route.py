def test_things_are_found_by_name(api, service):
    job = service.boards.newest.jobs[0]
    host = job.found.job.hosts[1]
    items = api.get("/search", params={"q": host}).json()["items"]
    assert (items[0]["type"], items[0]["id"], items[0]["jobs"]) == ("host", host, [job.id])
    assert api.get("/search", params={"q": host, "type": "switch"}).json()["items"] == []
    assert len(api.get("/search", params={"q": "server", "limit": 2}).json()["items"]) == 2
    assert api.get("/search").status_code == 400
    assert api.get("/search", params={"q": "a", "type": "planet"}).status_code == 400
    assert api.get("/search", params={"q": host}, headers={"Accept": "text/csv"}).text.startswith("type,id,title")
