"""`prism open`, and the commands that ask a running service."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from collectors.cli import complaints, named_inputs

GLANCE = 0.1  # seconds

TopologyOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Which address is which host, rail and leaf: JSON, YAML or CSV.")
]


def open_(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Captures or flow records, as for prism replay.")],
    topology: TopologyOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="On loopback; 0 is any free one.")] = 8080,
    columns: Annotated[
        str | None, typer.Option(metavar="FILE", help="YAML: which column of other makers' tables is which of ours.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Replay captures or flow records and show them in a browser, until Ctrl-C."""
    with complaints("prism"):
        from dataclasses import replace
        from tempfile import TemporaryDirectory

        from collectors.compiling import announce
        from collectors.live import signals
        from prism.api.serving import served
        from prism.cli import _progress, _topology
        from prism.opening import opened
        from prism.uploads import Uploads

        announce("prism")
        inputs = named_inputs(files)
        placed = _topology(topology) if topology else None
        with _progress(quiet=quiet) as progress:
            service = opened(inputs, placed, progress, columns)
        with (
            signals() as asked,
            TemporaryDirectory(prefix="prism-") as spool,
            Uploads(spool) as uploads,
            served(replace(service, uploads=uploads), port=port) as at,
        ):
            typer.echo(f"http://127.0.0.1:{at}/")
            while not asked.stop.is_set():
                time.sleep(GLANCE)


def add_to(app: typer.Typer) -> None:
    """Give a program these commands."""
    app.command("open")(open_)
