"""Tell by the operations of a step where it ends, and what is no step: gradients are reduced last, and in each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences, chosen
from prism.steps.traffic_clock import Clock


def after_reduction(reduced: Floats, others: Floats) -> Mask:
    """Select phases from the end of the gradients' reduction to the next other traffic; none if there is no other traffic.

    `reduced`, `others`: shares of the octets in each phase of a step, float64[phases].
    """
    gap = _gap(reduced, others)
    return np.zeros(len(reduced), np.bool_) if gap is None else _until_others(reduced, others, gap)


def after_one(classes: Sequence[Floats], spent: Floats) -> Mask:
    """Select long idle times after an operation that comes once in a step: gradients, where no label tells them from others.

    It is a class of messages between two of which most other traffic lies, in one gap, and no long idle time in others.
    `classes`: traffic of each class in each phase, float64[phases]. `spent`: time in each phase.
    """
    phases, out = len(spent), np.zeros(len(spent), np.bool_)
    long = spent >= c.FORWARD * spent.max()
    for moved in classes:
        others = np.sum(classes, axis=0) - moved
        gap = _gap(moved, others)
        if gap is not None:
            after = _until_others(moved, others, gap)
            busy = np.arange(gap[1], gap[0] + phases + 1) % phases
            out |= after & long & ~long[busy[~after[busy]]].any()
    return out


def after_layers(classes: Sequence[Floats]) -> Mask:
    """Select phases from the last reduction of a step to the next other traffic, if layers reduce their gradients one by one.

    In the backward pass other traffic, such as parameters that are gathered, lies between reductions; in the forward pass,
    which follows, there is other traffic of all layers, and no reduction. None if two classes come like this, but do not end
    together, as messages of both directions of a pipeline do. `classes`: as in `after_one`.
    """
    found = list[Mask]()
    for moved in classes:
        others = np.sum(classes, axis=0) - moved
        lasts, firsts, inside = _gaps(moved, others)
        parts = np.sort(inside[inside > c.SMALL * others.sum()])
        if len(parts) >= c.LEAST_PLACES and parts[-1] >= c.FAR_LONGER * parts[-2]:
            at = int(np.argmax(inside))
            found.append(_until_others(moved, others, (int(lasts[at]), int(firsts[at]))))
    return np.asarray(np.all(found, axis=0)) if found else np.zeros(len(classes[0]) if classes else 0, np.bool_)


def has_all_operations(sequences: Sequences, times: Floats) -> Mask:
    """Whether each segment holds some of each class of payload that most segments hold in equal volume.

    Parameters
    ----------
    sequences : Sequences
        Records of the job.
    times : float64[n + 1]
        Bounds of the segments, ns from the origin of the sequences.

    Returns
    -------
    bool[n]
        Evaluations of sharded models gather parameters, and those of a pipeline send activations, as steps do; but gradients
        are reduced in steps only. Where messages of both are one class, a large part of the connections is silent: rings that
        gather turn one way, and those that reduce the other. Classes whose volume varies, such as one size of many of the
        experts' messages, do not count, nor do segments that hold others instead: those before a restart, after which
        connections are new.
    """
    heavy = np.flatnonzero(~sequences.small[sequences.of])
    segment = np.clip(np.searchsorted(times, sequences.end[heavy]) - 1, 0, len(times) - 2)
    of, octets = sequences.of[heavy], sequences.octets[heavy]
    number, picked = np.full(len(sequences), -1), chosen(sequences)
    number[picked] = np.arange(len(picked))
    some = np.flatnonzero(number[of] >= 0)
    classes, others = _lacking(sequences.kind[of], segment, octets, len(times) - 1)
    parts, new = _lacking(number[of[some]], segment[some], octets[some], len(times) - 1)
    return np.asarray(((classes == 0) | others) & ((parts < c.STRETCH) | new))


def _lacking(of: Ints, segment: Ints, octets: Floats, n: int) -> tuple[Floats, Mask]:
    """Return how much of what most segments hold in equal volume each of `n` segments lacks: the share of those octets.

    Also whether it holds others instead. `of`: what each record belongs to, `segment`: where it is, `octets`: its own.
    """
    kinds = int(of.max(initial=-1)) + 1
    moved = np.bincount(of * n + segment, octets, kinds * n).reshape(kinds, n)
    usual = np.median(moved, axis=1, keepdims=True)
    alike = np.abs(moved - usual) <= c.STRETCH * usual
    often = (usual[:, 0] > 0) & (alike.mean(axis=1) >= 1 - c.SOME_STEPS)
    lacks = np.where(moved[often] < c.ACTIVE * usual[often], usual[often], 0.0).sum(axis=0) / max(usual[often].sum(), 1.0)
    return lacks, np.asarray(moved[~often].sum(axis=0) > c.ACTIVE * moved.sum(axis=0))


def step_of_passes(clock: Clock, most: float) -> float | None:
    """Return the length of steps between which are evaluations, in bins of the clock, if it is shorter than `most`; else None.

    Between two reductions of a backward pass lies the traffic of one layer, and in the forward pass, of which there is one in a
    step, that of all layers. Evaluations, which are other forward passes, lie beside that of some steps only.
    """
    return max((step for step in map(_distance, clock.density) if 0 < step < most), default=None)


def _distance(moved: Floats) -> float:
    """Return the distance of the longest gaps of a class, float64[bins], that come in most steps, some longer; 0 without."""
    busy = np.flatnonzero(moved > c.ACTIVE * moved.max())
    gaps = np.diff(busy)
    long = np.sort(gaps[gaps > 1])[::-1]
    for number in (np.flatnonzero(long[:-1] >= c.FAR_LONGER * long[1:]) + 1).tolist():
        apart = np.diff(busy[:-1][gaps >= long[number - 1]])
        if len(apart) >= c.LEAST_PLACES:
            usual = float(np.median(apart))
            regular, longer = np.abs(apart - usual) <= c.ASTRAY * usual, apart >= (1 + c.STRETCH) * usual
            if longer.any() and regular.mean() >= 1 - c.SOME_STEPS and np.all(regular | longer):
                return usual
    return 0.0


def _gaps(moved: Floats, others: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the gaps of an operation on a cycle: its last phase before each, its first after it, the other traffic inside."""
    busy = moved > c.ACTIVE * moved.max()
    lasts, firsts = np.flatnonzero(busy & ~np.roll(busy, -1)), np.flatnonzero(busy & ~np.roll(busy, 1))
    if not len(lasts):
        return lasts, firsts, np.zeros(0)
    passed = np.concatenate([[0.0], np.cumsum(np.tile(others, 2))])
    following = np.append(firsts, firsts[0] + len(moved))[np.searchsorted(firsts, lasts, "right")]
    return lasts, following, np.asarray(passed[following] - passed[lasts + 1])


def _gap(moved: Floats, others: Floats) -> tuple[int, int] | None:
    """Return the last phase of an operation before most of the other traffic, and its first phase after that.

    None if other traffic is between its parts: the reductions of layers (ZeRO-3) show no end.
    """
    lasts, firsts, inside = _gaps(moved, others)
    if not others.any() or not len(inside):
        return None
    at = int(np.argmax(inside))
    return (int(lasts[at]), int(firsts[at])) if 2 * inside[at] > others.sum() else None


def _until_others(moved: Floats, others: Floats, gap: tuple[int, int]) -> Mask:
    """Select phases from the end of an operation, of few steps excepted, to the next other traffic in the gap after it."""
    last, following = gap
    passed = np.concatenate([[0.0], np.cumsum(np.tile(others, 2))])
    until = int(np.searchsorted(passed, passed[last + 1] + c.SMALL * others.sum(), "right")) - 2
    late = int(np.searchsorted(np.cumsum(np.roll(moved, -last - 1)[::-1]), c.SMALL * moved.sum(), "right"))
    out = np.zeros(len(moved), np.bool_)
    out[np.arange(last - late, min(until, following - 1) + 1) % len(moved)] = True
    return out
