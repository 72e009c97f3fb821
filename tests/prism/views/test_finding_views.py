from dataclasses import replace

import pytest

from prism.model import Isolation, Severity
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, Case, board_of
from prism.views import finding_views


@pytest.fixture
def board(diagnosis) -> Board:
    return board_of(diagnosis)


def test_a_case_has_the_report_s_finding_and_times_as_text(board):
    (shown,) = finding_views.case_list(board, board.cases[:1])
    finding = shown["finding"]
    assert finding["start_ns"] == str(board.cases[0].finding.start_ns)
    assert finding["evidence"]["expected_ms"] is None
    assert finding["subject"] == {"type": "endpoint", "ids": list(board.cases[0].finding.ids)}
    assert shown["closed_ns"] is None


def test_ranks_that_a_finding_blames(board):
    endpoints = board.jobs[0].found.job.endpoints
    topology = Topology({name: Endpoint(f"server{rank // 2}", rank % 2, "leaf0") for rank, name in enumerate(endpoints)}, ())

    def ranks(subject, *ids, topology=topology, job="job-1"):
        case = replace(board.cases[0], finding=replace(board.cases[0].finding, subject=subject, ids=ids, job=job))
        return finding_views.case_list(replace(board, topology=topology), [board.cases[0], case])[1]["ranks"]

    assert ranks("endpoint", endpoints[3]) == [3]
    assert ranks("group", *endpoints[6:3:-1], "10.99.0.1") == [4, 5, 6]
    assert ranks("host", "server1") == [2, 3]
    assert ranks("host", "server1", topology=None) == ranks("link", endpoints[0], "leaf0") == ranks("switch", "leaf0") == []
    assert ranks("endpoint", endpoints[3], job="job-9") == []


def test_times_deep_inside_are_text_and_nothing_else_is():
    told = finding_views.times_as_text({"a": {"gap_ns": 5, "seen_ns": [1, 2], "n": 3}, "x_ns": None, "y_ns": True})
    assert told == {"a": {"gap_ns": "5", "seen_ns": ["1", "2"], "n": 3}, "x_ns": None, "y_ns": True}


def test_cases_that_fit_what_is_asked(board):
    def ids(**asked):
        return [one.finding.ids[0] for one in finding_views.cases(board, **asked)]

    assert sorted(ids()) == ["10.10.5.1", "10.10.6.1"]
    assert ids(severity="critical") == ["10.10.5.1"]
    assert ids(subject="10.10.6.1") == ["10.10.6.1"]
    assert ids(state="closed") == ids(job="job-9") == ids(kind="hang") == ids(since_ns=board.at_ns + 1) == []
    assert len(ids(since_ns=board.at_ns, kind="slow_rank", job="job-1")) == 2
    begun = board.cases[0].finding.start_ns
    assert (len(ids(until_ns=begun + 1)), ids(until_ns=begun)) == (2, [])


def test_what_closed_last_comes_first_where_that_is_asked(board):
    """A fault that began early may close last."""
    one = board.cases[0]
    began = ((3, 20), (1, 30), (2, 10))
    closed = [
        replace(one, id=f"c{i}", state="closed", closed_ns=over, finding=replace(one.finding, start_ns=start))
        for i, (start, over) in enumerate(began)
    ]
    shown = replace(board, cases=(replace(one, id="open"), *closed))
    assert [case.id for case in finding_views.cases(shown, order="closed")] == ["c1", "c0", "c2", "open"]
    assert [case.id for case in finding_views.cases(shown, state="closed")] == ["c0", "c2", "c1"]


def test_one_finding_with_its_job_its_relatives_and_advice(board):
    claim = next(one for one in board.cases if one.finding.severity is Severity.CRITICAL)
    shown = finding_views.finding(board, claim.id)
    assert shown["job"]["id"] == "job-1"
    assert shown["related"] == [one.id for one in board.cases if one is not claim]
    assert "server5" in shown["advice"][0]
    assert "93%" in shown["advice"][0]
    assert finding_views.finding(board, "none") is None
    assert finding_views.finding(replace(board, jobs=()), claim.id)["job"] is None


def test_hosts_to_isolate_the_likeliest_first_and_no_switch(make_finding):
    suspects = ((("server5",), 0.7), (("spine0",), 0.2), (("server4",), 0.1), (("server9",), 0.001), (("a", "b"), 0.7))
    finding = replace(make_finding(), isolate=Isolation(("server5", "server6"), (), 0.9, suspects))
    other = replace(make_finding(1, Severity.WARNING), isolate=Isolation(("server4",), (), 0.99), lost_gpu_s=10.0)
    symptom = replace(make_finding(2, Severity.INFO), isolate=Isolation(("server7",), (), 0.99))
    cases = [Case(str(i), f, "open", 1, 2) for i, f in enumerate((finding, other, symptom))]
    cases.append(Case("over", replace(finding, isolate=Isolation(("server8",), (), 0.9)), "closed", 1, 2, 3))
    topology = Topology({"10.0.0.1": Endpoint("server5", 0, "leaf0")}, (("leaf0", "spine0"),))
    found = finding_views.hosts(Board(cases=tuple(cases), topology=topology))
    assert [(one["host"], one["probability"], one["severity"]) for one in found] == [
        ("server4", 0.99, "critical"),
        ("server6", 0.9, "critical"),
        ("server5", 0.7, "critical"),
    ]
    assert found[0]["findings"] == ["0", "1"]
    assert found[0]["lost_gpu_seconds"] == pytest.approx(0.1 * 312.4 + 0.99 * 10, rel=1e-4)
