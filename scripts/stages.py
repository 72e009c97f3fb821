#!/usr/bin/env python3
"""Run the stages of scripts/check side by side, two per core; show what each prints, whole and in the order of the list.

Usage: scripts/stages.py [STAGE...]. Without arguments all stages run. It needs the environment that scripts/check makes.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

# Tests run in several processes. What is in no group is in the last one.
GROUPS = {
    "service": ["tests/prism/app", "tests/prism/service", "tests/prism/workers"],
    "live": ["tests/prism/exporters", "tests/prism/live", "tests/prism/recordings", "tests/prism/tracking"],
    "pages": ["tests/prism/api", "tests/prism/web"],
    "commands": ["tests/prism/cli", "tests/prism/past"],
    "analysis": [f"tests/prism/{folder}" for folder in ("diagnosis", "evidence", "graph", "jobs", "layout", "loops", "steps")],
    "packets": ["tests/collectors/aggregation", "tests/collectors/compilation", "tests/collectors/packets"],
    "records": [
        f"tests/collectors/{folder}" for folder in ("clickhouse", "columns", "exports", "formats", "recorded_exports", "store")
    ],
    "benchmarks": ["tests/benchmarks"],
}
PYTEST = "pytest -p no:cacheprovider"
OTHERS = " ".join(f"--ignore={path}" for paths in GROUPS.values() for path in paths)
GRID = "--grid 21:14 --scale small --floor layout_exact=0.95 --floor faults_recall=0.8"
# Stages begin in this order: first those that fail fast, then long before short ones, so that all cores end together.
STAGES = {
    "lint": "ruff check .",
    "format": "ruff format --check .",
    "imports": "lint-imports --no-cache",
    "tests-others": f"{PYTEST} tests {OTHERS}",
    **{f"tests-{name}": f"{PYTEST} {' '.join(paths)}" for name, paths in GROUPS.items()},
    "types": "mypy",
    "grid": f"python -m benchmarks.accuracy {GRID}",
    "accuracy": "python -m benchmarks.accuracy pcaps",
}


class Done(NamedTuple):
    """What a stage printed, its exit code, its time in seconds, and that of the processor."""

    said: str
    code: int
    seconds: float
    worked: float


running: set["subprocess.Popen[str]"] = set()


def run(command: str) -> Done:
    """Run a command to its end."""
    began = time.monotonic()
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(shlex.split(command), **pipes, text=True, errors="replace") as process:
        running.add(process)
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        running.discard(process)
    return Done(said, process.returncode, time.monotonic() - began, used.ru_utime + used.ru_stime)


def show(name: str, command: str, done: Done) -> None:
    """Print what a stage said."""
    print(f"== {name}: {command}", done.said, sep="\n", end="")
    print(f"   {done.seconds:.0f} s, {done.worked:.0f} s of the processor", flush=True)


def run_all(stages: dict[str, str]) -> list[str]:
    """Run stages side by side and show each when those before it are shown; names of those that failed.

    Where it is interrupted, it ends the stages that run, and shows what they said until then.
    """
    failed = []
    with ThreadPoolExecutor(workers()) as pool:
        begun = {name: pool.submit(run, command) for name, command in stages.items()}
        try:
            for name, future in list(begun.items()):
                done = future.result()
                show(name, stages[name], done)
                del begun[name]
                failed += [name] if done.code else []
        except (KeyboardInterrupt, SystemExit):
            for number in (signal.SIGINT, signal.SIGTERM):  # they may come twice, to this process and to its group
                signal.signal(number, signal.SIG_IGN)
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGTERM)  # Popen.terminate may reap it, whose times are wanted
            for name, future in begun.items():
                if not future.cancelled():
                    show(name, stages[name], future.result())
            raise
    return failed


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers() -> int:
    """How many stages run at once: two per core, since tests of services wait for half of their time."""
    return 2 * cores()


def main(names: list[str]) -> int:
    """Run the stages of these names, or all; the exit code."""
    if unknown := set(names) - set(STAGES):
        print(f"no such stage: {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}", file=sys.stderr)
        return 2
    began = time.monotonic()
    failed = run_all({name: command for name, command in STAGES.items() if not names or name in names})
    seconds = time.monotonic() - began
    if failed:
        print(f"Failed after {seconds:.0f} s: {' '.join(failed)}", file=sys.stderr)
        return 1
    print(f"All checks passed in {seconds:.0f} s.")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
