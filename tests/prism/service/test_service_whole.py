"""The service as an operator runs it: exports over UDP, a job, a case, an alert, a page; killed, started again, ended."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import pytest

from prism.app.demo import CLUSTER, PIPELINE
from prism.synth.scenario.specification import Fault, Spec
from prism.synth.simulation import simulate
from tests.collectors.builders.toys import Child, until
from tests.prism.exporting import DAMAGED, Datagrams, Lossy, exporting
from tests.prism.receivers import listening

PRISM = (sys.executable, "-c", "from prism.cli.main import main; main()")
SLOW = "10.10.5.1"
QUICK = replace(PIPELINE, steps=400, forward_ms=12, backward_ms=24)  # goes on until a test ends, also on a slow machine
RUN = Spec(
    "whole",
    replace(CLUSTER, hosts=8, nic_gbit=1, uplink_gbit=4),
    (QUICK,),
    (Fault("compute_slow", "A", ranks=(5,), first=15, factor=1.8),),
)
ALERTS = """
grouping: {{by: [job], wait_s: 0, interval_s: 0, repeat_s: 14400}}
receivers:
  - {{name: hook, kind: webhook, url: "{url}/hook", allow: [127.0.0.1/32]}}
"""


class Service(Child):
    """`prism serve` with a folder, on any free ports."""

    def __init__(self, folder, *more):
        words = ["--data", folder / "data", "--listen", "ipfix://127.0.0.1:0", "--listen", "sflow://127.0.0.1:0"]
        words += ["--http", "0", "--alerts", folder / "alerts.yaml", "--topology", folder / "topology.json", "--json", *more]
        super().__init__("serve", *map(str, words), command=PRISM)
        self.port = int(self.expect(r"event=listening kind=ipfix .*port=(\d+)")[1])
        self.url = self.expect(r"event=pages url=(\S+)")[1]

    def get(self, path):
        with urllib.request.urlopen(f"{self.url}{path}", timeout=30) as answer:
            return json.load(answer) if path.startswith("/api") else answer.read().decode()

    def items(self, path):
        return self.get(f"/api/v1{path}")["items"]

    def claims(self):
        return [case for case in self.items("/findings") if case["finding"]["severity"] != "info"]

    def count(self, name):
        """A counter, over all its labels."""
        page = self.get("/metrics")
        return sum(float(n) for n in re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", page, re.MULTILINE))


@cache
def simulated():
    """What `RUN` describes; it takes some seconds to simulate."""
    return simulate(RUN, 1)


@pytest.fixture
def folder(tmp_path):
    run = simulated()
    (tmp_path / "topology.json").write_text(json.dumps(run.topology))
    return tmp_path, run.flows


class Told:
    """All versions of findings that a service showed, its windows, and the steps of a job when they were asked for last."""

    def __init__(self, service, job):
        self.service, self.job, self.cases, self.windows = service, job, {}, set()
        self.look()

    def look(self):
        """What is shown now; the revision of the board."""
        revision = self.service.get("/api/v1/board")["revision"]
        self.cases |= {(case["id"], case["updated_ns"], case["state"]): case for case in self.service.items("/findings")}
        self.windows |= {window["end_ns"] for window in self.service.items("/windows")}
        self.steps = self.service.get(f"/api/v1/jobs/{self.job}/steps")
        return revision

    def look_until(self, revision):
        """Look until a board is shown; what was shown before the one before it is in the store."""
        until(lambda: self.look() >= revision, every=0.25)  # more often is refused: each look takes four requests


def check_restored(told, again):
    """After a restart, before any record comes: findings, windows, steps and pictures are those from before."""
    assert {name for name, *_ in told.cases} <= {name for name, *_ in again.cases}
    for (name, updated, state), case in again.cases.items():
        if (name, updated, state) in told.cases:
            assert case == told.cases[name, updated, state]
        else:  # a window came between the last look and the kill
            known = max((key for key in told.cases if key[0] == name), key=lambda key: int(key[1]))
            assert int(updated) > int(known[1])
            for field in ("title", "start_ns", "kind", "subject"):
                assert case["finding"][field] == told.cases[known]["finding"][field]
    assert len(told.windows - again.windows) <= 1
    before, now = told.steps, again.steps
    assert before["zero_ns"] == now["zero_ns"]
    assert len(now["job"]["duration_ms"]) >= len(before["job"]["duration_ms"]) // 2
    assert now["job"]["duration_ms"][:5] == before["job"]["duration_ms"][:5]
    for case in again.cases.values():
        finding = case["finding"]
        picture = f"timeline?level=phases&start_ns={finding['start_ns']}&end_ns={int(finding['start_ns']) + 2 * 10**9}"
        assert again.service.get(f"/api/v1/jobs/{again.job}/{picture}")["spans"]["row"]


def check_gap(service, job, killed_ns):
    """The outage is one gap in collection, no event and no fault of the job, and in no step's duration."""
    until(lambda: service.items("/gaps")[0]["end_ns"])
    ((begin, end),) = ((int(gap["begin_ns"]), int(gap["end_ns"])) for gap in service.items("/gaps"))
    assert begin <= killed_ns < end

    def after():
        told = service.get(f"/api/v1/jobs/{job}/steps")
        return told, [ms for ms in told["job"]["start_ms"] if int(told["zero_ns"]) + ms * 1e6 > end]

    until(lambda: len(after()[1]) > 8)
    told, _ = after()
    starts, durations = told["job"]["start_ms"], told["job"]["duration_ms"]
    unknown = [i for i, ms in enumerate(durations) if ms is None]
    known = [ms for ms in durations if ms is not None]
    assert 1 <= len(unknown) <= 20
    assert max(known) < 0.8 * (end - begin) / 1e6
    assert int(told["zero_ns"]) + starts[unknown[0]] * 1e6 < end
    for event in service.get(f"/api/v1/jobs/{job}")["events"]:
        assert int(event["end_ns"]) <= begin or int(event["start_ns"]) >= end, event
    assert not [case for case in service.items("/findings") if case["finding"]["kind"] in ("hang", "crash")]
    until(lambda: b'"what": "gap"' in service.wrote)


def stored(data):
    """How many flow records the store has."""
    done = subprocess.run(
        [*PRISM, "store", "status", str(data), "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return next(table["rows"] for table in json.loads(done.stdout) if table["name"] == "flows")


def kept(service):
    """How many records the store has acknowledged; those still in the spool come to it after the next start."""
    found = re.findall(r'^prism_collect_sink_records_total\{fate="kept"\} (\S+)$', service.get("/metrics"), re.MULTILINE)
    assert len(found) == 1
    return float(found[0])


def test_a_slow_rank_is_told_once_shown_at_once_and_still_known_after_a_kill(folder, browser):
    pytest.importorskip("chdb")
    folder, flows = folder
    data, page = folder / "data", browser.new_page()
    made = Datagrams(flows, 0)
    with listening() as heard, ExitStack() as undo:
        (folder / "alerts.yaml").write_text(ALERTS.format(url=heard.url))
        with Service(folder) as service:
            made.port = service.port
            sent = undo.enter_context(exporting(made))
            page.goto(service.url)
            page.evaluate("() => { window.here = true; }")
            claim = page.locator("#newest .claim").filter(has_text=SLOW)
            claim.wait_for(timeout=180_000)
            assert page.evaluate("() => window.here")  # the page was not loaded again
            heard.wait(lambda h: h.posts)
            (case,) = service.claims()
            (job,) = service.items("/jobs")
            finding = case["finding"]
            assert (finding["kind"], finding["subject"]["ids"], finding["job"]) == ("slow_rank", [SLOW], job["id"])
            assert (job["endpoints"], job["layout"]["pp"], job["layout"]["dp"], job["state"]) == (8, 4, 2, "running")
            assert service.count("prism_collect_kernel_lost_total") == 0
            until(lambda: service.count("prism_alerts_deliveries_total") == 1)
            told = Told(service, job["id"])
            told.look_until(told.look() + 12)  # more than ten seconds, after which a history is saved again
            safe = kept(service)
            assert safe > 0
            service.end(signal.SIGKILL)
            killed = time.time_ns()
            made.port = 0
        left, posts = stored(data), len(heard.posts)
        assert left >= safe
        with Service(folder) as service:
            service.expect(r"event=resumed jobs=1 cases=\d")
            until(lambda: service.items("/jobs"))
            (again,) = service.items("/jobs")
            assert again["id"] == job["id"]
            assert again["state"] in ("running", "silent")  # nobody sends yet; a slow machine takes long
            assert [(gap["end_ns"], gap["reason"]) for gap in service.items("/gaps")] == [(None, "restart")]
            check_restored(told, Told(service, job["id"]))
            made.port = service.port
            check_gap(service, job["id"], killed)
            assert [one["state"] for one in service.items("/jobs")] == ["running"]
            at = service.count("prism_board_revision")
            until(lambda: service.count("prism_analysis_records_total") and service.count("prism_board_revision") > at + 3)
            # nobody listened for some seconds: that is no hang, and the slow rank is not over
            assert [(one["id"], one["state"]) for one in service.claims()] == [(case["id"], "open")]
            assert service.count("prism_analysis_failed_total") == 0, [line for line in service.said if "failed" in line]
            sent.stop.set()
            assert service.end() == 0
            more = int(re.search(r" sink_records_kept=(\d+)", service.said[-1])[1])
        assert "Traceback" not in "\n".join(service.said)
        assert stored(data) == left + more
    bodies = heard.bodies("/hook")
    told = [(body["status"], *(alert["labels"] for alert in body["alerts"])) for body in bodies]
    assert [(status, *((one["alertname"], one["ids"]) for one in labels)) for status, *labels in told] == [
        ("firing", ("slow rank", SLOW))
    ], told
    assert posts == 1
    assert (bodies[0]["version"], bodies[0]["groupLabels"]) == ("4", {"job": job["id"]})
    page.close()


def test_a_cluster_looks_at_the_jobs_and_when_it_is_gone_the_service_does(folder):
    pytest.importorskip("chdb")
    distributed = pytest.importorskip("distributed")
    folder, flows = folder
    made = Datagrams(flows, 0)
    (folder / "alerts.yaml").write_text(ALERTS.format(url="http://127.0.0.1:9"))
    workers = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with ExitStack() as undo:
        cluster = undo.enter_context(distributed.LocalCluster(**workers))
        with Service(folder, "--scheduler", cluster.scheduler_address) as service:
            made.port = service.port
            undo.enter_context(exporting(made))
            until(lambda: service.items("/jobs"))
            assert service.get("/api/v1/health")["parts"]["scheduler"]["reached"]
            cluster.close()
            until(lambda: not service.get("/api/v1/health")["parts"]["scheduler"]["reached"])
            at = service.count("prism_board_revision")
            until(lambda: service.count("prism_board_revision") > at + 3)
            assert service.count("prism_analysis_failed_total") == 0, [line for line in service.said if "failed" in line]
            assert [job["state"] for job in service.items("/jobs")] == ["running"]
            assert service.end() == 0
        assert "Traceback" not in "\n".join(service.said)


def test_what_switches_lost_is_evidence_for_a_slow_link(folder):
    """The records say whose link is slow, IPFIX; the switch says why, sFlow."""
    pytest.importorskip("chdb")
    folder, run = folder[0], simulate(DAMAGED, 1)
    (folder / "alerts.yaml").write_text(ALERTS.format(url="http://127.0.0.1:9"))
    lossy = Lossy(run.flows, "10.10.3.1", "10.10.4.1", run.truth["faults"][0]["start_ns"])
    made = Datagrams(run.flows, 0)
    with Service(folder) as service, ExitStack() as undo:
        made.port, told = service.port, int(service.expect(r"event=listening kind=sflow .*port=(\d+)")[1])
        undo.enter_context(exporting(made))
        undo.enter_context(exporting(lossy, told))
        until(lambda: [case for case in service.claims() if "lost" in case["finding"]["evidence"]])
        until(lambda: [case for case in service.claims() if case["finding"]["detector"] == "lossy_link"])
        (finding,) = [case["finding"] for case in service.claims()]
        assert (finding["kind"], finding["subject"]["ids"]) == ("slow_link", ["10.10.3.1"])
        rows = {row["why"]: row for row in finding["evidence"]["lost"]}
        assert rows.keys() == {"errors", "no buffer space"}
        assert {row["switch"] for row in rows.values()} == {Lossy.SWITCH}
        assert (rows["errors"]["in_interface"], rows["no buffer space"]["reason"]) == (Lossy.PORT, 259)
        assert min(rows["errors"]["packets"], rows["no buffer space"]["packets"]) > 10
        assert f"{Lossy.SWITCH} counted {rows['errors']['packets']:,} errors at interface 3" in finding["message"]
        assert service.end() == 0
