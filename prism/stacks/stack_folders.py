"""Read the stack dumps and Flight Recorder dumps of a folder, and the groups of a report."""

from __future__ import annotations

import gzip
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from prism.logs.parsing.line_prefixes import of_path
from prism.stacks import flight_recorder
from prism.stacks.eviction import RankGroup
from prism.stacks.flight_recorder import Recording
from prism.stacks.stack_dumps import Dump, parse

LARGEST = 64 << 20  # maximum octets of a text
FILES = 200_000


@dataclass(frozen=True)
class Collected:
    """Contents of a folder. `skipped`: files that are no dumps, with the reason."""

    dumps: tuple[Dump, ...]
    recordings: tuple[Recording, ...]
    skipped: tuple[str, ...]
    hosts: dict[int, str]


def read(folder: str) -> Collected:
    """Read a folder. Raises OSError if it cannot be read, ValueError if it holds no dump."""
    paths = sorted(
        os.path.join(at, name) for at, _, names in os.walk(folder, onerror=_fail) for name in names if not name.startswith(".")
    )
    if len(paths) > FILES:
        raise ValueError(f"{folder}: more than {FILES:,} files")
    dumps: list[Dump] = []
    recordings: list[Recording] = []
    skipped: list[str] = []
    hosts: dict[int, str] = {}
    for path in paths:
        name = os.path.relpath(path, folder)
        rank, host = _who(name)
        try:
            one = _read(path, name, rank)
        except ValueError as error:
            skipped.append(str(error))
            continue
        if one is None:
            skipped.append(f"{name}: no stack dump and no Flight Recorder dump")
            continue
        if host and one.rank is not None:
            hosts[one.rank] = host
        if isinstance(one, Dump):
            dumps.append(one)
        else:
            recordings.append(one)
    if not dumps and not recordings:
        why = f" ({skipped[0]})" if skipped else ""
        raise ValueError(f"{folder}: no stack dumps of py-spy or faulthandler and no Flight Recorder dumps{why}")
    return Collected(tuple(dumps), tuple(recordings), tuple(skipped), hosts)


def _fail(error: OSError) -> None:
    raise error


def _who(name: str) -> tuple[int | None, str]:
    rank, host = of_path(name)
    if rank is None:  # nccl_trace_rank_3, fr_dump_3, stack.3.txt, 3.pyspy
        numbers = re.findall(r"(?<![\w.])(\d{1,7})(?![\w])|[_.-](\d{1,7})(?=[_.-]|$)", os.path.basename(name))
        rank = int(next(filter(None, numbers[-1]))) if numbers else None
    return rank, host


def _read(path: str, name: str, rank: int | None) -> Dump | Recording | None:
    if os.path.getsize(path) > LARGEST:
        raise ValueError(f"{name}: more than {LARGEST >> 20} MiB")
    data = Path(path).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path) as stream:
                data = stream.read(LARGEST)
        except (OSError, EOFError):
            raise ValueError(f"{name}: damaged gzip") from None
    found = flight_recorder.parse(data, name, rank)
    return found if found is not None else parse(data.decode("utf-8", "replace"), name, rank)


def groups_of(report: str) -> tuple[list[RankGroup], dict[int, str]]:
    """Groups and addresses of the first job of a prism-report/1; rank i is the i-th endpoint. Raises ValueError."""
    try:
        document = json.loads(Path(report).read_text(encoding="utf-8"))
        [job, *_] = document["jobs"]
        places = {address: rank for rank, address in enumerate(job["endpoints"])}
        groups = [RankGroup(str(one["kind"]), tuple(places[own] for own in one["members"])) for one in job["groups"]]
    except (ValueError, KeyError, TypeError, UnicodeDecodeError, RecursionError):
        raise ValueError(f"{report}: not a report of prism replay --json with a job") from None
    return groups, {rank: address for address, rank in places.items()}
