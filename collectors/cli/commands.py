"""The program `prism-collect`: its commands and its options. It imports nothing of `prism`."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from collectors.cli import file_commands, live_commands, warm_command
from collectors.cli.errors import report_memory_errors
from collectors.cli.option_values import Commands

HELP = "Collect flow records: from captures, mirror ports, flow exports, and files of other tools."
app = typer.Typer(
    cls=Commands,
    help=HELP,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(asked: bool) -> None:
    """Print the program's name and version and exit, if requested."""
    if asked:
        typer.echo(f"{Path(sys.argv[0]).name} {version('llm-prism')}")
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
]


def main() -> None:
    """Run the program (console script)."""
    with report_memory_errors("prism-collect"):
        app()


@app.callback(help=HELP)
def options(version: VersionOption = False) -> None:
    """Options of the program itself."""


file_commands.add_to(app)
live_commands.add_to(app)
app.command("warm")(warm_command.command("prism-collect", ("collectors",)))
