from dataclasses import replace

from prism.inventory.bookings import Booking
from prism.live._live_bookings import named, with_seen
from prism.live.live_analysis import Watch
from prism.recordings.timed_playback import play, ticks
from tests.prism.played import capture

S = 10**9


def test_where_the_hosts_go_to_another_booking_the_traffic_is_another_job():
    flows, transits, topology, _ = capture("slow_rank")
    first, last = flows.window
    middle = (first + last) // 2
    hosts = topology.hosts()
    before = Booking("1", "first", "ada", hosts=hosts, start_ns=first - S, source="slurm")
    after = Booking("2", "second", "bob", hosts=hosts, start_ns=middle, source="slurm")
    listed = [(before,)]
    watch = Watch(topology, bookings=lambda: listed[0])
    for board in play(watch, ticks(flows, transits)):
        if board.at_ns > middle and len(listed[0]) == 1:
            listed[0] = (replace(before, end_ns=middle), after)
    jobs = {board.bookings[one.id].title: one for one in board.jobs}
    assert set(jobs) == {"first", "second"}
    assert (jobs["first"].state, jobs["second"].state) == ("ended", "running")
    assert jobs["first"].id != jobs["second"].id
    begins = min(int(steps[0, 0]) for steps in jobs["second"].found.timeline.steps if len(steps))
    assert begins >= middle - S


def test_nothing_changes_where_no_scheduler_is_asked():
    assert named((), {"a": Booking("1")}, (), None, 5) == ((), {"a": Booking("1")})
    assert with_seen((), (), (), {}, 5, {}) == ()
