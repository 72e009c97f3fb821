"""Write an incident as JSON and as text."""

from __future__ import annotations

from typing import Any

from prism.incidents.incident import Incident
from prism.logs import log_report as logs
from prism.logs.parsing.line_cleaning import mask

SCHEMA = "prism-incident/1"
MAX_LINES = 2000  # log lines in the JSON document


def document(own: Incident) -> dict[str, Any]:
    """Convert an incident to plain values for JSON. Secrets are masked."""
    quiet = own.silence
    said = logs.document(own.logs)
    more = said["more_lines"] + max(len(said["lines"]) - MAX_LINES, 0)
    return {
        "schema": SCHEMA,
        "failed": own.failed,
        "job": own.job or None,
        "node": own.node or None,
        "endpoints": list(own.endpoints),
        "cause": own.cause or None,
        "why": own.why or None,
        "confidence": own.confidence,
        "witnesses_agree": own.agrees,
        "witnesses": [mask(one) for one in own.witnesses],
        "ranks_assumed": own.assumed,
        "last_payload": [{"endpoint": name, "time_ns": time} for name, time in quiet.order] if quiet else [],
        "unanswered": list(quiet.unanswered) if quiet else [],
        "checks": [vars(one) for one in own.checks],
        "findings": [{"kind": one.kind, "ids": list(one.ids), "message": one.message} for one in own.findings],
        "logs": said | {"lines": said["lines"][:MAX_LINES], "more_lines": more},
    }


def text(own: Incident) -> list[str]:
    """Format an incident as lines for a terminal."""
    if not own.failed:
        out = [f"No failure in the logs ({own.logs.stage})."]
    else:
        where = f" ({', '.join(own.endpoints)})" if own.endpoints else ""
        out = [f"{own.node}{where}: {own.cause}: {own.why}. Confidence {own.confidence:.0%}."]
        if own.agrees is not None:
            out.append("Logs and flows name the same node." if own.agrees else "Logs and flows name different nodes.")
    out += [f"  {one}" for one in own.witnesses]
    words = {True: "agree", False: "DISAGREE", None: "unknown"}
    out += [f"  {one.what}: logs {one.logs}, flows {one.flows}: {words[one.agrees]}" for one in own.checks]
    return out
