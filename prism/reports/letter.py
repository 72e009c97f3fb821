"""A report of lost GPU-hours as an HTML page that a mail program shows, and as plain text."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from prism.reports.lost import total
from prism.views import Json

TITLES = {"cause": "By cause", "host": "By host", "switch": "By switch", "job": "By job", "user": "By user"}
SHOWN = 15
STYLE = "font:14px sans-serif;color:#1b1e22"


def page(tables: Mapping[str, Sequence[Json]], start_ns: int, end_ns: int, external_url: str = "") -> str:
    """The report as HTML, with tables by cause, host, switch, job and user."""
    whole = total(tables.get("cause", ()))
    parts = [f"<h1>{whole:,.1f} GPU-hours lost</h1><p>{_day(start_ns)} to {_day(end_ns)}</p>"]
    for by, rows in tables.items():
        if rows:
            parts.append(f"<h2>{TITLES.get(by, by)}</h2>{_table(rows, external_url)}")
    again = [row for row in tables.get("host", ()) if row["again"]]
    if again:
        named = ", ".join(f"{html.escape(row['name'])} ({row['number']} findings)" for row in again[:SHOWN])
        parts.append(f"<h2>Repeat offenders</h2><p>{named}</p>")
    if not whole:
        parts.append("<p>No claim cost anything in this time.</p>")
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body style="{STYLE}">{"".join(parts)}</body></html>\n'


def text(tables: Mapping[str, Sequence[Json]], start_ns: int, end_ns: int) -> str:
    """The report as plain text."""
    lines = [f"{total(tables.get('cause', ())):,.1f} GPU-hours lost, {_day(start_ns)} to {_day(end_ns)}"]
    for by, rows in tables.items():
        lines += [
            "",
            TITLES.get(by, by),
            *(f"{row['gpu_hours']:>10,.2f}  {row['number']:>4}  {row['name']}" for row in rows[:SHOWN]),
        ]
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Json], external_url: str) -> str:
    cell = 'style="padding:2px 12px 2px 0;text-align:left"'
    head = f"<tr><th {cell}></th><th {cell}>GPU-hours</th><th {cell}>Findings</th><th {cell}>Last</th></tr>"
    made = []
    for row in rows[:SHOWN]:
        link = f"{external_url.rstrip('/')}/#/findings/{row['findings'][-1]}" if external_url and row["findings"] else ""
        name = html.escape(row["name"])
        named = f'<a href="{html.escape(link)}">{name}</a>' if link else name
        last = _day(int(row["last_ns"]))
        cells = (named, f"{row['gpu_hours']:,.2f}", str(row["number"]), last)
        made.append(f"<tr>{''.join(f'<td {cell}>{one}</td>' for one in cells)}</tr>")
    return f"<table>{head}{''.join(made)}</table>"


def _day(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns // 10**9, UTC):%Y-%m-%d}"
