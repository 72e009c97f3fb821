import pytest

from prism.evidence.stream_periods import rhythms_of
from tests.prism.evidence.made import Wire, data_parallel, evidence


def test_a_ring_of_n_sends_twice_n_less_one_messages_in_each_all_reduce():
    streams, steps, _, _ = evidence(data_parallel(hosts=4, layers=2))
    rhythms = rhythms_of(streams, steps)
    for stream in streams:
        rhythm = rhythms[id(stream)]
        assert (rhythm.messages, rhythm.sure) == (2 * 2 * 3, 1.0)
        assert rhythm.runs == pytest.approx(2, abs=0.5)  # one for each all-reduce: between rounds there is hardly a rest
        assert rhythm.spread < 0.3
        assert rhythm.varies < 0.1


def test_gradients_move_late_in_the_step_and_rest_during_the_forward_pass():
    wire = Wire(["a", "b"])
    for step in range(12):
        for k in range(10):
            wire.send(0, 1, step * 300 + 25 * k, 1_000_000)  # in every layer, also what begins the step
        for k in range(4):
            wire.send(1, 0, step * 300 + 220 + 10 * k, 4_000_000)  # gradients
    streams, steps, _, _ = evidence(wire)
    rhythms = rhythms_of(streams, steps)
    by_size = {stream.size: rhythms[id(stream)] for stream in streams}
    layers, gradients = by_size[1_000_000], by_size[4_000_000]
    assert gradients.early < layers.early
    assert gradients.late > 0.8 > layers.late
    assert gradients.idle > 0.6 > 0.3 > layers.idle
