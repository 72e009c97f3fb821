"""Write an incident as JSON and as text."""

from __future__ import annotations

from typing import Any

from prism.incidents.incident import Incident
from prism.logs import log_report as logs
from prism.logs.parsing.line_cleaning import mask

SCHEMA = "prism-incident/1"
MAX_LINES = 2000  # log lines in the JSON document


def document(incident: Incident) -> dict[str, Any]:
    """Convert an incident to plain values for JSON. Secrets are masked."""
    quiet = incident.silence
    said = logs.document(incident.logs)
    more = said["more_lines"] + max(len(said["lines"]) - MAX_LINES, 0)
    return {
        "schema": SCHEMA,
        "failed": incident.failed,
        "job": incident.job or None,
        "node": incident.node or None,
        "endpoints": list(incident.endpoints),
        "cause": incident.cause or None,
        "why": incident.why or None,
        "confidence": incident.confidence,
        "witnesses_agree": incident.agrees,
        "witnesses": [mask(one) for one in incident.witnesses],
        "ranks_assumed": incident.assumed,
        "last_payload": [{"endpoint": name, "time_ns": time} for name, time in quiet.order] if quiet else [],
        "unanswered": list(quiet.unanswered) if quiet else [],
        "checks": [vars(one) for one in incident.checks],
        "findings": [{"kind": one.kind, "ids": list(one.ids), "message": one.message} for one in incident.findings],
        "logs": said | {"lines": said["lines"][:MAX_LINES], "more_lines": more},
    }


def text(incident: Incident) -> list[str]:
    """Format an incident as lines for a terminal."""
    if not incident.failed:
        out = [f"No failure in the logs ({incident.logs.stage})."]
    else:
        where = f" ({', '.join(incident.endpoints)})" if incident.endpoints else ""
        out = [f"{incident.node}{where}: {incident.cause}: {incident.why}. Confidence {incident.confidence:.0%}."]
        if incident.agrees is not None:
            out.append("Logs and flows name the same node." if incident.agrees else "Logs and flows name different nodes.")
    out += [f"  {one}" for one in incident.witnesses]
    words = {True: "agree", False: "DISAGREE", None: "unknown"}
    out += [f"  {one.what}: logs {one.logs}, flows {one.flows}: {words[one.agrees]}" for one in incident.checks]
    return out
