import pytest

from prism.layout.features.message_times import at_once, turns
from tests.prism.evidence.made import Wire, addresses, evidence

HANDED, EXCHANGED, REDUCED = 2_000_000, 300_000, 30_000_000


def families(inner):
    """Two stages of two ranks, four micro-batches: the ranks of a stage exchange in each, if `inner`, and reduce gradients."""
    wire = Wire(addresses(4))
    for step in range(10):
        for micro in range(4):
            for rank in (0, 1):
                wire.send(rank, rank + 2, step * 900 + 40 * micro + 20, HANDED)
                wire.send(rank + 2, rank, step * 900 + 40 * micro + 420, HANDED)
            for stage in (0, 2) if inner else ():
                for at in (10, 30, 410, 430):
                    wire.send(stage, stage + 1, step * 900 + 40 * micro + at, EXCHANGED)
                    wire.send(stage + 1, stage, step * 900 + 40 * micro + at, EXCHANGED)
        for stage in (0, 2):
            wire.ring([stage, stage + 1], step * 900 + 700, REDUCED)
    _, steps, _, found = evidence(wire)
    return steps.count, {round(family.size): family for family in found}


def test_ranks_of_a_stage_exchange_between_hand_overs_and_reduce_gradients_after_them():
    steps, found = families(inner=True)
    assert turns(found[EXCHANGED], [found[HANDED]], steps) >= 2
    assert turns(found[REDUCED], [found[HANDED]], steps) == pytest.approx(1 / 4, rel=0.1)


def test_without_other_messages_there_are_no_turns():
    steps, found = families(inner=False)
    assert turns(found[REDUCED], [], steps) == 0


@pytest.mark.parametrize("late", [0.0, 0.3])
def test_both_sides_of_an_exchange_begin_at_one_instant_only_if_each_waits_for_the_other(late):
    wire = Wire(addresses(2))
    for step in range(10):
        wire.send(0, 1, step * 200, 4_000_000)
        wire.send(1, 0, step * 200 + late, 4_000_000)
    _, steps, _, (family,) = evidence(wire)
    assert at_once(family, steps.period) == (late == 0)


def test_a_ring_has_no_exchange():
    wire = Wire(addresses(4))
    for step in range(10):
        wire.ring([0, 1, 2, 3], step * 200, 4_000_000)
    _, steps, _, (family,) = evidence(wire)
    assert not at_once(family, steps.period)
