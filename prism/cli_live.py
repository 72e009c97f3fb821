"""`prism watch` and `prism serve`: the commands that run until they are told to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from collectors.cli import complaints, named_inputs

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
    columns: Annotated[
        str | None, typer.Option(metavar="FILE", help="YAML: which column of other makers' tables is which of ours.")
    ] = None,
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
        inputs = named_inputs(files)
        placed = _topology(topology) if topology else None
        asked = read_columns(columns) if columns else None
        for text in play_files(inputs, placed, speed=times, as_json=json, columns=asked):
            typer.echo(text)


def add_to(app: typer.Typer) -> None:
    """Give a program these commands."""
    for command in (watch,):
        app.command()(command)
