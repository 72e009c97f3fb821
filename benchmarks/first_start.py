"""Measure the first start on a machine, without compiled loops.

    python -m benchmarks.first_start [--runs slow_rank ...] [--seconds 60] [--warm]

Every figure is beside the same with all code compiled, in the same run. `replay`: seconds of `prism replay` of recorded runs in
pcaps/. `serve`: a service that collects from a socket what a job exports in which a rank becomes slow: how late its windows are
(from their end until they are analysed) and how long after the fault began it is named. `--warm` times `prism warm` too.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.ingest import send
from prism.app.serve import Parts, ServeOptions, serve
from prism.findings.same_finding import is_claim
from prism.synth.scenario.specification import Fault
from prism.tracking.board import Board
from prism.tracking.record_windows import SECOND

ROOT = Path(__file__).resolve().parents[1]
SLOW = Fault("compute_slow", ranks=(3,), first=30, factor=2.6)
RATE = 2_000  # records per second


def replayed(folder: Path, cache: Path) -> float:
    """Measure `prism replay` of a recorded run in its own process with compiled code in `cache`, s."""
    files = [path.name for path in sorted(folder.glob("*.pcap.gz"))]
    return _timed("prism.cli.main", ["replay", "--quiet", *files, "--topology", "topology.json"], cache, folder)


def warmed(cache: Path) -> float:
    """Measure `prism warm`, s."""
    return _timed("prism.cli.main", ["warm", "--quiet"], cache, ROOT)


def _timed(module: str, arguments: Sequence[str], cache: Path, where: Path) -> float:
    began = time.monotonic()
    script = f"import sys; from {module} import main; sys.argv[1:] = {list(arguments)!r}; main()"
    subprocess.run([sys.executable, "-c", script], cwd=where, env=_environment(cache), check=True, capture_output=True)
    return time.monotonic() - began


def _environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}


class Lateness:
    """Observes a service: lateness of each window, ns, and time of the first claim, ns since the epoch."""

    def __init__(self) -> None:
        self.late: list[int] = []
        self.named_ns = 0

    @contextmanager
    def on(self, parts: Parts) -> Iterator[None]:
        """Observe while the context lasts."""
        look = parts.watch.analyse_window

        def looking(now_ns: int, *, last: bool = False, again: bool = False) -> Board:
            board = look(now_ns, last=last, again=again)
            self.late.append(time.time_ns() - now_ns)
            if not self.named_ns and any(is_claim(case.finding) for case in board.cases):
                self.named_ns = time.time_ns()
            return board

        parts.watch.analyse_window = looking  # type: ignore[method-assign]
        yield


def served(seconds: float, folder: Path) -> dict[str, float]:
    """Measure a service that collects for `seconds`, in this process."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    seen, spawn = Lateness(), multiprocessing.get_context("spawn")
    heard, said = spawn.Pipe(duplex=False)
    began: list[int] = []

    @contextmanager
    def driven(parts: Parts) -> Iterator[None]:
        def drive() -> None:
            sender = spawn.Process(target=send, args=(port, RATE, seconds, said, (SLOW,)))
            sender.start()
            began.append(time.time_ns())
            sender.join()
            os.kill(os.getpid(), signal.SIGTERM)

        driver = threading.Thread(target=drive)
        driver.start()
        with seen.on(parts):
            yield
        driver.join()

    serve(ServeOptions(str(folder / "store"), folder / "spool", [f"ipfix://127.0.0.1:{port}"]), shown=[driven])
    if not heard.poll():
        raise RuntimeError("the sender of records has failed")
    heard.recv()
    late = np.array(seen.late) / SECOND
    named = (seen.named_ns - began[0]) / SECOND if seen.named_ns else float("nan")
    return {"windows": len(late), "late": float(np.median(late)), "latest": float(late.max()), "named": named}


def service(seconds: float, cache: Path) -> dict[str, float]:
    """Measure the same in its own process, with compiled code in `cache`."""
    with TemporaryDirectory(prefix="prism-") as folder:
        command = [sys.executable, "-m", "benchmarks.first_start", "--served", folder, "--seconds", str(seconds)]
        done = subprocess.run(command, env=_environment(cache), check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def lines(runs: Sequence[str], seconds: float, *, warm: bool, compiled: Path) -> Iterator[str]:
    """Yield the lines of the tables. `compiled`: a folder for all compiled code."""
    with TemporaryDirectory(prefix="prism-") as folder:
        if warm:
            yield f"prism warm, nothing compiled    {warmed(compiled):8.1f} s"
        yield f"prism warm, all compiled        {warmed(compiled):8.1f} s"
        yield f"{'replay, s':20}{'first':>8}{'compiled':>10}"
        for number, run in enumerate(runs):
            first = replayed(ROOT / "pcaps" / run, Path(folder) / str(number))
            yield f"{run:20}{first:8.1f}{replayed(ROOT / 'pcaps' / run, compiled):10.1f}"
        if seconds:
            yield f"{'serve, s':20}{'windows':>8}{'late':>8}{'latest':>8}{'named after':>13}"
            for name, cache in (("first", Path(folder) / "serve"), ("compiled", compiled)):
                found = service(seconds, cache)
                figures = f"{found['windows']:8.0f}{found['late']:8.2f}{found['latest']:8.2f}{found['named']:13.1f}"
                yield f"{name:20}{figures}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_start", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", nargs="*", default=sorted(path.parent.name for path in (ROOT / "pcaps").glob("*/truth.json")))
    parser.add_argument("--seconds", type=float, default=60.0, help="of the service; 0: leave it out")
    parser.add_argument("--warm", action="store_true", help="time prism warm too, which takes minutes")
    parser.add_argument("--compiled", help="a folder for compiled code that is kept; by default a new one")
    parser.add_argument("--served", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.served:
        print(json.dumps(served(asked.seconds, Path(asked.served))))
        return 0
    with TemporaryDirectory(prefix="prism-") as folder:
        compiled = Path(asked.compiled or folder)
        for line in lines(asked.runs, asked.seconds, warm=asked.warm, compiled=compiled):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
