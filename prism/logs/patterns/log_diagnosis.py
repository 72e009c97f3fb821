"""Diagnose a failed run from its logs by the three patterns of L4 (arXiv 2503.20263, section 4).

*Cross-job*: drop events that healthy runs have too. *Spatial*: suspect nodes whose events differ from the others'. *Temporal*:
count events at the end of progress; training continues after survived ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from prism.logs.parsing.drain import Drain
from prism.logs.parsing.iterations import Mark
from prism.logs.parsing.log_facts import Facts
from prism.logs.parsing.log_scanner import Event, Scanner
from prism.logs.parsing.signatures import CAUSES
from prism.logs.patterns._clock_offsets import describe_offset, offsets
from prism.logs.patterns._node_ranking import Suspect, node_names, rank_suspects
from prism.logs.patterns.healthy_lines import Healthy

Stage = Literal["start-up", "training", "checkpoint", "evaluation", "finished", "unknown"]
SURVIVED_ITERATIONS = 2  # iterations after an event that show that the job survived it


@dataclass(frozen=True)
class LogDiagnosis:
    """Diagnosis of the logs of one run. Without a failure, `failed` is False and `lines` and `suspects` are empty."""

    failed: bool
    cause: str = ""
    why: str = ""  # the deciding signature
    confidence: float = 0.0
    stage: Stage = "unknown"
    iteration: int = -1
    suspects: tuple[Suspect, ...] = ()
    lines: tuple[Event, ...] = ()
    survived: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Facts = field(default_factory=Facts)
    marks: Mapping[str, Sequence[Mark]] = field(default_factory=dict)  # progress of each stream, clocks corrected
    sources: int = 0
    octets: int = 0

    @property
    def cause_meaning(self) -> str:
        """Explain the cause."""
        return CAUSES.get(self.cause, "")


def diagnose(
    scanners: Sequence[Scanner], *, healthy: Healthy | None = None, addresses: Mapping[str, str] | None = None
) -> LogDiagnosis:
    """Diagnose the streams of one run together. `addresses`: host by address, if the operator knows it."""
    facts = Facts()
    events: dict[str, list[Event]] = {}
    for one in scanners:
        events[one.source] = one.events()
        facts.merge(one.facts)
    ahead = offsets({one.source: one.marks for one in scanners})
    notes = [describe_offset(name, by) for name, by in ahead.items() if by]
    shifted = [_shift(event, ahead[name]) for name, own in events.items() for event in own]
    milestones = [event for event in shifted if event.signature and event.signature.role == "milestone"]
    known = (healthy or Healthy()).drain()
    trouble = [event for event in shifted if _is_trouble(event, known)]
    marks = {one.source: [_moved(mark, ahead[one.source]) for mark in one.marks] for one in scanners}
    survived = [event for event in trouble if _continues(event, marks)]
    left = [event for event in trouble if event not in set(survived)]
    base = LogDiagnosis(
        failed=False,
        stage="finished" if _is_over(milestones, left) else "training" if any(marks.values()) else "unknown",
        iteration=_last(marks),
        survived=tuple(survived),
        notes=tuple(notes),
        facts=facts,
        marks=marks,
        sources=len(scanners),
        octets=sum(one.octets for one in scanners),
    )
    if not _is_failure(left, finished=base.stage == "finished"):
        return base
    writers = node_names(scanners, facts)
    suspects, cause, why = rank_suspects(left, writers, facts, dict(addresses or {}))
    return replace(
        base,
        failed=True,
        cause=cause,
        why=why,
        suspects=suspects,
        confidence=suspects[0].confidence if suspects else 0.3,
        stage=_stage(milestones, left, marks),
        lines=tuple(left),
    )


def _shift(event: Event, ahead: int) -> Event:
    return replace(event, time_ns=event.time_ns - ahead) if ahead and event.time_ns is not None else event


def _moved(mark: Mark, ahead: int) -> Mark:
    return mark._replace(time_ns=mark.time_ns - ahead) if ahead and mark.time_ns is not None else mark


def _is_trouble(event: Event, known: Drain) -> bool:
    if event.signature is not None and event.signature.role == "milestone":
        return False
    if len(event.numbers) == 1 and known.templates and known.match(event.text) is not None:
        return False
    if event.signature is None:
        return event.level in ("E", "F") or event.text.startswith(("ERROR", "FATAL", "Error:", "error:", "fatal:"))
    return not (event.signature.role == "context" and event.level == "W" and event.signature.strength == 0)


def _continues(event: Event, marks: Mapping[str, Sequence[Mark]]) -> bool:
    """Check whether iterations follow an event: in its own stream by position, in others by time."""
    own = marks.get(event.source, ())
    if own:
        return len({mark.iteration for mark in own if mark.number > event.numbers[-1]}) >= SURVIVED_ITERATIONS
    if event.time_ns is None:
        return False
    return any(
        len({mark.iteration for mark in other if mark.time_ns is not None and mark.time_ns > event.time_ns + 10**9})
        > SURVIVED_ITERATIONS
        for other in marks.values()
    )


def _is_over(milestones: Sequence[Event], left: Sequence[Event]) -> bool:
    ends = [event for event in milestones if event.signature and event.signature.name == "training is over"]
    roots = [event for event in left if event.signature and event.signature.role == "root"]
    return bool(ends) and not roots


def _is_failure(left: Sequence[Event], *, finished: bool) -> bool:
    strong = [event for event in left if event.signature and event.signature.role in ("root", "symptom")]
    if finished:
        return False
    if any(event.signature and (event.signature.role == "root" or event.signature.strength >= 2) for event in strong):
        return not all(event.level in ("W", "I") and event.signature and event.signature.role == "symptom" for event in strong)
    return any(event.level == "F" or (event.frames and event.signature is None) for event in left)


def _last(marks: Mapping[str, Sequence[Mark]]) -> int:
    return max((own[-1].iteration for own in marks.values() if own), default=-1)


def _stage(milestones: Sequence[Event], left: Sequence[Event], marks: Mapping[str, Sequence[Mark]]) -> Stage:
    """Find the stage of the job at the failure, for example inside a checkpoint."""
    for name, stage in (("checkpoint begins", "checkpoint"), ("evaluation", "evaluation")):
        begins = [event for event in milestones if event.signature and event.signature.name == name]
        if not begins:
            continue
        last = begins[-1]
        ends = [
            event.numbers[0]
            for event in milestones
            if event.source == last.source and event.signature and event.signature.name == "checkpoint ends"
        ]
        after = [mark for mark in marks.get(last.source, ()) if mark.number > last.numbers[0]]
        if not after and not any(end > last.numbers[0] for end in ends) and left:
            return stage  # type: ignore[return-value]
    return "training" if any(marks.values()) else "start-up"
