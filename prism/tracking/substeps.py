"""Check whether detected steps are sub-steps such as micro-batches, with longer pauses between the true steps.

A window with too few of these pauses cannot decide. One with several of them can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from collectors.columns.record import Mask
from prism.loops.arrays.intervals import Ints
from prism.model import Finding, Severity

RESTS = 4  # complete periods of pauses in a window that separates steps from sub-steps
WHOLE = RESTS + 1  # periods that fit into a window that contains them wherever it begins
CLEAR = 7  # pauses after which groups are complete, also if all groups are equal


def pause_period(ends: Ints, *, longer: float = 2.0, least: int = 3) -> tuple[int, float]:
    """Return the end of the newest long step and the median period of long steps, ns; 0, 0 if they do not recur.

    Long steps take `longer` times the median, and at least half of the longest.
    """
    steps = np.diff(ends)
    if len(steps) < least:
        return 0, 0.0
    long = ends[1:][_long(steps, longer)]
    return (int(long[-1]), float(np.median(np.diff(long)))) if len(long) > 1 else (0, 0.0)


def _long(steps: Ints, longer: float) -> Mask:
    """Select steps with a pause: `longer` times the median, and at least half of the longest."""
    return np.asarray(steps >= max(longer * float(np.median(steps)), float(steps.max()) / 2))


def may_be_substeps(ends: Ints, *, longer: float = 2.0, least: int = 3) -> bool:
    """Check whether the steps of a first window may be sub-steps: fewer than `RESTS` pauses so far, and another may follow.

    A pause may recur until it has been absent for as long as it took to appear. Consecutive long steps are one divided pause if
    they are far fewer than the steps before them, by the factor `longer`; else they are no pauses.
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


def may_be_pausing(ends: Ints, talked_ns: int, now_ns: int) -> bool:
    """Check whether the steps of a job's first windows may be sub-steps, perhaps with a pause at the moment.

    A job that is silent for longer than all its steps took is not pausing.
    """
    still = len(ends) > 0 and now_ns - talked_ns <= ends[-1] - ends[0]
    return may_be_substeps(ends) or (still and now_ns > ends[-1] and may_be_substeps(np.append(ends, now_ns)))


def supported(findings: Collection[Finding], ends: Ints, known_ns: int, *, grown: float = 1.05) -> Iterator[Finding]:
    """Yield the findings of a window, except claims that would not hold if its steps were sub-steps.

    If pauses separate equal groups, steps may be sub-steps until there are `CLEAR` pauses. Then a step that is long because of
    its position is equally long in all groups: so a slow or hung step must be longer by `grown` than steps at the same
    positions. A hang may continue.

    Before groups are visible, pauses look like silences inside steps. A hang that ended before the job was known, at
    `known_ns`, may be such a pause; while a window contains one, another hang must be longer, also by `grown`.
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
    """Expected duration of the steps `inside`, in groups of `size`, from the median of steps at the same positions;
    infinite if there are none.
    """
    places = (np.arange(k % size, len(steps), size) for k in np.flatnonzero(inside).tolist())
    steps_differ = [steps[own[~inside[own]]] for own in places]
    return sum(float(np.median(own)) if len(own) else np.inf for own in steps_differ)


def _silent_ms(hang: Finding) -> float:
    return float(hang.evidence["silent_ms"])


def _group(steps: Ints, *, longer: float = 2.0, least: int = 3) -> int:
    """Number of steps per equal group between pauses, for fewer than `CLEAR` pauses; 0 if there are none."""
    rests = np.flatnonzero(_long(steps, longer)) if len(steps) >= least else np.zeros(0, np.intp)
    apart = np.diff(np.append(rests, len(steps)))
    equal = 1 < len(rests) < CLEAR and bool((apart[:-1] == apart[0]).all()) and max(rests[0], apart[-1]) <= apart[0]
    return int(apart[0]) if equal and apart[0] > 1 else 0


def reach(ends: Ints, now_ns: int, asked_ns: float, search_ns: int, most_ns: int, *, parts: int = 64) -> int:
    """Begin of a window that contains `WHOLE` of the longest pauses, ns; `now_ns` if none recur or they were already checked.

    Pauses are also not checked if `WHOLE` of them take longer than `search_ns`; or, with at most `parts` steps between two of
    them, longer than `most_ns`.
    """
    newest, apart = pause_period(ends[ends >= now_ns - search_ns])
    if asked_ns < apart <= search_ns / WHOLE:
        return int(newest - WHOLE * apart)
    few = ends[-WHOLE * parts :]
    newest, apart = pause_period(few)
    if asked_ns < apart <= most_ns / WHOLE and len(few) * apart <= parts * (few[-1] - few[0]):
        return int(newest - WHOLE * apart)
    return now_ns


def checked_period(ends: Ints, lasted_ns: int, before_ns: float, *, nearly: float = 0.5) -> float:
    """Period of pauses up to which steps are certain, ns, after a window of `lasted_ns` that agreed with the known steps.

    Periods up to `before_ns` were certain already.
    """
    _, apart = pause_period(ends)
    return max(before_ns, apart if lasted_ns >= (WHOLE - nearly) * apart else 0.0)


def steps_differ(before: Ints, current: Ints, max_ratio: float) -> bool:
    """Check whether step ends differ from the known ones in the common time: far more, or far fewer.

    A job that became slower has equal ends.
    """
    if not len(before) or not len(current):
        return False
    since, until = current[0], min(before[-1], current[-1])
    counts = [np.count_nonzero((since < ends) & (ends <= until)) for ends in (before, current)]
    return bool(abs(np.log((counts[0] + 1) / (counts[1] + 1))) > max_ratio)


def completed(ends: Ints, step_ns: float, heard_ns: int, *, late: float = 1.15, steps: int = 24) -> Ints:
    """Return the ends of steps that are certainly over: a window may have seen only the first part of the newest.

    The newest is certain unless its step is shorter than all of the `steps` before, and the job was not active `late` steps
    later.
    """
    took = np.diff(ends[-steps:])
    if len(took) < 3 or took[-1] >= took[:-1].min() or heard_ns >= ends[-2] + late * step_ns:
        return ends
    return ends[:-1]
