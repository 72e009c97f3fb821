"""Find when each step of a job ends, for the job and for each rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences, chosen
from prism.steps.step_ends import end_of, folded
from prism.steps.step_program import found_on
from prism.steps.step_tracking import grouped, settled, tracked
from prism.steps.traffic_clock import Clock, clock_of


@dataclass(frozen=True, eq=False)
class Steps:
    """Segments of a job's life. `times`: their bounds, ns from the origin of the sequences, float64[n + 1]. `whole`: which are
    steps, bool[n]; the others were cut by the window, or are other work. `regular`: how well the traffic repeats, 0 ... 1.
    `count`: number of steps in the traffic. `told`: records whose ends show when steps end.
    """

    times: Floats
    whole: Mask
    regular: float
    count: float
    told: Mask


def steps_of(sequences: Sequences) -> Steps | None:
    """Find the steps of the job to which these sequences belong; None if nothing repeats three times."""
    picked = chosen(sequences)
    if not len(picked):
        return None
    clock = clock_of(sequences, picked)
    shown, period = found_on(clock)
    if period is None:
        return None
    places = tracked(shown, period.bins)
    if not _mixed(sequences):
        places = grouped(places, clock)
    if _rounds(sequences, places, clock):
        return None
    bins = float(np.median(np.diff(places))) if len(places) > 2 else period.bins
    if sequences.bursts:
        places = settled(places, clock, bins)
    if len(places) < 3:
        return None
    mean = folded(clock, places, sequences)
    end = end_of(mean)
    usual = float(np.median(np.diff(places)))
    at, whole = _interrupted(*_segments(places.astype(np.float64), end.phase), clock, usual)
    near = max(1.5, c.NEAR * usual)
    lasting, within = sequences.lasting() if sequences.bursts else ~sequences.signals, _within(sequences, clock, bins)
    rests = _rests(at, clock, sequences, near, lasting[sequences.of] & within, end.kinds)
    rest, times = rests[:, 1] - rests[:, 0], rests.mean(1)
    if sequences.signals.any():
        steady = _steady(sequences, times) & _concluding(sequences, rests, cut=mean.begins < 0)
        lasting |= steady
        times = _concluded(rests, np.sort(sequences.end[steady[sequences.of]]))
    short = len(times) > 3 and at[-1] - at[-2] < (1 - c.WHOLE) * usual
    if short and 4 * rest[-2] < np.median(rest[1:-1]):  # the last step ends a little late on this clock
        times, whole = np.delete(times, -2), whole[:-1]
    kept = np.append(np.diff(times) > 0, True)
    return Steps(times[kept], whole[kept[:-1]], period.regular, c.BINS / usual, lasting[sequences.of])


def _mixed(sequences: Sequences) -> bool:
    """Check whether traffic other than the gradient reduction is visible; then a period holds forward and backward passes."""
    if not sequences.labelled:
        return False
    told = ~sequences.signals[sequences.of]
    octets = np.bincount(sequences.reduces[sequences.of[told]], sequences.octets[told], 2)
    return bool(octets[0] > c.SMALL * octets.sum())


def _rounds(sequences: Sequences, places: Ints, clock: Clock) -> bool:
    """Check for rounds of a ring: fewer messages per pair than the ring has rounds, and no idle time between most of them."""
    own = np.flatnonzero(sequences.lasting())
    pair, back = ((a[own] << 32) + b[own] for a, b in ((sequences.src, sequences.dst), (sequences.dst, sequences.src)))
    if sequences.bursts or len(np.unique(sequences.kind[own])) > 1 or np.isin(pair, back).any() or len(places) < 2:
        return False
    ends = int(max(sequences.src.max(), sequences.dst.max())) + 1
    graph = coo_array((np.ones(len(own)), (sequences.src[own], sequences.dst[own])), (ends, ends))
    ring = int(np.bincount(connected_components(graph, directed=False)[1]).max())
    moved = np.bincount(sequences.of, sequences.weight, len(sequences))[own]
    if np.median(moved) / len(places) >= ring - 1:
        return False
    order = np.argsort(sequences.start, kind="stable")
    begin, until = sequences.start[order], np.maximum.accumulate(sequences.end[order])
    idle = until[:-1][begin[1:] > until[:-1]]  # nothing is in flight after these
    at = np.interp(places, np.arange(c.BINS + 1), clock.edges)
    return bool(2 * np.count_nonzero(np.diff(np.searchsorted(idle, at))) < len(places) - 1)


def _segments(places: Floats, phase: float) -> tuple[Floats, Mask]:
    """Bounds on the clock, float64[n + 1], and which segments are whole steps, from a place of each and the end's phase."""
    apart = np.diff(places)
    usual = float(np.median(apart))
    ends: list[float] = [places[0] - (1 - phase) * usual]
    for before, gap in zip(places[:-1].tolist(), apart.tolist(), strict=True):
        if gap <= (1 + c.STRETCH) * usual:
            ends.append(before + phase * gap)
        else:  # an interruption: the step before it, and the one after
            ends += [before + phase * usual, before + gap - (1 - phase) * usual]
    ends.append(places[-1] + phase * usual)
    inside = np.array([end for end in ends if 0 < end < c.BINS])
    bounds = np.concatenate([[0.0], inside, [float(c.BINS)]])
    length = np.diff(bounds)
    whole = (length >= (1 - c.STRETCH) * usual) & (length <= (1 + c.STRETCH) * usual)
    whole[0] &= length[0] >= c.WHOLE * usual
    whole[-1] &= length[-1] >= c.WHOLE * usual
    if len(length) > 2 and length[0] < (1 - c.WHOLE) * usual:  # the first step began a little late on this clock
        bounds, whole = np.delete(bounds, 1), whole[1:]
    return bounds, whole


def _interrupted(bounds: Floats, whole: Mask, clock: Clock, usual: float) -> tuple[Floats, Mask]:
    """Correct bounds around a silence in the middle of a step. If the job restarted, the traffic before the silence is no step.

    After a hang the step continues: the bounds around the silence enclose a whole number of steps. After a crash and restart,
    a whole number of steps follows the silence itself.
    """
    times = np.interp(bounds, np.arange(c.BINS + 1), clock.edges)
    for bin_ in np.flatnonzero(clock.spent > c.SILENT * np.median(np.diff(times))).tolist():
        place = bin_ + 0.5
        before = bounds[bounds <= place - c.STRETCH * usual]
        after = bounds[bounds >= place + usual / 2]
        if len(before) < 3 or len(after) < 2:
            continue
        last = before[-1] if abs(before[-1] - before[-2] - usual) <= 2 * c.NEAR * usual else before[-2] + usual
        anew, through = (after[0] - place) / usual, (after[0] - last) / usual
        if abs(anew - round(anew)) > c.ASTRAY or abs(through - round(through)) <= c.ASTRAY:
            continue
        ended = last + usual * np.arange(int((place - last) / usual) + 1)
        first = len(before) - 1
        bounds = np.concatenate([before[:-1], ended, [place], after])
        kept = whole[len(whole) - len(after) + 1 :]
        whole = np.concatenate([whole[:first], np.ones(len(ended) - 1, np.bool_), [False, True], kept])
    return bounds, whole


def _steady(sequences: Sequences, times: Floats) -> Mask:
    """Signals that come equally often in most steps: a scalar reduction; a monitor's come when they come."""
    n = len(times) - 1
    found = np.clip(np.searchsorted(times, sequences.start, "right") - 1, 0, n - 1)
    moved = np.bincount(sequences.of * n + found, minlength=len(sequences) * n).reshape(-1, n)
    usual = np.median(moved, axis=1)
    return np.asarray(sequences.signals & (usual >= 1) & (10 * (moved == usual[:, None]).sum(1) >= 6 * n))


def _concluding(sequences: Sequences, rests: Floats, *, cut: bool) -> Mask:
    """Select signals that follow the payload of a step, in the rest that ends it. Credits and ready messages are excluded.

    A ready message comes before the first payload of its receiver. If the recording is `cut`, the first message is unknown;
    then a signal has to be nearer to the payload before it than to the payload after it.
    """
    place = np.maximum(np.searchsorted(rests[:, 0], sequences.start, "right") - 1, 0)
    begin, end = rests[place].T
    inside = (sequences.start > begin) & (sequences.end < end)
    many = 2 * np.bincount(sequences.of, inside, len(sequences)) > sequences.count
    early = sequences.start - begin < end - sequences.end
    near = 2 * np.bincount(sequences.of, inside & early, len(sequences)) > np.bincount(sequences.of, inside, len(sequences))
    first = sequences.start[sequences.begins[:-1]]
    pair, back = sequences.src * (1 << 32) + sequences.dst, sequences.dst * (1 << 32) + sequences.src
    answered = np.array([first[~sequences.signals & (pair == own)].min(initial=sequences.life) for own in back.tolist()])
    asks = (first < answered) & (answered < sequences.life)
    return np.asarray((many | sequences.bursts) & ~asks & (near | (not cut)))


def _within(sequences: Sequences, clock: Clock, bins: float) -> Mask:
    """Records that hold less than a step: bursts of TCP that were not cut at rests may hold several."""
    if not sequences.bursts:
        return np.ones(len(sequences.of), np.bool_)
    place = [np.interp(at, clock.edges, np.arange(c.BINS + 1)) for at in (sequences.start, sequences.end)]
    return np.asarray(place[1] - place[0] < bins)


def _concluded(rests: Floats, signals: Ints) -> Floats:
    """Times of bounds, ns: where signals come in most of the rests that end steps, a step ends after the last of them."""
    last = signals[np.maximum(np.searchsorted(signals, rests[:, 1]) - 1, 0)] if len(signals) else rests[:, 0]
    inside = (last > rests[:, 0]) & (last < rests[:, 1])
    inside &= 2 * inside[1:-1].sum() > len(rests) - 2
    return np.asarray(np.where(inside, last + rests[:, 1], rests.sum(1)) / 2)


def _rests(at: Floats, clock: Clock, sequences: Sequences, near: float, told: Mask, kinds: Ints) -> Floats:
    """Begin and end of the rest of each bound, ns: the longest within `near` bins; float64[bounds, 2].

    A rest that is longer than usual, because the job hung in it, counts as a usual one. Where steps end with operations of some
    `kinds`, it is a rest after one of these. Where no rest is seen, both are the time of the bound.
    """
    order = np.argsort(sequences.start[told], kind="stable")
    start = sequences.start[told][order]
    until = np.maximum.accumulate(sequences.end[told][order])
    rest = np.append(start[1:] - until[:-1], 0)
    if len(kinds):
        ends = np.isin(sequences.kind[sequences.of[told][order]], kinds)
        latest = np.maximum.accumulate(np.where(sequences.end[told][order] == until, np.arange(len(until)), 0))
        rest[~ends[latest]] //= 1 << 20
    out = np.tile(np.interp(at, np.arange(c.BINS + 1), clock.edges), (2, 1)).T
    if not told.any():
        return out
    low = np.interp(at - near, np.arange(c.BINS + 1), clock.edges)
    high = np.interp(at + near, np.arange(c.BINS + 1), clock.edges)
    first = np.maximum(np.searchsorted(until, low) - 1, 0)
    last = np.maximum(np.minimum(np.searchsorted(start, high, "right"), len(start) - 1), first)
    longest = np.array([rest[i : j + 1].max() for i, j in zip(first.tolist(), last.tolist(), strict=True)])
    usual = float(np.quantile(longest[1:-1], 0.1)) if len(at) > 2 else 0.0
    silent = c.SILENT * float(np.median(np.diff(np.interp(at, np.arange(c.BINS + 1), clock.edges))))
    for k in range(1, len(at) - 1):
        own = slice(int(first[k]), int(last[k]) + 1)
        off = np.abs(np.interp(until[own], clock.edges, np.arange(c.BINS + 1)) - at[k]) / near
        fit = np.minimum(rest[own], usual) * np.maximum(1 - off / 2, 0)
        i = own.start + int(np.argmax(fit))
        if rest[i] > silent:  # part of the next step was sent before the silence: the bound is the usual rest before it
            before = np.interp(at[k] - 4 * near, np.arange(c.BINS + 1), clock.edges)
            since = min(int(np.searchsorted(until, before)), i)
            i = since + int(np.argmax(np.append(rest[since:i] >= usual / c.LONGER, True)))
        if fit.max() > 0 and rest[i] > 0:
            out[k] = until[i], start[i + 1]
    out[0], out[-1] = -1.0, float(sequences.life) + 1
    return np.maximum.accumulate(out)


def segment_of(sequences: Sequences, steps: Steps) -> Ints:
    """The segment of each record: that in which it began; where a step's messages are counted, the one it counts to."""
    n = len(steps.whole)
    found = np.clip(np.searchsorted(steps.times, sequences.start, "right") - 1, 0, n - 1)
    if sequences.bursts:  # one that goes on into the next step ends there
        return np.clip(np.searchsorted(steps.times, sequences.end) - 1, 0, n - 1)
    if n < 5:
        return found
    moved = np.bincount(sequences.of * n + found, minlength=len(sequences) * n).reshape(-1, n)
    inner = moved[:, 1:-1]
    each = np.median(inner, axis=1)
    steady = (each >= 1) & ((inner == each[:, None]).mean(1) >= 1 - c.BROKEN)  # others vary, as the work of experts does
    odd = steady & ((inner != each[:, None]) & steps.whole[None, 1:-1]).any(1)
    if not odd.any():
        return found
    through = np.cumsum(moved[odd], axis=1)
    ahead = through - each[odd, None] * np.arange(1, n + 1)
    padded = np.pad(ahead, ((0, 0), (2, 2)), mode="edge")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5, axis=1), axis=2)
    close = np.abs(ahead - usual) <= 0.5 * each[odd, None]
    through = np.where(close, usual + each[odd, None] * np.arange(1, n + 1), through)
    for sequence, ends in zip(np.flatnonzero(odd).tolist(), through, strict=True):
        own = sequences.records(sequence)
        found[own] = np.minimum(np.searchsorted(ends[:-1], np.arange(own.stop - own.start), "right"), n - 1)
    return found


def rank_steps(sequences: Sequences, steps: Steps, ends: int) -> list[Ints]:
    """Begin and end of each whole step at each of some endpoints, ns since the epoch; int64[n, 2] each.

    A step ends with the last payload that the endpoint sent or received in it; the next begins there.
    """
    n = len(steps.whole)
    segment = segment_of(sequences, steps)
    last = np.full((ends, n), -1, np.int64)
    told = steps.told
    for side in (sequences.src, sequences.dst):
        np.maximum.at(last.reshape(-1), (side[sequences.of] * n + segment)[told], sequences.end[told])
    last = np.where(last >= 0, np.maximum.accumulate(last, axis=1), -1)
    out = []
    for own in last:
        whole = np.flatnonzero((own >= 0) & steps.whole)
        since = np.maximum(steps.times[whole], 0).astype(np.int64)
        begins = np.where((whole > 0) & (own[whole - 1] >= 0), own[whole - 1], since)
        out.append(np.stack([np.minimum(begins, own[whole]), own[whole]], axis=1) + sequences.origin)
    return out
