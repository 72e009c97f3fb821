from dataclasses import replace

import numpy as np

from collectors.columns.losses import COLUMNS, Losses
from collectors.columns.record import Transits
from prism.recordings.timed_playback import moved, ticks
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


def test_losses_come_once_each_when_their_time_is_over():
    flows, transits, _, _ = capture("two_jobs")
    ends = np.linspace(flows.start_ns.min(), flows.end_ns.max(), 9).astype(np.int64)[::-1]
    columns = {name: np.zeros(9) for name in COLUMNS} | {"start_ns": ends - 10, "end_ns": ends, "packets": np.arange(9)}
    flows, transits = moved(flows, replace(transits, losses=Losses.build(columns, ("s",), ("a",))), 7)
    seen, clock = [], 0
    for tick in ticks(flows, transits, every_s=0.5):
        told = tick.transits.losses
        assert all(clock <= end < tick.clock_ns for end in told.end_ns.tolist())
        clock, seen = tick.clock_ns, [*seen, *told.packets.tolist()]
    assert seen == list(range(8, -1, -1))
