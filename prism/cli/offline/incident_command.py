"""`prism incident`: logs and flows of one failed run, joined."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collectors.cli.errors import report_errors
from collectors.cli.file_arguments import named_inputs
from collectors.files.atomic_files import atomic_path

if TYPE_CHECKING:
    from collectors.columns.record import Flows

FAILED = 3  # exit status


def incident(
    logs: Annotated[list[str], typer.Argument(metavar="LOGS", help="Log files or folders of the run.")],
    flows: Annotated[list[str], typer.Option(metavar="FILE", help="Captures or flow records of the run; repeatable.")],
    topology: Annotated[str | None, typer.Option(metavar="FILE", help="Host, rail and leaf of each address.")] = None,
    healthy: Annotated[str | None, typer.Option(metavar="FILE", help="Lines of healthy runs (prism logs --learn).")] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write the incident on one page.")] = None,
    hints: Annotated[str | None, typer.Option(metavar="FILE", help="Write facts from the logs as hints for replay.")] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the incident (JSON); - for standard output.")] = None,
) -> None:
    """Join the logs of a run with its flows: node, cause, and their contradictions.

    Exit status: 0 without a failure, 3 with one, 2 on bad input.
    """
    with report_errors("prism"):
        from json import dumps

        from prism.cli.offline.command_io import read_topology
        from prism.cli.offline.logs_command import _healthy
        from prism.incidents import log_hints
        from prism.incidents.incident import join_incident
        from prism.incidents.incident_page import html as page
        from prism.incidents.incident_report import document, text
        from prism.incidents.node_mapping import map_nodes
        from prism.logs.log_files_diagnosis import diagnose_files
        from prism.recordings.file_analysis import replay

        placed = read_topology(topology) if topology else None
        addresses = {address: one.host for address, one in placed.endpoints.items() if one.host} if placed else {}
        diagnosis = diagnose_files(logs, healthy=_healthy(healthy) if healthy else None, addresses=addresses)
        kept: list[Flows] = []

        def keep(records: Flows) -> Flows:
            kept.append(records)
            return records

        seen = replay(named_inputs(flows), placed, keep=keep)
        own = join_incident(diagnosis, seen, kept[0], placed)
        if html:
            _write(html, page(own))
        job = next((one for one in seen.jobs if one.job.id == own.job), None)
        if hints and job is not None:
            given = log_hints.hints(diagnosis.facts, job.job.endpoints, map_nodes(job.job.endpoints, diagnosis.facts, placed))
            _write(hints, dumps(given, indent=1) + "\n")
        if json and json != "-":
            _write(json, dumps(document(own), indent=1) + "\n")
        sys.stdout.write(dumps(document(own), indent=1) + "\n" if json == "-" else "\n".join(text(own)) + "\n")
        raise typer.Exit(FAILED if own.failed else 0)


def _write(path: str, text: str) -> None:
    with atomic_path(path) as name:
        Path(name).write_text(text, encoding="utf-8")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(incident)
