import numpy as np
import pytest

from prism.evidence.host_lockstep import Lockstep
from prism.layout.features.handover_paces import paces


def lockstep(pairs):
    first, second, apart = zip(*pairs, strict=True) if pairs else ((), (), ())
    values = np.array(apart, np.float64)
    return Lockstep(np.array(first, np.int64), np.array(second, np.int64), values, values, np.zeros(len(values)))


def seen(inside, tensor):
    """Two hosts of two; members 0 and 2, 1 and 3 are replicas in two hosts, 1e-2 of a step apart."""
    at = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]] if tensor else [[0] * 4, [0, 0, 1, 0]] * 2)
    found = paces(
        lockstep([(0, 1, inside), (2, 3, inside)]), lockstep([(0, 2, 1e-2), (1, 3, 1e-2)]), at, np.array([0, 0, 1, 1])
    )
    return dict(found)


def test_twins_are_closer_than_replicas_of_several_hosts():
    assert seen(1e-5, tensor=True) == {"twins_closer": 3.0}
    assert seen(1e-2, tensor=True)["twins_closer"] == pytest.approx(0)


def test_without_hand_overs_nothing_is_compared():
    none = lockstep([])
    assert dict(paces(none, none, np.zeros((2, 4), np.int64), np.zeros(2, np.int64))) == {}
