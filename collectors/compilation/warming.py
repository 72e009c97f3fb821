"""Compile loops ahead of use, in processes beside this one, for the loops and argument types that `loops.json` lists.

Each package has a `loops.json`; `scripts/loops` writes it from runs of real work. What it lacks is compiled when it is needed.
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
from collectors.compilation.signatures import decode, encode

PACKAGES = ("collectors", "prism")
FILE = "loops.json"
NICE = 10  # by how much compilation beside a program yields the processor to it


class Task(NamedTuple):
    """A loop, by module and name, and types of arguments that it is compiled for, encoded as in `signatures`."""

    module: str
    name: str
    signatures: tuple[Any, ...]


def listed(packages: Sequence[str] = PACKAGES) -> list[Task]:
    """The loops that are known to be needed, in the order in which programs need them, of the packages that are installed."""
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
    """The tasks whose code is not on disk, each with the signatures that lack it."""
    left = []
    for task in tasks:
        loop = loop_of(task)
        if loop is not None:
            lacking = tuple(s for s in task.signatures if not loop.is_ready(types_of(s)))
            left += [task._replace(signatures=lacking)] if lacking else []
    return left


def loop_of(task: Task) -> compiled.Loop | None:
    """The loop of a task; None where there is no such loop, or compilation is switched off."""
    found = getattr(importlib.import_module(task.module), task.name, None)
    return found if isinstance(found, compiled.Loop) else None


def types_of(signature: Sequence[Any]) -> tuple[Any, ...]:
    """The numba types of an encoded signature."""
    return tuple(decode(kind) for kind in signature)


def compile_task(task: Task) -> Task:
    """Compile a loop for all its signatures. Their code is on disk afterwards."""
    loop = loop_of(task)
    if loop is not None:
        for signature in task.signatures:
            loop.compile(types_of(signature))
    return task


def compile_all(tasks: Sequence[Task], processes: int, *, nice: int = 0) -> Iterator[Task]:
    """Compile tasks in so many processes; each task when it is done. Raises OSError where code cannot be kept."""
    if not tasks:
        return
    with get_context("spawn").Pool(min(processes, len(tasks)), _begun, (nice,)) as pool:
        yield from pool.imap_unordered(compile_task, tasks)


def _begun(nice: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(nice)


_beside: tuple[Any, subprocess.Popen[bytes]] | None = None  # the loop and types that a process compiles, and that process


def compiled_beside(loop: compiled.Loop, signature: tuple[Any, ...]) -> bool:
    """Have a process compile a loop, unless one compiles another loop; False where that has failed for this one."""
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
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Warming:
    """Compilation in the background, in a process group of its own that ends with this one. A context.

    `done` and `total` count loops, once that is known; `seconds` is how long it has taken, or took. `told` is called when it is
    known how many there are, and in the end; from another thread.
    """

    def __init__(self, packages: Sequence[str] = PACKAGES, *, told: Callable[[Warming], None] = lambda _: None) -> None:
        self.done = self.total = 0
        self.state = "waiting"  # running, done, failed, stopped
        self._packages, self._told = packages, told
        self._began = self._seconds = 0.0
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False

    @property
    def seconds(self) -> float:
        """Seconds since it began, until it ended."""
        return time.monotonic() - self._began if self.state == "running" else self._seconds

    def health(self) -> dict[str, Any]:
        """How it goes, in plain values."""
        told = {"state": self.state, "done": self.done, "total": self.total, "seconds": round(self.seconds, 1)}
        return {"ok": self.state != "failed", **told}

    def start(self) -> None:
        """Begin to compile, unless it has begun."""
        if self._process is None:
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
        """End it; loops that are compiled stay on disk."""
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
    """Compile in the background, and end when standard input does.

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
    tasks = missing(listed(packages))
    print(0, len(tasks), flush=True)
    for done, _ in enumerate(compile_all(tasks, processes), 1):
        print(done, len(tasks), flush=True)


def _end_with_input() -> None:
    while os.read(0, 1 << 10):  # `sys.stdin` is locked while somebody reads it, which the interpreter cannot end with
        pass
    _end()


def _end() -> None:
    """End this process and those that compile for it."""
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
