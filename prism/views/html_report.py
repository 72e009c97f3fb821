"""Write a board as one HTML file without network access: the service's pages with the answers they need inside.

The pages are ES modules, which a browser does not load from files; so they become one script, each module a function in it.
Answers are JSON in which no character can end their element, and a policy in the file lets only its own script run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any

from prism.model import Severity
from prism.tracking.board import Board, JobStatus
from prism.tracking.flow_sources import Records
from prism.views import board_views, finding_views, step_cells, timeline_views, traffic_views

WEB = files("prism") / "web"
MAX_DETAILED_JOBS = 12  # jobs with pictures: those with the largest loss; the others have a line in the table
CELLS, BARS = 10_000, 16_000  # of a heat, of a timeline; the timelines of all jobs share four times as many bars
ROWS = 48  # ranks of a timeline that does not fit as a whole
MAX_RECORDS = 2_000_000  # flow records from which switches are counted

_IMPORT = re.compile(r'^import \{ ([^}]+) \} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def dumps(board: Board, records: Records | None = None) -> str:
    """Write the file as text."""
    style = (WEB / "style.css").read_text("utf-8")
    early, script = (WEB / "theme.js").read_text("utf-8"), bundle_modules("js/report.js")
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(early)} {_hash(script)}"
    icon = base64.b64encode((WEB / "icon.svg").read_bytes()).decode()
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(", ".join(board.source.files) or "Prism")}</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
<script>{early}</script>
</head>
<body>
<noscript>This report draws its pictures with JavaScript.</noscript>
<script type="application/json" id="documents">{embed_json(documents(board, records))}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def documents(board: Board, records: Records | None = None) -> dict[str, Any]:
    """Return the REST answers that the pages need, by path."""
    source = board.source
    flows = records.between(source.start_ns, source.end_ns + 1, limit=MAX_RECORDS) if records else None
    cases = sorted(board.cases, key=finding_views.case_key)
    told: dict[str, Any] = {
        "/board": board_views.board(board),
        "/jobs": {"items": board_views.jobs(board), "next": None},
        "/findings": {"items": finding_views.case_list(board, cases), "next": None},
        "/hosts": {"items": finding_views.hosts(board)},
        "/switches": traffic_views.switches(board, flows),
    }
    told |= {f"/findings/{one.id}": finding_views.finding(board, one.id) for one in cases}
    detailed = sorted(board.jobs, key=lambda job: (-_lost(board, job), -len(job.found.job.endpoints), job.id))[
        :MAX_DETAILED_JOBS
    ]
    for job in detailed:
        told |= _job(board, job, min(BARS, 4 * BARS // len(detailed)))
    return told


def _lost(board: Board, job: JobStatus) -> float:
    own = [case.finding for case in board.cases if case.finding.job == job.id and case.finding.severity is not Severity.INFO]
    return sum(max(found.lost_gpu_s, 1e-9) for found in own)


def _job(board: Board, job: JobStatus, bars: int) -> dict[str, Any]:
    """Return the answers that the pages of one job need."""
    path, found = f"/jobs/{job.id}", job.found
    spent = board_views.job_summary(job, ())["phases"]
    words = [word for word in spent if word not in step_cells.OWN_WORK]
    words += ["work"] if len(words) < len(spent) else []
    cases = [one for one in board.cases if one.finding.job == job.id]

    def steps(measure: str = "duration") -> board_views.Json:
        return timeline_views.steps(found, max_cells=CELLS, measure=measure, cases=cases)

    measured = {f"{path}/steps?measure={word}": steps(word) for word in words}
    drawn = {f"{path}/graph?by={by}": traffic_views.graph(found, board.topology, by=by) for by in ("endpoint", "leaf")}
    return (
        measured
        | drawn
        | {
            path: board_views.job(board, job.id),
            f"{path}/steps": steps(),
            f"{path}/timeline": _timeline(board, job, bars),
        }
    )


def _timeline(board: Board, job: JobStatus, bars: int) -> dict[str, Any]:
    """Return all phases of a job if they fit; else those of fewer ranks and steps around the start of its worst finding."""
    found = job.found
    whole = timeline_views.timeline(found, topology=board.topology, max_spans=bars, level="phases")
    if whole["level"] == "phases" and not whole["truncated"]:
        return whole
    claims = [case.finding for case in board.cases if case.finding.job == job.id and case.finding.severity is not Severity.INFO]
    worst = max(claims, key=lambda one: one.lost_gpu_s, default=None)
    ids = worst.ids if worst else ()
    rank = next((i for i, endpoint in enumerate(found.job.endpoints) if endpoint in ids), 0)
    first = max(0, min(rank - ROWS // 2, len(found.job.endpoints) - ROWS))
    around = worst.start_ns if worst else found.job.end_ns
    step = int(1e6 * (board_views.finite(float(_median_ms(job))) or 1000.0))
    for steps in (64, 32, 16, 8, 4, 2):
        asked = step_cells.CellRange(around - steps * step // 2, around + steps * step // 2, first, first + ROWS)
        part = timeline_views.timeline(found, asked, topology=board.topology, max_spans=bars, level="phases")
        if part["level"] == "phases" and not part["truncated"]:
            break
    return part


def _median_ms(job: JobStatus) -> float:
    durations = sorted(job.found.timeline.durations_ms().tolist())
    return durations[len(durations) // 2] if durations else 1000.0


def embed_json(value: Any) -> str:
    """Encode JSON for a script element: no character in it is markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def bundle_modules(entry: str) -> str:
    """Bundle `entry` and the modules it imports into one script, dependencies first.

    Modules import by name and export at the declaration, one import per line; see `prism/web/js`. Raises ValueError for other
    modules, and for those that would end the script element.
    """
    parts: dict[str, str] = {}
    _bundle(entry, parts, ())
    return "const modules = {};\n" + "".join(parts.values())


def _bundle(name: str, parts: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"{name} imports itself by way of {', '.join(above)}")
    if name in parts:
        return
    text = (WEB / name).read_text("utf-8")

    def imported(match: re.Match[str]) -> str:
        needed = _beside(name, match[2])
        _bundle(needed, parts, (*above, name))
        return f'const {{ {match[1].replace(" as ", ": ")} }} = modules["{needed}"];'

    inside = _IMPORT.sub(imported, text)
    exported = ", ".join(_EXPORT.findall(inside))
    inside = _EXPORT.sub(lambda match: match[0].removeprefix("export "), inside)
    if re.search(r"^(import|export)\b", inside, re.MULTILINE) or re.search(r"</script|<!--", inside, re.IGNORECASE):
        raise ValueError(f"{name} cannot be part of one script")
    parts[name] = f'modules["{name}"] = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();\n'


def _beside(name: str, relative: str) -> str:
    """Resolve the path of an imported module: ../dom.js beside js/pages/job.js is js/dom.js."""
    at = name.split("/")[:-1]
    for part in relative.split("/"):
        at = at[:-1] if part == ".." else at if part == "." else [*at, part]
    return "/".join(at)


def _hash(text: str) -> str:
    """Compute a source expression of a content security policy (CSP 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
