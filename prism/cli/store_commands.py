"""`prism store init`, `status` and `prune`: manage the store by hand."""

from __future__ import annotations

import json as jsons
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from collectors.cli.errors import report_errors

if TYPE_CHECKING:
    from collectors.clickhouse.drivers import Database
    from collectors.store.retention import Status

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
WhereArgument = Annotated[
    str, typer.Argument(metavar="WHERE", help="Store: a folder (embedded), or clickhouse://USER:PASSWORD@HOST:PORT/DATABASE.")
]
KeepOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="How long to keep flow records: 12h, 30d; sums by pair are kept ten times as long."),
]
app = typer.Typer(help="Create the store, show its tables, drop old records.", no_args_is_help=True)


@app.command()
def init(where: WhereArgument, keep: KeepOption = None) -> None:
    """Create the tables, or upgrade those of an earlier version without losing rows."""
    with _database(where, make=True) as database:
        from collectors.store import flow_rows, retention

        keep_s = parse_seconds(keep) if keep else None
        for table in flow_rows.tables_kept_for(keep_s or flow_rows.KEEP_S):
            database.create(table)
        if keep_s:
            retention.keep(database, keep_s)
        _print_tables(retention.status(database))


@app.command()
def status(where: WhereArgument, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show the tables: rows, size, time span, retention. Exit status 2 if a table cannot be written by this version.

    WHERE may be the folder of prism serve --data. While the service runs, it answers.
    """
    with report_errors("prism"):
        from collectors.clickhouse.store_error import StoreError
        from prism.app.store_status import tables_of

        found = tables_of(where)
        if found.through is not None:
            typer.echo(
                f"prism: {found.place}: as the service at {found.through.url} (process {found.through.process}) says", err=True
            )
        if json:
            typer.echo(jsons.dumps([asdict(table) for table in found.tables]))
        else:
            _print_tables(found.tables)
        wrong = [table.wrong for table in found.tables if table.wrong]
        if wrong:
            raise StoreError("; ".join(wrong))


@app.command()
def prune(where: WhereArgument, keep: KeepOption = None) -> None:
    """Drop records older than the retention time now; --keep changes the retention time."""
    with _database(where) as database:
        from collectors.store import retention

        keep_s = parse_seconds(keep) if keep else None
        typer.echo(f"{retention.prune(database, time.time_ns(), keep_s)} partitions dropped")
        if keep_s:  # afterwards, because a full disk accepts no new table definition
            retention.keep(database, keep_s)
        _print_tables(retention.status(database))


def parse_seconds(text: str) -> int:
    """Parse a time such as 90s, 15m, 12h or 30d to seconds. Raises ValueError."""
    found = re.fullmatch(r"(\d{1,9})([smhd])", text.strip())
    if not found or not int(found[1]):
        raise ValueError(f"{text!r} is not a duration; write for example 12h or 30d")
    return int(found[1]) * UNITS[found[2]]


@contextmanager
def _database(where: str, *, make: bool = False) -> Iterator[Database]:
    """Open an existing store, or create one with `make`. Accepts the folder of `prism serve --data FOLDER` too."""
    with report_errors("prism"):
        from collectors.clickhouse.drivers import opened
        from collectors.clickhouse.store_error import InUseError
        from prism.app.store_status import place, refusal

        at = place(where)
        try:
            database = opened(at, make=make)
        except InUseError as error:
            raise refusal(at, error) from None
        try:
            yield database
        finally:
            database.close()


def _print_tables(tables: Sequence[Status]) -> None:
    if not tables:
        typer.echo("The store has no tables yet; create them with prism store init.")
    for table in tables:
        span = f"{_shown(table.first_ns)} to {_shown(table.last_ns)}, " if table.rows else ""
        days = table.keep_s / UNITS["d"]
        kept = f"{days:,.0f} days" if days >= 10 else f"{days:.3g} days"
        parts = f"{table.partitions} partition{'s' * (table.partitions != 1)}"
        size = f"{table.rows:,} rows, {table.octets / 1e6:,.1f} MB in {parts}"
        typer.echo(f"{table.name} (schema {table.version}): {size}; {span}kept for {kept}")


def _shown(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
