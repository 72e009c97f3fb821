from __future__ import annotations

import threading

from prism.model import Diagnosis, Finding, Severity, Source
from prism.tracking.board import Board, Boards, board_of, case_id


def finding(**changes: object) -> Finding:
    fields = {"detector": "slow_rank", "kind": "slow_rank", "job": "a", "severity": Severity.WARNING, "subject": "endpoint"}
    fields |= {"ids": ("10.0.0.1",), "start_ns": 5, "end_ns": 9, "slowdown": 1.5, "score": 7.0, "message": "slow"}
    return Finding(**fields | changes)  # type: ignore[arg-type]


def test_a_replay_is_a_board_of_one_window_and_every_case_has_its_own_id() -> None:
    source = Source(("a.pcap",), 10, 4, {}, 1, 9)
    board = board_of(Diagnosis(source, (), (finding(), finding(score=9.0), finding(start_ns=7))))
    assert board.at_ns == 9
    assert [window.flows for window in board.windows] == [4]
    assert [case.finding.start_ns for case in board.cases] == [7, 5, 5]  # the newest first
    assert len({case.id for case in board.cases}) == 3
    assert all(case.state == "open" for case in board.cases)


def test_nothing_seen_is_no_window() -> None:
    assert board_of(Diagnosis(Source((), 0, 0, {}, 0, 0), (), ())).windows == ()


def test_a_case_is_named_by_what_it_blames_and_since_when() -> None:
    assert case_id(finding()) == case_id(finding(end_ns=99, score=1.0, message="still slow"))
    assert case_id(finding()) != case_id(finding(ids=("10.0.0.2",)))


def test_readers_wait_for_a_newer_board() -> None:
    boards = Boards()
    assert boards.after(0, timeout_s=0.01).revision == 0
    seen = []
    reader = threading.Thread(target=lambda: seen.append(boards.after(0, timeout_s=60).revision))
    reader.start()
    boards.publish(Board(revision=3))
    reader.join()
    assert seen == [3]
    assert boards.newest.revision == 3
