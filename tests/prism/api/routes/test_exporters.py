import time
from dataclasses import replace

import httpx

from prism.api.server.web_server import served
from prism.exporters.exporter_silence import ExporterReception
from prism.exporters.live_survey import Survey
from tests.prism.api.conftest import make_service, records
from tests.prism.exporters.test_live_survey import counters


def test_exporters_of_the_newest_window(api):
    (one,) = api.get("/exporters").json()["items"]
    assert (one["name"], one["records"], one["sampling"], one["offset_s"]) == ("leaf0", 40, 1, None)


def test_exporters_live_with_their_interfaces_and_losses():
    service = make_service()
    survey, now = Survey(), time.time_ns()
    made = records(service.boards.newest).between(0, 1 << 62)
    survey.add(
        replace(made, start_ns=made.start_ns - made.start_ns.max() + now, end_ns=made.end_ns - made.end_ns.max() + now + 10**9),
        now,
    )
    survey.count([counters(now, 5)])
    heard = {"leaf0": ExporterReception(now, 700, now), "leaf9": ExporterReception(now - 10**12)}
    with served(replace(service, survey=survey, heard=lambda: heard)) as port:
        one, silent = httpx.get(f"http://127.0.0.1:{port}/api/v1/exporters").json()["items"]
    assert (one["lost"], one["interfaces"][0]["interface"]) == (700, 49)
    assert any("ahead" in lack["what"] for lack in one["lacks"])
    assert [lack["what"] for lack in silent["lacks"]] == ["nothing was received for 1,000 s"]
