"""Write a diagnosis of logs as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from prism.logs.parsing.line_cleaning import mask
from prism.logs.parsing.log_scanner import Event
from prism.logs.patterns.log_diagnosis import LogDiagnosis

SCHEMA = "prism-logs/1"
SHOWN = 12  # lines of text
WIDTH = 160  # characters of a line
LINES = 10_000  # lines in the JSON document; the rest is counted


def document(said: LogDiagnosis) -> dict[str, Any]:
    """Convert the diagnosis to plain values for JSON. Secrets are masked."""
    return {
        "schema": SCHEMA,
        "input": {"sources": said.sources, "octets": said.octets},
        "failed": said.failed,
        "cause": said.cause or None,
        "cause_means": said.about or None,
        "signature": said.why or None,
        "confidence": round(said.confidence, 3),
        "stage": said.stage,
        "iteration": said.iteration if said.iteration >= 0 else None,
        "suspects": [
            {
                "node": one.name,
                "host": one.host,
                "ranks": list(one.ranks),
                "rule": one.how,
                "confidence": one.confidence,
                "why": one.why,
            }
            for one in said.suspects
        ],
        "lines": [_line(event) for event in said.lines[:LINES]],
        "more_lines": max(len(said.lines) - LINES, 0),
        "survived": len(said.survived),
        "facts": {
            "sizes": said.facts.sizes,
            "hosts": {str(rank): host for rank, host in sorted(said.facts.hosts.items())},
            "addresses": said.facts.addresses,
            "rings": {str(channel): list(ring) for channel, ring in sorted(said.facts.rings.items())},
            "library": said.facts.library or None,
        },
        "notes": list(said.notes),
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


def text(said: LogDiagnosis) -> Iterator[str]:
    """Format lines for a terminal: verdict, suspects, deciding lines, notes."""
    yield f"{said.sources} logs, {said.octets / 1e6:.1f} MB"
    for note in said.notes:
        yield f"note: {note}"
    if not said.failed:
        where = f" at iteration {said.iteration}" if said.iteration >= 0 else ""
        more = f"; {len(said.survived)} errors after which training went on" if said.survived else ""
        yield f"No failure found ({said.stage}{where}){more}."
        return
    at = f", after iteration {said.iteration}" if said.iteration >= 0 else ""
    yield f"Failed in {said.stage}{at}: {said.cause} ({said.about}); {said.why}. Confidence {said.confidence:.0%}."
    for one in said.suspects[:5]:
        several = "s" if len(one.ranks) > 1 else ""
        named = bool(one.ranks) and not one.name.startswith("rank ")
        ranks = f" (rank{several} {', '.join(map(str, one.ranks[:8]))})" if named else ""
        yield f"  {one.confidence:4.0%}  {one.name}{ranks}: {_RULES[one.how]}: {one.why[:WIDTH]}"
    yield f"Lines that indicate the failure: {sum(len(event.numbers) for event in said.lines):,} in {len(said.lines):,} events"
    shown = sorted(said.lines, key=_weight)[:SHOWN]
    for event in shown:
        when = "" if event.time_ns is None else datetime.fromtimestamp(event.time_ns / 1e9, UTC).strftime("%H:%M:%S ")
        yield f"  {event.source}:{event.numbers[0]}: {when}{mask(event.text)[:WIDTH]}"


_RULES = {
    "only": "the only node that says what broke",
    "single": "the only node in these logs",
    "first": "the first of several nodes that say what broke",
    "everywhere": "most nodes say the same",
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
