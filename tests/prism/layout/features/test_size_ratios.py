from types import SimpleNamespace

from prism.layout.features.size_ratios import algorithms_differ, may_halve, mixed, related
from tests.prism.evidence.made import Wire, evidence


def family(octets, messages=4):
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        wire.ring([0, 1, 2, 3], step * 100, octets, rounds=messages)
    (own,) = evidence(wire)[3]
    return own


def test_simple_ratios_relate_shards_to_replicas():
    assert related([family(4_000_000)], [family(1_000_000)])
    assert not related([family(4_000_000)], [family(930_000)])
    assert not related([], [family(1_000_000)])


def test_groups_that_reduce_in_rings_and_all_with_all_use_two_algorithms():
    ring, wire = family(4_000_000), Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for a in range(4):
            for b in range(4):
                if a != b:
                    wire.send(a, b, step * 100, 1_000_000)
    (clique,) = evidence(wire)[3]
    assert not algorithms_differ([ring, clique], ("dp", "dp"))
    assert not algorithms_differ([ring], ("dp",))
    three = evidence(_ring_of_three())[3]
    assert algorithms_differ([*three, clique], ("tp", "dp"))


def _ring_of_three():
    wire = Wire([f"a{i}" for i in range(3)])
    for step in range(8):
        wire.ring([0, 1, 2], step * 100, 1_000_000)
    return wire


def test_an_exchange_of_two_hosts_may_be_the_last_level_of_halving():
    wire = Wire(["a", "b"])
    for step in range(8):
        wire.send(0, 1, step * 100, 4_000_000, long=2.0)
        wire.send(1, 0, step * 100, 4_000_000, long=2.0)
    (pair,) = evidence(wire)[3]
    assert may_halve(pair, 2)
    assert not may_halve(pair, 3)
    assert not may_halve(family(4_000_000), 4)


def test_gradients_of_two_unrelated_sizes_are_those_of_experts_and_the_others():
    assert mixed([family(4_000_000), family(930_000)])
    assert not mixed([family(4_000_000), family(2_000_000)])
    assert not mixed([family(4_000_000), family(930_000), family(1_710_000)])
    assert not mixed([])


def test_the_rest_of_a_message_that_is_cut_at_a_power_of_two_is_no_second_kind_of_gradients():
    def of_sizes(*sizes):
        return SimpleNamespace(equal_sizes={size: size * 10 for size in sizes})

    assert mixed([of_sizes(3_000_000, 1_100_000)])
    assert not mixed([of_sizes(1 << 20, 380_000)])
    assert not mixed([of_sizes(3_000_000, 1_500_000)]), "rounds of one collective"
