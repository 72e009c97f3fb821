"""Save the templates that decoders need after a restart in a JSON file, atomically."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from collectors.files.atomic_files import atomic_path
from collectors.packets.plain_decoder import DecodeError

MOST_OCTETS = 1 << 28


def save(path: str | Path, state: Any) -> None:
    """Write a plain value. The file holds the old or the new value, also after a crash. Raises OSError."""
    with atomic_path(str(path)) as name, open(name, "w", encoding="utf-8") as file:
        json.dump(state, file, separators=(",", ":"))
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the name survives a power cut too
    finally:
        os.close(folder)


def load(path: str | Path) -> Any:
    """Read the saved value; None if the file does not exist.

    Raises DecodeError, with the file, for other content, and OSError if it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            octets = file.read(MOST_OCTETS + 1)
    except FileNotFoundError:
        return None
    if len(octets) > MOST_OCTETS:
        raise DecodeError(
            f"{path}: larger than {MOST_OCTETS >> 20} MiB, so not a file of templates; remove it to start without templates"
        )
    try:
        return json.loads(octets)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"{path}: not a file of templates ({error}); remove it to start without templates") from None
