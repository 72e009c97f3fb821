import numpy as np

from collectors.columns.record import Flows, concatenated
from prism.analysis import diagnose
from prism.inventory.bookings import Booking
from prism.model import Source
from prism.recordings.booking_division import diagnosed, split_by_booking, successive_bookings
from prism.tracking.board import board_of
from tests.prism.played import capture

S = 10**9


def twice():
    """A recorded run and the same hosts again a minute later, as records of one collection."""
    flows, _, topology, _ = capture("slow_rank")
    shift = 60 * S
    names = ("src", "dst", "octets", "packets", "messages", "protocol", "src_port", "dst_port")
    moved = {name: getattr(flows, name) for name in names}
    again = Flows.build(moved | {"start_ns": flows.start_ns + shift, "end_ns": flows.end_ns + shift}, endpoints=flows.endpoints)
    first, last = flows.window
    hosts = topology.hosts()
    before = Booking("1", "first", "ada", hosts=hosts, start_ns=first - S, end_ns=last + S, source="slurm")
    after = Booking("2", "second", "bob", hosts=hosts, start_ns=first + shift - S, source="slurm")
    return concatenated([flows, again]), topology, before, after


def test_jobs_of_the_same_endpoints_at_different_times_are_different_jobs():
    flows, topology, before, after = twice()
    source = Source((), 0, len(flows), {}, *flows.window)
    found = diagnosed(flows, (before, after), topology, lambda own: diagnose(own, source, topology=topology))
    first, second = found.jobs
    assert (first.job.name, second.job.name) == ("first", "second")
    assert first.job.id != second.job.id
    assert first.job.endpoints == second.job.endpoints
    assert {finding.job for finding in found.findings} <= {first.job.id, second.job.id}
    assert len({finding.job for finding in found.findings if finding.severity != "info"}) == 2  # the slow rank is slow in both
    board = board_of(found, topology, (before, after))
    assert {board.bookings[one.id].user for one in board.jobs} == {"ada", "bob"}


def test_records_are_divided_by_the_time_of_bookings_and_none_is_lost():
    flows, topology, before, after = twice()
    parts = split_by_booking(flows, (before, after), topology)
    assert sum(map(len, parts)) == len(flows)
    assert all(int(part.start_ns.max()) - int(part.start_ns.min()) < 30 * S for part in parts[:2])
    assert split_by_booking(flows, (before,), topology) == [flows]
    assert np.array_equal(split_by_booking(flows, (), topology)[0].start_ns, flows.start_ns)


def test_only_bookings_one_after_another_turn():
    a, b = Booking("a", hosts=("x",), start_ns=1, end_ns=5), Booking("b", hosts=("x",), start_ns=5)
    beside = Booking("c", hosts=("x",), start_ns=2, end_ns=9)
    assert successive_bookings((b, a)) == [a, b]
    assert successive_bookings((a, beside)) == []
