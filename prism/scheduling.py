"""The workers of a Dask cluster as an executor that outlives its scheduler: while that is away, whoever asks does the work."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from collectors.logs import say

P = ParamSpec("P")
T = TypeVar("T")


class Scheduled(Executor):
    """Hands work to the scheduler at an address.

    While it is away, `submit` raises BrokenExecutor, and every `again_s` it is looked for. Raises OSError where none answers
    within `patience_s` at the start, ValueError where Dask is not installed.
    """

    def __init__(self, address: str, *, patience_s: float = 10.0, again_s: float = 30.0) -> None:
        try:
            import distributed
        except ImportError:
            raise ValueError("--scheduler needs Dask: pip install 'llm-prism[distributed]'") from None
        for name in ("distributed.client", "distributed.core", "distributed.comm"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # they tell with tracebacks what is told here in a line
        self._open: Callable[[float], Any] = lambda patience: distributed.Client(  # type: ignore[no-untyped-call]
            address, timeout=patience, set_as_default=False
        )
        self.address, self._again_s = address, again_s
        self._client: Any = self._open(patience_s)
        self._next_s = 0.0

    @property
    def running(self) -> bool:
        """Whether the scheduler is there."""
        return self._client is not None and self._client.status == "running"

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """See `Executor`."""
        if not self.running:
            self._look_again()
        handed: Future[T] = self._client.get_executor(pure=False).submit(call, *args, **options)
        return handed

    def _look_again(self, *, patience_s: float = 2.0) -> None:
        """A new connection, if it is time and there is one; raises BrokenExecutor."""
        now = time.monotonic()
        if self._client is not None:
            say("scheduler lost", level=logging.WARNING, address=self.address)
            self._close(1.0)
        if now >= self._next_s:
            self._next_s = now + self._again_s
            try:
                self._client = self._open(patience_s)
                say("scheduler found", address=self.address)
            except (OSError, TimeoutError):
                self._client = None
        if self._client is None:
            raise BrokenExecutor(f"no scheduler at {self.address}")

    def _close(self, patience_s: float) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(TimeoutError):
                client.close(timeout=patience_s)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `Executor`."""
        self._close(10.0 if wait and not cancel_futures else 1.0)

    def health(self) -> Mapping[str, Any]:
        """Whether the scheduler is reached. Work is done without it too, if more slowly: nothing is out of order."""
        return {"ok": True, "reached": self.running, "address": self.address}


@contextmanager
def scheduled(address: str, *, patience_s: float = 10.0) -> Iterator[Scheduled]:
    """An executor for as long as this lasts. Raises as `Scheduled` does."""
    executor = Scheduled(address, patience_s=patience_s)
    try:
        yield executor
    finally:
        executor.shutdown()
