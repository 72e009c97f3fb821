import numpy as np

from collectors.exports.sflow import sample_loops as walks
from collectors.exports.sflow._packet_samples import Samples
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import batch, counters, drop_sample, flow_sample, sflow


def test_samples_by_kind_and_who_took_them():
    time = x.flow_record(1043, bytes(7) + b"\x09")
    samples = Samples(batch(sflow(flow_sample(time), counters()), b"junk", sflow(drop_sample(), agent="fd00::1"), sflow()))
    assert samples.agents == ("10.9.9.9", "fd00::1")
    assert samples.agent.tolist() == [0, 2, 1, 0]
    assert samples.of(walks.FLOW, walks.DROP).tolist() == [0, 2]
    assert samples.exporter.tolist() == [0, 0, 1]
    rows = np.arange(3)
    assert samples.time_ns(rows).tolist() == [9, x.WHEN * 10**9, (x.WHEN + 2) * 10**9]
    samples.refuse(np.array([True, False, False]))
    assert (samples.exporter.tolist(), samples.count_all) == ([1], 1)


def test_many_more_samples_than_mostly():
    assert Samples(batch(sflow(*[counters()] * 100))).count_all == 100
