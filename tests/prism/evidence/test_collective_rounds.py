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


def test_the_ends_of_cut_messages_are_no_rounds():
    """Activations of 1.5 messages between stages: as many halves as wholes, but all to the same partner."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(10):
        for a in range(7):
            for way in ((a, a + 1), (a + 1, a)):
                at = step * 200 + 20 * a + 3 * (way[0] > a)
                wire.send(*way, at, 4_000_000, long=1.0)
                wire.send(*way, at + 1, 2_000_000, long=0.5)
    assert {family[0].form for family in evidence(wire)[3]} == {"two path"}
