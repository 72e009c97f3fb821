"""`prism doctor` checks a machine; `prism demo` shows an incident; `prism topology` completes a topology."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from collectors.cli.errors import report_errors
from collectors.cli.file_arguments import named_inputs
from collectors.cli.option_values import MemoryOption
from collectors.memory.limit import MEMORY, memory_limit

if TYPE_CHECKING:
    from prism.app.doctor import Check, Requirements

POLL_S = 0.1  # seconds
PORTS = ("6343/udp", "2055/udp", "4739/udp", "8080/tcp")


def doctor(
    store: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Store to test: a folder, or clickhouse://user:password@host:port/database."),
    ] = None,
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Folder whose disk will hold the records.")] = ".",
    rate: Annotated[float, typer.Option(min=1, help="Expected flow records per second; up to 65 per GPU.")] = 65_000,
    days: Annotated[float, typer.Option(min=0, help="Days to keep records.")] = 7,
    window: Annotated[float, typer.Option(min=1, help="Length of an analysis window, s.")] = 60,
    pause: Annotated[float, typer.Option(min=0, help="Longest time without reading the sockets, s.")] = 0.5,
    buffer: Annotated[int, typer.Option(min=1, max=1024, help="Socket receive buffer to request, MiB.")] = 32,
    capture: Annotated[str | None, typer.Option(metavar="IFACE", help="Interface to capture from.")] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(metavar="PORT/udp|tcp", help=f"Port that must be free; repeatable. Default: {', '.join(PORTS)}."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    exporters: Annotated[
        bool,
        typer.Option("--exporters", help="Instead, list the data that each exporter of a running service lacks, by analysis."),
    ] = False,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Address of that service.")] = "http://127.0.0.1:8080",
    token_file: Annotated[str | None, typer.Option(metavar="FILE", help="File with its token, if it needs one.")] = None,
) -> None:
    """Check whether this machine is ready for Prism.

    Prints what to change. Exit status: 0 without problems, 1 with warnings, 2 with errors or bad options.
    Changes nothing, except that --store writes one row, unless a service uses that store.
    """
    with report_errors("prism"):
        if exporters:
            raise typer.Exit(_exporters(url, token_file, json=json))
        from collectors.clickhouse.drivers import folder_of
        from prism.app.doctor import Requirements, examine, worst
        from prism.app.machine_facts import read

        where = folder if store is None or "://" in store else folder_of(store)
        options = Requirements(
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
        checks = examine(read(options), options)
        _print_checks(checks, options, json=json)
        raise typer.Exit({"warning": 1, "error": 2}.get(worst(checks), 0))


def _exporters(url: str, token_file: str | None, *, json: bool) -> int:
    """Print the data that each exporter of a service lacks; return 1 if any lacks something. Raises ValueError."""
    from prism.service.service_client import ServiceClient

    with ServiceClient(url, token_file) as service:
        found = list(service.all("/exporters", max_items=100_000, paged=False))
    if json:
        from json import dumps

        sys.stdout.write(dumps(found, indent=1) + "\n")
    for one in () if json else found:
        rate = f"{one['records_per_s']:,.3g} records/s, sampling 1:{one['sampling'] or '?'}, last {one['last_time'] or 'never'}"
        typer.echo(f"{'warning' if one['lacks'] else 'fine':8}{one['name']}: {rate}")
        for lack in one["lacks"]:
            typer.echo(f"{'':8}-> {lack['what']}; affects {lack['analysis']}")
            for vendor, lines in lack["lines"].items():
                typer.echo(f"{'':11}{vendor}: " + " ; ".join(line.strip() for line in lines.splitlines()))
    if not json and not found:
        typer.echo("warning exporters: no records have been received; check --listen and the exporters' destination")
    return int(not found or any(one["lacks"] for one in found))


def _port(text: str) -> tuple[Literal["udp", "tcp"], int]:
    number, _, kind = text.partition("/")
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 65536) or kind not in ("udp", "tcp"):
        raise ValueError(f"{text!r} is not a port; write for example 6343/udp or 8080/tcp")
    return "udp" if kind == "udp" else "tcp", int(number)


def _print_checks(checks: tuple[Check, ...], options: Requirements, *, json: bool) -> None:
    if json:
        from json import dumps

        from prism.app.doctor import worst

        document = {"level": worst(checks), "asked": vars(options), "checks": [vars(check) for check in checks]}
        sys.stdout.write(dumps(document, indent=1) + "\n")
        return
    for check in checks:
        typer.echo(f"{check.level:8}{check.name}: {check.said}")
        if check.advice:
            typer.echo(f"{'':8}-> {check.advice}")


def demo(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Recorded incident: captures or flow records, as for prism replay. Default: a simulated one."
        ),
    ] = None,
    topology: Annotated[str | None, typer.Option(metavar="FILE", help="Topology of the recording.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 for any free one.")] = 8080,
    speed: Annotated[float, typer.Option(min=0.1, max=100, help="Times the recorded speed.")] = 1.0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Random seed; equal seeds give equal incidents.")] = 0,
    memory: MemoryOption = MEMORY,
) -> None:
    """Show an incident live in a browser, until Ctrl-C.

    By default two simulated jobs with a slow rank and a slow NIC. Needs no data and no privileges.
    """
    with report_errors("prism") as undo:
        import time
        import webbrowser

        from collectors.compilation.startup import begin
        from collectors.live.session import signals
        from prism.api.server.web_server import served
        from prism.app.demo import incident, playing, recorded
        from prism.cli.offline.command_io import read_topology
        from prism.service.service_settings import Service
        from prism.tracking.board import Boards
        from prism.tracking.flow_sources import Memory

        undo.enter_context(begin("prism"))
        with signals() as asked:
            typer.echo(f"prism: {'reading' if files else 'simulating'} an incident", err=True)
            placed = read_topology(topology) if topology else None
            now, boards = time.time_ns(), Boards()
            with memory_limit(memory, files or ()):
                made = recorded(named_inputs(files), placed, begin_ns=now) if files else incident(seed=seed, begin_ns=now)
            with served(Service(boards, Memory(made.flows)), port=port) as at, playing(made, boards, speed=speed) as over:
                url = f"http://127.0.0.1:{at}/"
                typer.echo(url)
                if browser and not webbrowser.open(url):
                    typer.echo("prism: no browser was found; open the address above in one", err=True)
                told = False
                while not asked.stop.is_set():
                    time.sleep(POLL_S)
                    if over.is_set() and not told:
                        told = True
                        typer.echo("prism: the incident has ended; the page stays available until Ctrl-C", err=True)


def topology(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Topology to complete: JSON, YAML or CSV; hosts must be named.")],
    lldp: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Output of lldpctl -f json, DEVICE=FILE or DEVICE.json; repeatable."),
    ] = None,
) -> None:
    """Complete a topology with the leaves, ports and links that LLDP shows, and print it as JSON."""
    with report_errors("prism"):
        from json import dumps

        from prism.cli.offline.command_io import read_text, read_topology
        from prism.inventory import lldp as read

        found = [one for path, device in read.devices(lldp or ()).items() for one in read.parse(read_text(path), path, device)]
        made, words = read.completed(read_topology(file), found)
        typer.echo(dumps(read.to_json(made), indent=1))
        for text in words:
            typer.echo(f"prism: {text}", err=True)


COMMANDS: dict[str, Callable[..., None]] = {"doctor": doctor, "demo": demo, "topology": topology}


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in COMMANDS.values():
        app.command()(command)
