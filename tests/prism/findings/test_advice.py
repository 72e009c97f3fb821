from dataclasses import replace
from typing import get_args

from prism.alerts.alert_texts import describe_case
from prism.findings import advice
from prism.model import FindingKind, Isolation, Severity
from prism.tracking.board import board_of
from prism.views import finding_views


def test_every_kind_of_finding_has_checks():
    assert set(advice.CHECKS) == set(get_args(FindingKind))
    assert all(text.endswith(".") for texts in advice.CHECKS.values() for text in texts)


def test_whom_to_take_out_first(make_finding):
    found = make_finding()
    sure = "first: it contains the cause with a probability of 93% (confidence of this finding: 97%)."
    assert advice.first(found) == f"Isolate server5 {sure}"
    link = replace(found, isolate=Isolation((), ("leaf1", "spine0"), 0.93))
    assert advice.first(link) == f"Route around or drain leaf1 – spine0 {sure}"
    many = replace(found, isolate=Isolation(tuple(f"server{i}" for i in range(7)), (), 0.9), confidence=0.0)
    assert advice.first(many).startswith("Isolate server0, server1, server2, server3 and 3 more first: ")
    assert "sure" not in advice.first(many)
    nobody = replace(found, isolate=Isolation())
    assert advice.first(nobody) == "It is not known which host to isolate; start with 10.10.5.1."
    assert advice.first(replace(nobody, ids=())) == ""
    assert advice.first(replace(nobody, kind="stage_imbalance")) == advice.UNBROKEN
    assert advice.first(make_finding(0, Severity.INFO)) == advice.NOTHING


def test_in_brief(make_finding):
    assert advice.brief(make_finding().isolate) == "isolate server5 (93%)"
    assert advice.brief(Isolation((), ("leaf1", "spine0"), 0.9)) == "route around leaf1 – spine0 (90%)"
    assert advice.brief(Isolation()) == ""


def test_page_and_alert_agree(diagnosis):
    board = board_of(diagnosis)
    for case in board.cases:
        page = finding_views.finding(board, case.id)["advice"]
        alert = describe_case(case, board.jobs[0], None, started_ns=case.finding.start_ns)
        assert page == advice.steps(case.finding)
        assert all(text in alert["description"] for text in page)
