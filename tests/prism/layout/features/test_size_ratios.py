from types import SimpleNamespace

from prism.layout.features.size_ratios import may_halve, mixed
from tests.prism.evidence.made import Wire, evidence


def family(octets, messages=4):
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        wire.ring([0, 1, 2, 3], step * 100, octets, rounds=messages)
    (own,) = evidence(wire)[3]
    return own


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


def test_what_is_sent_less_often_than_the_others_is_no_second_kind_of_gradients():
    def of_sizes(**often):
        return SimpleNamespace(equal_sizes={float(size[1:]): float(size[1:]) * times for size, times in often.items()})

    assert mixed([of_sizes(s3000000=10, s1100000=10)])
    assert not mixed([of_sizes(s3000000=40, s1100000=10)]), "embeddings beside layers, the rest of a message that is cut"
    assert not mixed([of_sizes(s3000000=10, s1500000=10)]), "rounds of one collective"
