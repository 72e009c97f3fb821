import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.model import Diagnosis, Timeline
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, JobStatus, board_of
from prism.views import board_views


@pytest.fixture
def board(diagnosis: Diagnosis) -> Board:
    job = diagnosis.jobs[0].job
    places = {address: Endpoint(host, 0, "leaf0") for address, host in zip(job.endpoints, job.hosts, strict=True)}
    return board_of(diagnosis, Topology(places))


def test_a_board_in_counts(board: Board) -> None:
    shown = board_views.board(board, "live", 1.23456)
    assert shown["age_s"] == 1.235
    assert shown["source"]["start_ns"] == str(board.source.start_ns)
    findings = {"critical": 1, "warning": 0, "info": 1}
    assert shown["counts"] == {"jobs": 1, "silent": 0, "analysed": 1, "endpoints": 8, "findings": findings, "closed": 0}
    bare = replace(board.jobs[0].found, timeline=replace(board.jobs[0].found.timeline, steps=(np.zeros((0, 2), np.int64),) * 8))
    assert board_views.counts(replace(board, jobs=(JobStatus(bare),)))["analysed"] == 0


def test_jobs_that_send_nothing_are_counted(board: Board) -> None:
    silent = replace(board.jobs[0], state="silent")
    assert board_views.counts(replace(board, jobs=(silent,)))["silent"] == 1


def test_jobs_that_ended_and_cases_that_are_closed_do_not_count(board: Board) -> None:
    ended = replace(board.jobs[0], state="ended")
    closed = tuple(replace(case, state="closed") for case in board.cases)
    assert board_views.counts(replace(board, jobs=(ended,), cases=closed)) == {
        "jobs": 0,
        "silent": 0,
        "analysed": 1,
        "endpoints": 0,
        "findings": {"critical": 0, "warning": 0, "info": 0},
        "closed": 2,
    }


def test_a_job_in_brief_and_at_length(board: Board) -> None:
    (brief,) = board_views.jobs(board)
    whole = board_views.job(board, "job-1")
    assert whole is not None
    assert {name: whole[name] for name in brief} == brief
    assert brief["step_ms"] == {"median": 1000.0, "p95": 1000.0}
    assert brief["lost_gpu_seconds"] == pytest.approx(312.4)  # of the claim; the symptom's is the same loss
    assert sum(brief["phases"].values()) == pytest.approx(1, abs=1e-3)
    rank = whole["ranks"][3]
    assert (rank["rank"], rank["endpoint"], rank["host"], rank["leaf"]) == (3, "10.10.3.1", "server3", "leaf0")
    assert rank["groups"] == {"dp": 1, "pp": 1}
    assert rank["median_ms"] == 1000.0
    assert sorted(whole["cases"]) == sorted(case.id for case in board.cases)
    assert [one["rank"] for one in board_views.job(board, "job-1", ranks=(2, 5))["ranks"]] == [2, 3, 4]
    assert board_views.job(board, "job-1", ranks=(7, 99))["ranks_total"] == 8
    assert board_views.job(board, "job-2") is None


def test_nothing_known_is_none_and_not_nan(board: Board) -> None:
    found = board.jobs[0].found
    empty = Timeline(tuple(np.zeros((0, 2), np.int64) for _ in range(8)), (), replace_spans(found.timeline))
    bare = replace(board, jobs=(JobStatus(replace(found, timeline=empty)),))
    assert board_views.jobs(bare)[0]["step_ms"] == {"median": None, "p95": None}
    assert board_views.job(bare, "job-1")["ranks"][0]["median_ms"] is None
    json.dumps(board_views.job(bare, "job-1"), allow_nan=False)


def replace_spans(timeline: Timeline):
    spans = timeline.spans
    return replace(spans, **{name: getattr(spans, name)[:0] for name in vars(spans)})


@given(st.lists(st.floats(0, 1e6), max_size=300), st.integers(1, 80))
def test_a_sparkline_is_short_and_keeps_the_peak(values: list[float], most: int) -> None:
    shown = board_views.binned_maxima(np.array(values), most)
    assert len(shown) <= most
    assert max(shown, default=0) == max(values, default=0)


@given(st.lists(st.integers(-50, 50), unique=True), st.integers(1, 7))
def test_pages_hold_every_item_once_and_in_order(items: list[int], limit: int) -> None:
    items, seen, after = sorted(items), [], None
    while True:
        some, after = board_views.select_page(items, lambda item: (item, "x"), after=after, limit=limit)
        assert len(some) <= limit
        seen += some
        if after is None:
            break
    assert seen == items


def test_what_comes_between_two_pages_moves_nothing() -> None:
    first, after = board_views.select_page([10, 20, 30, 40], lambda item: (item, ""), limit=2)
    rest, end = board_views.select_page([5, 10, 30, 35, 40], lambda item: (item, ""), after=after, limit=9)
    assert (first, rest, end) == ([10, 20], [30, 35, 40], None)


def test_windows(board: Board) -> None:
    assert board_views.windows(board) == [
        {"start_ns": str(board.source.start_ns), "end_ns": str(board.source.end_ns), "flows": 9312, "late": 0, "took_s": 0.0}
    ]
