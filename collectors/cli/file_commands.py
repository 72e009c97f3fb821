"""The commands on files: `prism-collect flows`, `convert` and `inspect`."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from collectors.cli.option_values import MemoryOption
from collectors.memory.limit import MEMORY, memory_limit

DUMP = re.compile(r"(\.((csv|jsonl|ndjson)(\.gz|\.zst)?|parquet|arrow|nfdump)|nfcapd\.\d{8,14})$", re.IGNORECASE)
FORMS = "the name of a dump ends in .csv or .jsonl (plain, .gz, .zst), .parquet, .arrow (Arrow IPC), or .nfdump (for nfdump -r)"
ColumnsOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Column mapping for tables of other tools (YAML); see docs/inputs.md."),
]


def flows(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Captures (pcap, pcapng; plain, .gz, .zst), one per switch: FILE or SWITCH=FILE."),
    ],
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="FILE", help=f"Output file; its name ends {FORMS.partition(' ends ')[2]}.")
    ],
    memory: MemoryOption = MEMORY,
) -> None:
    """Write the flow records of captures to a dump for `prism replay`. Counts of skipped packets go to standard error."""
    _convert(files, out, None, memory)


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="Captures (pcap, pcapng) of traffic or of exports (NetFlow, IPFIX, sFlow), IPFIX files, CSV, JSON Lines, "
            "Parquet, CSV or JSON of nfdump, conn.log of Zeek; all but Parquet plain, .gz or .zst. "
            "SWITCH=FILE names the switch; by default the file name is the switch name.",
        ),
    ],
    out: Annotated[str, typer.Argument(metavar="OUT", help=f"Output file; its name ends {FORMS.partition(' ends ')[2]}.")],
    columns: ColumnsOption = None,
    memory: MemoryOption = MEMORY,
) -> None:
    """Convert files to one dump of flow records. Counts of skipped packets and records go to standard error."""
    _convert(files, out, columns, memory)


def _convert(files: list[str], out: str, columns: str | None, memory: int) -> None:
    from collectors.cli.errors import report_errors
    from collectors.cli.file_arguments import check_output, named_inputs
    from collectors.files.atomic_files import atomic_path

    with report_errors("prism-collect") as undo:
        inputs = named_inputs(files)
        check_output(out, inputs)
        if not DUMP.search(out):
            raise ValueError(f"{out}: {FORMS}")

        from collectors.cli.conversion import convert as run
        from collectors.compilation.startup import begin
        from collectors.formats.file_types import read_columns

        undo.enter_context(begin("prism-collect", packages=("collectors",)))
        asked = read_columns(columns) if columns else None
        with atomic_path(out) as path, memory_limit(memory, files):
            done = run(inputs, path, asked)
        for warning in done.warnings:
            typer.echo(f"prism-collect: {warning}", err=True)
        read = f" from {done.packets:,} packets" if done.packets else ""
        typer.echo(f"wrote {done.written:,} flow records{read}", err=True)
        for reason, n in done.skipped.items():
            typer.echo(f"skipped: {reason}: {n:,}", err=True)


def inspect(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A capture in any format that tshark opens, or a file of flow records.")
    ],
    packets: Annotated[
        int, typer.Option("--packets", metavar="N", min=1, help="Number of packets (or records) to read from the start.")
    ] = 2_000,
    memory: MemoryOption = MEMORY,
) -> None:
    """Show what a file contains.

    Link types, protocols, what Prism uses and skips, top talkers, and hints.

    Captures need pyshark (the extra `inspect`) and tshark, and take about one second per 1,000 packets.
    """
    from collectors.cli.errors import report_errors
    from collectors.cli.file_arguments import named_inputs

    with report_errors("prism-collect"):
        if file == "-":
            raise ValueError("-: standard input cannot be inspected; name a file")
        named_inputs([file])

        from collectors.cli import _inspection_view, inspection
        from collectors.formats import file_types as inputs

        with memory_limit(memory, [file]):
            kind = inputs.recognise_file(file, dissected=True)
            if kind not in (inputs.Kind.capture, inputs.Kind.exports):
                _inspection_view.show_records(
                    file, kind, inspection.read_records(file, kind, packets), _inspection_view.console()
                )
                return
            seen = inspection.dissect(file, packets)
            decoded = inspection.decode(file, packets)
            _inspection_view.show_capture(
                file, seen, decoded, inspection.hints(seen, decoded), _inspection_view.console(), max_packets=packets
            )


def add_to(app: typer.Typer) -> None:
    """Add these commands to a program."""
    app.command()(flows)
    app.command()(convert)
    app.command()(inspect)
