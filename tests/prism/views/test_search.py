from benchmarks.boards import board
from prism.inventory.bookings import Booking
from prism.tracking.board import Board
from prism.views.search import search

SHOWN = board(24, 12, stages=2)
JOB = SHOWN.jobs[0].id
BOOKING = Booking("4711", "llama-70b", "ada", "gold", SHOWN.topology.hosts(), source="slurm")
NAMED = Board(**(vars(SHOWN) | {"bookings": {JOB: BOOKING}}))


def found(text, **more):
    return [(one["type"], one["id"]) for one in search(NAMED, text, **more)]


def test_each_kind_of_name_is_found():
    address = SHOWN.jobs[0].found.job.endpoints[5]
    assert found("llama-70b")[0] == found("4711")[0] == ("job", JOB)
    assert found("server1")[0] == ("host", "server1")
    assert found("leaf0")[0] == ("switch", "leaf0")
    assert found(address)[0] == ("endpoint", address)
    assert found("ADA")[0] == ("user", "ada")
    assert found("gold")[0] == ("queue", "gold")
    assert found("slow rank")[0][0] == "finding"
    assert found("leaf0 – spine1")[0] == ("link", "leaf0|spine1")


def test_the_same_comes_before_what_begins_so_and_that_before_what_contains_it():
    assert [one[1] for one in found("server1", kind="host")] == ["server1"]
    assert [one[1] for one in found("server", kind="host")] == ["server0", "server1", "server2"]
    assert found("erver2")[0] == ("host", "server2")
    assert found("") == found("   ") == found("no such thing") == []


def test_a_place_names_its_jobs_and_findings():
    (case,) = NAMED.cases
    host = next(one for one in search(NAMED, NAMED.topology.host(case.finding.ids[0])) if one["type"] == "host")
    assert (host["jobs"], host["findings"]) == ([JOB], [case.id])
    assert search(NAMED, "ada")[0]["jobs"] == [JOB]


def test_ten_thousand_ranks_are_searched_in_time():
    large = board(10_000, 4)
    assert search(large, "server1249")[0]["id"] == "server1249"
