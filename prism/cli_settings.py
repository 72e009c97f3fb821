"""`--config FILE` for a command: its options by name, in a TOML table of its name. The command line goes before it."""

from __future__ import annotations

from typing import Annotated

import typer

from collectors.cli import complaints


def take(context: typer.Context, path: str | None) -> str | None:
    """Take the defaults of a command from a settings file. Keys that are no options of it are refused by name."""
    if path is not None:
        with complaints("prism"):
            from collectors.settings import read_settings

            command = context.info_name or ""
            options = [option.name or "" for option in context.command.params if option.name != "config"]
            context.default_map = read_settings(path, command, {command: options})
    return path


ConfigOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        is_eager=True,
        callback=take,
        help="Defaults for these options: TOML, in a table of the command's name, keys as the options with _ for -.",
    ),
]
