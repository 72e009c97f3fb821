"""The commands that run until they are stopped: `prism-collect listen`, `capture` and `erspan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from collectors.cli.config_option import config_option, settings_of
from collectors.cli.option_values import MOST_RATE, source

OutOption = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="FOLDER",
        help="Folder for Parquet files; - for JSON Lines on standard output; chdb:FOLDER for the embedded store; "
        "clickhouse://USER:PASSWORD@HOST:PORT/DATABASE for a server (?spool=FOLDER sets the spool).",
    ),
]
RowsOption = Annotated[int, typer.Option(min=1, help="Close a file after this many records ...")]
SecondsOption = Annotated[float, typer.Option(min=0.1, help="... or this many seconds after its first record.")]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        metavar="[ADDRESS:]PORT", help="Serve Prometheus metrics at /metrics; on loopback unless an address is given."
    ),
]


def _again(context: typer.Context, config: str | None) -> dict[str, Any]:
    """Read the settings file again, without options from the command line; empty without a file."""
    if config is None:
        return {}
    found = settings_of(context, config)
    return {name: value for name, value in found.items() if source(context, name) != "COMMANDLINE"}


def _listed(context: typer.Context, name: str, texts: list[str] | None) -> list[str] | None:
    """Return a list of texts, or None if neither the command line nor the settings file has it. An empty list stays empty."""
    return list((context.default_map or {})[name]) if source(context, name) == "DEFAULT_MAP" else texts or None


ConfigOption = Annotated[str | None, config_option("prism-collect")]
InterfaceArgument = Annotated[str, typer.Argument(metavar="IFACE", help="Network interface.")]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(metavar="CIDR", help="Accept datagrams from this network only; repeatable. Default: from anywhere."),
]
AllowFileOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="File with more networks, one per line; an empty file allows none. SIGHUP reads it again."
    ),
]
RingOption = Annotated[int, typer.Option(min=1, max=4096, help="Size of the packet ring, MiB.")]
ActiveOption = Annotated[float, typer.Option(min=0.1, help="Cut bursts at multiples of this many seconds.")]
WaitOption = Annotated[float, typer.Option(min=0.1, help="Write a record after this many seconds without a packet.")]
PlacesOption = Annotated[list[str] | None, typer.Option(metavar="[ADDRESS]:PORT", help="Receive on this port; repeatable.")]


def listen(
    context: typer.Context,
    sflow: PlacesOption = None,
    netflow: PlacesOption = None,
    ipfix: PlacesOption = None,
    out: OutOption = "-",
    rotate_rows: RowsOption = 500_000,
    rotate_seconds: SecondsOption = 60.0,
    allow: AllowOption = None,
    allow_file: AllowFileOption = None,
    exporters: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most exporters at a time.")] = 1000,
    rate: Annotated[
        float,
        typer.Option(min=1, help="Most datagrams per second and exporter; volumes are scaled up for the dropped ones."),
    ] = MOST_RATE,
    buffer: Annotated[int, typer.Option(min=1, max=1024, help="Socket receive buffer to request, MiB.")] = 32,
    templates: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep templates and sampling rates here across restarts.")
    ] = None,
    metrics: MetricsOption = None,
    config: ConfigOption = None,
) -> None:
    """Receive sFlow, NetFlow (v5, v9) and IPFIX until SIGTERM.

    Writes flow records. PORT listens on loopback only, *:PORT on all addresses. UDP has no authentication:
    with *:PORT, list the exporters with --allow.
    """
    from collectors.cli.errors import report_errors

    with report_errors("prism-collect"):
        from collectors.live.listen_command import ListenOptions, run_listener

        asked = {"sflow": sflow, "netflow": netflow, "ipfix": ipfix}
        places = [(kind, text) for kind, texts in asked.items() for text in texts or ()]
        wish = ListenOptions(
            places=places,
            out=out,
            rows=rotate_rows,
            seconds=rotate_seconds,
            allow=_listed(context, "allow", allow),
            allow_file=allow_file,
            exporters=exporters,
            rate=rate,
            buffer=buffer << 20,
            metrics=metrics,
            templates=templates,
        )
        run_listener(wish, lambda: _again(context, config))


def capture(
    interface: InterfaceArgument,
    out: OutOption = "-",
    rotate_rows: RowsOption = 500_000,
    rotate_seconds: SecondsOption = 60.0,
    name: Annotated[str | None, typer.Option(metavar="SWITCH", help="Name of the switch whose mirror port this is.")] = None,
    expression: Annotated[
        str | None,
        typer.Option("--filter", metavar="EXPRESSION", help="Capture filter in tcpdump syntax; needs tcpdump."),
    ] = None,
    roce_ends: Annotated[
        bool,
        typer.Option(
            help="Capture only RoCE First, Last and Only packets: enough to see messages, at a fraction of the packets."
        ),
    ] = False,
    promiscuous: Annotated[bool, typer.Option(help="Promiscuous mode, which a mirror port needs.")] = True,
    buffer: RingOption = 64,
    active: ActiveOption = 10.0,
    wait: WaitOption = 1.0,
    metrics: MetricsOption = None,
    config: ConfigOption = None,  # noqa: ARG001 - its callback has done the work
) -> None:
    """Capture a mirror port until SIGTERM.

    Writes flow records. Needs only the capability CAP_NET_RAW.
    """
    from collectors.cli.errors import report_errors

    with report_errors("prism-collect"):
        from collectors.live.capture_command import CaptureOptions, run_capture

        wish = CaptureOptions(interface, out, rotate_rows, rotate_seconds, buffer << 20, active, wait, metrics)
        run_capture(wish, name=name, expression=expression, ends=roce_ends, promiscuous=promiscuous)


def erspan(
    context: typer.Context,
    interface: InterfaceArgument,
    out: OutOption = "-",
    rotate_rows: RowsOption = 500_000,
    rotate_seconds: SecondsOption = 60.0,
    switch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ADDRESS[/SESSION]", help="Name of the switch at a source address; by default the address is the name."
        ),
    ] = None,
    allow: AllowOption = None,
    allow_file: AllowFileOption = None,
    buffer: RingOption = 64,
    active: ActiveOption = 10.0,
    wait: WaitOption = 1.0,
    metrics: MetricsOption = None,
    config: ConfigOption = None,
) -> None:
    """Receive mirrored packets (ERSPAN, GRE) until SIGTERM.

    Writes flow records. A packet that several switches mirror is counted once. GRE has no authentication:
    list the switches with --allow. Needs only the capability CAP_NET_RAW.
    """
    from collectors.cli.errors import report_errors

    with report_errors("prism-collect"):
        from collectors.live.capture_command import CaptureOptions, run_erspan
        from collectors.live.session import allow_list

        def wanted() -> Any:
            known = {"allow": _listed(context, "allow", allow), "allow_file": allow_file} | _again(context, config)
            return allow_list(known["allow"], known["allow_file"])

        wish = CaptureOptions(interface, out, rotate_rows, rotate_seconds, buffer << 20, active, wait, metrics)
        run_erspan(wish, switch or (), wanted)


COMMANDS: dict[str, Callable[..., None]] = {"listen": listen, "capture": capture, "erspan": erspan}


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in COMMANDS.values():
        app.command()(command)
