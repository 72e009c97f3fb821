import json
from dataclasses import replace
from itertools import pairwise

from prism.live.board_changes import changed, changes, json_line, line
from prism.tracking.board import Board, Case, Gap, JobStatus


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


def test_what_changed_is_named_by_id(make_finding, make_job):
    told = boards(make_finding, make_job)
    found = [changed(a, b) for a, b in pairwise(told)]
    assert [[one["what"] for one in each["jobs"]] for each in found] == [["appeared"], [], [], ["silent"], ["gone"]]
    assert [[one["what"] for one in each["findings"]] for each in found] == [[], ["opened"], [], ["closed"], []]
    assert changed(told[1], told[2], max_changes=0)["more"] == 1
    assert (
        changed(told[2], replace(told[2], cases=(replace(told[2].cases[0], updated_ns=9),)))["findings"][0]["what"] == "updated"
    )


def test_lines_are_for_people_and_for_programs(make_finding, make_job):
    told = boards(make_finding, make_job)
    for a, b in pairwise(told):
        for change in changes(a, b):
            assert change.what in line(change)
            again = json.loads(json_line(change))
            assert (again["what"], again["at_ns"]) == (change.what, str(b.at_ns))
            assert ("finding" in again) == (change.case is not None)


def test_a_gap_in_collection_is_told_once_it_is_over():
    lasting, over = Gap(3600 * 10**9, 0), Gap(3600 * 10**9, 3605 * 10**9)
    before, during, now = Board(), Board(1, 1, gaps=(lasting,)), Board(2, 2, gaps=(over,))
    assert not list(changes(before, during))
    (change,) = changes(during, now)
    assert line(change).endswith("no records were collected from 01:00:00 to 01:00:05 UTC (5.0 s): Prism was not running")
    told = json.loads(json_line(change))
    assert (told["what"], told["begin_ns"], told["end_ns"], told["reason"]) == (
        "gap",
        "3600000000000",
        "3605000000000",
        "restart",
    )
    assert not list(changes(now, now))
