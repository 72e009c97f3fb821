from dataclasses import replace

import pytest

from prism.metrics.earlier_runs import compare_history, from_json, summarise_run
from tests.prism.web.conftest import recorded


@pytest.fixture(scope="module")
def found():
    return recorded("sharded")[0].jobs[0].found


def slower(run, ratio, job="before"):
    """The same run, once faster by this ratio, before."""
    figures = tuple(replace(one, value=one.value / ratio, error=0.001) if one.name == "step" else one for one in run.figures)
    length = run.end_ns - run.start_ns
    return replace(run, job=job, figures=figures, start_ns=run.start_ns - 2 * length, end_ns=run.start_ns - length)


def test_a_run_is_the_same_after_it_was_kept(found):
    run = summarise_run(found)
    assert from_json(run.to_json()) == run
    assert {one.name for one in run.figures} >= {"step", "work of stage 0"}
    with pytest.raises((TypeError, KeyError)):
        from_json({**run.to_json(), "fingerprint": {"volumes": 3, "layout": {}}})


def test_a_job_that_is_slower_than_its_earlier_runs_says_so(found):
    run = summarise_run(found)
    assert run.job == found.job.id
    told = compare_history(found, [slower(run, 2), replace(slower(run, 9), fingerprint={**run.fingerprint, "ranks": 99})])
    assert [one["job"] for one in told["runs"]] == ["before"]
    step = next(one for one in told["changed"] if one["name"] == "step")
    assert (step["worse"], step["ratio"]) == (True, pytest.approx(2))
    assert told["drift"] is None


def test_what_came_later_or_differs_little_is_no_regression(found):
    run = summarise_run(found)
    assert compare_history(found, [slower(run, 1.005)])["changed"] == []
    assert compare_history(found, [replace(slower(run, 2), end_ns=run.end_ns)])["runs"] == []
    assert compare_history(found, [])["known"]


def test_a_job_without_transfers_is_not_known(found):
    line = replace(found.timeline, spans=replace(found.timeline.spans, octets=abs(found.timeline.spans.octets) * 0))
    told = compare_history(replace(found, timeline=line), [])
    assert not told["known"]
