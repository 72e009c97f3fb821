"""`prism store init`, `status` and `prune`: the store, by hand."""

from __future__ import annotations

import json as jsons
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collectors.cli import complaints

if TYPE_CHECKING:
    from collectors.clickhouse import Database
    from collectors.retention import Status

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
WhereArgument = Annotated[
    str, typer.Argument(metavar="WHERE", help="A folder (embedded), or clickhouse://USER:PASSWORD@HOST:PORT/DATABASE.")
]
KeepOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Keep flow records for so long, such as 12h or 30d; sums by pair ten times that."),
]
app = typer.Typer(help="Create the store, see how it is, drop what is too old.", no_args_is_help=True)


@app.command()
def init(where: WhereArgument, keep: KeepOption = None) -> None:
    """Create the tables of flow records, or bring those of an earlier version forward; rows stay."""
    with _database(where, make=True) as database:
        from collectors import flowrows, retention

        keep_s = seconds(keep) if keep else None
        for table in flowrows.kept_for(keep_s or flowrows.KEEP_S):
            database.create(table)
        if keep_s:
            retention.keep(database, keep_s)
        _tell(retention.status(database))


@app.command()
def status(where: WhereArgument, json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Show the tables: rows, size, times, for how long rows are kept; ends with 2 where one takes none from this Prism."""
    with _database(where) as database:
        from collectors import retention
        from collectors.storeerror import StoreError

        found = retention.status(database)
        if json:
            typer.echo(jsons.dumps([asdict(table) for table in found]))
        else:
            _tell(found)
        wrong = [table.wrong for table in found if table.wrong]
        if wrong:
            raise StoreError("; ".join(wrong))


@app.command()
def prune(where: WhereArgument, keep: KeepOption = None) -> None:
    """Drop what is older than is kept, now; with --keep, keep it for another time from now on."""
    with _database(where) as database:
        from collectors import retention

        keep_s = seconds(keep) if keep else None
        typer.echo(f"{retention.prune(database, time.time_ns(), keep_s)} partitions dropped")
        if keep_s:  # afterwards: a full disk takes no new definition
            retention.keep(database, keep_s)
        _tell(retention.status(database))


def seconds(text: str) -> int:
    """A time such as 90s, 15m, 12h or 30d. Raises ValueError."""
    found = re.fullmatch(r"(\d{1,9})([smhd])", text.strip())
    if not found or not int(found[1]):
        raise ValueError(f"{text}: not a time such as 12h or 30d")
    return int(found[1]) * UNITS[found[2]]


@contextmanager
def _database(where: str, *, make: bool = False) -> Iterator[Database]:
    """A store that is there already, unless it is to be made; that of `prism serve --data FOLDER`, too, which is in it."""
    with complaints("prism"):
        from collectors.clickhouse import folder_of, is_stored, opened

        if not make and "://" not in where:
            folder = folder_of(where)
            inner = str(Path(folder, "store"))
            where = inner if not is_stored(folder) and is_stored(inner) else where
        database = opened(where, make=make)
        try:
            yield database
        finally:
            database.close()


def _tell(tables: list[Status]) -> None:
    if not tables:
        typer.echo("There are no tables yet: prism store init")
    for table in tables:
        span = f"{_shown(table.first_ns)} to {_shown(table.last_ns)}, " if table.rows else ""
        days = table.keep_s / UNITS["d"]
        kept = f"{days:,.0f} days" if days >= 10 else f"{days:.3g} days"
        parts = f"{table.partitions} partition{'s' * (table.partitions != 1)}"
        size = f"{table.rows:,} rows, {table.octets / 1e6:,.1f} MB in {parts}"
        typer.echo(f"{table.name} (schema {table.version}): {size}; {span}kept for {kept}")


def _shown(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
