"""`prism diagnose`: diagnose a time range of a store again."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from collectors.cli.errors import report_errors
from prism.cli.watch_commands import HintsOption, JobsOption, TopologyOption


def diagnose(
    store: Annotated[str, typer.Option(metavar="WHERE", help="Folder, or clickhouse://user:password@host:port/database.")],
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="Start: 2026-11-20T22:42:00Z, or -1h.")],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="End; now by default.")] = "now",
    topology: TopologyOption = None,
    hints: HintsOption = None,
    jobs: JobsOption = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report (JSON); - for standard output.")] = None,
    trace: Annotated[str | None, typer.Option(metavar="FILE", help="Write a Chrome trace for Perfetto.")] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write an HTML report that needs no network.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no warnings.")] = False,
) -> None:
    """Diagnose a time range of a store again, with other hints if given.

    While a service uses a store in a folder, ask the service: POST /api/v1/diagnoses, or its pages.
    """
    with report_errors("prism") as undo:
        from collectors.compilation.startup import begin as compiling
        from prism.analysis import diagnose as run
        from prism.cli.offline.command_io import html_page, read_bookings, read_hints, read_topology, show_diagnosis, write_text
        from prism.cli.store_commands import _database
        from prism.model import Source
        from prism.past.time_spans import span
        from prism.recordings.booking_division import diagnosed
        from prism.storage.stored_flows import StoredRecords

        undo.enter_context(compiling("prism", quiet=quiet))
        first, last = span(begin, end, time.time_ns())
        placed, given, bookings = (
            read_topology(topology) if topology else None,
            read_hints(hints) if hints else None,
            read_bookings(jobs),
        )
        with _database(store) as database:
            flows = StoredRecords(database, create=False).between(first, last)
        if not len(flows):
            raise ValueError(f"{store}: no flow records from {begin} to {end}; prism store status shows what it keeps")
        source = Source((store.rpartition("@")[2],), 0, len(flows), {}, int(flows.start_ns.min()), int(flows.end_ns.max()))
        found = diagnosed(flows, bookings, placed, lambda own: run(own, source, topology=placed, hints=given))
        if html:
            write_text(html, html_page(found, placed, flows, bookings))
        show_diagnosis(found, placed, json, trace, quiet=quiet, bookings=bookings)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(diagnose)
