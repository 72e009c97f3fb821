"""Replay an upload in its own process: `python -m prism.app.upload_worker FOLDER MEMORY OCTETS`, started by `uploads`.

Writes progress to standard output, one JSON object per line {stage, done, total}, or {error}.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.compilation.compiled import be_patient
from collectors.memory.limit import TooMuchError, memory_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collectors.columns.record import Flows
    from prism.tracking.board import Board

ASKED = "asked.json"  # in the folder: the uploaded files, under their names and ours, and the topology
NICE = 10
OFTEN_S = 0.1  # minimum time between two progress lines, s


def main(folder: str, memory: str, octets: str) -> int:
    """Replay the files named in FOLDER/asked.json into FOLDER/board. Returns 0, or 2 if they cannot be read."""
    for what, most in ((resource.RLIMIT_FSIZE, int(octets)), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard),) * 2)
    os.nice(NICE)
    with suppress(OSError):
        # If memory runs out, this process ends and not the service.
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    be_patient()
    # Import before memory is limited: BLAS waits for ever if it gets none while it is loaded.
    import prism.app.recorded_service  # noqa: F401

    try:
        with memory_limit(int(memory) >> 20, setting="--upload-memory"):
            replay(Path(folder))
    except TooMuchError as error:
        return _failed(str(error))
    except (ValueError, OSError) as error:
        text = str(error) if isinstance(error, ValueError) else error.strerror or str(error)
        return _failed(shown(text, Path(folder)))
    return 0


def shown(text: str, folder: Path) -> str:
    """Replace paths on disk by the names of the uploaded files in a message."""
    request = json.loads((folder / ASKED).read_text("utf-8"))
    for name, ours in sorted([*request["files"], *request.get("logs", ())], key=lambda one: -len(one[1])):
        text = text.replace(str(folder / ours), name)
    return text.replace(f"{folder}/", "")


def _failed(text: str) -> int:
    _write({"error": " ".join(text.split())[:1000]})
    return 2


def replay(folder: Path) -> None:
    """Replay the files named in FOLDER/asked.json into FOLDER/board. Raises as `file_analysis.replay`."""
    request = json.loads((folder / ASKED).read_text("utf-8"))
    names = {str(folder / ours): shown for shown, ours in request["files"]}
    inputs = _named(names)

    from prism import topology
    from prism.app.recorded_service import replayed
    from prism.inventory import bookings, operator_hints
    from prism.storage import board_files

    placed = topology.parse(request["topology"], "topology") if request["topology"] else None
    given = operator_hints.parse(request["hints"], "hints") if request.get("hints") else None
    jobs = bookings.parse(request["jobs"], "jobs.json") if request.get("jobs") else ()
    board, flows = replayed(inputs, placed, _Progress().report, hints=given, bookings=jobs)
    source = replace(board.source, files=tuple(names.get(path, path) for path in board.source.files))
    if request.get("logs"):
        _write({"stage": "logs", "done": 0, "total": len(request["logs"])})
        (folder / "incident.json").write_text(incident(folder, request["logs"], board, flows), "utf-8")
    board_files.save(folder / "board", replace(board, source=source), flows)


def incident(folder: Path, logs: Sequence[tuple[str, str]], board: Board, flows: Flows) -> str:
    """Combine the diagnoses of logs and flows; JSON."""
    from prism.incidents.incident import join_incident
    from prism.incidents.incident_report import document
    from prism.logs.log_files_diagnosis import scan_named
    from prism.logs.patterns.log_diagnosis import diagnose
    from prism.model import Diagnosis

    placed = board.topology.endpoints if board.topology is not None else {}
    addresses = {address: one.host for address, one in placed.items() if one.host}
    diagnosis = diagnose(scan_named([(name, str(folder / ours)) for name, ours in logs]), addresses=addresses)
    jobs, findings = tuple(one.found for one in board.jobs), tuple(case.finding for case in board.cases)
    own = join_incident(diagnosis, Diagnosis(board.source, jobs, findings, board.unexplained), flows, board.topology)
    return json.dumps(document(own))


class _Progress:
    """Report progress, at most every `OFTEN_S`."""

    def __init__(self) -> None:
        self._stage, self._next = "", 0.0

    def report(self, stage: str, done: int, total: int) -> None:
        """Report progress if it is due or a stage begins."""
        now = time.monotonic()
        if stage != self._stage or now >= self._next:
            self._stage, self._next = stage, now + OFTEN_S
            _write({"stage": stage, "done": done, "total": total})


def _write(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _named(names: dict[str, str]) -> list[tuple[str, str]]:
    """Return the switch of each file, from its uploaded name. Raises ValueError if two files have the same switch."""
    from collectors.cli.file_arguments import stem

    seen: dict[str, str] = {}
    for shown in names.values():
        switch = stem(shown)
        if switch in seen:
            raise ValueError(
                f"{seen[switch]} and {shown}: both belong to switch {switch!r}; name the files after their switches"
            )
        seen[switch] = shown
    return [(stem(shown), path) for path, shown in names.items()]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
