import dataclasses
import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.jobs import recognize
from prism.model import Job
from prism.report import json_report
from prism.tracking.identity import Marks, distinct, marks, recognised, renamed, reported_jobs
from tests.prism.traffic import MS, SECOND, T0, Wire, address, closed, told, training


def ends(*ranks):
    return frozenset(map(address, ranks))


def names(previous, jobs):
    return recognised({name: Marks(own) for name, own in previous.items()}, [Marks(own) for own in jobs])


def test_a_job_is_the_one_most_of_whose_endpoints_it_has():
    previous = {"a": ends(*range(8)), "b": ends(*range(8, 16))}
    assert names(previous, [ends(*range(8, 16)), ends(*range(8))]) == ("b", "a")
    assert names(previous, [ends(*range(7)), ends(*range(9, 17))]) == ("a", "b")
    assert names(previous, [ends(*range(20, 28))]) == (None,)
    assert names({}, [ends(1)]) == (None,)
    assert names(previous, []) == ()


def test_half_of_a_job_is_another():
    assert names({"a": ends(*range(8))}, [ends(*range(4)), ends(*range(4, 8))]) == (None, None)
    assert names({"a": ends(*range(4)), "b": ends(*range(4, 8))}, [ends(*range(8))]) == (None,)


def twin(octets, **layout):
    moved = {(address(0), address(1)): octets, (address(1), address(2)): 100}
    return Marks(ends(0, 1, 2), moved, (layout.get("dp", 3), layout.get("pp", 1), 1, 1, 1))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_twins_on_the_same_endpoints_are_told_by_what_they_move_and_by_their_layout(order):
    previous = {"one": twin(100), "two": twin(900), "three": twin(100, dp=1, pp=3)}
    jobs = [twin(210), twin(1700), twin(200, dp=1, pp=3)]
    found = recognised(previous, [jobs[i] for i in order])
    assert found == tuple(("one", "two", "three")[i] for i in order)


def test_twins_that_nothing_tells_apart_are_not_one():
    assert sorted(names({"one": ends(0, 1), "two": ends(0, 1)}, [ends(0, 1), ends(0, 1)])) == ["one", "two"]
    assert set(names({"one": ends(0, 1)}, [ends(0, 1), ends(0, 1)])) == {"one", None}
    first, second, other = distinct([Job("x", ("e",), (), 0, 1), Job("x", ("e",), (), 0, 1), Job("y", ("f",), (), 0, 1)])
    assert (first.id, other.id) == ("x", "y")
    assert len({first.id, second.id, other.id}) == 3
    assert distinct([Job("x", ("e",), (), 0, 1)], ["x"])[0].id == second.id


SETS = st.lists(st.frozensets(st.integers(0, 9).map(address), min_size=1), max_size=6)


@given(SETS, SETS)
def test_no_two_jobs_have_one_name_and_each_shares_most_with_its_namesake(previous, jobs):
    earlier = {str(i): own for i, own in enumerate(previous)}
    found = names(earlier, jobs)
    said = [name for name in found if name is not None]
    assert len(said) == len(set(said))
    for name, own in zip(found, jobs, strict=True):
        if name is not None:
            assert 2 * len(own & earlier[name]) > len(own | earlier[name])
        else:
            alike = [n for n, e in earlier.items() if 2 * len(own & e) > len(own | e)]
            assert set(alike) <= set(said)


def test_a_report_is_remembered_as_what_it_told(diagnosis):
    found = reported_jobs(json_report.dumps(diagnosis), "r.json")
    assert list(found) == ["job-1"]
    assert found["job-1"] == marks(diagnosis.jobs[0])
    assert reported_jobs('{"jobs": [{"id": "a", "endpoints": ["10.0.0.1"]}]}', "r.json") == {
        "a": Marks(frozenset(["10.0.0.1"]))
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"jobs": 3}', '{"jobs": [{"id": "a"}]}', '{"jobs": ["a"]}', "\x00"])
def test_an_invalid_report_is_named(text):
    with pytest.raises(ValueError, match=r"r\.json: is not a report"):
        reported_jobs(text, "r.json")


def test_everything_said_of_a_job_is_said_of_its_name(diagnosis, make_job, make_finding):
    about = dataclasses.replace(make_finding(), subject="job", ids=("job-1",))
    two = dataclasses.replace(
        diagnosis,
        jobs=(*diagnosis.jobs, make_job("job-2", first=40)),
        findings=(make_finding(), about, make_finding(job="job-2"), make_finding(job="")),
        unexplained=("job job-1: odd", "job deadbeef: odd", "no job here: odd"),
    )
    plain = dataclasses.replace(two, unexplained=("job 1abc: odd",))
    named = renamed(two, {"old": marks(diagnosis.jobs[0])})
    assert [one.job.id for one in named.jobs] == ["old", "job-2"]
    assert [f.job for f in named.findings] == ["old", "old", "job-2", ""]
    assert named.findings[1].ids == ("old",)
    assert named.findings[0].ids == two.findings[0].ids
    assert renamed(plain, {}) == plain
    assert renamed(named, {"old": marks(named.jobs[0])}).jobs == named.jobs


def test_a_job_that_is_new_does_not_take_the_name_of_one_that_was(diagnosis, make_job):
    two = dataclasses.replace(diagnosis, jobs=(make_job("x"),), unexplained=("job x: odd",), findings=())
    named = renamed(two, {"x": Marks(ends(1, 2))})
    assert named.jobs[0].job.id != "x"
    assert named.unexplained == (f"job {named.jobs[0].job.id}: odd",)


def windows():
    """One job in two windows; in the second a rank says nothing. And a third, after a restart with another host for it."""
    first = training(dp=4, pp=2, steps=20).flows()
    again = training(dp=4, pp=2, steps=20, start=T0 + 100 * SECOND).flows()
    silent = again.take((again.src != 7) & (again.dst != 7))
    moved = np.where(again.src == 7, 8, again.src), np.where(again.dst == 7, 8, again.dst)
    replaced = dataclasses.replace(
        again, src=moved[0].astype(np.int32), dst=moved[1].astype(np.int32), endpoints=(*again.endpoints, address(8))
    )
    return first, silent, replaced


def test_windows_in_which_endpoints_differ_name_the_same_job_alike():
    first, silent, replaced = (told(flows) for flows in windows())
    name = first.jobs[0].job.id
    earlier = reported_jobs(json_report.dumps(first), "first")
    for later, has in ((silent, ends(*range(7))), (replaced, ends(*range(7), 8))):
        assert frozenset(later.jobs[0].job.endpoints) == has
        assert later.jobs[0].job.id != name
        assert renamed(later, earlier).jobs[0].job.id == name
    chained = reported_jobs(json.dumps(json_report.to_json(renamed(silent, earlier))), "second")
    assert renamed(replaced, chained).jobs[0].job.id == name


def test_a_restart_on_another_host_within_a_window_is_one_job():
    wire = closed(training(dp=4, steps=12, wire=Wire(tcp=True)), range(4), first=3)
    end = max(row["end_ns"] for row in wire.rows)
    again = training(dp=4, steps=12, wire=Wire(tcp=True, seed=1), start=end + 500 * MS)
    for row in again.rows:
        row["src"], row["dst"] = (4 if end == 3 else end for end in (row["src"], row["dst"]))
    wire.rows += again.rows
    (job,) = recognize(wire.flows())
    assert job.endpoints == tuple(map(address, range(5)))
