from prism.layout.features.size_ratios import may_halve, mixed, several_sizes
from tests.prism.evidence.made import Wire, evidence


def test_an_exchange_of_two_hosts_may_be_the_last_level_of_halving():
    wire = Wire(["a", "b"])
    for step in range(8):
        wire.send(0, 1, step * 100, 4_000_000, long=2.0)
        wire.send(1, 0, step * 100, 4_000_000, long=2.0)
    (pair,) = evidence(wire)[3]
    assert may_halve(pair, 2)
    assert not may_halve(pair, 3)
    assert not may_halve(*gradients(4_000_000), 4)


def gradients(*sizes, rounds=(4, 4, 4)):
    """Gradients of several sizes that a ring reduces one after another."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for i, (octets, number) in enumerate(zip(sizes, rounds, strict=False)):
            wire.ring([0, 1, 2, 3], step * 100 + 20 * i, octets, rounds=number)
    return evidence(wire)[3]


def test_gradients_of_two_unrelated_sizes_are_those_of_experts_and_the_others():
    assert mixed(gradients(4_000_000, 930_000))
    assert not mixed(gradients(4_000_000, 2_000_000)), "rounds of one collective"
    assert not mixed(gradients(4_000_000, 930_000, 1_710_000))
    assert not mixed([])


def test_gradients_of_experts_in_other_buckets_have_a_size_of_their_own():
    assert len(several_sizes(gradients(4_000_000, 930_000, rounds=(16, 4)))) == 2
    assert len(several_sizes(gradients(4_000_000, 2_000_000))) == 1


def test_embeddings_and_the_rest_of_a_message_are_no_second_kind_of_gradients():
    assert not mixed(gradients(4_000_000, 930_000, rounds=(16, 4))), "embeddings beside layers"
    wire = Wire(["a", "b"])
    for step in range(8):
        for part in range(4):
            at = step * 100 + 10 * part
            wire.send(0, 1, at, 1 << 20)
            wire.send(0, 1, at + 0.5, 380_000)
    assert not mixed(evidence(wire)[3])
