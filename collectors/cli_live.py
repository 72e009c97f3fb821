"""`prism-collect listen`, `capture` and `erspan`: the commands that run until they are told to stop."""

from __future__ import annotations

from typing import Annotated, Any

import typer

OutOption = Annotated[
    str, typer.Option("-o", "--out", metavar="FOLDER", help="Parquet files go here; - is standard output, as JSON Lines.")
]
RowsOption = Annotated[int, typer.Option(min=1, help="A file ends after so many records ...")]
SecondsOption = Annotated[float, typer.Option(min=0.1, help="... or when its first record has waited for so many seconds.")]
MetricsOption = Annotated[
    str | None, typer.Option(metavar="[ADDRESS:]PORT", help="Serve counters at /metrics there; loopback unless named.")
]


def _set_defaults(context: typer.Context, path: str | None) -> str | None:
    """Take the defaults of a command from a settings file."""
    from collectors.cli import complaints

    if path is not None:
        with complaints("prism-collect"):
            context.default_map = _settings(context.info_name or "", path)
    return path


def _settings(command: str, path: str) -> dict[str, Any]:
    from collectors.settings import read_settings

    options = typer.main.get_command(_app()).commands  # type: ignore[attr-defined]
    tables = {name: [p.name for p in options[name].params if p.name not in ("config", "interface")] for name in COMMANDS}
    return read_settings(path, command, tables)


def _app() -> typer.Typer:
    from collectors.cli import app

    return app


ConfigOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        is_eager=True,
        callback=_set_defaults,
        help="Defaults for these options: TOML, a table per command, keys as the options with _ for -.",
    ),
]
PlacesOption = Annotated[list[str] | None, typer.Option(metavar="[ADDRESS]:PORT")]


def listen(
    sflow: PlacesOption = None,
    netflow: PlacesOption = None,
    ipfix: PlacesOption = None,
    out: OutOption = "-",
    rotate_rows: RowsOption = 500_000,
    rotate_seconds: SecondsOption = 60.0,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Exporters to listen to; all, without this and a file."),
    ] = None,
    allow_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="More of them, one a line; none in it is none. SIGHUP reads it again.")
    ] = None,
    exporters: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many exporters at a time.")] = 1000,
    rate: Annotated[
        float | None, typer.Option(min=1, help="Datagrams per second of one exporter; what is kept stands for what is not.")
    ] = None,
    buffer: Annotated[int, typer.Option(min=1, max=1024, help="MiB of receive buffer to ask the kernel for.")] = 32,
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
            allow=allow,
            allow_file=allow_file,
            exporters=exporters,
            rate=rate,
            buffer=buffer << 20,
            metrics=metrics,
        )
        again = None if config is None else lambda: _settings("listen", config)
        listen_until_told(wish, again)


COMMANDS = {"listen": listen}


def add_to(app: typer.Typer) -> None:
    """Give a program these commands."""
    for command in COMMANDS.values():
        app.command()(command)
