"""Whether what a detector found is what explains the delays of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness
from prism.diagnosis.assessment.cost import steps_of
from prism.diagnosis.comparisons import Case
from prism.diagnosis.slow_steps import chance_of, hidden
from prism.diagnosis.verdicts import findings
from prism.model import Finding, Severity

STOPS = ("hang", "crash")
SLOW = ("slow_rank", "slow_link", "slow_switch")


def decided(case: Case, raw: Sequence[Finding], seen: Completeness) -> list[Finding]:
    """What detectors found, and what the event graph tells: it has the last word on who made steps slow for some time.

    What detectors say of the same time, or what the graph does not uphold, is information. Who was always slow the graph can
    only compare with peers; there detectors, which compare more closely, have the last word.
    """
    stops = [one for one in raw if one.kind in STOPS and one.severity is not Severity.INFO]
    told = [one for one in findings(case, seen) if one.kind not in STOPS or not any(_touch(one, stop) for stop in stops)]
    slow = [one for one in raw if one.kind in SLOW and one.severity is not Severity.INFO]
    whole = any(_always(case, one) for one in told)
    if slow:
        told = [replace(one, severity=Severity.INFO) if _always(case, one) and not _agreed(one, slow) else one for one in told]
    claims = [one for one in told if one.severity is not Severity.INFO]

    def overruled(one: Finding) -> bool:
        return any(_meet(claim, one) for claim in claims) or not (whole or upheld(case, one))

    return told + [replace(one, severity=Severity.INFO) if one in slow and overruled(one) else one for one in raw]


def _touch(one: Finding, other: Finding) -> bool:
    """Whether two findings have any time in common."""
    return one.start_ns <= other.end_ns and other.start_ns <= one.end_ns


def _agreed(one: Finding, others: Sequence[Finding]) -> bool:
    """Whether all other findings of the same time name the same as one."""
    return all((other.kind, other.ids) == (one.kind, one.ids) for other in others if _meet(one, other))


def _always(case: Case, finding: Finding) -> bool:
    """Whether a finding is about all steps."""
    start, stop = steps_of(case.view, finding)
    return stop - start >= len(case.view.ends) - 1


def _meet(one: Finding, other: Finding) -> bool:
    """Whether two findings share half of the shorter one's time."""
    shared = min(one.end_ns, other.end_ns) - max(one.start_ns, other.start_ns)
    return 2 * shared >= min(one.end_ns - one.start_ns, other.end_ns - other.start_ns)


def upheld(case: Case, finding: Finding) -> bool:
    """Whether no other candidate explains the delays of a finding's steps clearly better than whom it names, but by chance.

    True where nothing is known of them.
    """
    start, stop = steps_of(case.view, finding)
    scenes = case.always if _always(case, finding) or case.lately is None else [case.lately]
    named = {*finding.ids, *(case.view.host(name) for name in finding.ids)}
    best = False
    for scene in scenes:
        mine = scene.explained(scene.during(start, stop))
        own = np.array([bool(named & {*one.ids, *map(case.view.host, one.ids)}) for one in scene.which])
        if own.any() and not own.all():
            most, other = float(mine[own].max()), int(np.argmax(np.where(own, -np.inf, mine)))
            clear = scene.always or chance_of(scene, other, start, stop) <= c.RARE
            clear = clear and not (scene.which[other].cause == "work" and hidden(case.view))
            best |= most >= c.ENOUGH / 2 and (most >= float(mine[other]) - c.NEARLY or not clear)
    return best or not scenes
