"""Print the state of a running service: tables on a terminal, else one line per fact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from prism.findings.advice import brief, likely
from prism.model import Isolation, Severity
from prism.report.terminal_report import STYLES, WORK_PHASES, clean_text, duration
from prism.service.tokens import Token
from prism.views.board_views import KINDS, Json


def show_jobs(jobs: Sequence[Json], out: Console) -> None:
    """Print a row per job."""
    if not jobs:
        out.print(clean_text("No training job.", "bold"))
        return
    table = _table("job", "state", "layout", "ranks", "steps", "step time (p95)", "lost GPU time", "open findings")
    for job in jobs:
        table.add_row(*map(clean_text, _job(job)))
    out.print(table)


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="underline", pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in ("steps", "step", "lost GPU time") else "left", overflow="fold")
    return table


def _job(job: Json) -> tuple[str, ...]:
    hosts = f" on {job['hosts']} host{'s' if job['hosts'] != 1 else ''}" if job["hosts"] else ""
    step = job["step_ms"]
    time = duration(step["median"]) + (f" ({duration(step['p95'])})" if step["p95"] is not None else "")
    lost = duration(1000 * job["lost_gpu_seconds"]) if job["lost_gpu_seconds"] else "none"
    ranks = f"{job['endpoints']}{hosts}"
    name = f"{job['name']} ({job['id']})" if job.get("name") else job["id"]
    return name, job["state"], _layout(job), ranks, str(job["steps"]), time, lost, _open(job["findings"])


def _layout(job: Json) -> str:
    named = " × ".join(f"{kind.upper()} {job['layout'][kind]}" for kind in KINDS if job["layout"][kind] > 1)
    return f"{named or 'unknown'} ({likely(job['confidence'])} sure)"


def _open(counts: Json) -> str:
    return ", ".join(f"{n} {severity}" for severity, n in counts.items() if n) or "none"


def show_results(results: Sequence[Json], out: Console) -> None:
    """Print a row per search result."""
    if not results:
        out.print(clean_text("Nothing has such a name.", "bold"))
        return
    table = _table("type", "name", "about", "jobs", "findings")
    for one in results:
        named = one["title"] if one["title"] == one["id"] or one["type"] == "link" else f"{one['title']} ({one['id']})"
        ids = (", ".join(one[name][:4]) for name in ("jobs", "findings"))
        table.add_row(*map(clean_text, (one["type"], named, one["detail"], *ids)))
    out.print(table)


def show_findings(cases: Sequence[Json], out: Console) -> None:
    """Print each finding: culprit, start, cost, reason, and hosts to isolate."""
    if not cases:
        out.print(clean_text("No finding.", "bold green"))
    for case in cases:
        found = case["finding"]
        where = f" of job {found['job']}" if found["subject"]["type"] != "job" else ""
        slower = f", {found['slowdown']:.2f} × slower" if (found["slowdown"] or 0) > 1 else ""
        what = f"{found['title']}{where}, since {format_time(found['start_ns'])}{slower}"
        head = clean_text(f"{case['id']}  {case['state']}  ")
        head.append(found["severity"].upper(), STYLES[Severity(found["severity"])])
        out.print(head + clean_text(f"  {what}", "bold"))
        out.print(clean_text(f"  {found['message']}{_action(found)}"))


def _action(found: Json) -> str:
    isolate = found["isolate"]
    told = brief(Isolation(tuple(isolate["hosts"]), tuple(isolate["parts"]), isolate["confidence"] or 0.0))
    return f"; {told}" if told and found["severity"] != "info" else ""


def show_job(job: Json, cases: Sequence[Json], out: Console, *, ranks: int = 20) -> None:
    """Print a job: its groups, phases, slowest ranks (at most `ranks`) and open findings."""
    show_jobs([job], out)
    spent = sorted(job["phases"].items(), key=lambda item: -item[1])
    listed = [f"{name if name in WORK_PHASES else name.upper()} {share:.0%}" for name, share in spent if share >= 0.005]
    if listed:
        out.print(clean_text("a rank's time: " + ", ".join(listed)))
    kinds = [group["kind"] for group in job["groups"]]
    if kinds:
        out.print(
            clean_text("groups: " + ", ".join(f"{kinds.count(kind)} × {kind.upper()}" for kind in KINDS if kind in kinds))
        )
    for event in job["events"]:
        out.print(clean_text(f"{event['kind']} {format_time(event['start_ns'])}"))
    out.print()
    table = _table("rank", "endpoint", "host", "leaf", "stage", "steps", "step")
    slowest = sorted(job["ranks"], key=lambda rank: -(rank["median_ms"] or 0))
    for rank in slowest[:ranks]:
        cells = [rank[name] for name in ("rank", "endpoint", "host", "leaf", "stage", "steps")]
        table.add_row(
            *(clean_text("" if cell is None else str(cell)) for cell in cells), clean_text(duration(rank["median_ms"]))
        )
    out.print(table)
    if len(slowest) > ranks:
        out.print(clean_text(f"and {len(slowest) - ranks} ranks that are no slower"))
    out.print()
    show_findings(cases, out)


def show_tokens(tokens: Sequence[Token], out: Console) -> None:
    """Print a row per token."""
    if not tokens:
        out.print(clean_text("No token.", "bold"))
        return
    table = _table("name", "id", "scope", "created")
    for token in tokens:
        table.add_row(*map(clean_text, (token.name, token.id, token.scope, format_time(str(token.created_ns)))))
    out.print(table)


def format_time(time_ns: str) -> str:
    """Format a time for people."""
    return f"{datetime.fromtimestamp(int(time_ns) // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"
