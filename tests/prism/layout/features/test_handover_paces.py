import numpy as np
import pytest

from prism.evidence.host_lockstep import Lockstep
from prism.layout.features.handover_paces import forward, other_data, stages, twins_closer
from tests.prism.evidence.made import evidence, pipelined


def lockstep(pairs):
    first, second, apart = zip(*pairs, strict=True) if pairs else ((), (), ())
    values = np.array(apart, np.float64)
    return Lockstep(np.array(first, np.int64), np.array(second, np.int64), values, values, np.zeros(len(values)))


def seen(inside, tensor):
    """Two hosts of two; members 0 and 2, 1 and 3 are replicas in two hosts, 1e-2 of a step apart."""
    at = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]] if tensor else [[0] * 4, [0, 0, 1, 0]] * 2)
    return twins_closer(lockstep([(0, 1, inside), (2, 3, inside)]), lockstep([(0, 2, 1e-2), (1, 3, 1e-2)]), at)["twins_closer"]


def test_twins_are_closer_than_replicas_of_several_hosts():
    assert seen(1e-5, tensor=True) == 3.0
    assert seen(1e-2, tensor=True) == pytest.approx(0)


def test_a_few_twins_that_count_as_replicas_weaken_the_contrast():
    """Members 0 to 3 hand over together; if only pairs of them are twins, the others count as replicas."""
    inside = lockstep([(a, b, 1e-5 if a // 4 == b // 4 else 1e-2) for a in range(8) for b in range(a)])
    fours, pairs = (np.stack([np.zeros(8, np.int64)] * 2 + [np.arange(8) // n, np.zeros(8, np.int64)], axis=1) for n in (4, 2))
    some, most = (twins_closer(inside, lockstep([]), at)["twins_closer"] for at in (pairs, fours))
    assert some < most / 2


def test_without_hand_overs_nothing_is_compared():
    none = lockstep([])
    assert twins_closer(none, none, np.zeros((2, 4), np.int64)) == {}


def test_sizes_contradict_twins_with_other_data_and_replicas_with_the_same():
    """Three members of a host; the first two hand over the same sizes."""
    same, other = np.array([1e6, 3e6, 2e6]), np.array([2e6, 2e6, 5e6])
    known = {0: same, 1: same, 2: other}

    def wrong(*data):
        at = np.array([[0, 0, own, 0] for own in data])
        return other_data(known, [0, 0, 0], at)["other_data"]

    assert wrong(0, 0, 1) == 0
    assert wrong(0, 0, 0) == pytest.approx(2 / 3)
    assert wrong(0, 1, 2) == pytest.approx(1 / 3)
    assert other_data({}, [0, 0, 0], np.zeros((3, 4))) == {}


def test_activations_go_from_the_first_stage_to_the_last():
    _, steps, _, found = evidence(pipelined(stages=3, replicas=2))
    pipeline = next(family for family in found if family[0].form == "two path")
    assert sorted(zip(*forward(pipeline, steps).tolist(), strict=True)) == [(0, 1), (1, 2), (3, 4), (4, 5)]


def test_stages_are_counted_from_the_first_and_a_ring_has_none():
    assert stages(np.array([[0, 1, 3, 4], [1, 2, 4, 5]]), 7).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert max(stages(np.array([[0, 1, 2], [1, 2, 0]]), 3)) < 3
