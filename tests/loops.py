"""Coroutines in tests. Playwright keeps an event loop running in the thread of a browser, where no other one can run."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def apart(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a thread of its own and return what it gives."""
    with ThreadPoolExecutor(1) as one:
        return one.submit(asyncio.run, work).result()
