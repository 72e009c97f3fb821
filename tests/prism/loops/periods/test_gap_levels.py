"""Levels of a stream's gaps, against the same in whole arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.medians import in_order
from prism.loops.periods.cut_volumes import commonest
from prism.loops.periods.gap_levels import _alike, _left_alike, as_explained, chosen, cuts_of, fitting, levels_of, resting

streams = st.lists(st.tuples(st.integers(1, 4), st.sampled_from((0, 0, 1, 2, 8, 9, 30))), min_size=4, max_size=80)


def made(some, pauses=True):
    edge, gap = np.cumsum([octets for octets, _ in some]), np.array([length for _, length in some[:-1]])
    rests, falling = resting(gap)
    return edge, gap, levels_of(edge, gap, rests, in_order(falling), 0.3, 2, pauses)


@given(streams)
def test_levels_cut_at_the_largest_gaps(some):
    edge, gap, known = made(some)
    ranked, wide, number, volume, explained, reach = known
    assert ranked.tolist() == np.argsort(-gap, kind="stable").tolist()
    assert wide.tolist() == gap[ranked].tolist()
    for level, k in enumerate(number.tolist()):
        cuts = np.concatenate([[-1], np.sort(ranked[:k]), [len(edge) - 1]])
        assert cuts_of(known, level).tolist() == cuts.tolist()
        moved = np.sort(np.diff(np.where(cuts >= 0, edge[cuts], 0)))
        low, high, most = commonest(moved, 0.3)
        assert (volume[level], explained[level]) == (moved[(low + high) // 2], most / edge[-1])
        assert reach[level] == wide[k * 3 // 4]


@given(streams, st.sampled_from((0.5, 0.9)), st.integers(0, 20))
def test_the_level_that_explains_most_of_those_that_come_as_often(some, enough, often):
    edge, gap, known = made(some)
    _, _, _, volume, explained, _ = known
    fit = fitting(known, enough, 0.5)
    naive = [i for i, share in enumerate(explained) if share >= enough * explained.max() and explained.max() >= 0.5]
    assert fit.tolist() == naive
    asked = [i for i in naive if abs(edge[-1] / volume[i] - often) <= 0.15 * often]
    if asked:
        best = max(asked, key=lambda i: explained[i])
        assert chosen(known, fit, edge, gap, edge, 0.3, True, often) == (best, False)
    for level in naive:
        same = [i for i, other in enumerate(volume) if abs(other - volume[level]) <= 0.3 * volume[level]]
        assert as_explained(known, level, 0.3) == max(same, key=lambda i: explained[i])


@given(streams)
def test_gaps_that_a_coarser_level_leaves_out_are_alike(some):
    _, gap, known = made(some)
    _, wide, number, volume, _, _ = known
    for coarse, k in enumerate(number.tolist()):
        fine = []
        for level, more in enumerate(number.tolist()):
            new = gap[np.setdiff1d(cuts_of(known, level)[1:-1], cuts_of(known, coarse))]
            new = new[new < 0.5 * wide[k - 1 - k // 4]]
            assert _alike(known, level, coarse) == (not len(new) or np.percentile(new, 90) <= 3 * np.percentile(new, 10))
            if level > coarse and volume[level] < volume[coarse]:
                high, low = wide[k + (more - k) // 4], wide[more - 1 - (more - k) // 10]
                fine += [level] if high <= 1.5 * low else []
        known_fine = _left_alike(known, np.arange(coarse, len(number)))
        assert known_fine.tolist() == sorted(fine, key=lambda level: volume[level])
