"""Manage uploaded captures: a limited spool of files; a separate process replays each upload, one at a time.

A capture may be hostile, so the service reads nothing of it. A child process with limited memory, time and files reads it
(`upload_worker`) and writes the board to a file of plain values, which is read strictly (`board_files`).
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from collectors.memory.limit import MEMORY
from prism.past.upload_files import FullError, Incoming
from prism.storage import board_files
from prism.storage.board_files import Replayed

State = Literal["queued", "running", "done", "failed", "cancelled"]
OVER: tuple[State, ...] = ("done", "failed", "cancelled")
BOARD, ASKED, INCIDENT = "board", "asked.json", "incident.json"
SHEET = 32 << 20  # maximum octets of an incident document
# Environment variables that a child gets; none holds a secret.
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "HOME", "NUMBA_CACHE_DIR")
LINE = 4096  # maximum octets of an output line of a child


@dataclass(frozen=True)
class Bounds:
    """Limits of uploads and replays: `seconds` of time, `memory` octets in addition to the process itself."""

    uploads: int = 20  # uploads kept; the oldest finished one is dropped
    octets: int = 4 << 30  # on disk, all uploads together
    age_s: float = 24 * 3600.0
    files: int = 64  # per upload
    memory: int = MEMORY << 20
    board: int = 1 << 30  # octets of a replay's result
    seconds: float = 900.0
    loaded: int = 4  # boards in memory


@dataclass
class Upload:
    """State of one upload. `key` and `span`, ns, belong to a diagnosis of the past (prism.past.rediagnosis)."""

    id: str
    files: tuple[str, ...]
    created_s: float
    state: State = "queued"
    stage: str = ""
    done: int = 0
    total: int = 0
    error: str | None = None
    octets: int = 0
    key: str = ""
    span: tuple[int, int] | None = None
    finding: str = ""  # finding to which the logs belong
    logs: int = 0  # number of log files
    incident: bool = False  # whether logs and flows were joined

    def to_json(self) -> dict[str, Any]:
        """Return the upload as in REST. `start_ns` and `end_ns` belong to a diagnosis of the past."""
        times = [str(at) for at in self.span] if self.span else [None, None]
        fields = {name: getattr(self, name) for name in ("id", "state", "stage", "done", "total", "error")}
        span = {"start_ns": times[0], "end_ns": times[1]}
        joined = {"logs": self.logs, "finding": self.finding or None, "incident": self.incident}
        return fields | span | joined | {"files": list(self.files), "octets": self.octets, "board": f"?replay={self.id}"}


class Uploads:
    """The uploads of a folder of its own; uploads of an earlier service are dropped. A context manager.

    `told` is called after a change, from any thread.
    """

    def __init__(self, folder: str | Path, bounds: Bounds | None = None) -> None:
        self.folder, self.bounds = Path(folder).resolve(), bounds or Bounds()  # a replay has another working folder
        self.told: Callable[[], None] = lambda: None
        self._uploads: dict[str, Upload] = {}
        self._boards: dict[str, Replayed] = {}
        self._lock, self._loading = threading.RLock(), threading.Lock()
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="prism-uploads", daemon=True)

    def __enter__(self) -> Uploads:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in self.folder.glob("upload-*"):
            shutil.rmtree(left, ignore_errors=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            if self._child is not None:
                self._child.kill()
        self._waiting.put(None)
        self._thread.join()
        for left in self.folder.glob("upload-*"):
            shutil.rmtree(left, ignore_errors=True)

    def all(self) -> list[Upload]:
        """Return all uploads, oldest first."""
        with self._lock:
            return list(self._uploads.values())

    def get(self, id_: str) -> Upload | None:
        """Return the upload with an id."""
        return self._uploads.get(id_)

    def result(self, id_: str) -> Replayed | None:
        """Return the board and records of an upload; None if the id is unknown or the upload is not done."""
        with self._loading:  # not the common lock: loading a large board takes a while
            upload = self._uploads.get(id_)
            if upload is None or upload.state != "done":
                return None
            try:
                found = self._boards.pop(id_, None) or board_files.load(self._path(id_) / BOARD)
            except (ValueError, OSError):
                upload.state, upload.error = "failed", "the result of the replay cannot be read"
                return None
            self._boards[id_] = found
            while len(self._boards) > self.bounds.loaded:
                self._boards.pop(next(iter(self._boards)))
            return found

    def incident(self, id_: str) -> Mapping[str, Any] | None:
        """Return the joint diagnosis of an upload's logs and flows; None if unknown, or without logs."""
        upload = self._uploads.get(id_)
        if upload is None or not upload.incident:
            return None
        try:
            with open(self._path(id_) / INCIDENT, "rb") as file:
                found = json.loads(file.read(SHEET))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.get("schema") == "prism-incident/1" else None

    def incoming(self) -> Incoming:
        """Reserve space for one more upload. Raises FullError, OSError."""
        with self._lock:
            self._tidy()
            kept, used = len(self._uploads), sum(upload.octets for upload in self._uploads.values())
            if kept >= self.bounds.uploads or used >= self.bounds.octets:
                raise FullError(
                    f"uploads waiting or running: {kept} ({used >> 20:,} MiB), the limit; cancel one, or try again later"
                )
            made = secrets.token_hex(8)
            self._path(made).mkdir(mode=0o700)
            return Incoming(made, self._path(made), self.bounds.octets - used)

    def start(
        self,
        incoming: Incoming,
        topology: str | None = None,
        hints: str | None = None,
        *,
        jobs: str | None = None,
        key: str = "",
        span: tuple[int, int] | None = None,
        finding: str = "",
    ) -> Upload:
        """Start the replay of an upload, with the texts of a topology, hints and scheduler jobs. Raises OSError.

        Logs are joined with the flows; `finding` is the finding to which they belong.
        """
        octets = sum(path.stat().st_size for path in incoming.folder.iterdir())
        request = {"files": incoming.files, "topology": topology, "hints": hints, "jobs": jobs, "logs": incoming.logs}
        (incoming.folder / ASKED).write_text(json.dumps(request), "utf-8")
        names = tuple(name for name, _ in incoming.files)
        upload = Upload(incoming.id, names, time.time(), octets=octets, key=key, span=span, finding=finding)
        upload.logs = len(incoming.logs)
        with self._lock:
            self._uploads[upload.id] = upload
        self._waiting.put(upload.id)
        self.told()
        return upload

    def discard(self, incoming: Incoming) -> None:
        """Drop an upload that was not started."""
        shutil.rmtree(incoming.folder, ignore_errors=True)

    def remove(self, id_: str) -> Upload | None:
        """Drop an upload that waits or is finished, and return it. Cancel a running one, which is kept; return None."""
        with self._lock:
            upload = self._uploads.get(id_)
            running = upload if upload is not None and upload.state == "running" else None
            if running is not None:
                running.state = "cancelled"
                if self._child is not None:
                    self._child.kill()
            else:
                self._forget(id_)
        self.told()
        return running

    def _path(self, id_: str) -> Path:
        return self.folder / f"upload-{id_}"

    def _forget(self, id_: str) -> None:
        self._uploads.pop(id_, None)
        self._boards.pop(id_, None)
        shutil.rmtree(self._path(id_), ignore_errors=True)

    def _tidy(self) -> None:
        """Drop finished uploads that are too old, and the oldest above the limit."""
        over = [upload for upload in self._uploads.values() if upload.state in OVER]
        for upload in over:
            used = sum(one.octets for one in self._uploads.values())
            full = len(self._uploads) >= self.bounds.uploads or used > self.bounds.octets // 2
            if full or time.time() - upload.created_s > self.bounds.age_s:
                self._forget(upload.id)

    def _work(self) -> None:
        while (id_ := self._waiting.get()) is not None and not self._closed:
            upload = self._uploads.get(id_)
            if upload is not None:
                self._replay(upload)
                self.told()

    def _replay(self, upload: Upload) -> None:
        """Replay an upload in a child process and record the result."""
        folder = self._path(upload.id)
        try:
            with self._lock:
                if self._closed or upload.id not in self._uploads:
                    return
                upload.state = "running"
                child = self._child = _child(folder, self.bounds)
            with child, _ending_after(child, self.bounds.seconds) as limit:
                assert child.stdout is not None
                last = self._follow(upload, child.stdout)
            code, late = child.returncode, limit.over
        except OSError as error:
            last, code, late = {"error": error.strerror or str(error)}, 1, False
        finally:
            self._child = None
        board = folder / BOARD
        done = code == 0 and board.is_file() and upload.state != "cancelled"
        with self._lock:
            for path in folder.iterdir() if folder.is_dir() else ():  # cancelling may drop the folder at any time
                if not done or path.name not in (BOARD, INCIDENT):
                    path.unlink()
            upload.octets = board.stat().st_size if done else 0
            upload.incident = done and (folder / INCIDENT).is_file()
            cancelled = upload.state == "cancelled"
            if not done:
                upload.error = None if cancelled else str(last.get("error") or _ended(code, self.bounds, late=late))
            # Set last: readers of the state find the other fields complete.
            upload.state = "cancelled" if cancelled else "done" if done else "failed"

    def _follow(self, upload: Upload, out: IO[bytes]) -> Mapping[str, Any]:
        """Record the progress that a child reports; return its last message."""
        said: Mapping[str, Any] = {}
        while line := out.readline(LINE):
            with suppress(ValueError):
                found = json.loads(line)
                said = found if isinstance(found, dict) else {}
            if isinstance(said.get("stage"), str) and all(type(said.get(name)) is int for name in ("done", "total")):
                upload.stage, upload.done, upload.total = said["stage"][:40], said["done"], said["total"]
                self.told()
        return said


def _child(folder: Path, bounds: Bounds) -> subprocess.Popen[bytes]:
    """Start a process that replays a folder, with a minimal environment and limits."""
    source = str(Path(__file__).resolve().parents[2])
    kept = {name: value for name, value in os.environ.items() if name in KEPT}
    command: Sequence[str] = (
        sys.executable,
        "-P",
        "-m",
        "prism.app.upload_worker",
        str(folder),
        str(bounds.memory),
        str(bounds.board),
    )
    return subprocess.Popen(
        command,
        cwd=folder,
        env=kept | {"PYTHONPATH": source},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


class _ending_after:  # noqa: N801 - reads as what it does
    """Kill a process after a time limit, or when the context ends."""

    def __init__(self, child: subprocess.Popen[bytes], seconds: float) -> None:
        self._child, self._timer, self.over = child, threading.Timer(seconds, self._end), False

    def _end(self) -> None:
        self.over = True
        self._child.kill()

    def __enter__(self) -> _ending_after:
        self._timer.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._child.kill()
        self._child.wait()
        self._timer.cancel()
        self._timer.join()


def _ended(code: int, bounds: Bounds, *, late: bool) -> str:
    """Explain why a replay ended, and which setting changes that."""
    if late:
        return f"the replay took longer than its limit of {bounds.seconds:g} s; --upload-seconds sets it"
    if code == -signal.SIGKILL:
        return "the replay was killed: the machine ran out of memory"
    if code in (-signal.SIGABRT, -signal.SIGSEGV):
        return f"the replay stopped, probably for lack of memory (limit {bounds.memory >> 20} MiB; --upload-memory sets it)"
    return f"the replay was ended by signal {-code}" if code < 0 else "the replay failed"
