"""Wake event streams when a board changes: one thread waits on behalf of all streams."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prism.tracking.board import Boards
from prism.views import board_views

LISTEN_S = 0.1  # seconds until the thread notices its end


class Hub:
    """Wakes event streams after a new board or progress of a replay. Its coroutines belong to one event loop."""

    def __init__(self, boards: Boards) -> None:
        self._boards, self._since = boards, time.monotonic()
        self._revision = boards.newest.revision
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closed = False
        self.streams = 0

    def age_s(self) -> float:
        """Return the age of the newest board that this hub saw, s."""
        return 0.0 if self._boards.newest.revision != self._revision else time.monotonic() - self._since

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the boards while the context lasts."""
        self._loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._follow, name="prism-hub", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.close()
            await asyncio.to_thread(thread.join)
            self._loop = None

    def wake(self) -> None:
        """Wake all streams; from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        """End all streams; from any thread."""
        self.closed = True
        self.wake()

    def changing(self) -> asyncio.Event:
        """Return the event of the next change; get it before you read the state."""
        return self._changed

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _follow(self) -> None:
        while not self.closed:
            newest = self._boards.after(self._revision, timeout_s=LISTEN_S)
            if newest.revision != self._revision:
                self._revision, self._since = newest.revision, time.monotonic()
                board_views.jobs(newest)  # computes the sums of large jobs before the first request needs them
                self.wake()
