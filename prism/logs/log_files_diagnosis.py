"""Read and diagnose the logs in files and folders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from prism.logs.log_reader import list_files, read
from prism.logs.parsing.line_prefixes import of_path
from prism.logs.parsing.log_scanner import Kinds, Scanner, scan
from prism.logs.patterns.healthy_lines import Healthy
from prism.logs.patterns.log_diagnosis import LogDiagnosis, diagnose


def scan_files(paths: Sequence[str]) -> list[Scanner]:
    """Scan each file with its own scanner; names are relative to the common folder."""
    found = list_files(paths)
    kinds = Kinds()
    base = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in found]) if found else ""
    out = []
    for path in found:
        name = os.path.relpath(os.path.abspath(path), base)
        rank, host = of_path(name)
        out.append(scan(name, read(path), kinds, rank=rank, host=host))
    return out


def scan_named(named: Sequence[tuple[str, str]]) -> list[Scanner]:
    """Scan files that have other names on disk: pairs of name (may contain rank and host) and path."""
    kinds = Kinds()
    places = [(name, path, *of_path(name)) for name, path in named]
    return [scan(name, read(path), kinds, rank=rank, host=host) for name, path, rank, host in places]


def scanner_of(path: str, name: str, kinds: Kinds) -> Scanner:
    """Make an empty scanner for a growing file."""
    rank, host = of_path(path)
    return Scanner(name, kinds, rank=rank, host=host)


def diagnose_files(
    paths: Sequence[str], *, healthy: Healthy | None = None, addresses: Mapping[str, str] | None = None
) -> LogDiagnosis:
    """Read and diagnose the logs of one run."""
    return diagnose(scan_files(paths), healthy=healthy, addresses=addresses)
