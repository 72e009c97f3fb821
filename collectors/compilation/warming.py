"""Compile loops ahead of use, in other processes, for the loops and argument types in `loops.json`.

Each package has a `loops.json`; `scripts/loops` writes it from runs of real work. Unlisted loops are compiled on demand.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any, NamedTuple

from collectors.compilation import compiled
from collectors.compilation._compiled_stamp import FILE, has_stamp, write_stamp
from collectors.compilation.signatures import decode, encode
from collectors.compilation.source_stamps import PACKAGES

NICE = 10  # niceness of compilation in the background


class Task(NamedTuple):
    """A loop, by module and name, and argument types to compile for, encoded as in `signatures`."""

    module: str
    name: str
    signatures: tuple[Any, ...]


def listed(packages: Sequence[str] = PACKAGES) -> list[Task]:
    """List the known loops of the installed packages, in the order in which programs need them."""
    tasks = []
    for package in packages:
        if find_spec(package) is None:
            continue
        told = json.loads(resources.files(package).joinpath(FILE).read_text(encoding="utf-8"))
        kinds = told["types"]
        for place, signatures in told["loops"].items():
            module, _, name = place.rpartition(".")
            found = tuple([kinds[i] for i in signature] for signature in signatures)
            tasks.append(Task(module, name, found))
    return tasks


def missing(tasks: Iterable[Task]) -> list[Task]:
    """List the tasks without code on disk, each with its missing signatures."""
    left = []
    for task in tasks:
        loop = loop_of(task)
        if loop is not None:
            lacking = tuple(s for s in task.signatures if not loop.is_ready(types_of(s)))
            left += [task._replace(signatures=lacking)] if lacking else []
    return left


def loop_of(task: Task) -> compiled.Loop | None:
    """Return the loop of a task; None if there is no such loop, or compilation is switched off."""
    found = getattr(importlib.import_module(task.module), task.name, None)
    return found if isinstance(found, compiled.Loop) else None


def all_compiled(packages: Sequence[str]) -> bool:
    """Check whether an earlier process found or compiled all listed loops, without a look at each of them."""
    first = next((loop for task in listed(packages) if (loop := loop_of(task)) is not None), None)
    return first is not None and has_stamp(first, packages)


def note_compiled(tasks: Sequence[Task], packages: Sequence[str]) -> None:
    """Leave word for `all_compiled`, if all these tasks, the listed ones of the packages, have code on disk."""
    if not missing(tasks):
        write_stamp([loop for task in tasks if (loop := loop_of(task)) is not None], packages)


def types_of(signature: Sequence[Any]) -> tuple[Any, ...]:
    """Return the numba types of an encoded signature."""
    return tuple(decode(kind) for kind in signature)


def compile_task(task: Task) -> Task:
    """Compile a loop for all its signatures, and store the code on disk."""
    loop = loop_of(task)
    if loop is not None:
        for signature in task.signatures:
            loop.compile(types_of(signature))
    return task


def compile_all(tasks: Sequence[Task], processes: int, *, nice: int = 0) -> Iterator[Task]:
    """Compile tasks in several processes; yields each finished task. Raises OSError if code cannot be stored."""
    if not tasks:
        return
    with get_context("spawn").Pool(min(processes, len(tasks)), _begun, (nice,)) as pool:
        yield from pool.imap_unordered(compile_task, tasks)


def _begun(nice: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(nice)


_beside: tuple[Any, subprocess.Popen[bytes]] | None = None  # the loop and types that a process compiles, and that process


def compiled_beside(loop: compiled.Loop, signature: tuple[Any, ...]) -> bool:
    """Compile a loop in another process, unless it is busy with another loop; return False if that failed for this one."""
    global _beside
    if _beside is not None:
        asked, process = _beside
        if process.poll() is None:
            return True
        _beside = None
        if process.stdin is not None:
            process.stdin.close()
        if asked == (loop, signature):
            return False
    try:
        told = json.dumps([loop.__module__, loop.__name__, [encode(kind) for kind in signature]])
        command = [sys.executable, "-m", "collectors.compilation.warming", "--loop", told]
        _beside = (loop, signature), subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    except (ValueError, OSError):
        return False
    return True


def cores() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Warming:
    """Background compilation in its own process group that ends with this process. A context.

    `done` and `total` count loops, once known; `seconds`: duration so far. `told` is called from another thread when the number
    of loops is known, and at the end.
    """

    def __init__(self, packages: Sequence[str] = PACKAGES, *, told: Callable[[Warming], None] = lambda _: None) -> None:
        self.done = self.total = 0
        self.state = "waiting"  # running, done, failed, stopped
        self._packages, self._told = packages, told
        self._began = self._seconds = 0.0
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._starting = threading.Lock()

    @property
    def seconds(self) -> float:
        """Return the seconds since the start, until the end."""
        return time.monotonic() - self._began if self.state == "running" else self._seconds

    def health(self) -> dict[str, Any]:
        """Return the state in plain values."""
        told = {"state": self.state, "done": self.done, "total": self.total, "seconds": round(self.seconds, 1)}
        return {"ok": self.state != "failed", **told}

    def start_if_needed(self) -> None:
        """Start to compile, unless an earlier process left word that all listed loops are compiled."""
        if all_compiled(self._packages):
            self.state = "done"
        else:
            self.start()

    def start(self) -> None:
        """Start to compile, unless started or stopped already. Thread-safe."""
        with self._starting:
            self._start()

    def _start(self) -> None:
        if self._process is None and not self._stopped:
            command = [sys.executable, "-m", "collectors.compilation.warming", str(max(cores() - 1, 1)), *self._packages]
            self._began, self.state = time.monotonic(), "running"
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=os.getcwd())
            self._thread = threading.Thread(target=self._follow, name="prism-warming", daemon=True)
            self._thread.start()

    def __enter__(self) -> Warming:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop; the code of compiled loops stays on disk."""
        with self._starting:
            self._stopped = True
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.terminate()
            self._process.wait()
        if self._thread is not None:
            self._thread.join()
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()

    def _follow(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        for line in process.stdout:
            self.done, self.total = map(int, line.split())
            if not self.done:
                self._told(self)
        failed = process.wait() != 0
        self._seconds = time.monotonic() - self._began
        self.state = "stopped" if self._stopped else "failed" if failed else "done"
        if not self._stopped:
            self._told(self)


def main(arguments: Sequence[str]) -> None:
    """Compile in the background until the end of standard input.

    Arguments: the number of processes and packages, whose progress is printed; or `--loop` and a loop with its types, as JSON.
    """
    os.setpgid(0, 0)
    threading.Thread(target=_end_with_input, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: _end())
    os.nice(NICE)
    if arguments[0] == "--loop":
        module, name, signature = json.loads(arguments[1])
        compile_task(Task(module, name, (signature,)))
        return
    processes, packages = int(arguments[0]), arguments[1:]
    every = listed(packages)
    tasks = missing(every)
    print(0, len(tasks), flush=True)
    for done, _ in enumerate(compile_all(tasks, processes), 1):
        print(done, len(tasks), flush=True)
    note_compiled(every, packages)


def _end_with_input() -> None:
    while os.read(0, 1 << 10):  # not `sys.stdin`, whose lock would block the interpreter's exit
        pass
    _end()


def _end() -> None:
    """End this process and its compiling child processes."""
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
