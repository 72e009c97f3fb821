import pytest

from tests.prism.evidence.made import Wire, evidence


def reduced(sizes, times):
    """Exchanges of pairs, then in two groups of four: messages of two sizes, `times` per step of the second."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(10):
        for k in range(4):
            for a in range(8):
                wire.send(a, a ^ 1, step * 200 + 10 * k, sizes[0], long=4.0)
        for k in range(times):
            for a in range(8):
                for b in (a ^ 2, a ^ 4):
                    wire.send(a, b, step * 200 + 5 + 40 * k / times, sizes[1], long=2.0)
    return sorted(len(family[0].members) for family in evidence(wire)[3])


@pytest.mark.parametrize(
    ("sizes", "times", "groups"),
    [
        ((8_000_000, 4_000_000), 4, [8]),
        ((8_000_000, 4_000_000), 8, [8]),  # halves, and doubles again
        ((8_000_000, 1_000_000), 4, [8]),
        ((8_000_000, 1_000_000), 8, [2, 4]),
        ((8_000_000, 4_000_000), 20, [2, 4]),
        ((8_000_000, 510_000), 4, [2, 4]),  # a ratio of 15.7, as many others
    ],
)
def test_rounds_have_sizes_in_whole_ratios_and_equally_many_messages(sizes, times, groups):
    assert reduced(sizes, times) == groups


def test_context_of_a_pair_is_no_part_of_the_reduction_on_its_edge():
    """All four reduce by halving and doubling; neighbours also exchange messages of another size, during the forward pass."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(10):
        for layer in range(3):
            for a in range(4):
                wire.send(a, a ^ 1, step * 300 + 30 * layer, 1_300_000)
        for k in range(4):
            for a in range(4):
                wire.send(a, a ^ 1, step * 300 + 150 + 12 * k, 8_000_000, long=4.0)
                wire.send(a, a ^ 2, step * 300 + 155 + 12 * k, 4_000_000, long=2.0)
    found = evidence(wire)[3]
    assert sorted((family[0].form, len(family[0].members)) for family in found) == [("two cube", 4), ("two pair", 2)]
