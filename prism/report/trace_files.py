"""Write traces: one file for Perfetto, or a folder per job with a file per rank, as PyTorch does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from collectors.files.atomic_files import atomic_path
from prism.model import Diagnosis
from prism.report import _kineto as kineto
from prism.report import chrome_trace
from prism.topology import Topology


def is_folder(path: str) -> bool:
    """Check whether the path of a trace is a folder, by existence or by its end."""
    return path.endswith("/") or Path(path).is_dir()


def check_folder(path: str) -> None:
    """Check early that a folder can be written. Raises ValueError if not."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{path}: is a file; name a folder")
    if not target.parent.is_dir():
        raise ValueError(f"{path}: the folder {target.parent} does not exist; create it first")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(f"{path}: permission denied for writing")


def write(path: str, diagnosis: Diagnosis, topology: Topology | None = None) -> Sequence[str]:
    """Write the trace to a file or folder; return the jobs without a trace. Raises OSError."""
    if not is_folder(path):
        _write(path, chrome_trace.dumps(diagnosis, topology))
        return ()
    without = []
    for found in diagnosis.jobs:
        folder = Path(path) / f"job-{quote(found.job.id, safe='')}"  # a name may come from another report
        names = set()
        for name, text in kineto.files(found):
            folder.mkdir(parents=True, exist_ok=True)
            _write(str(folder / name), text)
            names.add(name)
        for old in folder.glob("rank*.json"):  # readers of the folder use all files in it
            if old.name not in names:
                old.unlink()
        if not names:
            without.append(f"job {found.job.id}: no steps were detected, so no trace of its ranks is written")
    return without


def _write(path: str, text: str) -> None:
    with atomic_path(path) as name:
        Path(name).write_text(text, encoding="utf-8")
