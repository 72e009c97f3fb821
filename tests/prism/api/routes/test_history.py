def test_a_job_without_transfers_has_no_history(api):
    told = api.get("/jobs/job-1/history").json()
    assert (told["job"], told["known"], told["runs"], told["changed"]) == ("job-1", False, [], [])
    assert api.get("/jobs/other/history").status_code == 404
