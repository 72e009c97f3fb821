"""`prism doctor`: looks at a machine before Prism is installed there, or when something is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from collectors.cli import complaints

if TYPE_CHECKING:
    from prism.doctor import Asked, Check

PORTS = ("6343/udp", "2055/udp", "4739/udp", "8080/tcp")


def doctor(
    store: Annotated[
        str | None, typer.Option(metavar="WHERE", help="The store: a folder, or clickhouse://user:password@host:port/database.")
    ] = None,
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Whose disk records go to; that of a store in a folder.")] = ".",
    rate: Annotated[float, typer.Option(min=1, help="Flow records a second; a GPU makes up to 65.")] = 65_000,
    days: Annotated[float, typer.Option(min=0, help="For so many days records are kept.")] = 7,
    window: Annotated[float, typer.Option(min=1, help="Seconds that are analysed at once.")] = 60,
    pause: Annotated[float, typer.Option(min=0, help="For so many seconds nobody may read the sockets.")] = 0.5,
    buffer: Annotated[int, typer.Option(min=1, max=1024, help="MiB of receive buffer that are asked of the kernel.")] = 32,
    capture: Annotated[str | None, typer.Option(metavar="IFACE", help="An interface to capture from.")] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(metavar="PORT/udp|tcp", help=f"A port that is to be free; else {', '.join(PORTS)}."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Check whether this machine is fit for Prism, and say what to do where it is not.

    Exits 0 where all is fine, 1 with warnings, 2 with errors (and on bad options). Changes nothing, but for one row that is
    written to the store.
    """
    with complaints("prism"):
        from prism.doctor import Asked, examine, worst
        from prism.facts import read

        where = folder if store is None or "://" in store else store.removeprefix("chdb:")
        asked = Asked(
            rate=rate,
            pause_s=pause,
            buffer_mib=buffer,
            window_s=window,
            days=days,
            interface=capture,
            store=store,
            folder=where,
            ports=tuple(_port(text) for text in port or PORTS),
        )
        checks = examine(read(asked), asked)
        _tell(checks, asked, json=json)
        raise typer.Exit({"warning": 1, "error": 2}.get(worst(checks), 0))


def _port(text: str) -> tuple[Literal["udp", "tcp"], int]:
    number, _, kind = text.partition("/")
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 65536) or kind not in ("udp", "tcp"):
        raise ValueError(f"{text!r} is no port: 6343/udp, 8080/tcp")
    return "udp" if kind == "udp" else "tcp", int(number)


def _tell(checks: tuple[Check, ...], asked: Asked, *, json: bool) -> None:
    if json:
        from json import dumps

        from prism.doctor import worst

        told = {"level": worst(checks), "asked": vars(asked), "checks": [vars(check) for check in checks]}
        sys.stdout.write(dumps(told, indent=1) + "\n")
        return
    for check in checks:
        typer.echo(f"{check.level:8}{check.name}: {check.said}")
        if check.advice:
            typer.echo(f"{'':8}-> {check.advice}")


COMMANDS: dict[str, Callable[..., None]] = {"doctor": doctor}


def add_to(app: typer.Typer) -> None:
    """Give a program these commands."""
    for command in COMMANDS.values():
        app.command()(command)
