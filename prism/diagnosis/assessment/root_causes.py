"""Merge findings with one cause: symptoms become evidence of the finding that explains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from prism.detectors.switch_queues import BEHIND
from prism.diagnosis.assessment import constants as c
from prism.model import Event, Finding, Severity

RANK = ("crash", "hang", "slow_switch", "slow_link", "slow_rank", "slow_group", "slow_step")  # causes before symptoms
DECIDED = "laggard"  # this detector explains the whole loss by one rank's own work
# these detectors name the last or always slow rank: the others waited, even if one seems to work
LAST = ("late_rank", "lately", "late_again")


def merge_by_cause(
    findings: Sequence[Finding],
    events: Sequence[Event],
    host: Callable[[str], str] = lambda address: address,
    *,
    quote: Callable[[Finding], str] = lambda finding: finding.message,
) -> list[Finding]:
    """Merge the findings of one job by cause: each cause once, strongest first; its symptoms follow as information.

    Parameters
    ----------
    findings : sequence of Finding
        All findings of one job.
    events : sequence of Event
        Pauses of the job. Information about their time is dropped.
    host : callable
        Host of an endpoint.
    quote : callable
        Text of a symptom in the evidence.

    Returns
    -------
    list of Finding
        Claims, then information. A claim explains claims with a later kind in `RANK` that name its subject, or a link of it, in
        the same time. Information about the time of a claim becomes evidence of this claim.
    """
    order = sorted(
        findings,
        key=lambda f: (
            0 if _leaves_no_other(f, findings) else RANK.index(f.kind),
            f.detector == BEHIND,
            f.detector not in LAST,
            -f.score,
        ),
    )
    claims: list[Finding] = []
    notes: list[Finding] = []
    for finding in order:
        if finding.severity is Severity.INFO:
            notes.append(finding)
        elif any(_delayed_by_rank(other, finding, host) for other in findings):
            notes.append(replace(finding, severity=Severity.INFO))
        elif any(_explains(claim, finding) or _exceeds(claim, finding) for claim in claims):
            claims = [_since(claim, finding) for claim in claims]
            notes.append(replace(finding, severity=Severity.INFO))
        else:
            claims.append(finding)
    claims, notes = _replace_by_clearer(claims, notes, findings)
    out, rest = list(claims), []
    for note in notes:
        i = next((i for i, claim in enumerate(claims) if _overlap(claim, note, share=c.SHARED_TIME)), None)
        if i is not None:
            symptoms = [*out[i].evidence.get("symptoms", []), quote(note)]
            out[i] = replace(out[i], evidence={**out[i].evidence, "symptoms": symptoms})
        elif not any(_within(note, event) for event in events):
            rest.append(note)
    return sorted(out, key=lambda f: -f.score) + rest


def _since(claim: Finding, other: Finding) -> Finding:
    """A claim with an earlier start if packets began to wait earlier at the part it names: senders may slow down only later."""
    sooner = other.detector == BEHIND and claim.ids == other.ids and _overlap(claim, other) and other.start_ns < claim.start_ns
    if not sooner:
        return claim
    steps = {"steps": [other.evidence["steps"][0], *claim.evidence["steps"][1:]]} if "steps" in claim.evidence else {}
    return replace(claim, start_ns=other.start_ns, evidence={**claim.evidence, **steps})


def _replace_by_clearer(
    claims: list[Finding], notes: list[Finding], findings: Sequence[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Replace claims of a detector that leaves no other cause by clearer claims on the same parts; the former become notes."""
    merged = list(claims)
    for i, claim in enumerate(claims):
        more = [f for f in findings if f.severity is not Severity.INFO and _is_clearer(f, claim)]
        if more:
            merged[i] = max(more, key=lambda f: f.score)
            notes = [replace(claim, severity=Severity.INFO), *(n for n in notes if n.message != merged[i].message)]
    return merged, notes


def _leaves_no_other(finding: Finding, findings: Sequence[Finding], *, times: float = c.FAR_CLEARER) -> bool:
    """Whether a finding leaves no other cause; false if a link deviates far more, or if its queues explain all of the loss."""
    links = (f for f in findings if f.kind in ("slow_link", "slow_switch") and f.severity is not Severity.INFO)
    known = (f for f in links if _overlap(f, finding))
    return _blames(finding) and not any(f.score >= times * finding.score or _behind(f, finding) for f in known)


def _behind(link: Finding, finding: Finding) -> bool:
    """Whether a blamed rank sends or receives traffic that waits at a link for the whole loss: such a wait may look like own
    work.
    """
    ends = {end for edge in link.evidence.get("edges", []) for end in edge}
    waits: float = link.evidence.get("waits_at_worst", 0.0)
    return link.detector == BEHIND and set(finding.evidence.get("ranks", finding.ids)) <= ends and waits >= 1


def _blames(finding: Finding) -> bool:
    """Whether one rank's own work explains the whole loss: no traffic kept it waiting."""
    return finding.detector == DECIDED or "worked_ms" in finding.evidence


def _is_clearer(finding: Finding, claim: Finding) -> bool:
    """Whether a finding names the same parts, at the same time and more clearly, as a claim that leaves no other cause."""
    same = finding.kind == claim.kind and finding.ids == claim.ids and _overlap(claim, finding)
    return same and claim.detector == DECIDED != finding.detector and finding.score > claim.score


def _explains(claim: Finding, other: Finding, *, times: float = c.CLEARER, more: float = 2.0) -> bool:
    """Whether a claim explains another finding.

    Behind a slow link all ranks wait at unusual times, so that a rank may seem to work longer, but less clearly or for a
    shorter time. If packets wait for the whole loss, no rank works. The last rank waits for packets if these queue at a link.
    """
    link = claim.kind in ("slow_link", "slow_switch") and other.kind == "slow_rank"
    lost, its = (f.evidence.get("lost_ms_per_step", 0.0) for f in (claim, other))
    queued = bool(claim.evidence.get("queues_ms")) and other.detector in LAST
    outdone = claim.score >= times * other.score or claim.detector == BEHIND or lost > more * its > 0 or queued
    if link and outdone and _overlap(claim, other):
        return True
    named = set(claim.ids) | {end for edge in claim.evidence.get("edges", []) for end in edge}
    whatever = claim.kind in ("crash", "hang") or _blames(claim) or other.detector == BEHIND
    waited = claim.detector in LAST and other.detector == "slow_rank"
    return _overlap(claim, other) and (whatever or waited or bool(named & set(other.ids)))


def _delayed_by_rank(claim: Finding, other: Finding, host: Callable[[str], str]) -> bool:
    """Whether a link seems slow because its traffic arrives late, inside a host, from a rank that works longer."""
    if (claim.kind, other.kind, other.subject) != ("slow_rank", "slow_link", "link") or claim.severity is Severity.INFO:
        return False
    senders, slow = {src for src, _ in other.evidence.get("edges", [])}, set(claim.evidence.get("ranks", []))
    beside = not senders & slow and {host(a) for a in senders} <= {host(a) for a in slow}
    return bool(senders) and beside and claim.score >= other.score and _overlap(claim, other)


def _exceeds(claim: Finding, other: Finding, *, times: float = 2.0) -> bool:
    """Whether a claim of the same kind and time deviates so much more that the other finding may be its echo."""
    return claim.kind == other.kind and _overlap(claim, other) and claim.score >= times * other.score


def _overlap(a: Finding, b: Finding, *, share: float = 0.5) -> bool:
    """Whether two findings overlap by at least `share` of the shorter one."""
    shared = min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)
    shorter = min(a.end_ns - a.start_ns, b.end_ns - b.start_ns)
    return shared >= share * shorter


def _within(note: Finding, event: Event) -> bool:
    """Whether a pause covers at least a tenth of the time of a note."""
    shared = min(note.end_ns, event.end_ns) - max(note.start_ns, event.start_ns)
    return event.kind not in ("start", "stop") and shared >= (note.end_ns - note.start_ns) / 10
