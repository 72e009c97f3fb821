"""`prism doctor` looks at a machine; `prism demo` shows what Prism does without one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from collectors.cli import complaints, named_inputs

if TYPE_CHECKING:
    from prism.doctor import Asked, Check

GLANCE = 0.1  # seconds
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
        from collectors.clickhouse import folder_of
        from prism.doctor import Asked, examine, worst
        from prism.facts import read

        where = folder if store is None or "://" in store else folder_of(store)
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


def demo(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="A recorded incident: captures or dumps, as in replay.")
    ] = None,
    topology: Annotated[str | None, typer.Option(metavar="FILE", help="That of the recording.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="On loopback; 0 is any free one.")] = 8080,
    speed: Annotated[float, typer.Option(min=0.1, max=100, help="How many times as fast as it would go.")] = 1.0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same incident.")] = 0,
) -> None:
    """Show an incident as it happens, until Ctrl-C: a recorded one, or two simulated jobs, a slow rank, a slow NIC.

    Needs no data and no rights.
    """
    with complaints("prism"):
        import time
        import webbrowser

        from collectors.compiling import announce
        from collectors.live import signals
        from prism.api.serving import served
        from prism.board import Boards
        from prism.cli import _topology
        from prism.demo import incident, playing, recorded
        from prism.records import Memory
        from prism.service import Service

        announce("prism")
        with signals() as asked:
            typer.echo(f"prism: {'reading' if files else 'simulating'} an incident", err=True)
            placed = _topology(topology) if topology else None
            now, boards = time.time_ns(), Boards()
            made = recorded(named_inputs(files), placed, begin_ns=now) if files else incident(seed=seed, begin_ns=now)
            with served(Service(boards, Memory(made.flows)), port=port) as at, playing(made, boards, speed=speed) as over:
                url = f"http://127.0.0.1:{at}/"
                typer.echo(url)
                if browser and not webbrowser.open(url):
                    typer.echo("prism: there is no browser to open it in", err=True)
                told = False
                while not asked.stop.is_set():
                    time.sleep(GLANCE)
                    if over.is_set() and not told:
                        told = True
                        typer.echo("prism: that was all; the page stays until Ctrl-C", err=True)


COMMANDS: dict[str, Callable[..., None]] = {"doctor": doctor, "demo": demo}


def add_to(app: typer.Typer) -> None:
    """Give a program these commands."""
    for command in COMMANDS.values():
        app.command()(command)
