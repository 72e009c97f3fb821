"""Merge findings with one cause: symptoms become evidence of the finding that explains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from prism.diagnosis import constants as c
from prism.findings.advice import IMBALANCES
from prism.model import Event, Finding, Severity

# causes before symptoms
RANK = ("crash", "hang", "slow_switch", "slow_link", "slow_rank", *IMBALANCES, "slow_group", "slow_step")


def merge_by_cause(
    findings: Sequence[Finding],
    events: Sequence[Event],
    *,
    quote: Callable[[Finding], str] = lambda finding: finding.message,
) -> list[Finding]:
    """Merge the findings of one job by cause: each cause once, strongest first; its symptoms follow as information.

    Parameters
    ----------
    findings : sequence of Finding
        All findings of one job.
    events : sequence of Event
        Pauses of the job. Information about their time is dropped, unless it is about the pause itself (`hang`).
    quote : callable
        Text of a symptom in the evidence.

    Returns
    -------
    list of Finding
        Claims, then information. A claim explains claims with a later kind in `RANK` that name its subject, or a link of it, in
        the same time. Information about the time of a claim becomes evidence of this claim.
    """
    order = sorted(findings, key=lambda f: (RANK.index(f.kind), -f.score))
    claims: list[Finding] = []
    notes: list[Finding] = []
    for finding in order:
        if finding.severity is Severity.INFO:
            notes.append(finding)
        elif any(_explains(claim, finding) for claim in claims):
            notes.append(replace(finding, severity=Severity.INFO))
        else:
            claims.append(finding)
    out, rest = list(claims), []
    for note in notes:
        i = next((i for i, claim in enumerate(claims) if overlap(claim, note, share=c.SHARED_TIME)), None)
        if i is not None:
            symptoms = [*out[i].evidence.get("symptoms", []), quote(note)]
            out[i] = replace(out[i], evidence={**out[i].evidence, "symptoms": symptoms})
        elif note.detector == "hang" or not any(_within(note, event) for event in events):
            rest.append(note)
    return sorted(out, key=lambda f: -f.score) + rest


def _explains(claim: Finding, other: Finding) -> bool:
    """Whether a claim explains another finding: it stops the job, or names the same parts."""
    named = set(claim.ids) | {end for edge in claim.evidence.get("edges", ()) for end in edge}
    return overlap(claim, other) and (claim.kind in ("crash", "hang") or bool(named & set(other.ids)))


def overlap(a: Finding, b: Finding, *, share: float = 0.5) -> bool:
    """Whether two findings overlap by at least `share` of the shorter one."""
    shared = min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)
    shorter = min(a.end_ns - a.start_ns, b.end_ns - b.start_ns)
    return shared >= share * shorter


def _within(note: Finding, event: Event) -> bool:
    """Whether a pause covers at least a tenth of the time of a note."""
    shared = min(note.end_ns, event.end_ns) - max(note.start_ns, event.start_ns)
    return event.kind not in ("start", "stop") and shared >= (note.end_ns - note.start_ns) / 10
