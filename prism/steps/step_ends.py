"""Find the phase of the period at which a step ends: where its operations are idle for the longest time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.steps import constants as c
from prism.steps._step_operations import after_layers, after_one, after_reduction
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences, chosen
from prism.steps.traffic_clock import Clock, ended, records_of


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean step, divided into phases of equal traffic; the last phase precedes the first.

    `spent`: share of the step's time in each phase. `moved`: share of each sequence's traffic in it, float64[sequences,
    phases]. `payload`, `reduced` and `others`: shares of the payload, of the gradients' octets and of other payload in it.
    """

    spent: Floats
    moved: Floats
    kind: Ints  # class of each sequence
    small: Mask  # of each sequence: whether its class carries scalars only
    signals: Mask  # of each sequence: whether it carries control messages only
    payload: Floats
    reduced: Floats
    others: Floats
    begins: int = -1  # phase of the first record if the traffic is a whole number of steps, else −1
    last: int = -1  # phase of the last record if the connections close after it, else −1
    first: int = 0  # phase of the first record

    def may_begin_after(self, end: float) -> bool:
        """Check whether steps that end at a phase, 0 … 1, may begin with the first record; True if the traffic is not whole."""
        apart = (end - (self.begins + 0.5) / len(self.spent) + 0.5) % 1 - 0.5
        return self.begins < 0 or abs(apart) <= c.ASTRAY

    def classes(self) -> list[Floats]:
        """Return the traffic of each class of payload in each phase, mean over its sequences."""
        heavy = ~self.small
        return [self.moved[heavy & (self.kind == one)].mean(0) for one in np.unique(self.kind[heavy]).tolist()]

    def turned(self, phases: int) -> Mean:
        """Return the same mean step, begun later by some phases."""
        shares = self.spent, self.payload, self.reduced, self.others
        spent, payload, reduced, others = (np.roll(own, -phases) for own in shares)
        moved = np.roll(self.moved, -phases, axis=1)
        return Mean(spent, moved, self.kind, self.small, self.signals, payload, reduced, others)


@dataclass(frozen=True, eq=False)
class _Fold:
    """Steps and phases on a clock, from a place of each step."""

    clock: Clock
    places: Ints

    @property
    def phases(self) -> int:
        """Number of phases."""
        return min(c.PHASES, int(self.apart))

    @cached_property
    def apart(self) -> float:
        """Usual distance of places, in bins."""
        return float(np.median(np.diff(self.places)))

    @cached_property
    def _steps(self) -> Floats:
        """Number of steps, and part of one, before each edge of the clock."""
        knots = np.concatenate([[self.places[0] - self.apart], self.places, [self.places[-1] + self.apart]])
        return np.interp(np.arange(self.clock.parts + 1), knots, np.arange(len(knots)))

    def of(self, at: NDArray[np.floating[Any]]) -> tuple[Ints, Floats]:
        """Return the step, and the place in it, in phases, of places on the clock."""
        return self._of(np.interp(at, np.arange(self.clock.parts + 1), self._steps))

    def of_times(self, times: Ints) -> tuple[Ints, Floats]:
        """Return the step, and the place in it, in phases, of times; step 0 and the last are no whole ones."""
        return self._of(np.interp(times, self.clock.edges, self._steps))

    def _of(self, place: Floats) -> tuple[Ints, Floats]:
        step = np.minimum(place.astype(np.int64), len(self.places))
        return step, np.minimum((place - step) * self.phases, np.nextafter(self.phases, 0))


def folded(clock: Clock, places: Ints, sequences: Sequences, picked: Ints, *, timed: bool = False) -> Mean:
    """Compute the mean of the steps between consecutive places on the clock, of the picked sequences. `timed`: as in `_moved`.

    Sequences with fewer messages than one in two steps, such as one size of many of the experts' messages, tell of no step.
    The time since the begin of a step is the median over steps, so slow steps and pauses do not change it.
    """
    fold = _Fold(clock, places)
    phases, inside = fold.phases, slice(int(places[0]), int(places[-1]))
    step, phase = fold.of(np.arange(inside.start, inside.stop) + 0.5)
    at, size = step * phases + phase.astype(np.int64), (len(places) + 1) * phases
    since_begin = np.cumsum(np.bincount(at, clock.spent[inside], size).reshape(-1, phases)[1:-1], axis=1)
    usual = np.diff(np.median(since_begin / np.maximum(since_begin[:, -1:], 1), axis=0), prepend=0)
    count = clock.parts / fold.apart
    begins = _begins(fold, round(count), usual) if abs(count - round(count)) <= c.NEAR * 2 else -1
    none, moved = np.zeros(phases), _moved(fold, sequences, picked, timed=timed)
    often = 2 * sequences.count[picked] >= len(places)
    often |= not often.any()
    picked, moved = picked[often], moved[often]
    return Mean(
        usual / max(usual.sum(), 1e-300), moved, sequences.kind[picked], sequences.small[picked],
        np.zeros(len(picked), np.bool_), none, none, none, begins,
    )  # fmt: skip


def _begins(fold: _Fold, count: int, spent: Floats) -> int:
    """Return the phase at which steps begin if the clock holds `count` complete ones of equal traffic.

    That of the first step, or the median over all steps: the one beside the longer idle time. Uneven steps move either.
    """
    phases, phase = fold.phases, fold.of(np.arange(count) * (fold.clock.parts / count))[1]
    median = phase[0] + np.median((phase - phase[0] + phases / 2) % phases) - phases / 2
    close = np.arange(-round(c.AT_BOUND * phases), round(c.AT_BOUND * phases) + 1)
    return max((int(phase[0]), int(median) % phases), key=lambda at: float(spent[(at + close) % phases].max()))


def _moved(fold: _Fold, sequences: Sequences, picked: Ints, *, timed: bool = False) -> Floats:
    """Share of each sequence's traffic in each phase: bursts move at a constant rate, messages when they end.

    `timed`: the clock was built from other sequences than the `picked` ones.
    """
    phases = fold.phases
    if not sequences.bursts:
        ends, of, share, moved = ended(sequences, picked)
        at = fold.clock.places(ends) if timed else (np.cumsum(moved) - moved / 2) * fold.clock.parts
        inside = (at >= fold.places[0]) & (at < fold.places[-1])
        of, share, phase = of[inside], share[inside], fold.of(at[inside])[1].astype(np.int64)
        return np.asarray(np.bincount(of * phases + phase, share, len(picked) * phases).reshape(-1, phases), np.float64)
    rows, of, share = records_of(sequences, picked)
    (begun, first), (over, last) = (fold.of_times(side[rows]) for side in (sequences.start, sequences.end))
    inside = (begun > 0) & (over < len(fold.places))
    of, share, first, last = of[inside], share[inside], first[inside], last[inside]
    last = np.nextafter(np.where(last < first, last + phases, last), 3 * phases)
    width = 2 * phases + 2
    change = np.zeros(len(picked) * width)
    for at, rate in ((first, share / (last - first)), (last, -share / (last - first))):
        cell, rest = of * width + at.astype(np.int64), at % 1
        change += np.bincount(cell, rate * (1 - rest), len(change)) + np.bincount(cell + 1, rate * rest, len(change))
    both = np.cumsum(change.reshape(-1, width), axis=1)
    return np.maximum(both[:, :phases] + both[:, phases : 2 * phases], 0)


def labelled(mean: Mean, clock: Clock, places: Ints, sequences: Sequences) -> Mean:
    """Return the mean step with recurring signals, and the traffic of sequences labelled as reduction and of others."""
    fold, some = _Fold(clock, places), sequences.in_time  # times nearly in order are found faster
    some = some[some % (len(some) // c.RECORDS | 1) == 0]
    of = sequences.of.take(some)
    step, phase = fold.of_times(sequences.end.take(some))
    own = ~sequences.small[of] & (step > 0) & (step < len(places))
    phase, octets, reduces = phase[own], sequences.octets.take(some)[own], sequences.reduces[of[own]]
    reduces = reduces if sequences.labelled else ~reduces
    reduced, others = (np.bincount(phase[which].astype(np.int64), octets[which], fold.phases) for which in (reduces, ~reduces))
    payload = mean.moved[~mean.small].sum(0) if sequences.bursts else reduced + others
    if others.sum() < c.SMALL * reduced.sum():
        others[:] = 0
    first, last = (int(at % fold.apart / fold.apart * fold.phases) for at in (-places[0], clock.parts - 0.5 - places[-1]))
    last = last if sequences.closed else -1
    signals = chosen(sequences, sequences.scalars)
    moved, kind = _moved(fold, sequences, signals, timed=True), sequences.kind[signals] + int(mean.kind.max(initial=0)) + 1
    control = np.arange(len(mean.moved) + len(signals)) >= len(mean.moved)
    mean = replace(
        mean, moved=np.concatenate([mean.moved, moved]), kind=np.append(mean.kind, kind), signals=control,
        small=np.append(mean.small, np.ones(len(signals), np.bool_)),
    )  # fmt: skip
    payload, reduced, others = (own / max(own.sum(), 1e-9) for own in (payload, reduced, others))
    return replace(mean, payload=payload, reduced=reduced, others=others, last=last, first=first)


def end_of(mean: Mean) -> tuple[float, bool]:
    """Find the phase, 0 ... 1, at which a step ends, and whether it ends with a scalar reduction."""
    phases, signal = len(mean.spent), _signalled(mean)
    close, far = round(c.AT_BOUND * phases), int(c.NEAR * phases)
    more = 0 if signal is None else _gathered(mean.turned(signal[0] + 1), signal[1])
    clear = False  # the longest idle time follows a scalar reduction, which the first record does not
    if signal is not None and not mean.may_begin_after((signal[0] + 0.5) / phases):
        clear = mean.spent[(signal[0] + more + np.arange(-close, close + 1)) % phases].max() == mean.spent.max()
    if mean.begins >= 0:  # the recording may hold the job from its first step to its last
        for around, least in ((close, 1 / phases), (far, mean.spent.max() / c.LONGER)):  # farther: none is longer
            near = (mean.begins + np.arange(-around, around + 1)) % phases
            at = int(near[np.argmax(mean.spent[near])])
            if mean.spent[at] >= (mean.spent.max() / c.FAR_LONGER if clear else least):
                after_signal = signal is not None and min((at - signal[0]) % phases, (signal[0] - at) % phases) <= 2 * close
                return (at + 0.5) / phases, after_signal
    if signal is not None:
        ends = [((signal[0] + later) % phases + 0.5) / phases for later in (0, more)]
        more *= mean.may_begin_after(ends[1]) or not mean.may_begin_after(ends[0])  # else steps begin with the gather
        return ends[more > 0], not more
    if mean.last >= 0 and not mean.others.any():  # a job that closes its connections ends with a step
        rests = [mean.spent[(at + np.arange(-close, close + 1)) % phases] for at in (mean.last, mean.first)]
        if rests[0].max() > max(1 / phases, rests[1].max()):  # else it began with one, and may have crashed
            return ((mean.last - close + int(np.argmax(rests[0]))) % phases + 0.5) / phases, False
    classes = mean.classes()
    after = after_reduction(mean.reduced, mean.others) if mean.others.any() else after_one(classes, mean.spent)
    after = after if after.any() else after_layers(classes)
    score = _idle_score(mean, 1 if after.any() else max(int(c.NEAR * phases), 1))
    at = int(np.argmax(np.where(after, score, -np.inf) if after.any() else score))
    return (at + 0.5) / phases, False


def _idle_score(mean: Mean, near: int) -> Floats:
    """Score the idle time near each phase: sum over classes of the mean logarithm, plus that of the whole job's idle time.

    Ranks end their steps up to `near` phases apart. A job that closes its connections is idle for ever after its last record.
    """
    moved, kind = mean.moved[~mean.signals], mean.kind[~mean.signals]
    idle_times = _idle_around(moved > c.ACTIVE * moved.max(axis=1, keepdims=True), mean.spent)
    idle_times = np.maximum.reduce([np.roll(idle_times, k, axis=1) for k in range(-near, near + 1)])
    every = [np.log(idle_times[kind == k] + c.LEAST_IDLE).mean(0) for k in np.unique(kind)]
    idle = mean.spent.copy()
    if mean.last >= 0:
        idle[(mean.last + np.arange(-2, 3)) % len(idle)] = 1
    return np.asarray(np.sum(every, axis=0) + c.WHOLE_JOB * np.log(idle + c.LEAST_IDLE))


def _idle_around(active: Mask, spent: Floats) -> Floats:
    """Duration of the idle time that contains each phase of a cycle; for an active phase, its own time, and also where none is.

    `active`: bool[sequences, phases]. float64[sequences, phases].
    """
    place = (np.arange(len(spent)) + np.argmax(active, axis=1)[:, None]) % len(spent)  # from the first active phase
    turned, own = np.take_along_axis(active, place, axis=1), spent[place]
    number = np.cumsum(turned, axis=1) + (len(spent) + 1) * np.arange(len(active))[:, None]
    total = np.bincount(number.ravel(), np.where(turned, 0.0, own).ravel())
    out = np.empty(active.shape)
    np.put_along_axis(out, place, np.where(turned | ~active.any(axis=1, keepdims=True), own, total[number]), axis=1)
    return out


def _signalled(mean: Mean) -> tuple[int, int] | None:
    """Return the phase in which the last small operation of a step ends, and the phases until the next one; or None.

    Small operations are the loss, the gradient norm, the overflow check: all ranks take part when gradients are reduced.
    """
    heavy = mean.payload
    active = np.zeros(len(mean.spent), np.bool_)
    for kind in np.unique(mean.kind[mean.small]).tolist():
        own = mean.moved[mean.kind == kind].mean(0)
        own = own > c.IN_MOST_STEPS * own.max()
        clusters = _clusters(own, heavy)
        brief = all(np.roll(mean.spent, -first)[: last - first].sum() <= c.BRIEF for first, last in clusters)
        apart = len(clusters) <= c.SIGNALS_OF_A_STEP and heavy[own].sum() <= c.DURING_PAYLOAD
        if apart and brief and _joint(mean, kind, clusters):
            active |= own
    found = _clusters(active, heavy)
    if not found or len(found) > c.SIGNALS_OF_A_STEP:
        return None
    times = np.concatenate([[0.0], np.cumsum(np.tile(mean.spent, 2))])
    begins = [first for first, _ in found] + [found[0][0] + len(mean.spent)]
    until = [float(times[begin] - times[last]) for (_, last), begin in zip(found, begins[1:], strict=True)]
    best = int(np.argmax(until))
    return found[best][1] % len(mean.spent), begins[best + 1] - found[best][1]


def _joint(mean: Mean, kind: int, clusters: list[tuple[int, int]]) -> bool:
    """Check whether nearly all sequences of a kind take part in each of its clusters."""
    moved = np.tile(mean.moved[mean.kind == kind], 2)
    return all(np.mean(moved[:, first : last + 1].any(axis=1)) >= c.WHOLE for first, last in clusters)


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
    if not len(cut):  # the only cluster begins after the widest hole
        cut = len(at) - 1 - np.argmax((after - at)[::-1], keepdims=True)
    firsts, lasts = np.roll(after[cut], 1), at[cut]
    firsts = np.where(firsts > lasts, firsts - len(active), firsts)
    shift = len(active) if firsts[0] < 0 else 0
    return [(int(a) + shift, int(b) + shift) for a, b in zip(firsts, lasts, strict=True)]


def _gathered(mean: Mean, until: int) -> int:
    """Phases from the signal to the end of the parameter gather after the optimizer (ZeRO-1), which ends the step; else 0.

    The gather moves half of what a group reduces and gathers in a step, at once and alone. The job is idle longer after it
    (forward) than before it (optimizer).
    """
    moved, others = np.cumsum(mean.reduced), np.cumsum(mean.others)
    fits = (np.abs(moved - 0.5) <= c.NEAR_HALF) & (others <= c.HARDLY_OTHERS)
    fits[max(until - 1, 0) :] = False
    own = np.flatnonzero(fits & (mean.reduced > c.ACTIVE * mean.reduced.max()))
    over = min(int(np.searchsorted(moved, 0.5 + c.NEAR_HALF)), len(others) - 1)
    if len(own) and others[over] >= c.FORWARD:
        return int(own[-1]) + 1  # other payload of the forward pass follows
    idle = np.where(fits, mean.spent, 0)
    at = int(np.argmax(idle))
    first = int(np.searchsorted(moved, c.NEAR_THIRD))
    before = max(mean.spent[-1], float(mean.spent[: first + 1].max()))
    inside = moved[first + 1 : at][mean.spent[first + 1 : at] > 0.5 * idle[at]]
    fetched = (np.abs(inside - 1 / 3) < c.NEAR_THIRD).any()  # by ZeRO-3 for the forward pass
    return at + 1 if idle[at] > before and len(inside) < 2 and not fetched else 0
