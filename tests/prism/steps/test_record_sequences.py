import numpy as np

from prism.steps.record_sequences import chosen, classes, sequences_of
from tests.prism.evidence.made import Wire
from tests.prism.steps.made import buckets, sequences
from tests.prism.traffic import Wire as Records
from tests.prism.traffic import closed, training


def test_messages_of_one_pair_and_size_are_a_voice():
    found = sequences(buckets()[0])
    assert len(found) == 8  # four edges, two sizes
    assert set(found.count.tolist()) == {10 * 3 * 6, 10}
    assert not found.bursts
    assert np.all(np.diff(found.of) >= 0)
    assert all(np.all(np.diff(found.start[found.records(k)]) >= 0) for k in range(len(found)))


def test_sizes_are_of_one_class_where_they_nearly_agree():
    assert classes(np.array([100.0, 101.0, 99.0, 200.0, 5000.0]), 0.03).tolist() == [0, 0, 0, 1, 2]


def test_what_comes_at_the_start_only_stands_for_nothing():
    wire, _ = buckets()
    for k in range(20):
        wire.send(0, 2, k, 9_000_000)
    found = sequences(wire)
    assert all((found.src[k], found.dst[k]) != (0, 2) for k in chosen(found).tolist())


def test_nothing_has_no_voices():
    flows = Wire(["a", "b"])
    flows.send(0, 1, 0, 1000)
    assert len(chosen(sequences_of(flows.flows(), np.zeros(0, np.intp)))) == 0


def test_connections_close_after_the_last_payload_or_not():
    wire = training(dp=4, wire=Records(tcp=True))
    before, after = (wire.flows(), closed(wire, range(4), first=0).flows())
    assert [sequences_of(one, np.arange(len(one))).closed for one in (before, after)] == [False, True]
