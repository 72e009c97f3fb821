"""`prism watch` and `prism serve`: the commands that run until they are told to stop."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from collectors.cli import complaints, named_inputs
from collectors.cli_settings import config_option

ConfigOption = Annotated[str | None, config_option("prism")]
TopologyOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Which address is which host, rail and leaf: JSON, YAML or CSV.")
]


def watch(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Captures or dumps, all of one run, as in replay.")],
    replay: Annotated[bool, typer.Option("--replay", help="Play files as if their records came in now.")],
    topology: TopologyOption = None,
    speed: Annotated[
        str, typer.Option(metavar="NUMBER", help="How many times as fast as it was recorded; max is as fast as can be.")
    ] = "1",
    json: Annotated[bool, typer.Option("--json", help="What opens, is updated and closes as JSON Lines.")] = False,
    store: Annotated[
        str, typer.Option(metavar="URL", help="Put the records there first: clickhouse://user:password@host:port/database.")
    ] = "",
    scheduler: Annotated[
        str,
        typer.Option(metavar="tcp://…", help="Dask's workers look at one job each; with --store they read its records there."),
    ] = "",
    columns: Annotated[
        str | None, typer.Option(metavar="FILE", help="YAML: which column of other makers' tables is which of ours.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No warnings on stderr.")] = False,
) -> None:
    """Play a recording by its own clock through the live analysis, and tell what opens, is updated and closes, when it does."""
    with complaints("prism"):
        if not replay:
            raise ValueError("say --replay to play files")
        from collectors.compiling import announce

        announce("prism")
        from collectors.inputs import read_columns
        from prism.cli import _topology
        from prism.live import play_files, rate

        times = rate(speed)
        check_scheduler(scheduler)
        inputs = named_inputs(files)
        placed = _topology(topology) if topology else None
        asked = read_columns(columns) if columns else None
        given: dict[str, Any] = {"as_json": json, "columns": asked, "store": store, "scheduler": scheduler}

        def warn(line: str) -> None:
            if not quiet:
                typer.echo(f"prism: {line}", err=True)

        for text in play_files(inputs, placed, speed=times, warn=warn, **given):
            typer.echo(text)


def serve(
    data: Annotated[
        str, typer.Option(metavar="FOLDER", help="Records, jobs and cases are kept there, and what waits for a server.")
    ] = "prism-data",
    listen: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Collect there: sflow://ADDRESS:PORT, netflow://… or ipfix://…; as often as wanted."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="clickhouse://user:password@host:port/database instead of the store in the folder."),
    ] = None,
    topology: TopologyOption = None,
    allow: Annotated[list[str] | None, typer.Option(metavar="CIDR", help="Which exporters to listen to; all, without.")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://…", help="Dask's workers look at one job each, without --listen from the store."),
    ] = None,
    http: Annotated[
        str, typer.Option(metavar="[ADDRESS:]PORT", help="Pages and REST there, on loopback unless named; none for none.")
    ] = "8080",
    tokens: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Who may ask (prism token create); needed to answer others than this host."),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="What browsers call this service, beside localhost.")
    ] = None,
    proxy: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="Proxies whose X-Forwarded headers are believed.")
    ] = None,
    alerts: Annotated[str | None, typer.Option(metavar="FILE", help="Whom to tell, when and how (deploy/alerts.yaml).")] = None,
    json: Annotated[bool, typer.Option("--json", help="What opens, is updated and closes as JSON Lines.")] = False,
    config: ConfigOption = None,  # noqa: ARG001 - its callback has done the work
) -> None:
    """Collect, keep, analyse and tell, in one process, until SIGTERM.

    Without --listen, the records that others keep in the store are analysed.
    """
    with complaints("prism"):
        from collectors import logs
        from collectors.compiling import announce
        from prism.api.serving import Wish as Pages
        from prism.cli import _topology
        from prism.serve import Wish, made, place
        from prism.serve import serve as run
        from prism.showing import to_all

        for text in listen or ():
            place(text)
        check_scheduler(scheduler or "")
        announce("prism")
        logs.start()
        folder = made(data)
        placed = _topology(topology) if topology else None
        wish = Wish(store or str(folder / "store"), folder / "spool", listen or (), placed, allow, scheduler=scheduler or "")
        pages = None if http == "none" else Pages(http, tokens, folder / "uploads", proxy or (), name or ())
        run(wish, shown=[to_all(pages, alerts)], tell=typer.echo, as_json=json)


def check_scheduler(address: str) -> None:
    """Say at once that there can be no scheduler at an address, where one was given."""
    if address:
        from prism.scheduling import checked

        checked(address)


def add_to(app: typer.Typer) -> None:
    """Give a program these commands."""
    for command in (watch, serve):
        app.command()(command)
