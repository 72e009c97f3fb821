import numpy as np

from collectors.record import Transits
from prism.playing import moved, ticks
from tests.prism.played import capture


def test_every_record_comes_once_and_not_before_it_has_ended():
    flows, transits, _, _ = capture("two_jobs")
    seen, clock = 0, 0
    for tick in ticks(flows, transits, every_s=0.5):
        assert tick.clock_ns > clock
        assert not len(tick.flows) or (tick.flows.end_ns.max() < tick.clock_ns and tick.flows.end_ns.min() >= clock)
        clock, seen = tick.clock_ns, seen + len(tick.flows)
    assert seen == len(flows)


def test_nothing_plays_nothing():
    flows, _, _, _ = capture("two_jobs")
    assert list(ticks(flows.take(np.arange(0)), Transits.empty())) == []


def test_another_time_is_another_time_for_all():
    flows, transits, _, _ = capture("two_jobs")
    later, delays = moved(flows, transits, 7)
    assert (later.end_ns - flows.end_ns == 7).all()
    assert (delays.start_ns - transits.start_ns == 7).all()
