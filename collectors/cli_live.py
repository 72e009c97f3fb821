"""`prism-collect listen`, `capture` and `erspan`: the commands that run until they are told to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from collectors.cli_given import source
from collectors.cli_settings import config_option, settings_of

OutOption = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="FOLDER",
        help="Parquet files go here; - is standard output, as JSON Lines; chdb:FOLDER the embedded store, "
        "clickhouse://USER:PASSWORD@HOST:PORT/DATABASE a server (?spool=FOLDER: where records wait for it).",
    ),
]
RowsOption = Annotated[int, typer.Option(min=1, help="A file ends after so many records ...")]
SecondsOption = Annotated[float, typer.Option(min=0.1, help="... or when its first record has waited for so many seconds.")]
MetricsOption = Annotated[
    str | None, typer.Option(metavar="[ADDRESS:]PORT", help="Serve counters at /metrics there; loopback unless named.")
]


def _again(context: typer.Context, config: str | None) -> dict[str, Any]:
    """What the settings file says now, but for what the command line said; empty without one."""
    if config is None:
        return {}
    found = settings_of(context, config)
    return {name: value for name, value in found.items() if source(context, name) != "COMMANDLINE"}


def _listed(context: typer.Context, name: str, texts: list[str] | None) -> list[str] | None:
    """A list of texts, or None where neither the command line nor the settings file has one: an empty one is one."""
    return list((context.default_map or {})[name]) if source(context, name) == "DEFAULT_MAP" else texts or None


ConfigOption = Annotated[str | None, config_option("prism-collect")]
InterfaceArgument = Annotated[str, typer.Argument(metavar="IFACE", help="The interface.")]
AllowOption = Annotated[list[str] | None, typer.Option(metavar="CIDR", help="Whom to listen to; all, without this and a file.")]
AllowFileOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="More of them, one a line; none in it is none. SIGHUP reads it again.")
]
RingOption = Annotated[int, typer.Option(min=1, max=4096, help="MiB of memory for packets the kernel hands over.")]
ActiveOption = Annotated[float, typer.Option(min=0.1, help="Bursts end at multiples of so many seconds.")]
WaitOption = Annotated[float, typer.Option(min=0.1, help="A record is written when it has rested for so many seconds.")]
PlacesOption = Annotated[list[str] | None, typer.Option(metavar="[ADDRESS]:PORT")]


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
    exporters: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many exporters at a time.")] = 1000,
    rate: Annotated[
        float | None, typer.Option(min=1, help="Datagrams per second of one exporter; what is kept stands for what is not.")
    ] = None,
    buffer: Annotated[int, typer.Option(min=1, max=1024, help="MiB of receive buffer to ask the kernel for.")] = 32,
    templates: Annotated[
        str | None, typer.Option(metavar="FILE", help="Templates and sampling rates are kept there over restarts.")
    ] = None,
    metrics: MetricsOption = None,
    config: ConfigOption = None,
) -> None:
    """Listen for sFlow, NetFlow (v5, v9) and IPFIX, and write flow records until SIGTERM.

    Without an address it listens on loopback only; *:PORT is all addresses: then name the exporters with --allow, since
    whoever can send a datagram there can forge records.
    """
    from collectors.cli import complaints

    with complaints("prism-collect"):
        from collectors.listening import Wish, listen_until_told

        asked = {"sflow": sflow, "netflow": netflow, "ipfix": ipfix}
        places = [(kind, text) for kind, texts in asked.items() for text in texts or ()]
        wish = Wish(
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
        listen_until_told(wish, lambda: _again(context, config))


def capture(
    interface: InterfaceArgument,
    out: OutOption = "-",
    rotate_rows: RowsOption = 500_000,
    rotate_seconds: SecondsOption = 60.0,
    name: Annotated[str | None, typer.Option(metavar="SWITCH", help="The switch whose mirror port this is.")] = None,
    expression: Annotated[
        str | None,
        typer.Option("--filter", metavar="EXPRESSION", help="What to capture, in tcpdump's language; it compiles it."),
    ] = None,
    roce_ends: Annotated[
        bool, typer.Option(help="RoCE alone, First, Last and Only packets: all that messages need, a fraction of the packets.")
    ] = False,
    promiscuous: Annotated[bool, typer.Option(help="Take frames for other hosts too, as a mirror port must.")] = True,
    buffer: RingOption = 64,
    active: ActiveOption = 10.0,
    wait: WaitOption = 1.0,
    metrics: MetricsOption = None,
    config: ConfigOption = None,  # noqa: ARG001 - its callback has done the work
) -> None:
    """Capture a mirror port and write flow records until SIGTERM. Needs CAP_NET_RAW and no other privilege."""
    from collectors.cli import complaints

    with complaints("prism-collect"):
        from collectors.capturing import Wish, capture_until_told

        wish = Wish(interface, out, rotate_rows, rotate_seconds, buffer << 20, active, wait, metrics)
        capture_until_told(wish, name=name, expression=expression, ends=roce_ends, promiscuous=promiscuous)


def erspan(
    context: typer.Context,
    interface: InterfaceArgument,
    out: OutOption = "-",
    rotate_rows: RowsOption = 500_000,
    rotate_seconds: SecondsOption = 60.0,
    switch: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=ADDRESS[/SESSION]", help="A switch by where it sends from; else its address names it."),
    ] = None,
    allow: AllowOption = None,
    allow_file: AllowFileOption = None,
    buffer: RingOption = 64,
    active: ActiveOption = 10.0,
    wait: WaitOption = 1.0,
    metrics: MetricsOption = None,
    config: ConfigOption = None,
) -> None:
    """Be the end point of switches' mirrors (ERSPAN, GRE) on an interface; write flow records until SIGTERM.

    A packet that several switches mirror counts once. Whoever can send GRE to this host can forge packets: name the
    switches with --allow. Needs CAP_NET_RAW and no other privilege.
    """
    from collectors.cli import complaints

    with complaints("prism-collect"):
        from collectors.capturing import Wish, receive_mirrors_until_told
        from collectors.live import allow_list

        def wanted() -> Any:
            known = {"allow": _listed(context, "allow", allow), "allow_file": allow_file} | _again(context, config)
            return allow_list(known["allow"], known["allow_file"])

        wish = Wish(interface, out, rotate_rows, rotate_seconds, buffer << 20, active, wait, metrics)
        receive_mirrors_until_told(wish, switch or (), wanted)


COMMANDS: dict[str, Callable[..., None]] = {"listen": listen, "capture": capture, "erspan": erspan}


def add_to(app: typer.Typer) -> None:
    """Give a program these commands."""
    for command in COMMANDS.values():
        app.command()(command)
