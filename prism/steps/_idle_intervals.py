"""Find the idle intervals of a job near places of its traffic clock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism.loops.arrays.group_sums import ranges
from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences
from prism.steps.traffic_clock import Clock


def shorter_than(sequences: Sequences, clock: Clock, bins: float) -> Mask:
    """Select records shorter than a step. Bursts of TCP that were not split at idle times may span several steps."""
    if not sequences.bursts:
        return np.ones(len(sequences.of), np.bool_)
    edges, full = clock.edges, max(int(bins) - 1, 0)  # a record over `bins` bins covers so many of them completely
    within = np.asarray(sequences.end - sequences.start < (edges[full:] - edges[: len(edges) - full]).min())
    long = np.flatnonzero(~within)
    within[long] = clock.places(sequences.end[long]) - clock.places(sequences.start[long]) < bins
    return within


class Rests(NamedTuple):
    """Records in order of time, ns: start, the latest end until then, and the rest between that and the next start."""

    start: Ints
    until: Ints
    rest: Ints


def rests_of(sequences: Sequences, selected: Mask, small: Mask | None) -> Rests:
    """Find the rests between the `selected` records. If steps end with `small` sequences, rests after others hardly count."""
    order = sequences.in_time[selected.take(sequences.in_time)]
    start, end = sequences.start.take(order), sequences.end.take(order)
    until = np.maximum.accumulate(end)
    rest = np.append(start[1:] - until[:-1], 0) if len(order) else start
    if small is not None:
        latest = np.maximum.accumulate(np.where(end == until, np.arange(len(until)), 0))
        rest[~small[sequences.of[order]][latest]] //= 1 << 20
    return Rests(start, until, rest)


def idle_intervals(at: Floats, clock: Clock, rests: Rests, near: float, life: int, inside: Floats | None = None) -> Floats:
    """Find the idle interval of each bound, ns: the longest within `near` bins; float64[bounds, 2].

    An idle time longer than usual, because of a hang, counts as a usual one. Without idle time, both ends are the time of the
    bound. If the interval in which a bound lies is known (`inside`, ns, float64[bounds - 2, 2]), it overlaps that. `life`: end
    of the traffic, ns.
    """
    start, until, rest = rests
    out = np.tile(clock.times(at), (2, 1)).T
    if not len(start):
        return out
    low = clock.times(at - near)
    high = clock.times(at + near)
    if inside is not None:
        low[1:-1], high[1:-1] = np.maximum(low[1:-1], inside[:, 0]), np.minimum(high[1:-1], inside[:, 1])
    first = np.clip(np.searchsorted(until, low) - (inside is None), 0, len(start) - 1)
    last = np.maximum(np.minimum(np.searchsorted(start, high, "right"), len(start) - 1), first)
    longest = np.array([rest[i : j + 1].max() for i, j in zip(first.tolist(), last.tolist(), strict=True)])
    usual = float(np.quantile(longest[1:-1], c.FEW_STEPS)) if len(at) > 2 else 0.0
    silent = c.SILENT * float(np.median(np.diff(clock.times(at))))
    examined = ranges(first[1:-1], last[1:-1] + 1)
    places = np.split(clock.places(until[examined]), np.cumsum(last[1:-1] + 1 - first[1:-1]))
    for k in range(1, len(at) - 1):
        own = slice(int(first[k]), int(last[k]) + 1)
        off = np.abs(places[k - 1] - at[k]) / near
        fit = np.minimum(rest[own], usual) * np.maximum(1 - off / 2, 0)
        i = own.start + int(np.argmax(fit))
        if inside is None and rest[i] > silent:  # part of the next step precedes the silence: so does the bound
            before = clock.times(at[k] - 4 * near)
            since = min(int(np.searchsorted(until, before)), i)
            i = since + int(np.argmax(np.append(rest[since:i] >= usual / c.LONGER, True)))
        if fit.max() > 0 and rest[i] > 0:
            out[k] = until[i], start[i + 1]
    out[0], out[-1] = -1.0, float(life) + 1
    return np.maximum.accumulate(out)
