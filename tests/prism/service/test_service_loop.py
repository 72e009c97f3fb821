"""What operators do with a running service: names, search, remarks, silences, actions, the time machine; and a restart."""

import json
import time
import urllib.request
from contextlib import ExitStack

import pytest

from tests.collectors.builders.toys import until
from tests.prism.exporting import Datagrams, exporting
from tests.prism.receivers import listening
from tests.prism.service.test_service_whole import ALERTS, SLOW, Service, simulated

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def post(service, path, **body):
    asked = urllib.request.Request(
        f"{service.url}/api/v1{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def test_the_loop_is_closed_on_a_running_service(tmp_path):
    pytest.importorskip("chdb")
    run = simulated()
    (tmp_path / "topology.json").write_text(json.dumps(run.topology))
    hosts = sorted({place["host"] for place in run.topology["endpoints"].values()})
    jobs = {
        "jobs": [
            {"id": "4711", "name": "llama-70b", "user": "ada", "queue": "gpu", "hosts": hosts, "start": int(time.time()) - 600}
        ]
    }
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    made = Datagrams(run.flows, 0)
    with listening() as heard, ExitStack() as undo:
        hook = f'actions:\n  - {{name: drain, url: "{heard.url}/drain", secrets: ["{SECRET}"], allow: [127.0.0.1/32]}}\n'
        (tmp_path / "alerts.yaml").write_text(ALERTS.format(url=heard.url) + hook)
        names = ("--jobs", tmp_path / "jobs.json")
        with Service(tmp_path, *names) as service:
            made.port = service.port
            sent = undo.enter_context(exporting(made))
            until(service.claims)
            (case,) = service.claims()
            (job,) = service.items("/jobs")
            assert (job["name"], job["scheduler"]["user"]) == ("llama-70b", "ada")
            assert service.items("/search?q=llama")[0]["id"] == job["id"]
            (exporter,) = [one for one in service.items("/exporters") if one["records"]]
            assert exporter["records_per_s"] > 1
            assert exporter["offset_s"] is not None
            assert service.count("prism_job_step_seconds") > 0
            until(lambda: service.items("/notifications"))
            assert service.items("/notifications")[0]["findings"] == [case["id"]]
            post(service, f"/findings/{case['id']}/remarks", act="acknowledge")
            post(service, f"/findings/{case['id']}/remarks", act="right", text="the fan")
            assert [one["finding"] for one in post(service, "/silences", finding=case["id"])["matches"]] == [case["id"]]
            action = post(service, "/actions", hook="drain", finding=case["id"])
            post(service, f"/actions/{action['id']}", approved=True)
            heard.wait(lambda h: h.bodies("/drain"))
            assert heard.bodies("/drain")[0]["data"]["dry_run"] is True
            until(lambda: service.get("/api/v1/rates?by=endpoint")["items"])  # a late exporter leaves windows without records
            now = time.time_ns()
            past = post(service, "/diagnoses", start=now - 30 * 10**9, end=now)
            until(lambda: service.get(f"/api/v1/replays/{past['id']}")["state"] in ("done", "failed"))
            board = service.get(f"/api/v1/board?replay={past['id']}")
            assert board["counts"]["jobs"] == 1
            (again,) = service.items(f"/jobs?replay={past['id']}")
            assert again["name"] == "llama-70b"
            (row,) = service.items("/reports/lost?by=cause")
            assert row["findings"] == [case["id"]]
            sent.stop.set()
            assert service.end() == 0
        assert "Traceback" not in "\n".join(service.said)
        with Service(tmp_path, *names) as service:
            until(lambda: service.items("/jobs"))
            assert service.items("/jobs")[0]["name"] == "llama-70b"
            assert [one["act"] for one in service.items("/remarks")] == ["right", "acknowledge"]
            assert service.items("/labels")[0]["ids"] == [SLOW]
            (action,) = service.items("/actions")
            assert [one["state"] for one in action["trail"]] == ["proposed", "approved", "done"]
            assert service.end() == 0
        assert "Traceback" not in "\n".join(service.said)
