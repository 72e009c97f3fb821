import numpy as np
import pytest

from prism.evidence.member_graphs import imbalance
from tests.prism.evidence.made import Wire, data_parallel, evidence, pipelined


def test_a_ring_is_one_way_and_closed():
    _, _, found, _ = evidence(data_parallel(hosts=5))
    assert [(one.form, len(one.members)) for one in found] == [("one cycle", 5)]


def test_a_ring_with_two_members_in_one_host_is_closed_there():
    """Three members, of which the last and the first share a host: their hop is not on the wire."""
    wire = Wire(["a", "b", "c"])
    for step in range(8):
        for k in range(4):
            for src, dst in ((0, 1), (1, 2)):
                wire.send(src, dst, step * 200 + 10 * k, 4_000_000)
    _, _, (ring,), _ = evidence(wire, [0, 1, 0])
    assert ring.form == "one cycle"
    assert imbalance(ring.edges) == 0


def test_a_pipeline_falls_apart_into_its_replicas_and_its_gradients():
    _, _, found, _ = evidence(pipelined(stages=4, replicas=2))
    forms = sorted((one.form, len(one.members)) for one in found)
    assert forms == [("two pair", 2)] * 4 + [("two path", 4)] * 2
    assert all(one.overlap < 0.3 for one in found if one.shape == "path")


def test_messages_alike_by_chance_belong_to_the_exchange_that_varies():
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(12):
        for k in range(3):
            for a in range(4):
                for b in range(4):
                    if a != b:
                        size = 1_500_000 if (a, b) == (0, 1) and k < 2 else int(wire.rng.integers(1_000_000, 2_000_000))
                        wire.send(a, b, step * 100 + 20 * k, size)
    _, _, found, _ = evidence(wire)
    assert [one.form for one in found] == ["two clique"]
    assert found[0].octets == pytest.approx(sum(row[4] for row in wire.rows), rel=0.1)


def test_halving_and_doubling_is_a_cube():
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(10):
        for level in range(3):
            for a in range(8):
                for k in range(2):
                    wire.send(a, a ^ (1 << level), step * 200 + 10 * level + 3 * k, 8_000_000 >> level, long=2.0)
    _, _, _, families = evidence(wire)
    assert [[one.form for one in family] for family in families] == [["two cube"]]
    assert np.isclose(families[0].octets, sum(row[4] for row in wire.rows))
