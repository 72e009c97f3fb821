"""Read a command's options from `--config FILE`: a TOML table named after the command. The command line overrides it."""

from __future__ import annotations

from typing import Any

import typer


def config_option(program: str) -> Any:
    """Make the option for a command of `program`. Commands share a file; unknown options in it are refused."""

    def take(context: typer.Context, path: str | None) -> str | None:
        from collectors.cli.errors import report_errors

        if path is not None:
            with report_errors(program):
                context.default_map = settings_of(context, path)
        return path

    return typer.Option(
        metavar="FILE",
        is_eager=True,
        callback=take,
        help="Settings file (TOML): one table per command, one key per option, with _ for -.",
    )


def settings_of(context: typer.Context, path: str) -> dict[str, Any]:
    """Read the settings of a command from a file. Raises as `read_settings`."""
    from collectors.live.settings_files import read_settings

    commands: dict[str, Any] = getattr(context.parent.command, "commands", {}) if context.parent else {}
    known = {name: _options(command) for name, command in commands.items()}
    tables = {name: [one for one in options if one != "config"] for name, options in known.items() if "config" in options}
    return read_settings(path, context.info_name or "", tables)


def _options(command: Any) -> list[str]:
    return [one.name or "" for one in command.params if one.param_type_name == "option"]
