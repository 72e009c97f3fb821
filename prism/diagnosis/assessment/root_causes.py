"""One cause, one alarm: findings that another one explains become its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from prism.detectors.switch_queues import BEHIND
from prism.model import Event, Finding, Severity

RANK = ("crash", "hang", "slow_switch", "slow_link", "slow_rank", "slow_group", "slow_step")  # causes before symptoms
DECIDED = "laggard"  # where one rank worked for all that was lost, nothing else is to blame for it
# where one was last, or slow all through, others waited, though one of them may seem to work
LAST = ("late_rank", "lately", "late_again")


def settled(
    findings: Sequence[Finding],
    events: Sequence[Event],
    host: Callable[[str], str] = lambda address: address,
    *,
    quote: Callable[[Finding], str] = lambda finding: finding.message,
) -> list[Finding]:
    """Findings of one job, each cause once and first, its symptoms as info behind it; strongest first.

    A claim explains later ones in `RANK` that name its subject, or a link of it, in the same time. Info about a time that a
    claim or an event already explains is dropped into the claim's evidence. `host` says where an endpoint is, `quote` how a
    symptom is written in the evidence.
    """
    order = sorted(
        findings,
        key=lambda f: (
            0 if _decided(f, findings) else RANK.index(f.kind),
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
        elif any(_starves(other, finding, host) for other in findings):
            notes.append(replace(finding, severity=Severity.INFO))
        elif any(_explains(claim, finding) or _outshines(claim, finding) for claim in claims):
            claims = [_since(claim, finding) for claim in claims]
            notes.append(replace(finding, severity=Severity.INFO))
        else:
            claims.append(finding)
    claims, notes = _said_best(claims, notes, findings)
    told, rest = list(claims), []
    for note in notes:
        i = next((i for i, claim in enumerate(claims) if _meet(claim, note, share=0.25)), None)
        if i is not None:
            symptoms = [*told[i].evidence.get("symptoms", []), quote(note)]
            told[i] = replace(told[i], evidence={**told[i].evidence, "symptoms": symptoms})
        elif not any(_within(note, event) for event in events):
            rest.append(note)
    return sorted(told, key=lambda f: -f.score) + rest


def _since(claim: Finding, other: Finding) -> Finding:
    """A claim, from when packets began to wait at what it names, if that was sooner: senders may slow down only later."""
    sooner = other.detector == BEHIND and claim.ids == other.ids and _meet(claim, other) and other.start_ns < claim.start_ns
    if not sooner:
        return claim
    steps = {"steps": [other.evidence["steps"][0], *claim.evidence["steps"][1:]]} if "steps" in claim.evidence else {}
    return replace(claim, start_ns=other.start_ns, evidence={**claim.evidence, **steps})


def _said_best(claims: list[Finding], notes: list[Finding], findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Claims that left nobody else to blame as those that say more of the same, if any do; they are notes of these then."""
    out = list(claims)
    for i, claim in enumerate(claims):
        more = [f for f in findings if f.severity is not Severity.INFO and _says_more(f, claim)]
        if more:
            out[i] = max(more, key=lambda f: f.score)
            notes = [replace(claim, severity=Severity.INFO), *(n for n in notes if n.message != out[i].message)]
    return out, notes


def _decided(finding: Finding, findings: Sequence[Finding], *, times: float = 10.0) -> bool:
    """Whether a finding leaves nobody else to blame; not where a link stands out that much more, or may take all that time."""
    links = (f for f in findings if f.kind in ("slow_link", "slow_switch") and f.severity is not Severity.INFO)
    known = (f for f in links if _meet(f, finding))
    return _blames(finding) and not any(f.score >= times * finding.score or _behind(f, finding) for f in known)


def _behind(link: Finding, finding: Finding) -> bool:
    """Whether who is blamed sends or receives what waits at a link, for all that steps take longer: that may seem work."""
    ends = {end for edge in link.evidence.get("edges", []) for end in edge}
    waits: float = link.evidence.get("waits_at_worst", 0.0)
    return link.detector == BEHIND and set(finding.evidence.get("ranks", finding.ids)) <= ends and waits >= 1


def _blames(finding: Finding) -> bool:
    """Whether one rank worked for all that was lost: nothing else kept it waiting."""
    return finding.detector == DECIDED or "worked_ms" in finding.evidence


def _says_more(finding: Finding, claim: Finding) -> bool:
    """Whether a finding names whom a claim names that left nobody else to blame, in the same time, and stands out more."""
    same = finding.kind == claim.kind and finding.ids == claim.ids and _meet(claim, finding)
    return same and claim.detector == DECIDED != finding.detector and finding.score > claim.score


def _explains(claim: Finding, other: Finding, *, times: float = 4.0, more: float = 2.0) -> bool:
    """Whether a claim leaves nothing for another one to say.

    Behind a slow link everybody waits at other times than before, so that a rank may seem to work longer, but never so clearly,
    or not for as long; where packets wait for as long as steps do, nobody works. Who is last where packets are seen to wait at
    a link waits for them.
    """
    link = claim.kind in ("slow_link", "slow_switch") and other.kind == "slow_rank"
    lost, its = (f.evidence.get("lost_ms_per_step", 0.0) for f in (claim, other))
    queued = bool(claim.evidence.get("queues_ms")) and other.detector in LAST
    outdone = claim.score >= times * other.score or claim.detector == BEHIND or lost > more * its > 0 or queued
    if link and outdone and _meet(claim, other):
        return True
    named = set(claim.ids) | {end for edge in claim.evidence.get("edges", []) for end in edge}
    whatever = claim.kind in ("crash", "hang") or _blames(claim) or other.detector == BEHIND
    waited = claim.detector in LAST and other.detector == "slow_rank"
    return _meet(claim, other) and (whatever or waited or bool(named & set(other.ids)))


def _starves(claim: Finding, other: Finding, host: Callable[[str], str]) -> bool:
    """Whether a link seems slow since what it is to carry comes late, inside a host, from a rank that works for longer."""
    if (claim.kind, other.kind, other.subject) != ("slow_rank", "slow_link", "link") or claim.severity is Severity.INFO:
        return False
    senders, slow = {src for src, _ in other.evidence.get("edges", [])}, set(claim.evidence.get("ranks", []))
    beside = not senders & slow and {host(a) for a in senders} <= {host(a) for a in slow}
    return bool(senders) and beside and claim.score >= other.score and _meet(claim, other)


def _outshines(claim: Finding, other: Finding, *, times: float = 2.0) -> bool:
    """Whether a claim of the same kind in the same time stands out so much more that the other one may be its echo."""
    return claim.kind == other.kind and _meet(claim, other) and claim.score >= times * other.score


def _meet(a: Finding, b: Finding, *, share: float = 0.5) -> bool:
    """Whether two findings share so much of the shorter one's time."""
    shared = min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)
    shorter = min(a.end_ns - a.start_ns, b.end_ns - b.start_ns)
    return shared >= share * shorter


def _within(note: Finding, event: Event) -> bool:
    """Whether a pause makes up a good part of the time of a note."""
    shared = min(note.end_ns, event.end_ns) - max(note.start_ns, event.start_ns)
    return event.kind not in ("start", "stop") and shared >= (note.end_ns - note.start_ns) / 10
