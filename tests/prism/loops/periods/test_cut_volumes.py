"""Compiled loops over cuts, against searches that are slow and obvious."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.periods.cut_volumes import (
    as_wide,
    between,
    commonest,
    full,
    gaps,
    levels,
    reached,
    segments,
    strays,
)

sizes = st.lists(st.integers(0, 40), min_size=1, max_size=40)
streams = st.lists(st.tuples(st.integers(1, 4), st.sampled_from((0, 0, 1, 2, 8))), min_size=2, max_size=60)


@given(sizes, st.sampled_from((0.02, 0.3)))
def test_the_commonest_volume_is_the_one_with_most_octets_around_it(some, tolerance):
    volume = np.sort(np.array(some, np.int64))
    around = [volume[(volume >= v * (1 - tolerance)) & (volume < v * (1 + tolerance))] for v in volume]
    low, high, explained = commonest(volume, tolerance)
    assert explained == max(int(near.sum()) for near in around) == int(volume[low:high].sum())


@given(st.lists(st.integers(1, 9), min_size=2, max_size=20), st.data())
def test_volumes_between_cuts_are_sums_of_records(octets, data):
    edge = np.cumsum(octets)
    places = st.lists(st.integers(0, len(octets) - 2), unique=True, max_size=8)
    some = np.sort(np.array(data.draw(places), np.intp))
    cuts = np.concatenate([[-1], some, [len(octets) - 1]])
    moved = [sum(octets[a + 1 : b + 1]) for a, b in pairwise(cuts.tolist())]
    assert between(cuts, edge).tolist() == moved
    assert reached(cuts, edge).tolist() == np.cumsum([0, *moved]).tolist()
    fits = [i for i, volume in enumerate(moved) if abs(volume - 6) <= 2]
    assert full(cuts, edge, 6, 2 / 6).tolist() == sorted({int(cuts[k]) for i in fits for k in (i, i + 1)})


def deeper(edge, gap, tolerance, least, worth, beyond, nearly):
    """Levels of cuts, each anew."""
    ranked = np.argsort(-gap, kind="stable")
    wide = gap[ranked]
    k, enough = 2, 0
    while k <= np.count_nonzero(gap) and wide[k * 3 // 4] >= worth:
        cuts = np.concatenate([[-1], np.sort(ranked[:k]), [len(edge) - 1]])
        volume = np.sort(between(cuts, edge))
        low, high, explained = commonest(volume, tolerance)
        if high - low >= least:
            yield k, int(volume[(low + high) // 2]), explained
            if explained / max(int(edge[-1]), 1) >= nearly:
                enough = enough or beyond * k
                if k >= enough:
                    worth = max(worth, wide[k * 3 // 4] / 4)
        k = max(k + 1, int(k * 1.04))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), min_size=2, max_size=80),
    st.sampled_from((0.02, 0.3)),
    st.integers(1, 3),
    st.sampled_from((0.0, 0.1)),
    st.integers(1, 12),
    st.sampled_from((0.5, 0.97)),
)
def test_levels_are_those_of_cuts_made_anew(some, tolerance, least, fine, beyond, nearly):
    edge, gap = np.cumsum([octets for octets, _ in some]), np.array([length for _, length in some[:-1]])
    ranked = np.argsort(-gap, kind="stable")
    worth = fine * float(gap[ranked][min(2, len(gap) - 1)])
    found = levels(edge, ranked, gap[ranked], tolerance, least, worth, beyond, nearly)
    expected = list(deeper(edge, gap, tolerance, least, worth, beyond, nearly))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@given(streams, st.integers(0, 8), st.sampled_from((0.0, 1.0, 2.5)), st.data())
def test_strays_are_wide_gaps_where_few_parts_have_one(some, wide, slack, data):
    edge, gap = np.cumsum([octets for octets, _ in some]), np.array([length for _, length in some[:-1]])
    bounds = data.draw(st.lists(st.integers(-1, len(edge) - 1), unique=True, max_size=6).map(sorted))
    places = []
    for i in (i for i in range(len(gap)) if gap[i] >= wide and i not in bounds):
        before = [bound for bound in bounds if bound < i]
        places += [int(edge[i]) - (int(edge[before[-1]]) if before[-1] >= 0 else 0)] if before else []
    lonely = [p for p in places if 2 * sum(abs(p - q) <= slack for q in places) < len(bounds) - 1]
    assert strays(np.array(bounds, np.intp), edge, gap, wide, slack) == len(lonely)


@given(streams)
def test_gaps_are_what_no_record_before_covers(some):
    start = np.cumsum([step for step, _ in some])
    end, octets = start + [length for _, length in some], np.array([step for step, _ in some])
    edge, gap = gaps(start, end, octets)
    assert edge.tolist() == np.cumsum(octets).tolist()
    assert gap.tolist() == np.maximum(start[1:] - np.maximum.accumulate(end)[:-1], 0).tolist()


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 30)), min_size=2, max_size=12), st.sampled_from((1, 6)))
def test_the_finest_level_as_wide_as_the_coarsest(some, scarce):
    number = 1 + np.cumsum([more for more, _ in some])
    volume, wide = np.array([octets for _, octets in some]), np.sort(np.arange(number[-1] + 1) ** 2 % 23)[::-1].copy()
    fits, k, width = [0], number[0], wide[number - 1 - number // 4]
    for level in range(1, len(some)):
        left = wide[k : number[level]]
        low, high = np.percentile(left, 10), np.percentile(left, 90)
        equal = width[level] >= 0.5 * width[0]
        if not equal and k + 1 >= scarce:
            continue
        if high <= 1.5 * low or (volume[0] <= 3.5 * volume[level] and equal):
            fits.append(level)
    best = as_wide(number, volume, wide, np.arange(len(some)), 0.5, 3.5, 1.5, scarce)
    assert best == min(fits, key=lambda level: volume[level])


@given(st.lists(st.integers(0, 30), min_size=2, max_size=20), st.data())
def test_how_long_it_takes_from_cut_to_cut(ends, data):
    end, places = np.array(ends, np.int64), st.lists(st.integers(0, len(ends) - 1), unique=True, max_size=8)
    cuts, coarse = (np.sort(np.array(data.draw(places), np.intp)) for _ in range(2))
    beats, last = segments(cuts, coarse, end)
    assert beats.tolist() == np.diff(np.maximum.accumulate(end)[cuts]).tolist()
    assert last.tolist() == np.isin(cuts, coarse).tolist()
