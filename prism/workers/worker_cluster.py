"""Use the workers of a Dask cluster as an executor that survives their failure: then the caller does the work."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from collectors.operations.logs import log_event

P = ParamSpec("P")
T = TypeVar("T")
# Their tracebacks repeat messages that are logged here in one line; Tornado runs nothing but the client's connections.
QUIET = ("distributed.client", "distributed.core", "distributed.comm", "tornado.application")


def checked(address: str) -> str:
    """Check the address of a scheduler. Raises ValueError if it is invalid, or Dask is not installed."""
    try:
        parts = urlsplit(address)
        sound = (
            parts.scheme in ("tcp", "tls") and parts.hostname and parts.port and f"{parts.scheme}://{parts.netloc}" == address
        )
    except ValueError:
        sound = False
    if not sound or "@" in address or any(c.isspace() for c in address):
        raise ValueError(f"--scheduler {address}: must be tcp://HOST:PORT or tls://HOST:PORT")
    try:
        from distributed.security import Security
    except ImportError:
        raise ValueError("--scheduler needs Dask, which is missing; install it: pip install 'llm-prism[distributed]'") from None
    try:
        safe = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ValueError(f"--scheduler {address}: the certificates of distributed.comm.tls cannot be read: {error}") from None
    if parts.scheme == "tls" and safe["ssl_context"] is None:
        raise ValueError(f"--scheduler {address}: TLS needs certificates; set distributed.comm.tls in the Dask settings")
    if parts.scheme == "tcp" and safe["require_encryption"]:
        raise ValueError(f"--scheduler {address}: the Dask settings require encryption (distributed.comm); use tls://HOST:PORT")
    return address


def attempted(call: Callable[..., T], *args: Any) -> tuple[T, None] | tuple[None, Exception]:
    """Return the result or the exception of a call, so that exceptions of work and of Dask can be distinguished."""
    try:
        return call(*args), None
    except Exception as error:
        return None, error


class Scheduled(Executor):
    """Submit work to the scheduler at an address.

    While it is unavailable, `submit` raises BrokenExecutor, and a new connection is tried every `again_s`. If no worker answers
    or works on submitted calls for `idle_s` (twice that where the scheduler itself is silent), they fail with BrokenExecutor,
    and `submit` raises it until a worker knows the call: there may be no workers, or workers that cannot import it. Raises
    OSError if no scheduler answers within `patience_s` at the start, ValueError as `checked`.
    """

    def __init__(self, address: str, *, patience_s: float = 10.0, again_s: float = 30.0, idle_s: float = 30.0) -> None:
        self.address, self._again_s, self._idle_s = checked(address), again_s, idle_s
        for name in QUIET:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._client: Any = _opened(address, patience_s)
        self._next_s = 0.0
        self._names = (f"prism-{uuid.uuid4().hex}-{n}" for n in itertools.count())
        self._out: dict[str, tuple[Future[Any], Future[Any]]] = {}  # by name: our future, and Dask's
        self._idle_checks = 0  # checks since the last sign that a worker is active
        self._reason = ""  # reason why no worker is active, if so
        self._call: Callable[..., Any] = checked  # last submitted call
        self._probe: Future[bool] | None = None
        self._probe_s = 0.0  # earliest time of the next probe
        self._lock = threading.RLock()
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="prism-scheduled", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether the scheduler is connected."""
        client = self._client
        return client is not None and client.status == "running"

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """See `Executor`."""
        if not self.running:
            self._reconnect()
        self._call = call
        if self._reason and not self._has_worker():
            raise BrokenExecutor(self._reason)
        name, promised = next(self._names), Future[T]()
        bound = partial(call, **options) if options else call
        handed = self._client.get_executor(pure=False).submit(attempted, bound, *args, key=name)
        with self._lock:
            if not self._out:
                self._idle_checks = 0
            self._out[name] = promised, handed
        promised.add_done_callback(lambda one: self._cancelled(name, one))
        handed.add_done_callback(lambda one: self._answered(name, one))
        return promised

    def _cancelled(self, name: str, promised: Future[Any]) -> None:
        """Release work that the caller cancelled."""
        if promised.cancelled():
            with self._lock:
                _, handed = self._out.pop(name, (None, None))
            if handed is not None:
                handed.cancel()

    def _answered(self, name: str, handed: Future[Any]) -> None:
        """Pass on the result of a worker. An error of Dask itself means that there is no worker or no scheduler."""
        lost = None if handed.cancelled() else handed.exception()
        with self._lock:
            promised, _ = self._out.pop(name, (None, None))
            if promised is None or not promised.set_running_or_notify_cancel():
                return
            self._idle_checks = 0
        if handed.cancelled() or isinstance(lost, CancelledError):
            promised.set_exception(BrokenExecutor(f"no scheduler at {self.address}"))
        elif lost is not None:
            said = f"{type(lost).__name__}: {lost}".splitlines()[0]
            self._give_up(f"the workers failed: {said}")
            promised.set_exception(BrokenExecutor(self._reason))
        else:
            result, error = handed.result()
            promised.set_result(result) if error is None else promised.set_exception(error)

    def _watch(self) -> None:
        """Fail work that no worker runs. Checks are counted, not seconds: a machine that stands still has lost no worker."""
        period_s = min(self._idle_s / 8, 5.0)
        while not self._ended.wait(period_s):
            with self._lock:
                names = list(self._out)
            works = bool(names) and self._worked_on(names)
            with self._lock:
                self._idle_checks = 0 if works else self._idle_checks + 1
                given_up = dict(self._out) if self._idle_checks * period_s >= self._idle_s else {}
                for name in given_up:
                    del self._out[name]
                waiting = [both for both in given_up.values() if both[0].set_running_or_notify_cancel()]
            if waiting:
                self._give_up(f"no worker answered for {self._idle_s:g} s")
            for promised, _ in waiting:
                promised.set_exception(BrokenExecutor(self._reason))
            for _, handed in given_up.values():
                handed.cancel()

    def _worked_on(self, names: list[str]) -> bool:
        """Check whether a worker runs some of it now; one that does not answer does not."""
        client = self._client
        try:
            return bool(client.sync(client.scheduler.call_stack, keys=names, callback_timeout=max(self._idle_s / 8, 1.0)))
        except Exception:  # Dask may raise anything about finished work and lost workers or schedulers
            return False

    def _give_up(self, why: str) -> None:
        """Fail all work: callers do it themselves until a worker can run the call."""
        with self._lock:
            known, self._reason = self._reason, why
            self._probe, self._probe_s = (self._probe, self._probe_s) if known else (None, 0.0)
        if not known:
            log_event("no worker answers, this process analyses", level=logging.WARNING, address=self.address, reason=why)

    def _has_worker(self) -> bool:
        """Check whether a worker is available again: one is asked to import the last submitted call."""
        probe, now = self._probe, time.monotonic()
        if probe is not None and probe.done():
            self._probe = None
            if not probe.cancelled() and probe.exception() is None:
                self._reason = ""
                log_event("workers answer again", address=self.address)
                return True
        if self._probe is None and now >= self._probe_s:
            self._probe_s = now + self._again_s
            self._probe = self._client.get_executor(pure=False).submit(callable, self._call)
        return False

    def _reconnect(self, *, patience_s: float = 2.0) -> None:
        """Reconnect if it is time; raises BrokenExecutor."""
        now = time.monotonic()
        if self._client is not None:
            log_event("scheduler does not answer, this process analyses", level=logging.WARNING, address=self.address)
            self._close(1.0)
        if now >= self._next_s:
            self._next_s = now + self._again_s
            try:
                self._client = _opened(self.address, patience_s)
                self._reason, self._probe = "", None
                log_event("scheduler answers", address=self.address)
            except OSError:
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
        self._ended.set()
        self._close(10.0 if wait and not cancel_futures else 1.0)

    def health(self) -> Mapping[str, Any]:
        """Health: whether the scheduler is connected and a worker is active. Without them work is done locally, more slowly."""
        reached, why = self.running, self._reason
        health = {"ok": True, "reached": reached, "working": reached and not why, "address": self.address}
        return {**health, "reason": why} if reached and why else health


def _opened(address: str, patience_s: float) -> Any:
    """Connect to the scheduler at an address. Raises OSError if none answers.

    The scheduler is identified first: a client without one would leave threads behind, and would wait for ever for a silent
    peer.
    """
    from distributed import Client

    try:
        with ThreadPoolExecutor(1) as aside:  # the caller may run an event loop of its own
            who = aside.submit(asyncio.run, _identity(address, patience_s)).result()
        if who != "Scheduler":
            raise OSError(f"{address}: is not a Dask scheduler but a {who}")
        return Client(address, timeout=patience_s, set_as_default=False)  # type: ignore[no-untyped-call]
    except TimeoutError:
        raise OSError(f"{address}: no Dask scheduler answers; is it running?") from None


async def _identity(address: str, patience_s: float) -> str:
    """Return the identity that a peer reports."""
    from distributed.core import rpc
    from distributed.security import Security

    safe = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    async with rpc(address, timeout=patience_s, connection_args=safe) as scheduler:  # type: ignore[no-untyped-call]
        identity = await asyncio.wait_for(scheduler.identity(), patience_s)
    return str(identity.get("type")) if isinstance(identity, dict) else type(identity).__name__


@contextmanager
def scheduled(address: str, *, patience_s: float = 10.0, idle_s: float = 30.0) -> Iterator[Scheduled]:
    """Create an executor within the context. Raises as `Scheduled`."""
    executor = Scheduled(address, patience_s=patience_s, idle_s=idle_s)
    try:
        yield executor
    finally:
        executor.shutdown()
