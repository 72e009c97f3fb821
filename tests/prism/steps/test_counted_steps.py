import numpy as np

from prism.steps.counted_steps import counted_steps
from prism.steps.examined_traffic import repetition_of
from prism.steps.record_sequences import sequences_of
from prism.steps.step_bounds import rank_steps, steps_of
from tests.prism.evidence.made import MS, ORIGIN, Wire
from tests.prism.steps.made import sequences


def halves(steps, *, at=0.0, second=70, wire=None):
    """Four ranks; two bursts a step, the second one after so many of 100 ms. Also when each step ends."""
    wire, ends = wire or Wire([f"a{i}" for i in range(4)]), []
    for step in range(steps):
        wire.ring([0, 1, 2, 3], at + 100 * step, 2_000_000, long=2)
        wire.ring([0, 1, 2, 3], at + 100 * step + second, 3_000_000, long=2)
        ends.append(wire.rows[-1][1])
    return wire, np.array(ends)


def ends_of(wire, reduces=None):
    flows = wire.flows()
    found = sequences_of(flows, np.arange(len(flows)), reduces)
    return rank_steps(found, steps_of(found), 4)


def test_steps_of_a_whole_recording_end_where_counts_show_it_though_a_pause_inside_a_step_is_longer():
    wire, ends = halves(12)
    for own in ends_of(wire):
        assert len(own) == 12
        assert np.abs(own[:, 1] - ends).max() <= 5 * MS


def test_the_step_of_a_crash_is_not_complete():
    wire, first = halves(6, second=40)
    wire.ring([0, 1, 2, 3], 600, 2_000_000, long=2)  # half of a step
    wire, second = halves(14, at=1400, second=40, wire=wire)
    for own in ends_of(wire):
        assert len(own) == 20
        assert np.abs(own[:, 1] - np.concatenate([first, second])).max() <= 5 * MS


def test_a_recording_that_begins_and_ends_inside_steps_is_not_divided_by_counts():
    wire, _ = halves(12)
    wire.rows = [row for row in wire.rows if 100 * MS < row[0] - ORIGIN + 45 * MS < 1100 * MS][8:]
    found = sequences(wire)
    one = repetition_of(found)
    assert counted_steps(found, one.clock.times(one.places)) is None


def test_a_step_ends_with_the_reduction_of_gradients_though_other_traffic_varies_until_the_next_one():
    wire, ends, rng = Wire([f"a{i}" for i in range(4)]), [], np.random.default_rng(1)
    for step in range(40):
        for place in (20, 45):
            for a, b in ((0, 2), (2, 0), (1, 3), (3, 1)):
                for k in range(int(rng.integers(3, 6))):
                    wire.send(a, b, 100 * step + place + 2 * k, 500_000)
        wire.ring([0, 1, 2, 3], 100 * step + 70, 2_000_000, long=2)
        ends.append(wire.rows[-1][1])
    flows = wire.flows()
    for own in ends_of(wire, flows.octets == 2_000_000):
        assert len(own) == 40
        assert np.abs(own[:, 1] - np.array(ends)).max() <= 5 * MS
