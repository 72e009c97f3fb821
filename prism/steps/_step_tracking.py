"""Track the steps of a job on the traffic clock."""

from __future__ import annotations

import numpy as np
from scipy import fft

from prism.loops.periods.step_places import best_sequence, evenly_spaced
from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Mask
from prism.steps.step_ends import median_known
from prism.steps.traffic_clock import Clock


def tracked(clock: Clock, bins: float) -> Ints:
    """Find one place of each step, in bins of the clock: where the traffic around it is most similar to the mean step.

    Consecutive places are about one step apart, except around other traffic (an evaluation, a restart inside a step).
    """
    channels = _channels(clock, bins)
    at = _longest_idle_place(clock, bins)
    half = max(int(bins / 2), 1)
    begins = np.round(np.arange(at, clock.parts - half, bins)).astype(np.int64)
    begins = begins[begins >= half]
    if len(begins) < 2:
        begins = np.array([min(max(round(at), half), clock.parts - half)])
    around = begins[:, None] + np.arange(-half, half)[None, :]
    pattern = channels[:, np.clip(around, 0, clock.parts - 1)].mean(1)
    pattern -= pattern.mean(1, keepdims=True)
    size = 2 * clock.parts
    spectrum = fft.rfft(channels, size) * np.conj(fft.rfft(pattern, size))
    similarity = fft.irfft(spectrum.sum(0), size) / (np.square(pattern).sum() + 1e-300)
    return _best_path(np.roll(similarity, half)[: clock.parts], bins)


def grouped(places: Ints, clock: Clock) -> Ints:
    """Group places if buckets or layers of one size were taken for steps; else return the same places.

    After the last bucket of a step the forward pass follows: every n-th idle time is longer than all in between. Layers that
    are gathered for the forward pass have other idle times than those of the backward pass: the idle times then repeat after
    the number of layers in a step. Buckets may consist of equal rounds themselves.
    """
    if len(places) < c.GROUPS:
        return places
    near = max(int(np.median(np.diff(places))) // 2, 1)
    lasts = float(np.median(np.diff(clock.times(places))))
    shifts = np.arange(-near, near + 1)
    around = clock.spent[np.clip(places[:, None] + shifts[None, :], 0, clock.parts - 1)]
    inside = places + shifts[np.argmax(around.mean(0))]
    inside = inside[(inside >= near) & (inside <= clock.parts - near)]
    if len(inside) < c.GROUPS:
        return places
    number = np.concatenate([[0], np.cumsum(np.maximum(np.round(np.diff(inside) / np.median(np.diff(inside))), 1))])
    number = number.astype(np.int64)  # a place may have been missed
    own = np.array([clock.spent[p - near : p + near + 1].max() for p in inside.tolist()])
    longer = _longer(own, number, lasts)
    if longer.any():
        return grouped(inside[longer], clock)
    idle_times = np.full(number[-1] + 1, np.nan)
    idle_times[number] = own
    count = _repeated(idle_times)
    if not count:
        return places
    usual = median_known(idle_times[: len(idle_times) // count * count].reshape(-1, count))
    return grouped(inside[number % count == int(usual.argmax())], clock)


def _longer(idle_times: Floats, number: Ints, lasts: float) -> Mask:
    """Select the idle times that are longer than all others and follow equal numbers of operations; may select none.

    Of several levels, the one with the most equal distances wins, then the most frequent one. A crash may break some. The idle
    times must occur from start to end; pauses do not. `lasts` is the time of an operation with its idle time, ns. A forward
    pass takes half as long as the backward passes between the reductions together; a longer idle time is a pause.
    """
    order = np.sort(idle_times)
    best, found = 1 - c.BROKEN, np.zeros(len(idle_times), np.bool_)
    for m in np.flatnonzero(order[1:] > c.LONGER * order[:-1]).tolist():
        longer = idle_times > order[m]
        at = number[longer]
        if len(at) < c.LEAST_PLACES:
            break
        apart = np.diff(at)
        count = int(np.median(apart))
        equal = float(np.mean(apart == count))
        through = at[0] <= number[0] + count and at[-1] >= number[-1] - count
        forward = float(np.median(idle_times[longer])) <= c.OTHERS * (1 + count / 2) * lasts
        if count >= 2 and through and forward and equal >= best and not (found.any() and equal == best):
            until = np.append(at[1:], number[-1] + 1) - np.append(at[0] - count, at[:-1])
            hung = (until <= count) & (np.append(count, apart) < count)  # the step continues after it
            longer[np.flatnonzero(longer)[hung]] = False
            best, found = equal, longer
    return found


def _repeated(idle_times: Floats) -> int:
    """Smallest number of operations after which the idle times repeat, and do not repeat after fewer; 0 if none."""
    ratio = np.log(np.maximum(idle_times, np.nanmedian(idle_times) / 1000))
    max_count = len(idle_times) // c.GROUPS
    difference = [float(np.nanmean(np.minimum(np.abs(ratio[k:] - ratio[:-k]), 1.0))) for k in range(1, max_count + 2)]
    for k in range(1, max_count):
        top = max(difference[:k])
        if top > c.UNLIKE and difference[k] <= 0.5 * top and difference[k] <= difference[k + 1]:
            return k + 1
    return 0


def settled(places: Ints, clock: Clock, bins: float) -> Ints:
    """Move places to the usual idle times near them: evenly spaced places together, otherwise one by one.

    Steps hold equal traffic, so their places are evenly spaced unless interrupted. A transfer that waits for a late rank is
    idle in some steps; the job is idle between all steps.
    """
    near = max(int(c.NEAR * bins), 1)
    shifts = np.arange(-near, near + 1)
    longest = float(np.sort(clock.pace)[-max(int(c.MOST_STEPS * clock.parts / bins), 1)])
    capped = np.minimum(clock.pace, longest)
    even, rests = _even(capped, bins)
    around = np.clip(places[:, None] + shifts[None, :], 0, clock.parts - 1)
    off = np.median(places - even[np.abs(places[:, None] - even[None, :]).argmin(1)]) if len(even) else np.inf
    same = abs(len(even) - len(places)) <= 1 and abs(off) <= c.ASTRAY * bins
    if len(places) > 2 and same and rests >= capped[around].max(1).mean():
        places = even
        around = np.clip(places[:, None] + shifts[None, :], 0, clock.parts - 1)
    pace = clock.pace[around]
    usual = float(np.quantile(pace.max(1), c.FEW_STEPS))  # nine of ten idle times are as long: then the nearest counts
    if usual - np.median(clock.pace) < c.CLEAR_PACE:
        return np.unique(np.clip(places, 0, clock.parts - 1))
    pace = np.minimum(pace, usual) - np.abs(shifts) / near
    return np.unique(around[np.arange(len(places)), pace.argmax(1)])


def _even(pace: Floats, bins: float) -> tuple[Ints, float]:
    """Find evenly spaced places with the longest idle times, to one bin, and the mean pace there.

    Their distance differs from `bins` by 2 % at most.
    """
    widened = np.maximum(pace, np.maximum(np.append(pace[1:], 0), np.append(0, pace[:-1])))
    apart, first, best = evenly_spaced(widened, bins * (1 + np.arange(-1 / 50, 1 / 50, 2 / len(pace))))
    places = first + np.round(np.arange(int(len(pace) / apart)) * apart).astype(np.int64)
    return np.minimum(places, len(pace) - 1), best


def _channels(clock: Clock, bins: float) -> Floats:
    """Compute the traffic of each class of sequences, and the pace: smoothed, mean 0, variance 1.

    Idle times are limited to those of nine in ten steps, so that a hang counts as a usual one.
    """
    kinds, smooth = np.unique(clock.kind), max(1.0, bins / 64)
    longest = np.sort(clock.pace)[-max(int(c.MOST_STEPS * clock.parts / bins), 1)]
    raw = np.stack([*(clock.density[clock.kind == k].mean(0) for k in kinds), np.minimum(clock.pace, longest)])
    frequency = np.arange(clock.parts + 1) / (2 * clock.parts)
    kernel = np.exp(-0.5 * (2 * np.pi * frequency * smooth) ** 2)
    raw -= raw.mean(1, keepdims=True)
    out = fft.irfft(fft.rfft(raw, 2 * clock.parts) * kernel, 2 * clock.parts)[:, : clock.parts]
    return np.asarray(out / np.maximum(out.std(1, keepdims=True), 1e-12))


def _longest_idle_place(clock: Clock, bins: float) -> float:
    """Find the first place at which the job is usually idle longest, in bins."""
    phases = min(c.PHASES, max(int(bins), c.LEAST_PHASES))
    place = ((np.arange(clock.parts) + 0.5) / bins) % 1
    phase = np.minimum((place * phases).astype(np.int64), phases - 1)
    usual = np.bincount(phase, clock.pace, phases) / np.maximum(np.bincount(phase, minlength=phases), 1)
    return (int(np.argmax(usual)) + 0.5) / phases * bins


def _best_path(similarity: Floats, bins: float) -> Ints:
    """Find the sequence of places with the largest sum of similarity; steps differ from usual by `STRETCH` at most."""
    low, high = max(int((1 - c.STRETCH) * bins), 1), int((1 + c.STRETCH) * bins) + 1
    apart = np.arange(low, high + 1, max(1, int(bins / c.PHASES)))
    cost = ((apart / bins - 1) / (c.STRETCH / 4)) ** 2
    return best_sequence(similarity, apart, cost, 1.0)
