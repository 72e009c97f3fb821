"""Write a diagnosis of logs as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from prism.logs.parsing.line_cleaning import mask
from prism.logs.parsing.log_scanner import Event
from prism.logs.patterns.log_diagnosis import LogDiagnosis

SCHEMA = "prism-logs/1"
MAX_TEXT_LINES = 12  # lines of text
MAX_CHARACTERS = 160  # characters of a line
MAX_JSON_LINES = 10_000  # lines in the JSON document; the rest is counted


def document(diagnosis: LogDiagnosis) -> dict[str, Any]:
    """Convert the diagnosis to plain values for JSON. Secrets are masked."""
    return {
        "schema": SCHEMA,
        "input": {"sources": diagnosis.sources, "octets": diagnosis.octets},
        "failed": diagnosis.failed,
        "cause": diagnosis.cause or None,
        "cause_means": diagnosis.cause_meaning or None,
        "signature": diagnosis.why or None,
        "confidence": round(diagnosis.confidence, 3),
        "stage": diagnosis.stage,
        "iteration": diagnosis.iteration if diagnosis.iteration >= 0 else None,
        "suspects": [
            {
                "node": one.name,
                "host": one.host,
                "ranks": list(one.ranks),
                "rule": one.how,
                "confidence": one.confidence,
                "why": one.why,
            }
            for one in diagnosis.suspects
        ],
        "lines": [_line(event) for event in diagnosis.lines[:MAX_JSON_LINES]],
        "more_lines": max(len(diagnosis.lines) - MAX_JSON_LINES, 0),
        "survived": len(diagnosis.survived),
        "facts": {
            "sizes": diagnosis.facts.sizes,
            "hosts": {str(rank): host for rank, host in sorted(diagnosis.facts.hosts.items())},
            "addresses": diagnosis.facts.addresses,
            "rings": {str(channel): list(ring) for channel, ring in sorted(diagnosis.facts.rings.items())},
            "library": diagnosis.facts.library or None,
        },
        "notes": list(diagnosis.notes),
    }


def _line(event: Event) -> dict[str, Any]:
    return {
        "source": event.source,
        "first": event.numbers[0],
        "numbers": list(event.numbers),
        "text": mask(event.text),
        "template": event.template or None,
        "signature": event.signature.name if event.signature else None,
        "role": event.signature.role if event.signature else "unknown",
        "rank": event.rank,
        "host": event.host or None,
        "time_ns": event.time_ns,
        "iteration": event.iteration if event.iteration >= 0 else None,
    }


def text(diagnosis: LogDiagnosis) -> Iterator[str]:
    """Format lines for a terminal: verdict, suspects, deciding lines, notes."""
    yield f"{diagnosis.sources} logs, {diagnosis.octets / 1e6:.1f} MB"
    for note in diagnosis.notes:
        yield f"note: {note}"
    if not diagnosis.failed:
        where = f" at iteration {diagnosis.iteration}" if diagnosis.iteration >= 0 else ""
        more = f"; {len(diagnosis.survived)} errors after which training continued" if diagnosis.survived else ""
        yield f"No failure found ({diagnosis.stage}{where}){more}."
        return
    at = f", after iteration {diagnosis.iteration}" if diagnosis.iteration >= 0 else ""
    cause = f"{diagnosis.cause} ({diagnosis.cause_meaning}); {diagnosis.why}"
    yield f"Failed in {diagnosis.stage}{at}: {cause}. Confidence {diagnosis.confidence:.0%}."
    for one in diagnosis.suspects[:5]:
        several = "s" if len(one.ranks) > 1 else ""
        named = bool(one.ranks) and not one.name.startswith("rank ")
        ranks = f" (rank{several} {', '.join(map(str, one.ranks[:8]))})" if named else ""
        yield f"  {one.confidence:4.0%}  {one.name}{ranks}: {_RULES[one.how]}: {one.why[:MAX_CHARACTERS]}"
    lines = sum(len(event.numbers) for event in diagnosis.lines)
    yield f"Lines that indicate the failure: {lines:,} in {len(diagnosis.lines):,} events"
    shown = sorted(diagnosis.lines, key=_weight)[:MAX_TEXT_LINES]
    for event in shown:
        when = "" if event.time_ns is None else datetime.fromtimestamp(event.time_ns / 1e9, UTC).strftime("%H:%M:%S ")
        yield f"  {event.source}:{event.numbers[0]}: {when}{mask(event.text)[:MAX_CHARACTERS]}"


_RULES = {
    "only": "the only node with a root cause",
    "single": "the only node in these logs",
    "first": "the first of several nodes with a root cause",
    "everywhere": "most nodes report the same",
    "silent": "the only node that does not wait for others",
    "behind": "behind the others in its collectives",
    "named": "named by its peers",
    "last": "less likely",
}


def _weight(event: Event) -> tuple[int, int, str, int]:
    role = event.signature.role if event.signature else "context"
    return (
        ("root", "symptom", "context", "milestone").index(role),
        -(event.signature.strength if event.signature else 0),
        event.source,
        event.numbers[0],
    )
