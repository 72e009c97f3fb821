import numpy as np

from prism.loops.arrays.edges import edge_from
from prism.loops.communicators.step_volumes import at_rests

MS = 1_000_000


def edge(pair, sent):
    """Records of a millisecond: when, ms, and octets."""
    start, octets = np.array(sent, np.int64).reshape(-1, 2).T
    return edge_from(pair, np.arange(len(start)), start * MS, (start + 1) * MS, octets)


def stepping(pair, octets, steps, more=0):
    """Two records in each step of 100 ms, and `more` of those of the next."""
    return edge(pair, [(100 * step + at, octets) for step in range(steps + 1) for at in (0, 2)][: 2 * steps + more])


def test_what_was_moved_by_the_end_of_each_step_whatever_came_of_the_next():
    one, other = stepping((0, 1), 10, 5, more=1), stepping((1, 2), 7, 5)
    assert at_rests([[one], [other]]).tolist() == [[20 * k, 14 * k] for k in range(1, 5)]
    assert at_rests([[one, other]]).tolist() == [[34 * k] for k in range(1, 5)]


def test_a_pause_or_two_do_not_hide_the_rests_between_steps():
    sent = [(100 * step + 900 * (step > 2) + 5000 * (step > 4), 10) for step in range(8)]
    assert len(at_rests([[edge((0, 1), sent)]])) == 6


def test_what_never_rests_tells_nothing():
    busy = edge((0, 1), [(k, 10) for k in range(9)])
    assert at_rests([[busy]]).shape == (0, 1)
