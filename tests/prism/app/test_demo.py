import json
import re
import signal
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from prism.app.demo import INCIDENT, incident, playing, recorded
from prism.topology import parse
from prism.tracking.board import Boards
from tests.collectors.builders.toys import until

BEGIN = 1_800_000_000_000_000_000
SHORT = replace(INCIDENT, jobs=(replace(INCIDENT.jobs[0], steps=6),), faults=())


def test_an_incident_begins_when_it_is_told_to_and_is_the_same_with_the_same_seed():
    one, again = incident(SHORT, begin_ns=BEGIN), incident(SHORT, begin_ns=BEGIN)
    assert int(one.flows.start_ns.min()) == BEGIN
    assert one.flows.start_ns.tolist() == again.flows.start_ns.tolist()
    assert {place.host for place in one.topology.endpoints.values()} >= {f"server{i}" for i in range(16)}


def test_all_is_played_and_the_slow_rank_is_reported():
    boards, spec = Boards(), replace(SHORT, jobs=(replace(SHORT.jobs[0], steps=18),), faults=INCIDENT.faults[:1])
    with playing(incident(spec, begin_ns=BEGIN), boards, speed=0) as over:
        assert over.wait(300)
    assert {case.finding.ids for case in boards.newest.cases if case.finding.severity != "info"} == {("10.10.5.1",)}
    assert boards.newest.at_ns > BEGIN


def test_a_recorded_incident_is_played_as_if_it_began_now():
    folder = Path(__file__).parents[3] / "pcaps" / "slow_rank"
    placed = parse((folder / "topology.json").read_text(), "topology.json")
    made, boards = recorded([(path.name, str(path)) for path in folder.glob("*.pcap.gz")], placed, begin_ns=BEGIN), Boards()
    assert int(made.flows.start_ns.min()) == BEGIN
    with playing(made, boards, speed=0) as over:
        assert over.wait(300)
    (case,) = [case for case in boards.newest.cases if case.finding.severity != "info"]
    (fault,) = json.loads((folder / "truth.json").read_text())["faults"]
    assert case.finding.kind == "slow_rank"
    assert case.finding.start_ns > BEGIN
    assert len(fault["ranks"]) == len(case.finding.ids) == 1


def test_nothing_to_play_is_reported(tmp_path):
    (tmp_path / "flows.csv").write_text("start_ns,end_ns,src,dst,octets\n")
    with pytest.raises(ValueError, match="contains no traffic to play"):
        recorded([("flows", str(tmp_path / "flows.csv"))], begin_ns=BEGIN)


def test_an_incident_that_is_left_ends_at_once():
    boards = Boards()
    with playing(incident(SHORT, begin_ns=BEGIN), boards) as over:
        pass
    assert boards.newest.revision <= 1
    assert over.is_set()


def test_faults_are_within_their_jobs():
    steps = {job.name: job.steps for job in INCIDENT.jobs}
    for fault in INCIDENT.faults:
        assert 10 <= fault.first < fault.stop <= steps[fault.job] - 10


def test_prism_demo_shows_jobs_until_ctrl_c():
    code = "from prism.cli.main import main; main()"
    command = [sys.executable, "-c", code, "demo", "--no-browser", "--port", "0", "--speed", "100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            url = re.match(r"http://127\.0\.0\.1:\d+/", child.stdout.readline())[0]

            def jobs():
                with urllib.request.urlopen(f"{url}api/v1/jobs", timeout=30) as answer:
                    return json.load(answer)["items"]

            until(jobs, seconds=300)
            assert b"<html" in urllib.request.urlopen(url, timeout=30).read().lower()
            child.send_signal(signal.SIGINT)
            assert child.wait(60) == 0
        finally:
            child.kill()
        assert "Traceback" not in child.stderr.read()
