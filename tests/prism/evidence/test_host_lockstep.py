import numpy as np
import pytest

from prism.evidence.host_lockstep import lockstep_of
from prism.evidence.step_period import Steps
from tests.prism.evidence.made import Wire, evidence

HOSTS = [0, 0, 0, 1, 1, 1]


def sent_by_three(offsets, jitters):
    """Members 0, 1 and 2 of a host send 20 messages each to a member of their own in another host."""
    wire = Wire(["a0", "a1", "a2", "b0", "b1", "b2"])
    for step in range(10):
        late = [offset + float(wire.rng.normal(0, jitter)) for offset, jitter in zip(offsets, jitters, strict=True)]
        for k in range(2):
            for member in range(3):
                wire.send(member, member + 3, step * 100 + 20 + 10 * k + late[member], 1_000_000)
    _, steps, found, _ = evidence(wire, HOSTS)
    seen = lockstep_of(found, HOSTS, steps)
    return {(a, b): values for a, b, *values in zip(*(column.tolist() for column in seen), strict=True)}


def test_twins_of_a_host_jitter_less_than_replicas():
    seen = sent_by_three(offsets=[0, 0.01, 0], jitters=[0, 0.01, 3])
    assert seen[0, 1][1] * 10 < min(seen[0, 2][1], seen[1, 2][1])


def test_the_offset_of_a_stage_is_a_share_of_the_step():
    seen = sent_by_three(offsets=[0, 0, 5], jitters=[0.01, 0.01, 0.01])
    assert seen[0, 1][0] < 0.001
    assert seen[0, 2][0] == pytest.approx(0.05, rel=0.1)


def test_messages_that_start_at_one_instant_are_a_share_of_the_octets():
    seen = sent_by_three(offsets=[0, 0, 5], jitters=[0, 0, 0])
    assert (seen[0, 1][2], seen[0, 2][2]) == (1, 0)


def test_nothing_comparable_is_no_evidence():
    steps = Steps(np.array([0.0, 1.0]), 1.0, 1.0, 1.0)
    seen = lockstep_of([], [0, 0], steps)
    assert not len(seen.first)
