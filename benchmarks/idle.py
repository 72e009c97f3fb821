"""An idle service: the share of a core that `prism serve` takes while no record comes.

    python -m benchmarks.idle [--seconds 60] [--settle 15] [--cache FOLDER]

The service runs as a user starts it, in a process of its own, with an empty data folder: without `--listen`, then with a
socket that receives nothing. Measured is the processor time of the process and of all that it starts, user and system, once all
code is compiled (`/api/v1/health`). `--cache` keeps compiled code in a folder. Without `--listen` the goal is below 1 %.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
TICK = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 1200.0  # until all code is compiled


class Spent(NamedTuple):
    """Processor time, s, and number of processes."""

    user: float = 0.0
    system: float = 0.0
    processes: int = 0


def spent(root: int, proc: Path = Path("/proc")) -> Spent:
    """Measure the processor time of a process and all its children since their start, with those that ended."""
    rows = dict(_stats(proc))
    below = {root}
    while more := {pid for pid, (parent, *_) in rows.items() if parent in below} - below:
        below |= more
    own = [rows[pid] for pid in below if pid in rows]
    return Spent(sum(one[1] for one in own) / TICK, sum(one[2] for one in own) / TICK, len(own))


def _stats(proc: Path) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Yield for each process its parent, and its user and system time with that of ended children, ticks (proc(5))."""
    for path in proc.glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        user, system, of_children, by_system = map(int, fields[11:15])
        yield int(path.parent.name), (int(fields[1]), user + of_children, system + by_system)


@contextmanager
def serving(arguments: Iterable[str], cache: Path) -> Iterator[int]:
    """Run `prism serve` until the context ends; yields its process id once all code is compiled."""
    port = _free(socket.SOCK_STREAM)
    with TemporaryDirectory(prefix="prism-") as folder:
        command = ["from prism.cli.main import main; main()", "serve", "--data", folder, "--http", str(port), *arguments]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            [sys.executable, "-c", *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                _await(f"http://127.0.0.1:{port}/api/v1/health", process)
                yield process.pid
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a service is ready and compiles no more. Raises RuntimeError if it ends, or takes longer than 20 min."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urlopen(address, timeout=10) as answer:
                state = json.load(answer)["parts"]["compiling"]["state"]
        except (URLError, OSError):  # not started yet
            state = "unknown"
        if state in ("done", "failed"):
            return
        time.sleep(0.5)
    raise RuntimeError(f"prism serve ended with {process.poll()}" if process.poll() is not None else "prism serve is not ready")


def _free(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def idled(arguments: Sequence[str], seconds: float, settle: float, cache: Path) -> Spent:
    """Measure the processor time per second of an idle service: shares of a core."""
    with serving(arguments, cache) as pid:
        time.sleep(settle)
        began, before = time.monotonic(), spent(pid)
        time.sleep(seconds)
        after, took = spent(pid), time.monotonic() - began
    return Spent((after.user - before.user) / took, (after.system - before.system) / took, after.processes)


def lines(seconds: float, settle: float, cache: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{'share of a core, %':20}{'user':>8}{'system':>8}{'both':>8}{'processes':>11}"
    for name, arguments in (
        ("without --listen", []),
        ("with --listen", ["--listen", f"ipfix://127.0.0.1:{_free(socket.SOCK_DGRAM)}"]),
    ):
        found = idled(arguments, seconds, settle, cache)
        shares = [100 * part for part in (found.user, found.system, found.user + found.system)]
        yield f"{name:20}{''.join(f'{share:8.2f}' for share in shares)}{found.processes:11}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long is measured")
    parser.add_argument("--settle", type=float, default=15.0, help="seconds before that, once it is ready")
    parser.add_argument("--cache", help="a folder for compiled code that is kept; by default a new one")
    asked = parser.parse_args(argv)
    with TemporaryDirectory(prefix="prism-") as folder:
        for line in lines(asked.seconds, asked.settle, Path(asked.cache or folder)):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
