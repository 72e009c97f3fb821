import pytest

from prism.evidence.stream_periods import rhythms_of
from tests.prism.evidence.made import data_parallel, evidence


def test_a_ring_of_n_sends_twice_n_less_one_messages_in_each_all_reduce():
    streams, steps, _, _ = evidence(data_parallel(hosts=4, layers=2))
    rhythms = rhythms_of(streams, steps)
    for stream in streams:
        rhythm = rhythms[id(stream)]
        assert (rhythm.messages, rhythm.sure) == (2 * 2 * 3, 1.0)
        assert rhythm.runs == pytest.approx(2, abs=0.5)  # one for each all-reduce: between rounds there is hardly a rest
        assert rhythm.spread < 0.3
        assert rhythm.varies < 0.1
