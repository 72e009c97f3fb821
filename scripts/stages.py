#!/usr/bin/env python3
"""Run the stages of scripts/check side by side, one per core; show what each prints, whole and in the order of the list.

Usage: scripts/stages.py [STAGE...]. Without arguments all stages run. It needs the environment that scripts/check makes.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

# Tests run in several processes. What is in no group is in the last one.
GROUPS = {
    "service": ["tests/prism/app", "tests/prism/cli", "tests/prism/past", "tests/prism/service", "tests/prism/workers"],
    "collectors": ["tests/collectors"],
    "live": ["tests/prism/exporters", "tests/prism/live", "tests/prism/recordings", "tests/prism/tracking"],
    "pages": ["tests/prism/api", "tests/prism/web"],
    "detectors": ["tests/prism/detectors"],
}
PYTEST = "pytest -p no:cacheprovider"
OTHERS = " ".join(f"--ignore={path}" for paths in GROUPS.values() for path in paths)
GRID = "--grid 21:14 --scale small --floor layout_exact=0.95 --floor faults_recall=0.8"
# Stages begin in this order: first those that fail fast, then long before short ones, so that all cores end together.
STAGES = {
    "lint": "ruff check .",
    "format": "ruff format --check .",
    "imports": "lint-imports --no-cache",
    **{f"tests-{name}": f"{PYTEST} {' '.join(paths)}" for name, paths in GROUPS.items()},
    "tests-others": f"{PYTEST} tests {OTHERS}",
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


def run_all(stages: dict[str, str]) -> list[str]:
    """Run stages side by side and show each when those before it are shown; names of those that failed."""
    failed = []
    with ThreadPoolExecutor(cores()) as pool:
        begun = {name: pool.submit(run, command) for name, command in stages.items()}
        try:
            for name, future in begun.items():
                said, code, seconds, worked = future.result()
                print(f"== {name}: {stages[name]}", said, sep="\n", end="")
                print(f"   {seconds:.0f} s, {worked:.0f} s of the processor", flush=True)
                failed += [name] if code else []
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                process.terminate()
    return failed


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    sys.exit(main(sys.argv[1:]))
