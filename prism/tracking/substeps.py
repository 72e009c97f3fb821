"""Whether what windows take for steps are parts of them: a pipeline's micro-batches, say, between which it rests longer.

A window in which such rests hardly come back cannot tell. One that holds several of them can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from collectors.columns.record import Mask
from prism.loops.arrays.intervals import Ints
from prism.model import Finding, Severity

RESTS = 4  # of those that come back are in a window that tells steps from their parts, whole
WHOLE = RESTS + 1  # so many fit into one that holds them wherever it begins
CLEAR = 7  # rests, between which there are as many whole groups as tell steps from their parts where all groups are equal


def returns(ends: Ints, *, longer: float = 2.0, least: int = 3) -> tuple[int, float]:
    """When the newest of the longest of steps ended, and how far apart such come, ns; 0, 0 where they do not come back.

    They take `longer` than is usual, and at least half as long as the longest of all.
    """
    steps = np.diff(ends)
    if len(steps) < least:
        return 0, 0.0
    long = ends[1:][_long(steps, longer)]
    return (int(long[-1]), float(np.median(np.diff(long)))) if len(long) > 1 else (0, 0.0)


def _long(steps: Ints, longer: float) -> Mask:
    """Which steps rest: they take `longer` than is usual, and at least half as long as the longest of all."""
    return np.asarray(steps >= max(longer * float(np.median(steps)), float(steps.max()) / 2))


def may_be(ends: Ints, *, longer: float = 2.0, least: int = 3) -> bool:
    """Whether steps of a window, its first, may be parts of others: a rest came less than `RESTS` times, and may come back.

    It may until it has stayed away for as long as it took to come. Long steps on end are one rest that was cut where they are
    far fewer than the steps before them, by `longer`; else they are no rests between others.
    """
    steps = np.diff(ends)
    if len(steps) < least:
        return False
    long = np.flatnonzero(_long(steps, longer)) + 1
    begins = long[np.diff(long, prepend=-1) > 1]
    rests = long[np.diff(long, append=len(ends) + 1) > 1]
    many, before = rests - begins + 1, begins - np.append(0, rests[:-1])[: len(begins)] - 1
    rests = rests[(many == 1) | (longer * many <= before)]
    return 0 < len(rests) < RESTS and bool(ends[-1] - ends[rests[-1]] < ends[rests[-1]] - ends[0])


def may_rest(ends: Ints, talked_ns: int, now_ns: int) -> bool:
    """Whether steps of a job's first windows may be parts of others (`may_be`), between which it perhaps rests just now.

    Who has said nothing for longer than all its steps took does not rest.
    """
    still = len(ends) > 0 and now_ns - talked_ns <= ends[-1] - ends[0]
    return may_be(ends) or (still and now_ns > ends[-1] and may_be(np.append(ends, now_ns)))


def upheld(findings: Collection[Finding], ends: Ints, known_ns: int, *, grown: float = 1.05) -> Iterator[Finding]:
    """The findings of a window whose steps had such `ends`, without claims that would not be if its steps were parts of others.

    Where rests part equal groups they may be, until there are `CLEAR` rests. Then what lasts longer than others because work
    before it rests is as long in all groups: so what is said to be slow, or to have hung, must have `grown` beside what is at
    the same places. A hang may go on.

    Before groups show, rests seem to be silences in the middle of steps. A hang that was over before the job was known, at
    `known_ns`, may be such a rest: while a window tells of one, another must have lasted longer, by `grown` too.
    """
    size = _group(np.diff(ends))
    before = (finding for finding in findings if finding.kind == "hang" and finding.end_ns < known_ns)
    rest_ms = max((_silent_ms(finding) for finding in before), default=0.0)
    for finding in findings:
        hangs = finding.kind == "hang"
        if hangs and finding.end_ns >= known_ns and _silent_ms(finding) < grown * rest_ms:
            continue
        if not size or finding.severity is Severity.INFO or not (hangs or finding.kind.startswith("slow")):
            yield finding
            continue
        times = np.append(ends, finding.end_ns) if hangs and finding.end_ns > ends[-1] else ends
        steps, middles = np.diff(times), (times[1:] + times[:-1]) // 2
        inside = (finding.start_ns < middles) & (middles < finding.end_ns)
        took, usual = float(steps[inside].sum()), _at_places(steps, inside, size)
        if took >= grown * usual > 0 or (hangs and not 0 < usual < np.inf):
            yield finding


def _at_places(steps: Ints, inside: Mask, size: int) -> float:
    """How long those `inside` of some steps, in groups of a `size`, would take if they were as others at their places are.

    Infinite where there are none.
    """
    places = (np.arange(k % size, len(steps), size) for k in np.flatnonzero(inside).tolist())
    others = [steps[own[~inside[own]]] for own in places]
    return sum(float(np.median(own)) if len(own) else np.inf for own in others)


def _silent_ms(hang: Finding) -> float:
    return float(hang.evidence["silent_ms"])


def _group(steps: Ints, *, longer: float = 2.0, least: int = 3) -> int:
    """Of how many steps the equal groups are that rests part, fewer than `CLEAR` of these; 0 where there are none."""
    rests = np.flatnonzero(_long(steps, longer)) if len(steps) >= least else np.zeros(0, np.intp)
    apart = np.diff(np.append(rests, len(steps)))
    equal = 1 < len(rests) < CLEAR and bool((apart[:-1] == apart[0]).all()) and max(rests[0], apart[-1]) <= apart[0]
    return int(apart[0]) if equal and apart[0] > 1 else 0


def reach(ends: Ints, now_ns: int, asked_ns: float, search_ns: int, most_ns: int, *, parts: int = 64) -> int:
    """When a window begins that holds `WHOLE` of the longest rests, ns; `now_ns` where none come back, or that was asked.

    Not asked either is after what comes back so seldom that so many last longer than `search_ns`; or, where no more than so
    many `parts` are between two of them, than `most_ns`.
    """
    newest, apart = returns(ends[ends >= now_ns - search_ns])
    if asked_ns < apart <= search_ns / WHOLE:
        return int(newest - WHOLE * apart)
    few = ends[-WHOLE * parts :]
    newest, apart = returns(few)
    if asked_ns < apart <= most_ns / WHOLE and len(few) * apart <= parts * (few[-1] - few[0]):
        return int(newest - WHOLE * apart)
    return now_ns


def asked(ends: Ints, lasted_ns: int, before_ns: float, *, nearly: float = 0.5) -> float:
    """Up to how far apart rests may come without a doubt, ns, after a window of that length that told steps as they were known.

    So were those that come back within `before_ns`.
    """
    _, apart = returns(ends)
    return max(before_ns, apart if lasted_ns >= (WHOLE - nearly) * apart else 0.0)


def others(before: Ints, now: Ints, apart: float) -> bool:
    """Whether ends of steps are not those that were known, in the time that both show: far more of them, or far fewer.

    A job that has become slower has as many as it had.
    """
    if not len(before) or not len(now):
        return False
    since, until = now[0], min(before[-1], now[-1])
    counts = [np.count_nonzero((since < ends) & (ends <= until)) for ends in (before, now)]
    return bool(abs(np.log((counts[0] + 1) / (counts[1] + 1))) > apart)


def over(ends: Ints, step_ns: float, heard_ns: int, *, late: float = 1.15, steps: int = 24) -> Ints:
    """The ends of steps that are over for sure: of the newest a window may have seen the first parts only.

    It is sure unless its step was shorter than all of the `steps` before, and the job not heard when `late` steps had passed.
    """
    took = np.diff(ends[-steps:])
    if len(took) < 3 or took[-1] >= took[:-1].min() or heard_ns >= ends[-2] + late * step_ns:
        return ends
    return ends[:-1]
