"""Where traces go: to a file for Perfetto, or to a folder with a folder per job and a file per rank, as PyTorch has them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from collectors.files.atomic_files import written
from prism.model import Diagnosis
from prism.report import chrome_trace, kineto
from prism.topology import Topology


def is_folder(path: str) -> bool:
    """Whether a trace goes to a folder: it is one, or ends as one."""
    return path.endswith("/") or Path(path).is_dir()


def check_folder(path: str) -> None:
    """Raises ValueError where a folder could not be written to, before any work is done."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{path}: is a file; name a folder")
    if not target.parent.is_dir():
        raise ValueError(f"{path}: the folder {target.parent} does not exist; create it first")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(f"{path}: permission denied for writing")


def write(path: str, diagnosis: Diagnosis, topology: Topology | None = None) -> Sequence[str]:
    """Write the trace to a file or folder; says of which jobs there is none. Raises OSError."""
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
        for old in folder.glob("rank*.json"):  # whoever reads the folder takes all that is in it for one job
            if old.name not in names:
                old.unlink()
        if not names:
            without.append(f"job {found.job.id}: no steps were detected, so no trace of its ranks is written")
    return without


def _write(path: str, text: str) -> None:
    with written(path) as name:
        Path(name).write_text(text, encoding="utf-8")
