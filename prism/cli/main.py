"""The program `prism`, with `prism replay` and `prism simulate`. Modules are imported on use: help and errors are quick."""

from __future__ import annotations

import io
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collectors.cli import warm_command
from collectors.cli.commands import VersionOption
from collectors.cli.errors import report_errors, report_memory_errors
from collectors.cli.file_arguments import check_output, named_inputs
from collectors.cli.option_values import Commands, MemoryOption
from collectors.memory.allocator import keep_freed, reduce_collections
from collectors.memory.limit import MEMORY, memory_limit, without_limit
from prism.cli import alert_commands, machine_commands, service_commands, store_commands, watch_commands
from prism.cli import diagnose_command as past_command
from prism.cli import report_command as reports_command
from prism.cli.offline import counters_command, incident_command, logs_command, metrics_command, stacks_command
from prism.cli.offline.command_io import (
    html_page,
    progress_bars,
    read_bookings,
    read_earlier_jobs,
    read_hints,
    read_topology,
    show_diagnosis,
    write_text,
)

if TYPE_CHECKING:
    from collectors.columns.record import Flows


class Wrapping(StrEnum):
    """Encapsulation of written packets."""

    pcap = "pcap"
    erspan = "erspan"


HELP = "Detect LLM training jobs, their parallelism and what makes them slow, from network flows alone."
app = typer.Typer(
    cls=Commands,
    help=HELP,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(store_commands.app, name="store")


def main() -> None:
    """Run the program (console script)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × shows ?
    reduce_collections()
    with report_memory_errors("prism"):
        app()


@app.callback(help=HELP)
def options(version: VersionOption = False) -> None:
    """Options of the program itself."""


@app.command()
def replay(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Captures (pcap, pcapng) or flow records (CSV, JSON Lines, Parquet, nfdump, Zeek), plain, .gz or .zst. "
            "SWITCH=FILE names the switch; by default the file name is the switch name.",
        ),
    ],
    topology: Annotated[
        str | None, typer.Option(metavar="FILE", help="Host, rail and leaf of each address: JSON, YAML or CSV.")
    ] = None,
    hints: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Facts about the site and its jobs (JSON or YAML); see docs/context.md."),
    ] = None,
    jobs: watch_commands.JobsOption = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report (JSON); - for standard output.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write a Chrome trace for Perfetto; with FOLDER/ one per rank for HolisticTraceAnalysis."
        ),
    ] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write an HTML report that needs no network.")] = None,
    known: Annotated[
        str | None, typer.Option(metavar="FILE", help="Earlier report: jobs that it contains keep their names.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="FILE", help="Column mapping for tables of other tools (YAML); see docs/inputs.md.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="WHERE", help="Write the flow records to this store and analyse them from there.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of processes. Default: by the size of the input.")
    ] = None,
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Analyse on the workers of this Dask cluster, such as tcp://10.0.0.1:8786.")
    ] = "",
    memory: MemoryOption = MEMORY,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress bar and no warnings.")] = False,
) -> None:
    """Diagnose the training jobs in captures or flow dumps.

    Prints tables. Exit status: 0 with or without findings, 2 on bad input, 75 if the store cannot be reached.
    """
    with report_errors("prism") as undo:
        from collectors.compilation.startup import begin

        undo.enter_context(begin("prism", quiet=quiet))
        keep_freed()
        inputs = named_inputs(files)
        _check_outputs(inputs, json, trace, html)
        watch_commands.check_scheduler(scheduler)
        placed = read_topology(topology) if topology else None
        given = read_hints(hints) if hints else None
        bookings = read_bookings(jobs)

        earlier = read_earlier_jobs(known) if known else {}

        from collectors.formats.file_types import read_columns
        from prism.recordings.file_analysis import replay as run
        from prism.tracking.identity import renamed

        asked = read_columns(columns) if columns else None
        flows: list[Flows] = []

        def kept(records: Flows) -> Flows:
            if store:
                from prism.recordings.stored_replay import through

                with without_limit(memory):
                    records = through(store, records)
            flows.append(records)
            return records

        with progress_bars(quiet=quiet) as progress, memory_limit(memory, files):
            where = {"scheduler": scheduler, "store": store or ""}
            diagnosis = run(
                inputs, placed, progress, asked, keep=kept, processes=workers, hints=given, bookings=bookings, **where
            )
        diagnosis = renamed(diagnosis, earlier)
        if html:
            write_text(html, html_page(diagnosis, placed, flows[0], bookings))
        show_diagnosis(diagnosis, placed, json, trace, quiet=quiet, bookings=bookings)


def show_presets(asked: bool) -> None:
    """Print the presets and exit, if requested."""
    if asked:
        from prism.synth.scenario.presets import ABOUT

        typer.echo("\n".join(f"{name:14}{about}" for name, about in ABOUT.items()))
        raise typer.Exit


@app.command()
def simulate(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A preset (--list), or a YAML or JSON file.")],
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Output folder; it is created if necessary.")],
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Random seed; equal seeds give equal runs.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PLACE=VALUE", help="Change a value of the specification: jobs.0.dp=16."),
    ] = None,
    presets: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--list", callback=show_presets, is_eager=True, help="List the presets and exit.")
    ] = False,
    packets: Annotated[
        Wrapping | None, typer.Option(help="Write packets instead of flow records: plain, or in ERSPAN.")
    ] = None,
    ends_only: Annotated[
        bool, typer.Option("--ends-only", help="Write only the first and last packet of each RDMA message, as a filter would.")
    ] = False,
    snaplen: Annotated[int, typer.Option(metavar="OCTETS", min=120, max=9216, help="Octets to keep of each frame.")] = 128,
) -> None:
    """Write simulated training traffic with its topology and truth.

    FOLDER gets flows.csv.gz (with --packets a capture per switch, leaf0.pcap.gz …), topology.json and truth.json, for replay
    and for python -m benchmarks.accuracy.
    """
    with report_errors("prism"):
        from prism.recordings import simulated_runs as run

        asked = run.spec_of(spec, settings or ())
        if packets is None:
            typer.echo(f"{run.write(asked, folder, seed):,} flow records written to {folder}")
            return
        erspan = packets is Wrapping.erspan
        made = run.write_packets(asked, folder, seed, erspan=erspan, ends_only=ends_only, snaplen=snaplen)
        typer.echo(f"{made:,} packets written to {folder}")


def _check_outputs(inputs: list[tuple[str, str]], *outputs: str | None) -> None:
    from prism.report.trace_files import check_folder, is_folder

    named = [name for name in outputs if name and name != "-"]
    for name in named:
        (check_folder(name) if is_folder(name) else check_output(name, inputs))
        if [Path(other).resolve() for other in named].count(Path(name).resolve()) > 1:
            raise ValueError(f"{name}: is given for two outputs; --json, --trace and --html need different files")


for part in (
    machine_commands, service_commands, watch_commands, alert_commands, logs_command, stacks_command, counters_command,
    metrics_command, incident_command, past_command,
    reports_command,
):  # fmt: skip
    part.add_to(app)
app.command("warm")(warm_command.command("prism", ("collectors", "prism")))
