"""`prism-collect flows`, `convert` and `inspect`: the commands on files."""

from __future__ import annotations

import re
from typing import Annotated

import typer

DUMP = re.compile(r"\.((csv|jsonl|ndjson)(\.gz|\.zst)?|parquet)$", re.IGNORECASE)
FORMS = "a dump's name ends in .csv or .jsonl, and .gz or .zst after it, or in .parquet"
ColumnsOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="YAML: which column of other makers' tables is which of ours; see the README."),
]


def flows(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Captures (pcap, pcapng; .gz, .zst), one per switch: FILE or SWITCH=FILE."),
    ],
    out: Annotated[str, typer.Option("-o", "--out", metavar="FILE", help=f"The dump: {FORMS.partition(' ends ')[2]}.")],
) -> None:
    """Write the flow records of captures as a dump, which `prism replay` reads. What was left out is told on stderr."""
    _convert(files, out, None)


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="Captures (pcap, pcapng) of traffic or of exports (NetFlow, IPFIX, sFlow), IPFIX files, CSV, JSON Lines, "
            "Parquet, nfdump's CSV or JSON, Zeek's conn.log; all but Parquet plain, .gz or .zst. "
            "SWITCH=FILE names the switch of what names none; else the file's name does.",
        ),
    ],
    out: Annotated[str, typer.Argument(metavar="OUT", help=f"The dump: {FORMS.partition(' ends ')[2]}.")],
    columns: ColumnsOption = None,
) -> None:
    """Write what files hold as one dump of flow records. What was left out is told on stderr."""
    _convert(files, out, columns)


def _convert(files: list[str], out: str, columns: str | None) -> None:
    from collectors.cli import check_output, complaints, named_inputs, written

    with complaints("prism-collect"):
        inputs = named_inputs(files)
        check_output(out, inputs)
        if not DUMP.search(out):
            raise ValueError(f"{out}: {FORMS}")

        from collectors.converting import convert as run
        from collectors.inputs import read_columns

        asked = read_columns(columns) if columns else None
        with written(out) as path:
            done = run(inputs, path, asked)
        for warning in done.warnings:
            typer.echo(f"prism-collect: {warning}", err=True)
        read = f"{done.packets:,} packets became " if done.packets else ""
        typer.echo(f"{read}{done.written:,} flow records", err=True)
        for reason, n in done.skipped.items():
            typer.echo(f"{reason}: {n:,}", err=True)


def inspect(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A capture of any kind tshark opens, or a file of flow records.")],
    packets: Annotated[
        int, typer.Option("--packets", metavar="N", min=1, help="Look at so many packets (or records) from the start.")
    ] = 2_000,
) -> None:
    """Say what is in a file: link types, protocols, what Prism would use of it and what not, who talks, and hints.

    Needs pyshark (the extra `inspect`) and tshark for captures, and takes about a second per thousand packets.
    """
    from collectors.cli import complaints, named_inputs

    with complaints("prism-collect"):
        if file == "-":
            raise ValueError("standard input cannot be inspected: name a file")
        named_inputs([file])

        from collectors import inputs, inspecting, showing

        kind = inputs.kind(file, dissected=True)
        if kind not in (inputs.Kind.capture, inputs.Kind.exports):
            showing.show_records(file, kind, inspecting.read_records(file, kind, packets), showing.console())
            return
        seen = inspecting.dissect(file, packets)
        decoded = inspecting.decode(file, packets)
        showing.show_capture(file, seen, decoded, inspecting.hints(seen, decoded), showing.console(), most=packets)


def add_to(app: typer.Typer) -> None:
    """Make these commands those of a program."""
    app.command()(flows)
    app.command()(convert)
    app.command()(inspect)
