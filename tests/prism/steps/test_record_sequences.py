from dataclasses import replace
from itertools import pairwise

import numpy as np

from collectors.columns.record import TCP, UDP
from prism.steps.record_sequences import chosen, classes, sequences_of
from tests.prism.evidence.made import MS, Wire
from tests.prism.steps.made import buckets, sequences
from tests.prism.traffic import Wire as Records
from tests.prism.traffic import closed, training


def test_messages_of_one_pair_and_size_are_a_voice():
    found = sequences(buckets()[0])
    assert len(found) == 8  # four edges, two sizes
    assert set(found.count.tolist()) == {10 * 3 * 6, 10}
    assert not found.bursts
    assert np.all(np.diff(found.of) >= 0)
    assert all(np.all(np.diff(found.start[low:high]) >= 0) for low, high in pairwise(found.begins.tolist()))


def test_sizes_are_of_one_class_where_they_nearly_agree():
    assert classes(np.array([100.0, 101.0, 99.0, 200.0, 5000.0]), 0.03).tolist() == [0, 0, 0, 1, 2]


def test_what_comes_at_the_start_only_stands_for_nothing():
    wire, _ = buckets()
    for k in range(20):
        wire.send(0, 2, k, 9_000_000)
    found = sequences(wire)
    assert all((found.src[k], found.dst[k]) != (0, 2) for k in chosen(found).tolist())


def test_who_joins_after_a_restart_does_not_stand_for_the_whole_life():
    """The ring has another order after the restart; a clock of all pairs would advance by another amount per step then."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(30):
        order = [0, 1, 2, 3] if step < 10 else [0, 2, 1, 3]
        wire.ring(order, 100 * step + (0 if step < 10 else 900), 4_000_000)
    found = sequences(wire)
    assert {(int(found.src[k]), int(found.dst[k])) for k in chosen(found).tolist()} == {(3, 0)}


def test_nothing_has_no_voices():
    flows = Wire(["a", "b"])
    flows.send(0, 1, 0, 1000)
    assert len(chosen(sequences_of(flows.flows(), np.zeros(0, np.intp)))) == 0


def test_connections_close_after_the_last_payload_or_not():
    wire = training(dp=4, wire=Records(tcp=True))
    before, after = (wire.flows(), closed(wire, range(4), first=0).flows())
    assert [sequences_of(one, np.arange(len(one))).closed for one in (before, after)] == [False, True]


def test_scalars_between_ranks_without_payload_are_signals_everywhere_and_credits_are_not():
    """By RDMA: gradients 0 ↔ 1 and 2 ↔ 3 with credits of 64 octets, then 68 octets around all four ranks."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(6):
        at = 100.0 * step
        for a, b in ((0, 1), (1, 0), (2, 3), (3, 2)):
            wire.send(b, a, at + 10, 64)
            wire.send(a, b, at + 11, 4_000_000)
        for a in range(4):
            wire.send(a, (a + 1) % 4, at + 20, 68)
    flows = wire.flows()
    found = sequences_of(flows, np.arange(len(flows)))
    small = {(int(found.src[k]), int(found.dst[k])) for k in np.flatnonzero(found.signals)}
    assert small == {(0, 1), (1, 2), (2, 3), (3, 0)}
    assert set(found.octets[found.signals[found.of]].tolist()) == {68.0}


def test_connections_of_control_messages_alone_are_signals_but_no_scalars():
    """By TCP, libraries announce and ask there, and ranks that are early do so long before a step ends."""
    wire = Wire(["a", "b"])
    for step in range(6):
        for chunk in range(3):
            wire.send(0, 1, 100 * step + 10 * chunk, 4_000_000)
        wire.send(0, 1, 100 * step + 50, 48, port=2000)
    flows = wire.flows()
    for protocol, scalars in ((TCP, 0), (UDP, 1)):
        found = sequences_of(replace(flows, protocol=np.full(len(flows), protocol, np.uint8)), np.arange(len(flows)))
        assert (found.signals.sum(), found.scalars.sum()) == (1, scalars)


def test_scalars_between_ranks_with_far_more_payload_are_signals():
    """By RDMA, a reduction of scalars uses the queue pairs of the gradients; credits come as often as these."""
    wire = Wire(["a", "b", "c"])
    for step in range(6):
        for chunk in range(8):
            for b in (1, 2):
                wire.send(0, b, 100 * step + 10 * chunk, 4_000_000)
            wire.send(2, 0, 100 * step + 10 * chunk - 1, 64)
        wire.send(0, 1, 100 * step + 90, 64)
    flows = wire.flows()
    found = sequences_of(flows, np.arange(len(flows)))
    assert {(int(found.src[k]), int(found.dst[k])) for k in np.flatnonzero(found.signals)} == {(0, 1)}


def test_control_messages_after_the_connections_closed_do_not_hide_that_these_closed():
    wire = closed(training(dp=4, wire=Records(tcp=True)), range(4), first=0)
    last = max(row["end_ns"] for row in wire.rows)
    for rank in range(4):
        wire.send(rank, (rank + 1) % 4, 48, last + MS, src_port=999)
    flows = wire.flows()
    assert sequences_of(flows, np.arange(len(flows))).closed
    for rank in range(4):
        wire.send(rank, (rank + 1) % 4, 5_000_000, last + 2 * MS)
    flows = wire.flows()
    assert not sequences_of(flows, np.arange(len(flows))).closed, "payload after them"


def test_both_directions_of_a_pipeline_stand_for_messages_of_one_size():
    """Each rank of a first stage sends to its neighbour and to the last stage; every second sequence is to the neighbour."""
    wire = Wire([f"a{i}" for i in range(64)])
    for step in range(4):
        for rank in range(32):
            wire.send(rank, rank + 32, 100 * step, 1_000_000)
            wire.send(rank + 32, rank, 100 * step + 20, 1_000_000)
        for rank in range(64):
            wire.send(rank, rank ^ 1, 100 * step + 50, 1_000_000)
    found = sequences(wire)
    apart = (found.dst - found.src)[chosen(found)]
    assert len(apart) == 64
    assert {32, -32} < set(apart.tolist())
