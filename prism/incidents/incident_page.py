"""Write one incident as an HTML page without network access and scripts. Text is escaped, secrets are masked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape

from prism.incidents.incident import Incident
from prism.logs.parsing.line_cleaning import mask
from prism.logs.parsing.signatures import CAUSES

MAX_LINES = 40  # log lines
MAX_CHARACTERS = 300  # characters per log line
MAX_BARS = 64  # endpoints in the chart of last payloads
STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1c1f;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:1.8rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.2rem .6rem .2rem 0;vertical-align:top;border-bottom:1px solid #e3e5e8}
code,pre{font:12.5px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.no{color:#a40000;font-weight:600}.yes{color:#1c6b2a}.dim{color:#5d646d}.bar{fill:#4a7ab5}.first{fill:#c0392b}
@media(prefers-color-scheme:dark){body{background:#15171a;color:#e6e8ea}td,th{border-color:#33373d}.dim{color:#9aa2ab}}
"""


def html(incident: Incident) -> str:
    """Build the page."""
    title = f"{incident.node or 'Unknown node'}: {incident.cause}" if incident.failed else "No failure"
    parts = [
        f"<h1>{escape(title)}</h1>",
        *_summary(incident),
        *_list("Facts from each source", incident.witnesses),
        *_chart(incident),
        *_checks(incident),
        *_findings(incident),
        *_lines(incident),
        *_list("Notes", incident.logs.notes),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{"".join(parts)}</body></html>\n'


def _summary(incident: Incident) -> Iterator[str]:
    said = incident.logs
    if not incident.failed:
        yield f"<p>The logs end in stage <b>{escape(said.stage)}</b> without a failure.</p>"
        return
    where = ", ".join(incident.endpoints)
    yield f"<p><b>{escape(incident.node)}</b>{f' ({escape(where)})' if where else ''} stopped the job"
    yield f" in {escape(said.stage)}" + (f" after iteration {said.iteration}" if said.iteration >= 0 else "")
    yield f". Cause: <b>{escape(incident.cause)}</b> ({escape(CAUSES.get(incident.cause, ''))}): {escape(incident.why)}."
    yield f" Confidence {incident.confidence:.0%}.</p>"
    if incident.agrees is not None:
        yield (
            '<p class="yes">Logs and flows name the same node.</p>'
            if incident.agrees
            else ('<p class="no">Logs and flows name different nodes.</p>')
        )
    if incident.assumed:
        yield '<p class="dim">Ranks follow the order of addresses: neither logs nor topology place them.</p>'


def _list(title: str, rows: tuple[str, ...]) -> Iterator[str]:
    if rows:
        yield f"<h2>{escape(title)}</h2><ul>"
        yield from (f"<li>{escape(mask(row)[:MAX_CHARACTERS])}</li>" for row in rows)
        yield "</ul>"


def _chart(incident: Incident) -> Iterator[str]:
    """Draw the last payloads of the endpoints as bars, earliest first."""
    if incident.silence is None or len(incident.silence.order) < 2 or not incident.failed:
        return
    order = incident.silence.order[:MAX_BARS]
    low, high = order[0][1], max(time for _, time in order)
    span = max(high - low, 1)
    yield "<h2>Last payload of each endpoint</h2>"
    yield f'<svg viewBox="0 0 600 {len(order) * 16 + 4}" width="100%" role="img" aria-label="Last payload of each endpoint">'
    for place, (name, time) in enumerate(order):
        width = 4 + 380 * (time - low) / span
        kind = "first" if name in incident.endpoints else "bar"
        yield f'<text x="0" y="{place * 16 + 12}" font-size="11" fill="currentColor">{escape(name)}</text>'
        yield f'<rect class="{kind}" x="130" y="{place * 16 + 3}" width="{width:.1f}" height="11"/>'
        yield f'<text x="{136 + width:.1f}" y="{place * 16 + 12}" font-size="10" fill="currentColor">'
        yield f"+{(time - low) / 1e6:.3g} ms</text>"
    yield "</svg>"


def _checks(incident: Incident) -> Iterator[str]:
    if incident.checks:
        yield "<h2>Do logs and flows agree?</h2><table><tr><th>What</th><th>Logs</th><th>Flows</th><th></th></tr>"
        for one in incident.checks:
            word, kind = {True: ("agree", "yes"), False: ("disagree", "no"), None: ("unknown", "dim")}[one.agrees]
            cells = "".join(f"<td>{escape(text)}</td>" for text in (one.what, one.logs, one.flows))
            yield f'<tr>{cells}<td class="{kind}">{word}</td></tr>'
        yield "</table>"


def _findings(incident: Incident) -> Iterator[str]:
    yield from _list("Findings from flows", tuple(f"{one.severity}: {one.message}" for one in incident.findings[:10]))


def _lines(incident: Incident) -> Iterator[str]:
    if incident.logs.lines:
        yield "<h2>Lines that indicate the failure</h2>"
        yield f'<p class="dim">{len(incident.logs.lines):,} events; the strongest first</p><pre>'
        rank = {"root": 0, "symptom": 1, "context": 2, "milestone": 3}
        order = sorted(
            incident.logs.lines,
            key=lambda one: (rank[one.signature.role], -one.signature.strength) if one.signature else (2, 0),
        )
        for one in order[:MAX_LINES]:
            when = "" if one.time_ns is None else datetime.fromtimestamp(one.time_ns / 1e9, UTC).strftime("%H:%M:%S ")
            yield escape(f"{one.source}:{one.numbers[0]}: {when}{mask(one.text)[:MAX_CHARACTERS]}\n")
        yield "</pre>"
