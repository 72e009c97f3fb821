"""Find the phase of the period at which a step ends: where its operations are idle for the longest time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences
from prism.steps.traffic_clock import Clock


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean step, divided into phases of equal traffic; the last phase precedes the first.

    `spent`: share of the step's time in each phase. `moved`: share of each sequence's traffic in it, float64[sequences,
    phases]. `reduced` and `others`: shares of the gradients' octets and of other payload in it.
    """

    spent: Floats
    moved: Floats
    kind: Ints  # class of each sequence
    small: Mask  # sequences of scalars and signals
    reduced: Floats
    others: Floats
    begins: int = -1  # phase of the first record if the traffic is a whole number of steps, else −1
    last: int = -1  # phase of the last record if the connections close after it, else −1

    def turned(self, phases: int) -> Mean:
        """Return the same mean step, begun later by some phases."""
        spent, reduced, others = (np.roll(own, -phases) for own in (self.spent, self.reduced, self.others))
        return Mean(spent, np.roll(self.moved, -phases, axis=1), self.kind, self.small, reduced, others)


def folded(clock: Clock, places: Ints, sequences: Sequences) -> Mean:
    """Compute the mean of the steps between consecutive places on the clock.

    The time of a phase is the median over steps, so slow steps and pauses do not change it.
    """
    apart = float(np.median(np.diff(places)))
    phases = min(c.PHASES, max(int(apart), c.LEAST_PHASES))
    knots = np.concatenate([[places[0] - apart], places, [places[-1] + apart]])

    def phase_of(at: NDArray[np.floating[Any]]) -> tuple[Ints, Ints]:
        place = np.interp(at, knots, np.arange(len(knots)))
        step = np.minimum(place.astype(np.int64), len(knots) - 2)
        return step, np.minimum(((place - step) * phases).astype(np.int64), phases - 1)

    inside = slice(int(places[0]), int(places[-1]))  # parts of the clock between the first place and the last
    step, phase = phase_of(np.arange(inside.start, inside.stop) + 0.5)
    at, size = step * phases + phase, (len(knots) - 1) * phases
    spent = np.where(np.bincount(at, minlength=size), np.bincount(at, clock.spent[inside], size), np.nan)
    usual = median_known(spent.reshape(-1, phases)[1:-1])
    raw = np.stack([np.bincount(phase, own, phases) for own in clock.density[:, inside]])
    moved = np.asarray(raw / np.maximum(raw.sum(1, keepdims=True), 1e-300), np.float64)
    by_kind = np.bincount(sequences.kind, np.bincount(sequences.of, sequences.octets, len(sequences)))
    heavy = by_kind >= c.SMALL * by_kind.sum()
    some = slice(None, None, max(1, len(sequences.of) // c.RECORDS))
    place = clock.places(sequences.end[some])
    own = heavy[sequences.kind[sequences.of[some]]] & (place >= places[0]) & (place < places[-1])
    _, phase = phase_of(place[own])
    octets, reduces = sequences.octets[some][own], sequences.reduces[sequences.of[some][own]]
    reduces = reduces if sequences.labelled else ~reduces
    reduced, others = (np.bincount(phase[which], octets[which], phases) for which in (reduces, ~reduces))
    if others.sum() < c.SMALL * reduced.sum():
        others[:] = 0
    count = clock.parts / apart
    begins = int(phase_of(np.zeros(1))[1][0]) if abs(count - round(count)) <= c.NEAR * 2 else -1
    last = int(phase_of(np.full(1, clock.parts - 0.5))[1][0]) if sequences.closed and clock.parts <= knots[-1] else -1
    return Mean(
        usual / max(usual.sum(), 1e-300), moved, clock.kind, ~heavy[clock.kind],
        reduced / max(reduced.sum(), 1.0), others / max(others.sum(), 1.0), begins, last,
    )  # fmt: skip


def median_known(spent: Floats) -> Floats:
    """Median of each column over known values; 0 if a column has none."""
    count = np.count_nonzero(~np.isnan(spent), axis=0)
    ordered, column = np.sort(spent, axis=0), np.arange(spent.shape[1])  # unknown values come last
    middle = (ordered[np.maximum(count - 1, 0) // 2, column] + ordered[count // 2, column]) / 2
    return np.where(count > 0, middle, 0.0)


@dataclass(frozen=True, eq=False)
class End:
    """The phase, 0 ... 1, at which a step ends, and the classes of operations that end it; empty if any may."""

    phase: float
    kinds: Ints


def end_of(mean: Mean) -> End:
    """Find where in the mean step a step ends."""
    phases, signal, small = len(mean.spent), _signalled(mean), np.unique(mean.kind[mean.small])
    if mean.begins >= 0:  # the recording holds the job from its first step to its last
        near = (mean.begins + np.arange(-2, 3)) % phases
        at = int(near[np.argmax(mean.spent[near])])
        if mean.spent[at] >= 1 / phases:
            is_signal = signal is not None and min((at - signal[0]) % phases, (signal[0] - at) % phases) <= phases / 64
            return End((at + 0.5) / phases, small if is_signal else small[:0])
    if signal is not None:
        more = _gathered(mean.turned(signal[0] + 1), signal[1])
        return End(((signal[0] + more) % phases + 0.5) / phases, small[:0] if more else small)
    after = _reduced(mean)
    score = _idle_score(mean, 1 if after.any() else max(int(c.NEAR * phases), 1))
    at = _fetched(mean, int(np.argmax(np.where(after, score, -np.inf) if after.any() else score)))
    return End((at + 0.5) / phases, small[:0])


def _idle_score(mean: Mean, near: int) -> Floats:
    """Score the idle time near each phase: sum over classes of the mean logarithm, plus that of the whole job's idle time.

    Ranks end their steps up to `near` phases apart. A job that closes its connections is idle for ever after its last record.
    """
    idle_times = np.stack([_idle_around(own > c.ACTIVE * own.max(), mean.spent) for own in mean.moved])
    idle_times = np.maximum.reduce([np.roll(idle_times, k, axis=1) for k in range(-near, near + 1)])
    every = [np.log(idle_times[mean.kind == k] + c.LEAST_IDLE).mean(0) for k in np.unique(mean.kind)]
    idle = mean.spent.copy()
    if mean.last >= 0:
        idle[(mean.last + np.arange(-2, 3)) % len(idle)] = 1
    return np.asarray(np.sum(every, axis=0) + c.WHOLE_JOB * np.log(idle + c.LEAST_IDLE))


def _idle_around(active: Mask, spent: Floats) -> Floats:
    """Duration of the idle time that contains each phase of a cycle; for an active phase, its own time."""
    if active.all() or not active.any():
        return spent.copy()
    first = int(np.argmax(active))
    turned, own = np.roll(active, -first), np.roll(spent, -first)
    number = np.cumsum(turned)
    total = np.bincount(number, np.where(turned, 0.0, own))
    return np.roll(np.where(turned, own, total[number]), first)


def _signalled(mean: Mean) -> tuple[int, int] | None:
    """Return the phase in which the last small operation of a step ends, and the phases until the next one; or None.

    Small operations are the loss, the gradient norm, the overflow check: all ranks take part when gradients are reduced.
    """
    heavy = mean.reduced + mean.others
    heavy /= max(heavy.sum(), 1e-300)
    active = np.zeros(len(mean.spent), np.bool_)
    for kind in np.unique(mean.kind[mean.small]).tolist():
        own = mean.moved[mean.kind == kind].mean(0)
        own = own > c.IN_MOST_STEPS * own.max()
        clusters = _clusters(own, heavy)
        brief = all(np.roll(mean.spent, -first)[: last - first].sum() <= c.BRIEF for first, last in clusters)
        if len(clusters) <= c.SIGNALS_OF_A_STEP and heavy[own].sum() <= c.DURING_PAYLOAD and brief:
            active |= own
    found = _clusters(active, heavy)
    if not found or len(found) > c.SIGNALS_OF_A_STEP:
        return None
    times = np.concatenate([[0.0], np.cumsum(np.tile(mean.spent, 2))])
    begins = [first for first, _ in found] + [found[0][0] + len(mean.spent)]
    until = [float(times[begin] - times[last]) for (_, last), begin in zip(found, begins[1:], strict=True)]
    best = int(np.argmax(until))
    return found[best][1] % len(mean.spent), begins[best + 1] - found[best][1]


def _clusters(active: Mask, heavy: Floats) -> list[tuple[int, int]]:
    """Return first and last phase of each cluster of active phases on a cycle; clusters are separated by 2 % of a step's
    traffic.
    """
    at = np.flatnonzero(active)
    if not len(at):
        return []
    moved = np.concatenate([[0.0], np.cumsum(np.tile(heavy, 2))])
    after = np.append(at[1:], at[0] + len(active))
    cut = np.flatnonzero(moved[after] - moved[at + 1] > c.SMALL)
    if not len(cut):
        return [(int(at[0]), int(at[-1]))] if len(at) == len(active) else [_widest(at, len(active))]
    firsts, lasts = np.roll(after[cut], 1), at[cut]
    firsts = np.where(firsts > lasts, firsts - len(active), firsts)
    shift = len(active) if firsts[0] < 0 else 0
    return [(int(a) + shift, int(b) + shift) for a, b in zip(firsts, lasts, strict=True)]


def _widest(at: Ints, phases: int) -> tuple[int, int]:
    """Return the only cluster of active phases: it begins after the widest hole."""
    hole = np.diff(np.append(at, at[0] + phases))
    k = int(np.argmax(hole))
    first, last = int(at[(k + 1) % len(at)]), int(at[k])
    return (first, last) if first <= last else (first, last + phases)


def _gathered(mean: Mean, until: int) -> int:
    """Phases from the signal to the end of the parameter gather after the optimizer (ZeRO-1), which ends the step; else 0.

    The gather moves half of what a group reduces and gathers in a step, at once and alone. The job is idle longer after it
    (forward) than before it (optimizer).
    """
    moved, others = np.cumsum(mean.reduced), np.cumsum(mean.others)
    fits = (np.abs(moved - 0.5) <= c.NEAR_HALF) & (others <= c.HARDLY_OTHERS)
    fits[max(until - 1, 0) :] = False
    idle = np.where(fits, mean.spent, 0)
    at = int(np.argmax(idle))
    first = int(np.searchsorted(moved, c.NEAR_THIRD))
    before = max(mean.spent[-1], float(mean.spent[: first + 1].max()))
    inside = moved[first + 1 : at][mean.spent[first + 1 : at] > 0.5 * idle[at]]
    fetched = (np.abs(inside - 1 / 3) < c.NEAR_THIRD).any()  # by ZeRO-3 for the forward pass
    return at + 1 if idle[at] > before and len(inside) < 2 and not fetched else 0


def _reduced(mean: Mean) -> Mask:
    """Select phases between the reduction of gradients and the next other traffic; none if there is no other traffic.

    Phases between two reductions count only if other traffic follows after none of the reductions. Several reductions that end
    equally clearly are those of layers, with gathers of parameters (ZeRO-3): they show no end.
    """
    phases, out = len(mean.spent), np.zeros((2, len(mean.spent)), np.bool_)
    if not mean.others.any() or not mean.reduced.any():
        return np.zeros(phases, np.bool_)
    busy = mean.reduced > c.ACTIVE * mean.reduced.max()
    idle = _idle_around(busy, mean.spent)
    idle[busy] = 0
    others = np.tile(mean.others, 2)
    for last in np.flatnonzero(busy & ~np.roll(busy, -1)).tolist():
        if idle[(last + 1) % phases] < 0.5 * idle.max():
            continue
        until = last
        while until < last + phases and not busy[(until + 1) % phases] and others[last + 1 : until + 2].sum() <= c.SMALL:
            until += 1
        out[int(busy[(until + 1) % phases]), np.arange(last, until + 1) % phases] = True
    found = out[0] if out[0].any() else out[1]
    return np.asarray(found & (np.count_nonzero(found & ~np.roll(found, 1)) == 1))


def _fetched(mean: Mean, at: int) -> int:
    """Return the phase before parameters are gathered for the whole forward pass (ZeRO-3), if that precedes `at`; else `at`.

    They are a third of the traffic, without idle time in between. The following traffic is layer by layer.
    """
    if mean.others.any():
        return at
    turned = mean.turned(at + 1)
    moved = np.cumsum(turned.reduced)
    near = np.flatnonzero(np.abs(moved - 2 / 3) <= c.SMALL)
    if not len(near):
        return at
    begin = int(near[np.argmax(turned.spent[near])])
    long = c.LONG_IDLE * turned.spent[-1]
    cuts = np.flatnonzero(turned.spent[:begin] > long)
    pieces = np.diff(np.concatenate([[0.0], moved[cuts], moved[begin : begin + 1]]))
    if (turned.spent[begin + 1 : -1] > long).any() or pieces.max() > c.LARGEST_LAYER:
        return at
    return (at + 1 + begin) % len(mean.spent)
