"""Check the input and output files of a command before it starts to work. Both command lines use it."""

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
}  # of files, not of switches' names


def named_inputs(files: Sequence[str]) -> list[tuple[str, str]]:
    """Switch name and path of each FILE or SWITCH=FILE; a path that exists is a path, whatever it contains; - is stdin.

    Raises ValueError where a name is empty or stands for two files, OSError where a file cannot be read.
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
    """What cannot be read is told before a long run begins. Nothing is opened: a pipe opens once."""
    if path == "-":
        return
    if not os.access(path, os.R_OK):
        os.stat(path)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def stem(path: str) -> str:
    """What a file's name says of the switch that saw it: the name without its endings."""
    name = Path("stdin" if path == "-" else path)
    while name.suffix.lower() in ENDINGS and name.stem:
        name = Path(name.stem)
    return name.name


def check_output(path: str, inputs: Sequence[tuple[str, str]]) -> None:
    """Raises ValueError where a file could not be written, or is one of the inputs, before any work is done."""
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not target.parent.is_dir():
        raise ValueError(f"{path}: the folder {target.parent} does not exist; create it first")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(f"{path}: permission denied for writing")
    if target.exists() and any(target.samefile(read) for _, read in inputs if read != "-"):
        raise ValueError(f"{path}: is one of the inputs; choose another output file")
