def test_ranks_by_deviation(api):
    case = api.get("/findings").json()["items"][0]["id"]
    made = api.get("/jobs/job-1/arranged", params={"finding": case}).json()
    assert made["rows"][0]["rank"] == 8
    assert len(made["rows"]) == 24
    assert api.get("/jobs/job-1/arranged").json()["own_past"] is False
    assert api.get("/jobs/job-1/arranged", params={"finding": "x"}).status_code == 404
    assert api.get("/jobs/other/arranged").status_code == 404


def test_phases_of_groups(api):
    made = api.get("/jobs/job-1/shares", params={"singles": "8", "bins": 20}).json()
    assert [row["rank"] for row in made["rows"]] == [8, None, None]
    assert [len(row) for row in made["share"]] == [20] * 3
    assert api.get("/jobs/job-1/shares", params={"singles": "a"}).status_code == 400
