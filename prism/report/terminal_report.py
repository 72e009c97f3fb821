"""Print a diagnosis for people: tables on a terminal, else one line per fact."""

from __future__ import annotations

import math
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from prism.findings.advice import brief, likely
from prism.findings.titles import title
from prism.model import Diagnosis, Event, Finding, JobDiagnosis, Layout, Severity, Source, shares
from prism.report.json_report import step_ms
from prism.topology import Topology

STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "cyan"}
ORDER = tuple(STYLES)
MAX_FINDINGS = 10  # findings shown; the others are counted
MAX_EVENTS = 4  # events shown per job; the others are counted
MAX_TIMED_JOBS = 3  # jobs up to which events are listed by job and time
WORK_PHASES = ("compute", "forward", "backward", "optimizer", "idle", "unknown")  # phases without traffic
UNLIMITED = 10_000  # columns if the output is no terminal: lines are not wrapped

MIN_ALTERNATIVE = 0.1  # minimum confidence of an alternative layout to show


def console(file: TextIO | None = None) -> Console:
    """Make a console on standard output (or `file`) that wraps lines and colours words only on a terminal."""
    made = Console(file=file or sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not made.is_terminal:
        made.width = UNLIMITED
    return made


def show(diagnosis: Diagnosis, out: Console, topology: Topology | None = None) -> None:
    """Print jobs, findings (worst first) and notes; `topology`: hosts for titles of findings."""
    source = diagnosis.source
    out.print(clean_text(_shorten(", ".join(source.files), 1, out), "bold"))
    out.print(clean_text(f"{_counts(source)}, {_span(source)}"))
    out.print()
    if diagnosis.jobs:
        out.print(_jobs(diagnosis.jobs))
        for text in _events(diagnosis.jobs, source):
            out.print(clean_text(text))
        for text in _phases(diagnosis.jobs):
            out.print(clean_text(text))
    else:
        out.print(clean_text("No training job seen.", "bold"))
    out.print()
    _show_findings(diagnosis, out, topology)
    notes = _notes(diagnosis)
    if notes:
        out.print()
    for note in notes:
        out.print(clean_text(_shorten(note, 2, out), "dim"))


def clean_text(text: str, style: str = "") -> Text:
    """Remove control characters: names come from untrusted files and packets."""
    return Text("".join(c if c.isprintable() else "\ufffd" for c in text), style)


def _counts(source: Source) -> str:
    flows = f"{source.flows:,} flow records"
    return f"{source.packets:,} packets in {flows}" if source.packets else flows


def _span(source: Source) -> str:
    if source.end_ns <= source.start_ns:
        return "no time span"
    begin = datetime.fromtimestamp(source.start_ns // 10**9, UTC)
    return f"{duration((source.end_ns - source.start_ns) / 1e6)} from {begin:%Y-%m-%d %H:%M:%S} UTC"


def duration(ms: float | None) -> str:
    """Format a duration with about three digits."""
    if ms is None:
        return "unknown"
    if ms < 1000:
        return f"{ms:.3g} ms"
    if ms < 600_000:
        return f"{ms / 1000:.2f} s" if ms < 10_000 else f"{ms / 1000:.1f} s"
    return _clock(ms / 1000)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"


def _format_time(time_ns: int, source: Source) -> str:
    """Format a time since the start of the capture, with a resolution that suits its length."""
    span, since = (source.end_ns - source.start_ns) / 1e9, (time_ns - source.start_ns) / 1e9
    sign, since = "-" if since < 0 else "+", abs(since)
    if span < 1:
        return f"{sign}{since * 1000:.0f} ms"
    if span < 600:
        return f"{sign}{since:.{2 if span < 10 else 1}f} s"
    return sign + _clock(since)


def _when(item: Finding | Event, source: Source) -> str:
    start, end = _format_time(item.start_ns, source), _format_time(item.end_ns, source)
    return start if start == end else f"{start} … {end}"


def _jobs(jobs: tuple[JobDiagnosis, ...]) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="underline", pad_edge=False)
    for heading in ("job", "layout", "ranks", "steps", "step time (p95)"):
        table.add_column(heading, justify="right" if heading == "steps" else "left", overflow="fold")
    for found in jobs:
        step = step_ms(found)
        time = duration(step["median"]) + (f" ({duration(step['p95'])})" if step["p95"] is not None else "")
        cells = (found.job.title, _layout(found), _ranks(found), str(max(map(len, found.timeline.steps), default=0)), time)
        table.add_row(*map(clean_text, cells))
    return table


def _layout(found: JobDiagnosis) -> str:
    layout = found.parallelism.layout
    others = [_named(one.layout) for one in found.parallelism.alternatives if one.layout.confidence >= MIN_ALTERNATIVE]
    return f"{_named(layout)} ({likely(layout.confidence)} sure)" + (f", or {' or '.join(others)}" if others else "")


def _named(layout: Layout) -> str:
    sizes = [(kind.upper(), getattr(layout, kind)) for kind in ("dp", "pp", "tp", "ep", "cp")]
    return " × ".join(f"{kind} {size}" for kind, size in sizes if size > 1) or "unknown"


def _ranks(found: JobDiagnosis) -> str:
    ranks, hosts = len(found.job.endpoints), len(found.job.hosts)
    return f"{ranks} on {hosts} host{'s' if hosts != 1 else ''}" if hosts else str(ranks)


def _events(jobs: tuple[JobDiagnosis, ...], source: Source) -> list[str]:
    """List a line per job with events; one line of counts for many jobs."""
    if len(jobs) > MAX_TIMED_JOBS:
        counts = Counter(event.kind for found in jobs for event in found.timeline.events)
        return ["events: " + ", ".join(f"{n} × {kind}" for kind, n in counts.most_common())] if counts else []
    lines = []
    for found in jobs:
        events = found.timeline.events
        listed = [f"{event.kind} {_when(event, source)}" for event in events[:MAX_EVENTS]]
        if len(events) > MAX_EVENTS:
            listed.append(f"{len(events) - MAX_EVENTS} more")
        if listed:
            lines.append((f"{found.job.id}: " if len(jobs) > 1 else "") + ", ".join(listed))
    return lines


def _phases(jobs: tuple[JobDiagnosis, ...]) -> list[str]:
    """List a line per job with the phases of its steps; none for many jobs."""
    lines = []
    for found in jobs if len(jobs) <= MAX_TIMED_JOBS else ():
        time = found.timeline.phases.by_rank(len(found.job.endpoints)).sum(axis=0)
        spent = sorted(shares(time).items(), key=lambda item: -item[1])
        listed = [f"{name if name in WORK_PHASES else name.upper()} {share:.0%}" for name, share in spent if share >= 0.005]
        if listed:
            lines.append((f"{found.job.id}: " if len(jobs) > 1 else "") + "a rank's time: " + ", ".join(listed))
    return lines


def _show_findings(diagnosis: Diagnosis, out: Console, topology: Topology | None) -> None:
    ranked = sorted(diagnosis.findings, key=lambda f: (ORDER.index(f.severity), -f.score, f.start_ns))
    analysed = any(len(own) for found in diagnosis.jobs for own in found.timeline.steps)
    if analysed and all(f.severity is Severity.INFO for f in ranked):
        out.print(clean_text("No fault found.", "bold green"))
    elif diagnosis.jobs and not analysed:
        out.print(clean_text("No step was recognised, so nothing is known about faults."))
    name_job = len(diagnosis.jobs) > 1
    grid = Table.grid(padding=(0, 2, 0, 0))
    for found in ranked[:MAX_FINDINGS]:
        word = Text(found.severity.value.upper(), STYLES[found.severity])
        what = _claim(found, diagnosis.source, topology, name_job=name_job)
        if out.is_terminal:
            grid.add_row(word, clean_text(what, "bold"))
            grid.add_row("", clean_text(_shorten(found.message, 2 if found.severity is Severity.INFO else 3, out)))
            if cost := _action(found):
                grid.add_row("", clean_text(_shorten(cost, 1, out)))
        else:
            cost = _action(found)
            out.print(clean_text(f"{word.plain} {what}: {found.message}{f' ({cost})' if cost else ''}"))
    if ranked and out.is_terminal:
        out.print(grid)
    if len(ranked) > MAX_FINDINGS:
        counts = Counter(f.severity.value for f in ranked[MAX_FINDINGS:])
        out.print(
            clean_text(f"and {len(ranked) - MAX_FINDINGS} more: " + ", ".join(f"{n} {word}" for word, n in counts.items()))
        )


def _claim(found: Finding, source: Source, topology: Topology | None, *, name_job: bool) -> str:
    """Describe fault, place, time and size."""
    where = f" of job {found.job}" if name_job and found.subject != "job" else ""
    slower = f", {found.slowdown:.2f} × slower" if math.isfinite(found.slowdown) and found.slowdown > 1 else ""
    return f"{title(found, topology)}{where}  {_when(found, source)}{slower}"


def _action(found: Finding) -> str:
    """Describe the cost of a claim, and what to isolate."""
    if found.severity is Severity.INFO:
        return ""
    parts = [f"cost {found.lost_gpu_s:,.0f} GPU-s"] if found.lost_gpu_s >= 0.5 else []
    parts += filter(None, [brief(found.isolate)])
    parts += [f"{likely(found.confidence)} sure"] if found.confidence else []
    return "; ".join(parts)


def _notes(diagnosis: Diagnosis) -> list[str]:
    """List unknown traffic and omitted data, a line each."""
    source = diagnosis.source
    skipped = [f"{reason} ({n:,})" for reason, n in source.skipped.items() if n]
    left_out = list(source.warnings) + ([f"skipped: {', '.join(skipped)}"] if skipped else [])
    notes = [("Not understood: ", diagnosis.unexplained), ("Note: ", tuple(left_out))]
    return [title + "; ".join(items) for title, items in notes if items]


def _shorten(text: str, lines: int, out: Console) -> str:
    """Cut text to about `lines` lines of a terminal; other outputs get all of it."""
    most = lines * (out.width - 12) + 11
    return text if len(text) <= most or not out.is_terminal else text[: most - 1] + "…"
