"""Compare facts from logs with facts from flows: step time, layout, number of ranks, ring neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prism.incidents.node_mapping import NodeMap
from prism.logs.parsing.iterations import Mark
from prism.logs.parsing.log_facts import Facts
from prism.model import JobDiagnosis

MAX_STEP_DIFFERENCE = 0.05  # maximum relative difference of step times
MIN_STEPS = 8  # minimum steps in both: medians of fewer differ by more than `MAX_STEP_DIFFERENCE` by chance
MIN_LAYOUT_CONFIDENCE = 0.5  # minimum confidence of a layout that may contradict the logs


@dataclass(frozen=True)
class Check:
    """A fact from both sources. `agrees` is None if one of them lacks it."""

    what: str
    logs: str
    flows: str
    agrees: bool | None


def compare_facts(job: JobDiagnosis, facts: Facts, marks: Mapping[str, Sequence[Mark]], placed: NodeMap) -> tuple[Check, ...]:
    """Make all checks of one job."""
    return (_steps(job, marks), _ranks(job, facts), *_sizes(job, facts), *_rings(job, facts, placed))


def step_s(marks: Mapping[str, Sequence[Mark]]) -> float:
    """Estimate the step time from logs, s: logged durations, else the slope of the time stamps; NaN without either.

    Time stamps of whole seconds need several steps between them: the slope is the median over pairs of marks half the log
    apart.
    """
    named = [mark.step_s for own in marks.values() for mark in own if mark.step_s > 0]
    if len(named) >= MIN_STEPS:
        return float(np.median(named))
    slopes = []
    for own in marks.values():
        timed = {mark.iteration: mark.time_ns for mark in own if mark.time_ns is not None and mark.iteration >= 0}
        steps = sorted(timed)
        apart = max(len(steps) // 2, 1)
        pairs = zip(steps, steps[apart:], strict=False) if len(steps) >= MIN_STEPS else ()
        slopes += [(timed[high] - timed[low]) / 1e9 / (high - low) for low, high in pairs]
    return float(np.median(slopes)) if slopes else float("nan")


def _steps(job: JobDiagnosis, marks: Mapping[str, Sequence[Mark]]) -> Check:
    said = step_s(marks)
    seen = job.timeline.durations_ms() / 1e3
    middle = float(np.median(seen)) if len(seen) >= MIN_STEPS else float("nan")
    named = any(mark.step_s > 0 for own in marks.values() for mark in own)
    known = np.isfinite(said) and np.isfinite(middle)
    agrees = bool(abs(said / middle - 1) <= (MAX_STEP_DIFFERENCE if named else 3 * MAX_STEP_DIFFERENCE)) if known else None
    return Check("step time", _seconds(said), _seconds(middle), agrees)


def _seconds(value: float) -> str:
    return f"{value:.4g} s" if np.isfinite(value) else "unknown"


def _ranks(job: JobDiagnosis, facts: Facts) -> Check:
    world = facts.sizes.get("world", 0)
    seen = len(job.job.endpoints)
    return Check("ranks", str(world) if world else "unknown", str(seen), world == seen if world else None)


def _sizes(job: JobDiagnosis, facts: Facts) -> Iterator[Check]:
    layout = job.parallelism.layout
    for kind in ("dp", "pp", "tp", "cp", "ep"):
        said, seen = facts.sizes.get(kind), getattr(layout, kind)
        if said is not None:
            sure = layout.confidence >= MIN_LAYOUT_CONFIDENCE
            yield Check(kind.upper(), str(said), f"{seen} ({layout.confidence:.0%})", said == seen if sure else None)


def _rings(job: JobDiagnosis, facts: Facts, placed: NodeMap) -> Iterator[Check]:
    """Check that neighbours in NCCL's rings exchange data; hops inside hosts are not visible."""
    address = {rank: one for one, rank in placed.rank.items()}
    seen = {(pair.src, pair.dst) for pair in job.parallelism.pairs}
    for channel, ring in sorted(facts.rings.items())[:1]:
        hops = [(address.get(a, ""), address.get(b, "")) for a, b in zip(ring, (*ring[1:], ring[0]), strict=True)]
        known = [hop for hop in hops if all(hop)]
        if known:
            there = sum(hop in seen or hop[::-1] in seen for hop in known)
            yield Check(f"ring of channel {channel}", f"{len(known)} hops", f"{there} of them carry data", there > 0)
