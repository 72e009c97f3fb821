import pytest

from tests.prism.evidence.made import Wire, addresses
from tests.prism.layout.made import asked, tensor_and_data


def sizes(wire, per_host):
    _, found = asked(wire, per_host)
    return {kind: size for kind, size in found[0].best.layout.items() if size > 1}


def test_ranks_dealt_out_in_order_lie_across_hosts():
    """Three stages, two replicas, two GPUs in a host: ranks 0 1 | 2 3 | 4 5, the second host holds parts of both replicas."""
    wire = Wire(addresses(3, 2))
    for step in range(10):
        at = step * 500
        for first in (0, 3):
            for micro in range(4):
                for stage in range(2):
                    a, b = first + stage, first + stage + 1
                    if a // 2 != b // 2:
                        wire.send(a, b, at + 20 * micro + 15 * stage, 2_000_000)
                        wire.send(b, a, at + 160 + 20 * micro + 15 * (2 - stage), 2_000_000)
        for stage in range(3):
            wire.ring([stage, stage + 3], at + 400 - 20 * stage, 30_000_000)
    assert sizes(wire, 2) == {"dp": 2, "pp": 3}


def halving(octets, levels=2, per_host=4, steps=10):
    wire = Wire(addresses(2**levels, per_host))
    for step in range(steps):
        for rail in range(per_host):
            for level in range(levels):
                for host in range(2**levels):
                    src, dst = host * per_host + rail, (host ^ (1 << level)) * per_host + rail
                    for k in range(2):
                        wire.send(src, dst, step * 300 + 20 * level + 5 * k, octets >> level, long=2.0)
    return wire


def test_halving_over_hosts_may_go_on_inside_them():
    _, found = asked(halving(8_000_000), 4)
    told = [{kind: size for kind, size in one.best.layout.items() if size > 1} for one in found[:4]]
    assert {"dp": 16} in told
    assert {"dp": 4, "tp": 4} in told
    assert found[0].probability < 0.9


@pytest.mark.parametrize(("often", "rounds", "flat"), [(1, 5, False), (1, 250, False), (8, 5, True), (8, 6, False)])
def test_rails_that_reduce_all_over_the_step_are_rather_one_reduction_of_shards(often, rounds, flat):
    """Once a step, also if that takes long, or layer by layer. Six messages are those of a ring of four, 5 and 250 of none."""
    wire = Wire(addresses(4, 4))
    for step in range(10):
        for layer in range(often):
            for rail in range(4):
                wire.ring([host * 4 + rail for host in range(4)], step * 400 + 24 * layer, 4_000_000 // often, rounds=rounds)
    whole, tensors = ({"dp": 16}, {"dp": 4, "tp": 4})
    _, found = asked(wire, 4)
    chances = {str({k: n for k, n in one.best.layout.items() if n > 1}): one.probability for one in found}
    assert (chances[str(whole)] > chances[str(tensors)]) == flat
    assert max(chances.values()) < 0.9


def test_tensors_are_rather_divided_by_powers_of_two():
    """Hosts of three GPUs, each of which reduces on a rail of its own."""
    _, found = asked(tensor_and_data(hosts=4, per_host=3), 3)
    _, usual = asked(tensor_and_data(hosts=4, per_host=4), 4)
    three, four = (next(one.probability for one in each if one.best.layout["tp"] == n) for each, n in ((found, 3), (usual, 4)))
    assert three < 0.5 < four


@pytest.mark.parametrize("often", [1, 8])
def test_a_part_that_exchanges_often_beside_the_whole_is_no_reduction_of_its_own(often):
    wire = Wire(addresses(8))
    for step in range(10):
        for layer in range(often):
            for a in range(0, 8, 2):
                wire.send(a, a + 1, step * 400 + 30 * layer, 1_000_000)
                wire.send(a + 1, a, step * 400 + 30 * layer, 1_000_000)
        wire.ring(list(range(8)), step * 400 + 350, 20_000_000)
    _, found = asked(wire)
    inner = [one for one in found if one.best.layout["cp"] == 2 or one.best.layout["ep"] == 2]
    assert (found[0] in inner) == (often > 1)


def staged(together, steps=10):
    """Two stages, two hosts of two GPUs each. Hosts 0 and 1 hand over to hosts 2 and 3; GPUs of a host together or alone."""
    wire = Wire(addresses(4, 2))
    for step in range(steps):
        for host in (0, 1):
            drift = wire.rng.normal(0, 2.0, 2)
            for gpu in range(2):
                own = float(drift[0] + 0.001 * gpu if together else drift[gpu])
                for micro in range(4):
                    first, last, at = host * 2 + gpu, (host + 2) * 2 + gpu, step * 400 + own + 25 * micro
                    wire.send(first, last, at, 2_000_000)
                    wire.send(last, first, at + 120, 2_000_000)
        for stage in (0, 2):
            for gpu in range(2):
                wire.ring([(stage + host) * 2 + gpu for host in (0, 1)], step * 400 + 320, 30_000_000)
    return wire


def test_twins_hand_over_closer_than_replicas_of_other_hosts():
    assert sizes(staged(True), 2) == {"dp": 2, "pp": 2, "tp": 2}


def test_replicas_of_one_host_may_be_as_far_apart_as_those_of_two():
    _, found = asked(staged(False), 2)
    assert max(one.probability for one in found if one.best.layout["dp"] == 4 and one.best.layout["tp"] == 1) > 0.35


@pytest.mark.parametrize("shared", [True, False])
def test_hand_overs_of_any_length_are_alike_only_between_ranks_with_the_same_data(shared):
    """Two stages of two hosts with two GPUs each. A stage's GPUs of one host hand over the same sizes or sizes of their own."""
    wire = Wire(addresses(4, 2))
    for step in range(12):
        for host in (0, 1):
            sizes = wire.rng.integers(500_000, 4_000_000, (4, 2))
            for gpu, micro in ((gpu, micro) for gpu in range(2) for micro in range(4)):
                first, last, octets = host * 2 + gpu, (host + 2) * 2 + gpu, int(sizes[micro, 0 if shared else gpu])
                wire.send(first, last, step * 400 + 25 * micro + float(wire.rng.normal(0, 1)), octets)
                wire.send(last, first, step * 400 + 120 + 25 * micro + float(wire.rng.normal(0, 1)), octets)
        for stage in (0, 2):
            for gpu in range(2):
                wire.ring([(stage + host) * 2 + gpu for host in (0, 1)], step * 400 + 320, 30_000_000)
    _, found = asked(wire, 2)
    assert (found[0].best.layout["dp"] == 2) == shared


def test_ranks_that_do_not_follow_the_hosts_may_show_all_their_groups():
    """Two groups of four, over hosts of two: every host holds a rank of each, and all rings go between hosts."""
    wire = Wire(addresses(8, 2))
    grid = [[0, 2, 4, 6], [8, 10, 12, 14], [1, 11, 5, 15], [9, 3, 13, 7]]
    for step in range(8):
        for layer in range(20):
            for own in grid:
                wire.ring(own, step * 600 + 20 * layer, 500_000)
        for column in zip(*grid, strict=True):
            wire.ring(list(column), step * 600 + 500, 30_000_000)
    _, found = asked(wire, 2)
    assert {"dp": 4, "tp": 4} in [{k: n for k, n in one.best.layout.items() if n > 1} for one in found[:4]]


def test_replicas_in_several_hosts_that_never_speak_are_no_replicas():
    """A pipeline of 12 in hosts of 4: replicas of 3 stages would lie in several hosts without a reduction between them."""
    wire = Wire(addresses(3, 4))
    for step in range(10):
        for micro in range(8):
            for a in (3, 7):
                wire.send(a, a + 1, step * 900 + 20 * micro + 10 * a, 2_000_000)
                wire.send(a + 1, a, step * 900 + 400 + 20 * micro + 10 * (11 - a), 2_000_000)
    assert sizes(wire, 4) == {"pp": 12}


def test_experts_replicas_lie_at_a_constant_distance_in_a_host():
    """The ring of all gradients leaves each host at its last GPU, two rings of experts' gradients at its last two."""
    wire = Wire(addresses(4, 4))
    hosts = [i // 4 for i in range(16)]
    for step in range(10):
        wire.ring(list(range(16)), step * 400 + 100, 20_000_000, hosts=hosts)
        for first in (0, 1):
            wire.ring(list(range(first, 16, 2)), step * 400 + 200, 7_000_000, hosts=hosts)
    assert sizes(wire, 4) == {"dp": 16, "ep": 2}


@pytest.mark.parametrize("popular", [1.0, 4.0])
def test_experts_of_unequal_load_exchange_all_with_all(popular):
    """Four ranks exchange tokens in each layer; those of the first are more, and a family of their own."""
    wire = Wire(addresses(4, 1))
    for step in range(10):
        wire.ring(range(4), step * 400 + 340, 9_000_000)
        for layer in range(16):
            for a in range(4):
                for b in set(range(4)) - {a}:
                    more = popular if 0 in (a, b) else 1.0
                    wire.send(a, b, step * 400 + 20 * layer, int(more * wire.rng.normal(200_000, 10_000)), long=1.0)
    assert sizes(wire, 1) == {"dp": 4, "ep": 4}
    assert not asked(wire)[1][0].best.features.get("not_nested")


@pytest.mark.parametrize("block", [1, 2, 4])
def test_ranks_of_a_host_that_hand_over_together_exchange_context(block):
    """Two stages of three hosts of eight, one ring through each stage's hosts: blocks of ranks hand over in lockstep."""
    wire = Wire(addresses(6, 8))
    hosts = [i // 8 for i in range(48)]
    for step in range(12):
        for rank in range(24):
            if rank % block == 0:
                late = [float(wire.rng.normal(0, 3)) for _ in range(8)]
            for micro in range(4):
                at = step * 600 + 40 * micro + late[micro] + float(wire.rng.normal(0, 0.01))
                wire.send(rank, 24 + rank, at, 2_000_000)
                wire.send(24 + rank, rank, at + 200 + late[4 + micro], 2_000_000)
        for stage in range(2):
            wire.ring(list(range(24 * stage, 24 * stage + 24)), step * 600 + 440 - 30 * stage, 9_000_000, hosts=hosts)
    context = {"cp": block} if block > 1 else {}
    assert sizes(wire, 8) == {"dp": 24 // block, "pp": 2, **context}


def test_two_hand_overs_from_host_to_host_belong_to_two_pipelines():
    """Of two hosts of four, two ranks of each hand over to the other host, side by side: no stage returns."""
    wire = Wire(addresses(2, 4))
    for step in range(10):
        for micro in range(4):
            for rank, late in ((2, 0.0), (3, 40.0)):  # replicas as far apart as stages
                wire.send(rank, rank + 2, step * 500 + late + 20 * micro, 2_000_000)
                wire.send(rank + 2, rank, step * 500 + late + 160 + 20 * micro, 2_000_000)
    assert sizes(wire, 4) == {"dp": 2, "pp": 4}


@pytest.mark.parametrize(("drift", "expected"), [(0.0, {"pp": 4, "tp": 2}), (1.0, {"dp": 2, "pp": 4})])
def test_twins_hand_over_at_one_instant_and_replicas_drift(drift, expected):
    """Two hosts of four: nothing is seen but what the two middle stages hand over."""
    wire = Wire(addresses(2, 4))
    for step in range(12):
        for micro in range(6):
            at = step * 500 + 30 * micro + float(wire.rng.normal(0, 3))
            for rank in (2, 3):
                late = float(wire.rng.normal(0, drift)) if drift else 0.0
                wire.send(rank, rank + 2, at + late, 2_000_000)
                wire.send(rank + 2, rank, at + late + 200, 2_000_000)
    assert sizes(wire, 4) == expected
