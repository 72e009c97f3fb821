"""Write the files of an upload to disk within the available space, under generated names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import IO


class FullError(Exception):
    """There is no space for another upload now."""


@dataclass
class Incoming:
    """An upload in progress: `add` its files, then pass it to `Uploads.start`."""

    id: str
    folder: Path
    room: int  # octets
    files: list[tuple[str, str]] = field(default_factory=list)  # uploaded name; generated name on disk
    logs: list[tuple[str, str]] = field(default_factory=list)  # the same for training logs

    def add(self, name: str, source: IO[bytes], *, at_once: int = 1 << 20) -> None:
        """Write a file. Raises FullError if it does not fit, OSError."""
        ours = f"{len(self.files)}{_ending(name)}"
        self._write(ours, source, at_once)
        self.files.append((_shown(name), ours))

    def add_log(self, name: str, source: IO[bytes], *, at_once: int = 1 << 20) -> None:
        """Write a training log. Its name keeps the last two folders, which may contain rank and host."""
        ours = f"log-{len(self.logs)}"
        self._write(ours, source, at_once)
        parts = [_shown(part) for part in name.replace("\\", "/").split("/")[-3:] if part.strip(". ")]
        self.logs.append(("/".join(parts) or "log", ours))

    def _write(self, ours: str, source: IO[bytes], at_once: int) -> None:
        with open(self.folder / ours, "xb") as file:
            while piece := source.read(at_once):
                self.room -= len(piece)
                if self.room < 0:
                    raise FullError("the upload does not fit into the free space of the spool; delete older uploads")
                file.write(piece)


def _ending(name: str) -> str:
    """Return the endings of a file name that define its format; no other part of it is used on disk."""
    from collectors.cli.file_arguments import ENDINGS

    kept = [ending for ending in Path(_shown(name).lower()).suffixes[-2:] if ending in ENDINGS]
    return "".join(kept)


def _shown(name: str) -> str:
    """Return the last part of a name, without unprintable characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable())[:100] or "upload"
