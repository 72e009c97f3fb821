import numpy as np
import pytest

from tests.prism.evidence.made import Wire, data_parallel, evidence, pipelined


def test_a_ring_is_one_way_and_closed():
    _, _, found, _ = evidence(data_parallel(hosts=5))
    assert [(one.form, len(one.members)) for one in found] == [("one cycle", 5)]


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


def test_halving_with_some_partners_in_the_same_host_is_a_cube():
    """Sixteen ranks in shuffled hosts of four: some exchanges of each level stay inside hosts."""
    hosts = [0, 1, 2, 3, 1, 0, 3, 2, 2, 3, 0, 1, 0, 1, 2, 3]
    wire = Wire([f"a{i}" for i in range(16)])
    for step in range(10):
        for level in range(4):
            for a in range(16):
                if hosts[a] != hosts[a ^ (1 << level)]:
                    wire.send(a, a ^ (1 << level), step * 200 + 10 * level, 8_000_000 >> level, long=2.0)
    _, _, _, families = evidence(wire, hosts)
    assert [[one.form for one in family] for family in families] == [["two cube"]]


def test_a_small_collective_of_all_does_not_join_the_groups_on_its_edges():
    """Two groups reduce along chains; a scalar is reduced along the chain of all."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(10):
        for k in range(7):
            for src, dst in ((k, k + 1), (k + 1, k)):
                if k != 3:
                    wire.send(src, dst, step * 300 + 10 * k, 50_000_000, long=5.0)
                wire.send(src, dst, step * 300 + 200 + k, 20_000)
    _, _, found, _ = evidence(wire)
    largest = sorted(found, key=lambda one: -one.octets)[:2]
    assert sorted(map(sorted, (one.members for one in largest))) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_ring_attention_passes_on_twice_as_much_in_backward_passes():
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(10):
        wire.ring([0, 1, 2, 3], step * 300, 4_000_000, rounds=6)
        wire.ring([0, 1, 2, 3], step * 300 + 100, 8_000_000, rounds=6)
    _, _, found, _ = evidence(wire)
    assert [(one.doubled, one.sizes) for one in found] == [(1.0, 2.0)]


def test_experts_send_many_sizes():
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(12):
        for a in range(4):
            for b in range(4):
                if a != b:
                    wire.send(a, b, step * 100, int(wire.rng.integers(1_000_000, 2_000_000)))
    _, _, (found,), _ = evidence(wire)
    assert found.sizes > 5
    assert found.doubled == 0


def test_a_ring_sends_its_rounds_over_each_hop_of_several_sizes():
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        wire.ring([0, 1, 2, 3], step * 100, 4_000_000)
        wire.ring([0, 1, 2, 3], step * 100 + 20, 3_000_000)
    _, _, found, _ = evidence(wire)
    assert [one.rounds for one in found] == [12]


def test_gradients_of_tied_embeddings_are_apart_from_the_hand_overs_of_the_same_two_stages():
    wire = Wire(["a", "b"])
    for step in range(10):
        for micro in range(4):
            wire.send(0, 1, step * 400 + 40 * micro, 2_000_000)
            wire.send(1, 0, step * 400 + 100 + 40 * micro, 2_000_000)
        wire.send(0, 1, step * 400 + 350, 20_000_000, long=5)
        wire.send(1, 0, step * 400 + 350, 20_000_000, long=5)
    assert sorted(one.size for one in evidence(wire)[2]) == [2_000_000, 20_000_000]


def test_what_stages_hand_over_and_get_back_is_one_pipeline_although_their_bursts_are_unlike():
    """By TCP: activations of four micro-batches at once, gradients one by one."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(10):
        for micro in range(4):
            for stage in range(3):
                wire.send(stage, stage + 1, 400 * step + 10 * stage + 2 * micro, 2_000_000, port=1 + stage)
                back = 400 * step + 100 + 40 * micro + 10 * (3 - stage)
                wire.send(stage + 1, stage, back, 2_000_000, port=11 + stage)
    assert [one.form for one in evidence(wire)[2]] == ["two path"]
    assert [one.form for one in evidence(wire, [0, 0, 1, 1])[2]] != ["two path"]  # hosts of two may hide a ring
