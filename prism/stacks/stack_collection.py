"""Run a command when a hang opens, to collect stacks of all ranks; by default only print the command.

The command is split as by a shell, and runs without a shell. It receives PRISM_JOB, PRISM_HOSTS, PRISM_ENDPOINTS,
PRISM_SUSPECTS and PRISM_FOLDER, writes its dumps to that folder, and ends. The folder is then analysed as by `prism stacks`.
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from collectors.operations.logs import log_event
from prism.stacks._collection_triggers import Action, due
from prism.stacks.stack_clusters import clusters, outliers
from prism.stacks.stack_folders import read
from prism.tracking.board import Board

LIMIT_S = 120.0  # maximum duration of a command, s
KEPT = 1000  # cases that are remembered
PAUSE_S = 0.5


def command_of(text: str) -> list[str]:
    """Split a command into words. Raises ValueError if it is empty or a quotation is not closed."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"--on-hang {text!r}: {error}") from None
    if not words:
        raise ValueError("--on-hang: an empty command")
    return words


def act(action: Action, command: list[str], folder: Path, *, dry: bool) -> str:
    """Run the command for one hang, or describe it if `dry`; return the result as a message. Raises nothing."""
    where = folder / action.case
    if dry:
        return f"dry run: would run {shlex.join(command)} for job {action.job}, hosts {' '.join(action.hosts) or '?'}"
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = {**os.environ, **action.environment(str(where))}
        done = subprocess.run(
            command, env=environment, timeout=LIMIT_S, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the command took longer than {LIMIT_S:g} s and was ended"
    except OSError as error:
        return f"the command cannot be run: {error.strerror or error}"
    if done.returncode:
        return f"the command ended with status {done.returncode}: {done.stderr[-200:].decode('utf-8', 'replace').strip()}"
    try:
        own = read(str(where))
    except (OSError, ValueError) as error:
        return f"the command left no stacks: {error}"
    out = outliers(clusters(own.dumps), own.recordings)
    ranks = ", ".join(map(str, out.ranks[:12])) or "none"
    return f"{len(own.dumps)} stacks in {where}; outliers: {ranks}; {out.why}"


@contextmanager
def acting(
    after: Callable[[int, float], Board], command: str, folder: Path, *, dry: bool = True, pause_s: float = PAUSE_S
) -> Iterator[None]:
    """Watch boards and act within the context. `after(revision, timeout)` waits for a board newer than a revision."""
    words = command_of(command)
    stop = threading.Event()

    def run() -> None:
        before, done = Board(), dict[str, str]()
        while not stop.is_set():
            board = after(before.revision, pause_s)
            for action in due(before, board, done):
                done[action.case] = act(action, words, folder, dry=dry)
                level = logging.INFO if dry else logging.WARNING
                log_event("hang: stacks", level=level, job=action.job, case=action.case, result=done[action.case])
                while len(done) > KEPT:
                    done.pop(next(iter(done)))
            before = board

    thread = threading.Thread(target=run, name="prism-actions")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
