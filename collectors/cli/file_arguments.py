"""Check the input and output files of a command before it starts. Both command lines use it."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

ENDINGS = {
    ".gz",
    ".zst",
    ".pcap",
    ".pcapng",
    ".cap",
    ".csv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".parquet",
    ".log",
    ".tsv",
}  # suffixes that do not belong to a switch's name


def named_inputs(files: Sequence[str]) -> list[tuple[str, str]]:
    """Split each FILE or SWITCH=FILE into switch name and path; an existing path is a path, whatever it contains; - is stdin.

    Raises ValueError for an empty name or one name for two files, OSError for an unreadable file.
    """
    named: dict[str, str] = {}
    for file in files:
        switch, equals, path = file.partition("=")
        if not equals or Path(file).exists():
            switch, path = stem(file), file
        if not switch:
            raise ValueError(f"{file}: the switch name before = is missing; write SWITCH=FILE")
        if switch in named:
            hint = f"name the switches: {switch}={named[switch]} OTHER={path}"
            raise ValueError(f"{named[switch]} and {path}: both belong to switch {switch!r}; {hint}")
        _check_readable(path)
        named[switch] = path
    return list(named.items())


def _check_readable(path: str) -> None:
    """Check early that a file can be read. Does not open it, because a pipe opens only once."""
    if path == "-":
        return
    if not os.access(path, os.R_OK):
        os.stat(path)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def stem(path: str) -> str:
    """Derive the switch name from a file's name: without its suffixes."""
    name = Path("stdin" if path == "-" else path)
    while name.suffix.lower() in ENDINGS and name.stem:
        name = Path(name.stem)
    return name.name


def check_output(path: str, inputs: Sequence[tuple[str, str]]) -> None:
    """Check early that an output file can be written and is no input. Raises ValueError."""
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not target.parent.is_dir():
        raise ValueError(f"{path}: the folder {target.parent} does not exist; create it first")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(f"{path}: permission denied for writing")
    if target.exists() and any(target.samefile(read) for _, read in inputs if read != "-"):
        raise ValueError(f"{path}: is one of the inputs; choose another output file")
