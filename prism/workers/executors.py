"""Create executors: processes beside this one, or the workers of a Dask cluster."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

from collectors.compilation import compiled
from collectors.compilation.warming import compiled_beside
from collectors.memory.allocator import reduce_collections
from prism.workers.worker_cluster import scheduled

P = ParamSpec("P")
T = TypeVar("T")
PAYS = 2_000_000  # records above which several processes are faster: each needs seconds to start


def process_count(records: int) -> int:
    """Number of processes for this number of records: as many as cores, or one for few records."""
    return cores() if records >= PAYS else 1


def cores() -> int:
    """Number of available processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes(ProcessPoolExecutor):
    """A process pool that passes work in files: with pipes, a killed process could block the pool.

    (CPython before 3.11.5 and 3.12 waits for ever then, gh-94777.)
    """

    def __init__(self, count: int, folder: str) -> None:
        super().__init__(count, mp_context=get_context("spawn"), initializer=_initialise, initargs=(compiled.is_patient(),))
        self._folder, self._number = Path(folder), itertools.count()

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """See `Executor`."""
        path = self._folder / str(next(self._number))
        with open(path, "wb") as file:
            pickle.dump((call, args, options), file, pickle.HIGHEST_PROTOCOL)
        return super().submit(_run_file, path)


def _initialise(patient: bool) -> None:
    """Initialise a process: ignore Ctrl-C, end with the parent process, and use its garbage collection settings.

    `patient`: interpret loops without compiled code, see `compiled.be_patient`.
    """
    reduce_collections()
    if patient:
        compiled.be_patient(beside=compiled_beside)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _run_file(path: Path) -> Any:
    """Run the call in a file and return its result; the file is removed."""
    with open(path, "rb") as file:
        call, args, options = pickle.load(file)
    path.unlink()
    return call(*args, **options)


@contextmanager
def beside(count: int) -> Iterator[Executor]:
    """Start processes for work beside this one, so that collection does not wait."""
    with TemporaryDirectory(prefix="prism-") as folder, Processes(count, folder) as pool:
        for _ in range(count):
            pool.submit(os.getpid)
        yield pool


@contextmanager
def workers(count: int, scheduler: str = "", *, patience_s: float = 10.0) -> Iterator[Executor | None]:
    """Create an executor: `count` local processes, None for one, or the workers of the Dask `scheduler` at an address.

    Raises OSError, one line, if no scheduler answers within `patience_s`; ValueError if Dask is not installed.
    """
    if not scheduler:
        if count < 2:
            yield None
            return
        with beside(count) as pool:
            yield pool
        return
    with scheduled(scheduler, patience_s=patience_s) as cluster:
        yield cluster
