"""What decoders should know again after a restart, in a file: JSON, replaced as a whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from collectors.files import written
from collectors.packet import DecodeError

MOST_OCTETS = 1 << 28


def save(path: str | Path, state: Any) -> None:
    """Write a plain value; the file has the old one or the new one, whatever happens. Raises OSError."""
    with written(str(path)) as name, open(name, "w", encoding="utf-8") as file:
        json.dump(state, file, separators=(",", ":"))
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the name outlives a power cut too
    finally:
        os.close(folder)


def load(path: str | Path) -> Any:
    """The value that was saved, None where there is no such file.

    Raises DecodeError, with the file, where it holds something else, OSError where it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            octets = file.read(MOST_OCTETS + 1)
    except FileNotFoundError:
        return None
    if len(octets) > MOST_OCTETS:
        raise DecodeError(f"{path}: too big for a state of templates")
    try:
        return json.loads(octets)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"{path}: not a state of templates: {error}") from None
