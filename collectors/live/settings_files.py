"""Read settings files of the live commands: TOML, a table per command whose keys are the command's options."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any


def read_settings(path: str | Path, command: str, tables: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Read the values of a command's table, by option name. `tables`: options of each command.

    Raises OSError for a missing file, ValueError with the file's name for invalid TOML, or an unknown table or key.
    """
    try:
        whole = tomllib.loads(Path(path).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    for name, table in whole.items():
        if name not in tables or not isinstance(table, dict):
            raise ValueError(f"{path}: unknown table [{name}]; known tables: {', '.join(sorted(tables))}")
        for key in table:
            if key not in tables[name]:
                raise ValueError(f"{path}: [{name}]: unknown key {key!r}; known keys: {', '.join(sorted(tables[name]))}")
    found: dict[str, Any] = whole.get(command, {})
    return found


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a list in a file, without blank ones and comments (#). Raises OSError, ValueError."""
    try:
        lines = [line.partition("#")[0].strip() for line in Path(path).read_text("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    return [line for line in lines if line]
