"""`prism logs`: find the cause of a failure in training logs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collectors.cli.errors import report_errors
from collectors.files.atomic_files import atomic_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from prism.logs.parsing.log_scanner import Scanner
    from prism.logs.patterns.healthy_lines import Healthy
    from prism.logs.patterns.log_diagnosis import LogDiagnosis

VERDICT_S = 5.0  # seconds between verdicts on growing files
PAUSE_S = 0.5
FAILED = 3  # exit status


def logs(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Logs of one run: files or folders; plain, .gz, .zst, .bz2, .xz, journald."),
    ] = None,
    topology: Annotated[
        str | None, typer.Option(metavar="FILE", help="Host of each address, so that peers named by address are known.")
    ] = None,
    healthy: Annotated[
        str | None, typer.Option(metavar="FILE", help="Lines of healthy runs (from --learn): they are no evidence.")
    ] = None,
    learn: Annotated[
        str | None, typer.Option(metavar="FILE", help="Add this run, which is healthy, to FILE and diagnose nothing.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Store whose healthy runs are no evidence; a run that did not fail is added to it."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on reading as the files grow, until Ctrl-C.")] = False,
    loki: Annotated[str | None, typer.Option(metavar="URL", help="Read from Grafana Loki instead of files.")] = None,
    query: Annotated[str, typer.Option(metavar="LOGQL", help="Query for lines in Loki.")] = '{job=~".+"}',
    hours: Annotated[float, typer.Option(min=0.001, help="Time range of the query to Loki, h.")] = 1.0,
    token: Annotated[str, typer.Option(envvar="PRISM_LOKI_TOKEN", metavar="TOKEN", help="Bearer token for Loki.")] = "",
    tenant: Annotated[str, typer.Option(metavar="NAME", help="Loki's tenant (X-Scope-OrgID).")] = "",
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the diagnosis (JSON); - for standard output.")] = None,
) -> None:
    """Find failure-indicating lines, the nodes they point at, stage, iteration and cause in the logs of one run.

    Exit status: 0 without a failure, 3 with one, 2 on bad input.
    """
    with report_errors("prism"):
        from prism.logs.log_files_diagnosis import scan_files
        from prism.logs.patterns.log_diagnosis import diagnose

        if bool(paths) == bool(loki):
            raise ValueError("name log files or folders, or --loki URL; not both")
        if follow and (loki or learn):
            raise ValueError("--follow reads files and does not go with --loki or --learn")
        if store and (healthy or learn or follow):
            raise ValueError("--store keeps healthy runs itself and does not go with --healthy, --learn or --follow")
        known = _healthy(healthy) if healthy else None
        addresses = _addresses(topology) if topology else {}
        if follow:
            _follow(paths or [], lambda scanners: diagnose(scanners, healthy=known, addresses=addresses))
            return
        scanners = _from_loki(loki, query, hours, token, tenant) if loki else scan_files(paths or [])
        if learn:
            _learn(learn, scanners)
            return
        diagnosis = _with_store(store, scanners, addresses) if store else diagnose(scanners, healthy=known, addresses=addresses)
        _print_diagnosis(diagnosis, json)
        raise typer.Exit(FAILED if diagnosis.failed else 0)


def _print_diagnosis(diagnosis: LogDiagnosis, json: str | None) -> None:
    from json import dumps

    from prism.logs import log_report

    if json == "-":
        sys.stdout.write(dumps(log_report.document(diagnosis), indent=1) + "\n")
        return
    if json:
        with atomic_path(json) as name:
            Path(name).write_text(dumps(log_report.document(diagnosis), indent=1) + "\n", encoding="utf-8")
    for line in log_report.text(diagnosis):
        typer.echo(line)


def _healthy(path: str) -> Healthy:
    from prism.logs.patterns.healthy_lines import loads

    return loads(Path(path).read_text(encoding="utf-8", errors="replace"), path)


def _addresses(path: str) -> dict[str, str]:
    from prism.cli.offline.command_io import read_topology

    return {address: place.host for address, place in read_topology(path).endpoints.items() if place.host}


def _learn(path: str, scanners: list[Scanner]) -> None:
    from prism.logs.patterns.healthy_lines import dumps, learn

    earlier = _healthy(path) if Path(path).exists() else None
    learnt = learn((event for one in scanners for event in one.events()), earlier)
    with atomic_path(path) as name:
        Path(name).write_text(dumps(learnt), encoding="utf-8")
    typer.echo(f"{path}: {len(learnt.templates)} lines of {learnt.runs} healthy runs")


def _with_store(where: str, scanners: list[Scanner], addresses: dict[str, str]) -> LogDiagnosis:
    """Diagnose with the healthy runs in the store; add this run if it is healthy."""
    from collectors.clickhouse import drivers
    from prism.logs.healthy_lines_store import HealthyStore, stopped
    from prism.logs.patterns.log_diagnosis import diagnose
    from prism.storage.live_state import State

    database = drivers.opened(where)
    try:
        kept = HealthyStore(database)
        diagnosis = diagnose(scanners, healthy=kept.load(), addresses=addresses)
        why = "" if diagnosis.failed else stopped(State(database), diagnosis.marks.values())
        if why:
            typer.echo(f"prism: this run is not learnt as a healthy one: the store has a {why} in its time", err=True)
        elif not diagnosis.failed and diagnosis.iteration >= 0:
            learnt = kept.learn(event for one in scanners for event in one.events())
            typer.echo(f"prism: learnt as a healthy run; {where} knows {len(learnt.templates)} lines", err=True)
    finally:
        database.close()
    return diagnosis


def _from_loki(url: str, query: str, hours: float, token: str, tenant: str) -> list[Scanner]:
    import time

    from prism.logs.loki import fetch
    from prism.logs.parsing.log_scanner import Kinds, scan

    now = time.time_ns()
    return [scan("loki", fetch(url, query, now - int(hours * 3600e9), now, token=token, tenant=tenant), Kinds())]


def _follow(paths: list[str], diagnosed: Callable[[list[Scanner]], LogDiagnosis]) -> None:
    """Read growing files; print the verdict when it changes."""
    import time

    from prism.logs import log_report
    from prism.logs.log_files_diagnosis import scanner_of
    from prism.logs.log_reader import Tail, list_files
    from prism.logs.parsing.log_scanner import Kinds

    kinds = Kinds()
    tails = {path: (Tail(path), scanner_of(path, path, kinds)) for path in list_files(paths)}
    before, looked = "", float("-inf")
    while True:
        fresh = False
        for tail, scanner in tails.values():
            while block := tail.more():
                scanner.feed(block)
                fresh = True
        if time.monotonic() - looked >= VERDICT_S:
            looked = time.monotonic()
            diagnosis = diagnosed([scanner for _, scanner in tails.values()])
            verdict = f"{diagnosis.failed} {diagnosis.cause} {[one.name for one in diagnosis.suspects[:1]]}"
            if verdict != before:
                before = verdict
                typer.echo("\n".join(log_report.text(diagnosis)))
                sys.stdout.flush()
        if not fresh:
            time.sleep(PAUSE_S)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(logs)
