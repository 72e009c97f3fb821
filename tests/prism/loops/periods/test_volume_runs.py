"""Compiled loops over strides, against searches that are slow and obvious."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.periods.cut_volumes import full, gaps, reached
from prism.loops.periods.volume_runs import completed, filled, nearest, strode, threaded

streams = st.lists(st.tuples(st.integers(1, 4), st.sampled_from((0, 0, 1, 2, 8))), min_size=2, max_size=60)


@given(streams, st.integers(-5, 50), st.sampled_from((1.0, 2.0, 9.0)))
def test_the_nearest_wide_gap_ends_a_step_else_the_widest(some, goal, wide):
    edge, gap = np.cumsum([octets for octets, _ in some]), np.array([length for _, length in some])
    fit = [i for i in range(len(gap)) if gap[i] >= wide]
    best = min(fit, key=lambda i: abs(int(edge[i]) - goal)) if fit else int(np.argmax(gap))
    assert nearest(gap, edge, 0, len(gap), goal, wide) == best


def _stop(at, way, edge, gap, volume, slack, usual):
    """Where a stride from one cut ends; None where it ends nowhere."""
    goal = (edge[at] if at >= 0 else 0) + way * volume
    near = [i for i in range(len(edge)) if goal - slack <= edge[i] <= goal + slack]
    if abs(goal) <= slack:
        return -1
    if goal < 0 or not near:
        return None
    inner = [i for i in near if i < len(gap)]
    wide = [i for i in inner if gap[i] >= 4 * usual]
    if near[-1] == len(edge) - 1 and not wide:
        return len(edge) - 1
    best = min(wide, key=lambda i: abs(edge[i] - goal)) if wide else max(inner, key=lambda i: gap[i])
    return best if gap[best] >= usual else None


@given(streams, st.integers(2, 12), st.integers(0, 2), st.sampled_from((0.25, 1.0)), st.data())
def test_strides_go_on_from_every_cut_both_ways(some, volume, slack, usual, data):
    edge, gap = np.cumsum([octets for octets, _ in some]), np.array([length for _, length in some[:-1]])
    cuts = data.draw(st.lists(st.integers(-1, len(edge) - 1), min_size=1, max_size=5, unique=True))
    known = set(cuts)
    for way in (1, -1):
        for cut in sorted(known, key=lambda c: way * c):
            at = cut
            while (stop := _stop(at, way, edge.tolist(), gap.tolist(), volume, slack, usual)) is not None and stop not in known:
                known.add(stop)
                at = stop
    assert strode(edge, gap, np.array(cuts), volume, slack, usual).tolist() == sorted(known)


def test_cuts_a_volume_apart_are_one_run():
    reached = np.array([0, 5, 10, 15, 20])
    width = np.array([8.0, 1.0, 8.0, 1.0, 8.0])
    assert threaded(reached, width, 10, 0, 4.0).tolist() == [0, 1, 0, 1, 0]


def test_a_run_does_not_give_way_to_one_that_fits_less_well():
    reached = np.array([0, 100, 101, 200, 201, 300, 400])
    width = np.array([8.0, 8.0, 5.0, 8.0, 5.0, 8.0, 8.0])
    assert threaded(reached, width, 100, 2, 4.0).tolist() == [0, 0, 2, 0, 2, 0, 0]


def _way(run, other, before, width, silence, slack):
    """Which cuts of a run give way to another run; None where it does not."""
    if not run:
        return lambda _: False
    first, last = before[other[0]] <= before[run[0]] + slack, before[other[-1]] >= before[run[-1]] - slack
    begin, stop = max(before[run[0]], before[other[0]]), min(before[run[-1]], before[other[-1]])
    if stop - begin <= slack:
        return lambda _: False
    wide = [sum(width[i] for i in r if begin - slack <= before[i] <= stop + slack) for r in (run, other)]
    if first == last or wide[1] <= wide[0]:
        return None
    parted = next(i for i in run if before[i] >= before[other[-1]] - slack) if first else other[0]
    if silence[parted] < max(silence[[*run, *other]]):
        return None
    return (lambda i: before[i] + slack < before[other[-1]]) if first else (lambda i: before[i] - slack > before[other[0]])


def slowly_completed(cuts, edge, gap, volume, slack):
    before = reached(cuts, edge)
    silence = np.append(gap, gap.max(initial=0))[np.maximum(cuts, 0)]
    width = np.minimum(silence, 2 * np.median(silence))
    run = threaded(before, width, volume, slack, float(np.median(width)) / 2)
    runs = [np.flatnonzero(run == first) for first in np.unique(run)]
    runs = sorted((r for r in runs if len(r) > 1), key=lambda r: -float(width[r].sum()))
    taken = []
    for r in map(list, runs):
        ways = [_way(other, r, before, width, silence, slack) for other in taken]
        if None in ways:
            continue
        taken = [[i for i in other if not way(i)] for other, way in zip(taken, ways, strict=True)] + [r]
    ends = [int(cuts[i]) for r in taken for i in r[1:]]
    return sorted(ends)


def test_steps_after_a_restart_reach_no_further_back_than_those_before_it():
    """Narrow gaps lie whole volumes before the first step after a crash, which cut a step short."""
    edge = np.arange(1, 101)
    gap = np.ones(99, np.int64)
    before, after = np.arange(9, 45, 10), np.arange(55, 100, 10)  # 45 to 55 hold half a step and the first whole one
    gap[np.concatenate([before, after[:-1]])] = 8
    gap[45] = 30
    back = np.arange(5, 46, 10)
    cuts = np.sort(np.concatenate([[-1], before, back, after]))
    assert completed(cuts, edge, gap, 10, 0).tolist() == [*before, *after]


@given(streams, st.integers(2, 12), st.sampled_from((0.02, 0.3)), st.data())
def test_steps_are_filled_in_strides_and_runs_do_not_overlap(some, volume, tolerance, data):
    start = np.cumsum([2 * octets + wide for octets, wide in some])
    end, octets = start + [octets for octets, _ in some], np.array([octets for octets, _ in some])
    edge, gap = gaps(start, end, octets)
    cuts = np.array(sorted(data.draw(st.sets(st.integers(-1, len(some) - 1), min_size=1, max_size=9))))
    slack, known = int(volume * tolerance), full(cuts, edge, volume, tolerance)
    inner = known[(known >= 0) & (known < len(gap))]
    usual = float(np.median(gap[inner])) / 8 if len(inner) else 0.0
    cuts_all = strode(edge, gap, known, volume, slack, usual)
    last = slowly_completed(cuts_all, edge, gap, volume, slack) if len(cuts_all) else []
    assert completed(cuts_all, edge, gap, volume, slack).tolist() == last
    done, after = np.maximum.accumulate(end), np.append(start[1:], 10_000)
    told = [[int(done[i]), int(max(after[i], done[i]))] for i in last]
    assert filled(start, end, edge, gap, cuts, volume, tolerance, 10_000).tolist() == told
