"""`prism watch` and `prism serve`: the long-running commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from collectors.cli.config_option import config_option
from collectors.cli.errors import report_errors
from collectors.cli.file_arguments import named_inputs
from collectors.cli.option_values import MemoryOption
from collectors.memory.limit import MEMORY, memory_limit

ConfigOption = Annotated[str | None, config_option("prism")]
TopologyOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Host, rail and leaf of each address: JSON, YAML or CSV.")
]

HintsOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Facts about the site and its jobs (JSON or YAML); see docs/context.md.")
]

JobsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Jobs of the scheduler: JSON of Slurm or of Kubernetes pods, a list of jobs, or sources to query; repeatable.",
    ),
]


def watch(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Captures or flow records of one run, as for prism replay.")
    ],
    replay: Annotated[bool, typer.Option("--replay", help="Play files as if their records arrived now.")],
    topology: TopologyOption = None,
    hints: HintsOption = None,
    speed: Annotated[str, typer.Option(metavar="NUMBER", help="Times the recorded speed; max for no delay.")] = "1",
    json: Annotated[bool, typer.Option("--json", help="Print changes of findings as JSON Lines.")] = False,
    store: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Write the records to this store first: clickhouse://user:password@host:port/database."
        ),
    ] = "",
    scheduler: Annotated[
        str,
        typer.Option(
            metavar="tcp://…", help="Analyse on the workers of this Dask cluster; with --store they read the records there."
        ),
    ] = "",
    columns: Annotated[
        str | None, typer.Option(metavar="FILE", help="Column mapping for tables of other tools (YAML); see docs/inputs.md.")
    ] = None,
    memory: MemoryOption = MEMORY,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no warnings.")] = False,
) -> None:
    """Play a recording through the live analysis.

    Prints findings when they open, change and close, at the speed of the recording.
    """
    with report_errors("prism") as undo:
        if not replay:
            raise ValueError("files need --replay")
        from collectors.compilation.startup import begin

        undo.enter_context(begin("prism", quiet=quiet))
        from collectors.formats.file_types import read_columns
        from prism.cli.offline.command_io import read_hints, read_topology
        from prism.recordings.live_replay import play_files, rate

        times = rate(speed)
        check_scheduler(scheduler)
        inputs = named_inputs(files)
        placed = read_topology(topology) if topology else None
        asked = read_columns(columns) if columns else None
        given: dict[str, Any] = {"as_json": json, "columns": asked, "store": store, "scheduler": scheduler}
        given["hints"] = read_hints(hints) if hints else None

        def warn(line: str) -> None:
            if not quiet:
                typer.echo(f"prism: {line}", err=True)

        with memory_limit(memory, files):
            for text in play_files(inputs, placed, speed=times, warn=warn, **given):
                typer.echo(text)


def serve(
    data: Annotated[
        str,
        typer.Option(metavar="FOLDER", help="Folder for records, jobs and findings, and for records that wait for a server."),
    ] = "prism-data",
    listen: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Receive exports: sflow://ADDRESS:PORT, netflow://… or ipfix://…; repeatable."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Use clickhouse://user:password@host:port/database instead of the store in the data folder."
        ),
    ] = None,
    topology: TopologyOption = None,
    hints: HintsOption = None,
    jobs: JobsOption = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Accept exports from this network only; repeatable. Default: from anywhere."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://…", help="Analyse on the workers of this Dask cluster."),
    ] = None,
    http: Annotated[
        str,
        typer.Option(
            metavar="[ADDRESS:]PORT", help="Serve pages and REST, on loopback unless an address is given; none to disable."
        ),
    ] = "8080",
    tokens: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Token file (prism token create); required to answer other hosts."),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Host name under which browsers reach this service; repeatable.")
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Network of proxies whose X-Forwarded headers are trusted; repeatable."),
    ] = None,
    alerts: Annotated[str | None, typer.Option(metavar="FILE", help="Alert settings (YAML), see deploy/alerts.yaml.")] = None,
    on_hang: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Command that collects stacks when a hang opens; see docs/logs.md."),
    ] = None,
    act: Annotated[
        bool, typer.Option("--act", help="Run the command of --on-hang. Default: only log what would be run.")
    ] = False,
    upload_seconds: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Time limit of the replay of an upload.")
    ] = 900,
    upload_memory: Annotated[
        int, typer.Option(min=256, metavar="MIB", help="Memory limit of the replay of an upload.")
    ] = MEMORY,
    perfetto: Annotated[
        str | None, typer.Option(metavar="URL", help="Perfetto that pages open traces in; without, traces are downloaded.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print changes of findings as JSON Lines.")] = False,
    config: ConfigOption = None,  # noqa: ARG001 - its callback has done the work
) -> None:
    """Collect, store and analyse flow records until SIGTERM.

    Also serves pages and REST, and sends alerts.
    Without --listen, analyse the records that collectors elsewhere write to the store.
    """
    with report_errors("prism"):
        from collectors.operations import logs
        from prism.api.server.web_server import ServerRequest as Pages
        from prism.app.booking_sources import Names, origins
        from prism.app.serve import ServeOptions, Shown, made, place
        from prism.app.serve import serve as run
        from prism.app.service_outputs import to_all
        from prism.app.store_status import folder as noted_in
        from prism.cli.offline.command_io import read_hints, read_topology
        from prism.past.uploads import Bounds
        from prism.stacks.stack_collection import acting, command_of

        for text in listen or ():
            place(text)
        check_scheduler(scheduler or "")
        logs.start()
        folder = made(data)
        placed = read_topology(topology) if topology else None
        known = read_hints(hints) if hints else None
        where = store or str(folder / "store")
        names = Names(origins(jobs)) if jobs else None
        wish = ServeOptions(where, folder / "spool", listen or (), placed, known, allow, scheduler=scheduler or "", names=names)
        bounds = Bounds(seconds=upload_seconds, memory=upload_memory << 20)
        pages = None if http == "none" else Pages(http, tokens, folder / "uploads", proxy or (), name or (), bounds)
        shown: list[Shown] = [to_all(pages, alerts, noted_in(wish.store, folder), perfetto=perfetto or "")]
        if on_hang is not None:
            command_of(on_hang)
            command, stacks, dry = on_hang, folder / "stacks", not act
            shown.append(lambda parts: acting(lambda r, s: parts.watch.boards.after(r, timeout_s=s), command, stacks, dry=dry))
        run(wish, shown=shown, on_line=typer.echo, as_json=json)


def check_scheduler(address: str) -> None:
    """Check the address of a scheduler early, if one is given. Raises ValueError."""
    if address:
        from prism.workers.worker_cluster import checked

        checked(address)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (watch, serve):
        app.command()(command)
