from dataclasses import replace

import numpy as np

from prism.evidence._stream_classes import stream_classes
from prism.evidence.step_period import Steps
from prism.evidence.stream_periods import rhythms_of
from prism.evidence.streams import Stream, Streams

STEPS = Steps(np.arange(21) * 1e9, 1e9, 20.0, 0.9)


def bursts(src, dst, sizes, *, per_step=1):
    """Bursts of TCP in each of 20 steps."""
    octets = np.array([size for _ in range(20) for size in sizes for _ in range(per_step)], np.float64)
    start = np.arange(len(octets)) * 20e9 / len(octets)
    return Stream(src, dst, np.arange(len(octets)), start, start + 1e6, octets, False, True)


def classes(*streams, spread=None):
    spreads = spread or [0.1] * len(streams)
    known = rhythms_of(Streams(streams), STEPS)
    rhythms = {i: known[i]._replace(spread=own) for i, own in zip(known, spreads, strict=True)}
    return sorted(sorted(s.pair for s in one) for one in stream_classes(streams, rhythms))


def test_bursts_of_other_volume_are_of_another_collective():
    """Volumes of a usual step that differ by less than 2 %, which TCP sent again, are equal."""
    assert classes(bursts(0, 1, [1000]), bursts(1, 2, [1015])) == [[(0, 1), (1, 2)]]
    assert classes(bursts(0, 1, [1000]), bursts(1, 2, [1060])) == [[(0, 1)], [(1, 2)]]


def test_a_step_more_at_the_end_is_the_same_collective():
    """A stage's gradients of which one step in five is missing are still those of the others."""
    short = bursts(1, 2, [100])
    keep = short.start < 16e9
    short = replace(short, **{name: getattr(short, name)[keep] for name in ("rows", "start", "end", "octets")})
    assert classes(bursts(0, 1, [100]), short) == [[(0, 1), (1, 2)]]


def test_bursts_in_twice_as_much_of_the_step_are_of_another_operation():
    a, b = bursts(0, 1, [100]), bursts(1, 2, [100])
    assert classes(a, b, spread=[0.2, 0.24]) == [[(0, 1), (1, 2)]]
    assert classes(a, b, spread=[0.2, 0.4]) == [[(0, 1)], [(1, 2)]]


def test_equal_messages_in_brief_bursts_and_throughout_the_step_are_two_collectives():
    """Chunks of gradients and of activations have one size, and may have equal volumes by chance."""
    one, other = (replace(bursts(*pair, [100]), equal=True, bursts=False) for pair in ((0, 1), (1, 2)))
    assert classes(one, other, spread=[0.05, 0.6]) == [[(0, 1)], [(1, 2)]]
    assert classes(one, other, spread=[0.025, 0.05]) == [[(0, 1), (1, 2)]]


def test_equal_messages_of_which_a_usual_step_has_more_are_of_another_collective():
    """Gradients and what the last stage hands back to the first may be nearly equal; a step may be missing at the ends."""
    one, other = (replace(bursts(0, 1, [100], per_step=24), equal=True, bursts=False) for _ in range(2))
    missing = one.start < 19e9
    short = replace(one, src=1, dst=2, **{name: getattr(one, name)[missing] for name in ("rows", "start", "end", "octets")})
    more = replace(bursts(1, 2, [100], per_step=25), equal=True, bursts=False)
    assert classes(other, short) == [[(0, 1), (1, 2)]]
    assert classes(other, more) == [[(0, 1)], [(1, 2)]]


def test_hops_of_a_ring_are_one_class_however_a_slow_nic_changes_their_bursts():
    """They are left where bursts differ, and equal in octets: those of a usual step, or all if steps are cut elsewhere."""
    ring = [(0, 1), (1, 2), (2, 0)]
    slow = [bursts(0, 1, [3000]), bursts(1, 2, [1000], per_step=3), bursts(2, 0, [1000, 2000])]
    assert classes(*slow, spread=[0.1, 0.4, 0.2]) == [ring]
    late = [slow[0], replace(slow[1], octets=slow[1].octets * np.resize([0.7, 1.3], 60)), slow[2]]
    assert classes(*late, spread=[0.1, 0.4, 0.2]) == [ring]


def test_hops_that_close_no_ring_are_left_where_their_bursts_differ():
    chain = [bursts(0, 1, [1000]), bursts(1, 2, [1000]), bursts(2, 3, [1000])]
    assert len(classes(*chain, spread=[0.1, 0.4, 0.1])) == 2
    there_and_back = [bursts(0, 1, [1000]), bursts(1, 0, [1000])]
    assert len(classes(*there_and_back, spread=[0.1, 0.4])) == 2


def test_a_ring_is_found_beside_another_of_the_same_octets():
    inner, outer = [(0, 1), (1, 2), (2, 0)], [(0, 2), (2, 1), (1, 0)]
    streams = [bursts(*pair, [1000]) for pair in inner] + [bursts(*pair, [100], per_step=10) for pair in outer]
    assert classes(*streams, spread=[0.1, 0.1, 0.1, 0.3, 0.6, 0.9]) == sorted([inner, sorted(outer)])


def test_hops_whose_bursts_divide_operations_in_some_pairs_only_are_one_class():
    """Two operations of one ring: of two hops their bursts look like two conversations, of the third like one."""
    ring, other = [(0, 1), (1, 2), (2, 0)], [(2, 1), (0, 2), (1, 0)]
    parts = [
        bursts(0, 1, [9000]),
        bursts(0, 1, [300]),
        bursts(1, 2, [4500], per_step=2),
        bursts(1, 2, [300]),
        bursts(2, 0, [9300]),
    ]
    beside = [bursts(*pair, [30]) for pair in other]
    found = classes(*parts, *beside, spread=[0.1, 0.05, 0.3, 0.05, 0.6, 0.02, 0.02, 0.02])
    assert [sorted({*own}) for own in found] == sorted([sorted(other), ring])


def test_messages_of_varying_size_are_of_two_collectives_if_one_moves_many_times_the_octets():
    """Experts exchange in many messages; records that merge one or two messages of a reduction are as large, but few."""
    experts = [replace(bursts(*pair, [60, 100], per_step=20), bursts=False) for pair in ((0, 1), (1, 0))]
    reduced = [replace(bursts(*pair, [60, 120]), bursts=False) for pair in ((1, 2), (2, 1))]
    assert classes(*experts, *reduced) == [[(0, 1), (1, 0)], [(1, 2), (2, 1)]]
