"""Executors: processes beside this one, or the workers of a Dask cluster."""

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
PAYS = 2_000_000  # records from which on several processes are sooner done: each needs seconds to begin


def worth(records: int) -> int:
    """In how many processes so many records are best analysed here: in as many as there are cores, or, if few, in this one."""
    return cores() if records >= PAYS else 1


def cores() -> int:
    """How many processors there are for us."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes(ProcessPoolExecutor):
    """Processes that are given their work in files: where one is killed, a pipe that is full would hold up everybody.

    (CPython before 3.11.5 and 3.12 waits for ever then, gh-94777.)
    """

    def __init__(self, count: int, folder: str) -> None:
        super().__init__(count, mp_context=get_context("spawn"), initializer=_begun, initargs=(compiled.is_patient(),))
        self._folder, self._number = Path(folder), itertools.count()

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """See `Executor`."""
        path = self._folder / str(next(self._number))
        with open(path, "wb") as file:
            pickle.dump((call, args, options), file, pickle.HIGHEST_PROTOCOL)
        return super().submit(_called, path)


def _begun(patient: bool) -> None:
    """Leaves Ctrl-C to who began this process, and ends with that, however it does; as there, collects seldom.

    `patient`: whether loops without compiled code are interpreted, see `compiled.be_patient`.
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


def _called(path: Path) -> Any:
    """What a call in a file gives; the file goes."""
    with open(path, "rb") as file:
        call, args, options = pickle.load(file)
    path.unlink()
    return call(*args, **options)


@contextmanager
def beside(count: int) -> Iterator[Executor]:
    """Processes that do work meanwhile, so that what comes in here does not wait for it. They begin at once."""
    with TemporaryDirectory(prefix="prism-") as folder, Processes(count, folder) as pool:
        for _ in range(count):
            pool.submit(os.getpid)
        yield pool


@contextmanager
def workers(count: int, scheduler: str = "", *, patience_s: float = 10.0) -> Iterator[Executor | None]:
    """An executor: `count` processes here, none for one, or the workers of the Dask `scheduler` at that address.

    Raises OSError, one line, where no such scheduler answers within `patience_s`, ValueError where Dask is not installed.
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
