from dataclasses import replace

from prism.model import Finding, Isolation, Severity
from prism.stacks._collection_triggers import due
from prism.tracking.board import Board, Case, JobStatus
from tests.prism.incidents.made import NAMES, job

HANG = Finding(
    "hang", "hang", "j", Severity.CRITICAL, "endpoint", (NAMES[2],), 5, 9, 1.0, 1.0, "m", isolate=Isolation(hosts=("n2",))
)


def board(*cases, revision=1):
    return Board(revision=revision, jobs=(JobStatus(job()),), cases=cases)


def test_once_for_each_hang_that_opens():
    case = Case("c1", HANG, "open", 7, 7)
    [action] = due(Board(), board(case), {})
    assert action.endpoints == NAMES
    assert action.suspects == ("n2",)
    assert action.environment("/x")["PRISM_ENDPOINTS"] == " ".join(NAMES)
    assert not list(due(board(case), board(case, revision=2), {"c1": ""}))


def test_other_findings_do_not_act():
    info = Case("c2", replace(HANG, severity=Severity.INFO), "open", 7, 7)
    slow = Case("c3", replace(HANG, kind="slow_rank"), "open", 7, 7)
    over = Case("c4", HANG, "closed", 7, 8, 8)
    assert not list(due(Board(), board(info, slow, over), {}))
