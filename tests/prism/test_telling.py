import json
from dataclasses import replace
from itertools import pairwise

from prism.board import Board, Case, JobStatus
from prism.telling import changes, json_line, line


def boards(make_finding, make_job):
    finding, status = make_finding(), JobStatus(make_job())
    case = Case("abc", finding, "open", 5, 5)
    return [
        Board(),
        Board(1, 1, jobs=(status,)),
        Board(2, 2, jobs=(status,), cases=(case,)),
        Board(3, 3, jobs=(status,), cases=(replace(case, finding=replace(finding, lost_gpu_s=10 * finding.lost_gpu_s)),)),
        Board(4, 4, jobs=(replace(status, state="silent"),), cases=(replace(case, state="closed", closed_ns=4),)),
        Board(5, 5, jobs=(), cases=(replace(case, state="closed", closed_ns=4),), unexplained=("odd",)),
    ]


def test_what_is_new_is_told_once(make_finding, make_job):
    told = boards(make_finding, make_job)
    found = [[change.what for change in changes(a, b)] for a, b in pairwise(told)]
    assert found == [["job"], ["opened"], ["updated"], ["job", "closed"], ["job", "unexplained"]]
    assert not list(changes(told[2], told[2]))


def test_lines_are_for_people_and_for_programs(make_finding, make_job):
    told = boards(make_finding, make_job)
    for a, b in pairwise(told):
        for change in changes(a, b):
            assert change.what in line(change)
            again = json.loads(json_line(change))
            assert (again["what"], again["at_ns"]) == (change.what, str(b.at_ns))
            assert ("finding" in again) == (change.case is not None)
