"""Format the report of lost GPU-hours as an HTML page for mail programs, and as plain text."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from prism.lost_time.lost_hours import total
from prism.views.board_views import Json

TITLES = {"cause": "By cause", "host": "By host", "switch": "By switch", "job": "By job", "user": "By user"}
SHOWN = 15
STYLE = "font:14px sans-serif;color:#1b1e22"


def page(
    tables: Mapping[str, Sequence[Json]],
    start_ns: int,
    end_ns: int,
    external_url: str = "",
    *,
    ratios: Sequence[Json] = (),
) -> str:
    """Format the report as HTML, with tables by cause, host, switch, job and user; `ratios` are effective training
    times of jobs.
    """
    whole = total(tables.get("cause", ()))
    parts = [f"<h1>{whole:,.1f} GPU-hours lost</h1><p>{_day(start_ns)} to {_day(end_ns)}</p>"]
    for by, rows in tables.items():
        if rows:
            parts.append(f"<h2>{TITLES.get(by, by)}</h2>{_table(rows, external_url)}")
    again = [row for row in tables.get("host", ()) if row["again"]]
    if again:
        named = ", ".join(f"{html.escape(row['name'])} ({row['number']} findings)" for row in again[:SHOWN])
        parts.append(f"<h2>Repeat offenders</h2><p>{named}</p>")
    if ratios:
        parts.append(f"<h2>Effective training time</h2>{_ratios(ratios)}")
    if not whole:
        parts.append("<p>No claim cost anything in this time.</p>")
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body style="{STYLE}">{"".join(parts)}</body></html>\n'


def text(tables: Mapping[str, Sequence[Json]], start_ns: int, end_ns: int, *, ratios: Sequence[Json] = ()) -> str:
    """Format the report as plain text."""
    lines = [f"{total(tables.get('cause', ())):,.1f} GPU-hours lost, {_day(start_ns)} to {_day(end_ns)}"]
    for by, rows in tables.items():
        lines += [
            "",
            TITLES.get(by, by),
            *(f"{row['gpu_hours']:>10,.2f}  {row['number']:>4}  {row['name']}" for row in rows[:SHOWN]),
        ]
    if ratios:
        lines += [
            "",
            "Effective training time",
            *(f"{row['ratio']:>10.1%}  {_title(row)}  {_lost(row)}" for row in ratios[:SHOWN]),
        ]
    return "\n".join(lines) + "\n"


def _ratios(rows: Sequence[Json]) -> str:
    cell = 'style="padding:2px 12px 2px 0;text-align:left"'
    heads = "".join(f"<th {cell}>{name}</th>" for name in ("", "Trained", "Lost", "GPU-hours"))
    made = []
    for row in rows[:SHOWN]:
        cells = (html.escape(_title(row)), f"{row['ratio']:.1%}", _lost(row), f"{row['lost_gpu_hours']:,.2f}")
        made.append(f"<tr>{''.join(f'<td {cell}>{one}</td>' for one in cells)}</tr>")
    return f"<table><tr>{heads}</tr>{''.join(made)}</table>"


def _title(row: Json) -> str:
    return f"{row['name']} ({row['job']})" if row["name"] else row["job"]


def _lost(row: Json) -> str:
    """Time lost by a job, by reason."""
    return ", ".join(f"{reason} {seconds:,.0f} s" for reason, seconds in row["lost_s"].items() if seconds >= 0.5)


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
