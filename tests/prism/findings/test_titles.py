import io
import json
from dataclasses import replace

import httpx
import pytest

from prism.alerts.alert_labels import alerts
from prism.alerts.receivers.slack import slack
from prism.alerts.receivers.webhook_bodies import BODIES, pagerduty
from prism.api.server.web_server import served
from prism.cli import _service_tables as service_tables
from prism.findings.titles import title
from prism.live import board_changes
from prism.model import Diagnosis, Source
from prism.report import chrome_trace, json_report, terminal_report
from prism.service.service_settings import Service
from prism.storage import live_state
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, Boards, board_of
from prism.tracking.case_tracking import TrackedFinding
from prism.views import finding_views, html_report
from tests.prism.alerts.stories import NOW, finding, notification, receiver
from tests.prism.web.conftest import GENEROUS

TOPOLOGY = Topology({f"10.10.{i}.1": Endpoint(f"server{i}", 0, f"leaf{i // 4}") for i in range(8)}, (("leaf1", "spine0"),))
TWO = ("10.10.0.1", "10.10.3.1")
PLACED = Topology({f"10.10.0.{i}": Endpoint("server0", i, "leaf0") for i in range(8)})


@pytest.mark.parametrize(
    ("kind", "subject", "ids", "words"),
    [
        ("slow_rank", "endpoint", ("10.10.5.1",), "Slow rank 10.10.5.1 (server5)"),
        ("slow_rank", "host", ("server5",), "Slow host server5"),
        ("slow_rank", "endpoint", TWO, "Slow ranks 10.10.0.1, 10.10.3.1"),
        ("slow_rank", "link", TWO, "Slow rank 10.10.0.1 (server0) or 10.10.3.1 (server3)"),
        ("slow_link", "endpoint", ("10.10.3.1",), "Slow NIC 10.10.3.1 (server3)"),
        ("slow_link", "link", ("leaf1", "spine0"), "Slow link leaf1 – spine0"),
        ("slow_link", "link", TWO, "Slow link 10.10.0.1 (server0) – 10.10.3.1 (server3)"),
        ("slow_switch", "switch", ("spine0",), "Slow switch spine0"),
        ("slow_group", "group", TWO, "Slow group 10.10.0.1, 10.10.3.1"),
        ("slow_step", "job", ("d600",), "Slow steps of job d600"),
        ("stage_imbalance", "job", ("d600",), "Stage imbalance of job d600"),
        ("stage_imbalance", "endpoint", TWO, "Stage imbalance at 10.10.0.1, 10.10.3.1"),
        ("data_imbalance", "job", ("d600",), "Data imbalance of job d600"),
        ("hang", "job", ("d600",), "Hang of job d600"),
        ("hang", "endpoint", ("10.10.3.1",), "Hang at 10.10.3.1 (server3)"),
        ("hang", "host", ("server3",), "Hang at server3"),
        ("hang", "link", TWO, "Hang at 10.10.0.1 (server0) or 10.10.3.1 (server3)"),
        ("crash", "endpoint", ("10.10.3.1",), "Crash of 10.10.3.1 (server3)"),
        ("crash", "job", ("d600",), "Crash of job d600"),
    ],
)
def test_a_title_names_the_fault_and_the_place(kind, subject, ids, words):
    assert title(finding(kind, ids, subject=subject, job="d600"), TOPOLOGY) == words


def test_a_heavy_stage_is_named_by_its_number():
    uneven = replace(finding("stage_imbalance", TWO, subject="endpoint", job="d600"), evidence={"stage": 3})
    assert title(uneven, TOPOLOGY) == "Stage imbalance: stage 3 of job d600"


def test_without_a_topology_no_host_is_named_and_of_many_names_four():
    assert title(finding("slow_rank", ("10.10.5.1",))) == "Slow rank 10.10.5.1"
    many = tuple(f"10.10.{i}.1" for i in range(8))
    assert title(finding("slow_group", many, subject="group")).endswith("10.10.3.1 and 4 more")


def test_several_nics_of_one_host_are_named_with_it():
    assert title(finding("slow_link", ("10.10.0.1", "10.10.0.2")), PLACED) == "Slow NICs 10.10.0.1, 10.10.0.2 (server0)"


FOUND = (
    ("slow_link", "endpoint", ("10.10.3.1",)),
    ("slow_link", "link", ("leaf1", "spine0")),
    ("slow_step", "job", ("job-1",)),
    ("hang", "endpoint", ("10.10.5.1",)),
    ("slow_group", "group", tuple(f"10.10.{i}.1" for i in range(6))),
)


@pytest.fixture(params=FOUND, ids=lambda found: f"{found[0]} {found[1]}")
def known(request, diagnosis):
    """A diagnosis with one critical finding, and its title."""
    kind, subject, ids = request.param
    one = replace(diagnosis.findings[0], kind=kind, subject=subject, ids=ids)
    return replace(diagnosis, findings=(one,)), title(one, TOPOLOGY)


def test_a_finding_has_the_same_title_everywhere(known):
    diagnosis, words = known
    board = board_of(diagnosis, TOPOLOGY)
    (case,) = finding_views.case_list(board, board.cases)
    assert case["finding"]["title"] == words  # REST
    shown = html_report.documents(board)
    assert [one["finding"]["title"] for one in shown["/findings"]["items"]] == [words]  # the HTML page
    assert shown[f"/findings/{case['id']}"]["finding"]["title"] == words
    assert json.loads(json_report.dumps(diagnosis, TOPOLOGY))["findings"][0]["title"] == words
    assert json_report.to_json(diagnosis, TOPOLOGY)["findings"][0]["title"] == words
    slices = json.loads(chrome_trace.dumps(diagnosis, TOPOLOGY))["traceEvents"]
    assert words in {one["name"] for one in slices if one["ph"] == "X" and "severity" in one["args"]}
    texts = [_on(terminal_report.show, diagnosis, TOPOLOGY), _on(service_tables.show_findings, [case])]
    changes = [change for change in board_changes.changes(Board(), board) if change.case]
    assert changes
    texts += [board_changes.line(change) for change in changes]
    assert json.loads(board_changes.json_line(changes[0]))["finding"]["title"] == words
    closed = replace(board, cases=tuple(replace(one, state="closed", closed_ns=NOW) for one in board.cases))
    texts += [board_changes.line(change) for change in board_changes.changes(board, closed)]
    texts += _alerts(board)
    assert [one["title"] for one in board_changes.changed(Board(), board)["findings"]] == [words]  # server-sent events
    assert [one["title"] for one in board_changes.changed(board, Board())["findings"]] == [words]
    plain = [text.replace("\\\\", "") for text in texts]  # Teams reads Markdown
    assert [text for text in plain if words not in text] == []


def _on(show, what, *more):
    out = io.StringIO()
    console = terminal_report.console(out)
    show(what, console, *more)
    return out.getvalue()


def _alerts(board):
    """Test the first line that receivers show: a summary, Slack's header, PagerDuty's summary."""
    (alert,) = alerts(board)
    note = notification(alert)
    said = slack(note)
    blocks = [block["text"]["text"] for block in said["blocks"][:2]]
    paged = pagerduty(note, receiver(kind="pagerduty"), "", NOW)["payload"]["summary"]
    bodies = [json.dumps(body(note, receiver(kind=kind), "", NOW), ensure_ascii=False) for kind, body in BODIES.items()]
    return [alert.annotations["summary"], said["text"], *blocks, paged, *bodies]


def test_the_service_answers_and_sends_the_same_title(known):
    diagnosis, words = known
    board = board_of(diagnosis, TOPOLOGY)
    boards = Boards(replace(board, revision=1, cases=()))
    with served(Service(boards, None, "live", limits=GENEROUS)) as port:
        url = f"http://127.0.0.1:{port}/api/v1"
        with httpx.stream("GET", f"{url}/events", timeout=20) as events:
            lines = (line.removeprefix("data: ") for line in events.iter_lines() if line.startswith("data: "))
            assert json.loads(next(lines))["changed"] is None
            boards.publish(replace(board, revision=2))
            assert [one["title"] for one in json.loads(next(lines))["changed"]["findings"]] == [words]
        (one,) = httpx.get(f"{url}/findings").json()["items"]
        assert one["finding"]["title"] == words
        assert httpx.get(f"{url}/findings/{one['id']}").json()["finding"]["title"] == words
        csv = httpx.get(f"{url}/findings", headers={"Accept": "text/csv"}).text
        assert words in csv.replace('"', "")


def test_a_stored_case_has_no_title_of_its_own(make_finding):
    (case,) = board_of(Diagnosis(Source((), 0, 0, {}, 0, 0), (), (make_finding(),))).cases
    stored = live_state.tracked_json(TrackedFinding(case, 0.1, 4, told=True))
    assert "title" not in stored["finding"]
    assert live_state.tracked_from(json.loads(json.dumps(stored))).case.finding.ids == case.finding.ids
    assert live_state.finding_from(json_report.finding_json(case.finding)).ids == case.finding.ids
