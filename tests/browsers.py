"""One real browser at a time. While it is there no other event loop runs in its thread: it does not outlive who needs it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Without windows it takes half the processor time.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
_there = []  # the one that runs


@contextmanager
def launched() -> Iterator:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    if _there:
        yield _there[0]
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        _there.append(made)
        yield made
        _there.clear()
        made.close()
