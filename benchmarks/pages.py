"""How long a browser takes to show a large job and a finding of it, and how much it fetches for that.

python -m benchmarks.pages [RANKS] [STEPS] [ROUNDS]: the service is a process of its own, with a board that no request has read
before; each page is opened by its address in a browser without a cache. `first paint` is the first content, `told` the
page's own heading, facts and text, `pictures` the heat of steps by rank, `whole` all there is. The promise is a first paint
within 2 s and at most 5 MB fetched. What else runs on the machine delays these; so the processor time of the service and of the
browser (all its processes, from an empty tab on) is told too.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks.boards import board
from prism.tracking.board import Board

PAGES = {
    "Overview": ("#/", "#jobs tbody tr", "#jobs tbody tr"),
    "Job": ("#/jobs/{job}", "#steps", "#steps .drawing + .drawing > canvas"),
    "Finding": ("#/findings/{case}", "#advice li", "#pictures .drawing + .drawing > canvas"),
}  # address; elements of the complete text, and of the pictures
WATCH = """wanted => {
  window.seen = {};
  const look = () => {
    for (const [name, selector] of Object.entries(wanted)) {
      if (!(name in window.seen) && document.querySelector(selector)) window.seen[name] = performance.now();
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
SEEN = "() => ({...window.seen, paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN})"
MEASURES = ("paint", "told", "pictures", "whole")


def _serve(ranks: int, steps: int, pipe: Connection) -> None:
    """Serve a board; a new one with the same content on request."""
    from prism.api.server.web_server import served
    from prism.service.service_settings import Limits, Service
    from prism.tracking.board import Boards

    boards = Boards(board(ranks, steps))
    with served(Service(boards, None, "live", limits=Limits(per_second=1e6, burst=10**6))) as port:
        pipe.send((port, boards.newest.jobs[0].id, boards.newest.cases[0].id))
        while pipe.recv():
            boards.publish(fresh(boards.newest))
            pipe.send(None)


def fresh(shown: Board) -> Board:
    """Copy a board without cached results."""
    jobs = tuple(replace(job, found=replace(job.found, timeline=replace(job.found.timeline))) for job in shown.jobs)
    return replace(shown, revision=shown.revision + 1, jobs=jobs)


@contextmanager
def _service(ranks: int, steps: int) -> Iterator[tuple[str, dict[str, str], Callable[[], None]]]:
    """Yield the service's address, its ids, and a function that clears its caches."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_serve, args=(ranks, steps, theirs))
    child.start()
    theirs.close()  # so that a child's end is noticed
    try:
        port, job, case = ours.recv()

        def forget() -> None:
            ours.send(True)
            ours.recv()

        yield f"http://127.0.0.1:{port}/", {"job": job, "case": case}, forget
        ours.send(False)
        child.join()
    finally:
        child.kill()


def visit(browser: Any, url: str, told: str, pictures: str) -> dict[str, float]:
    """Open an address without a cache: ms until each of MEASURES, transferred `octets`, and `requests`."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        before = _processors()
        answers: list[Any] = []
        page.on("requestfinished", lambda answer: answers.append(answer))  # playwright sets attributes on it
        wanted = {"told": told, "pictures": pictures, "whole": "main[data-ready]"}
        page.add_init_script(f"({WATCH})({json.dumps(wanted)})")
        page.goto(url, wait_until="commit")
        page.wait_for_function("() => 'whole' in (window.seen ?? {})", timeout=60_000)
        sizes = [answer.sizes() for answer in answers]
        octets = sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes)
        seen: dict[str, float] = page.evaluate(SEEN)
        spent = {name: now - before[name] for name, now in _processors().items()}
        return seen | spent | {"octets": octets, "requests": len(answers)}
    finally:
        context.close()


def _processors() -> dict[str, float]:
    """Return the processor time of the service and of the browser so far, ms."""
    found = {"service": 0.0, "browser": 0.0}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            used = process.cpu_times()
            found["service" if "multiprocessing" in " ".join(process.cmdline()) else "browser"] += 1e3 * (
                used.user + used.system
            )
    return found


def main(ranks: int = 10_000, steps: int = 200, rounds: int = 3) -> None:
    """Print the cost of pages: median and maximum of some rounds."""
    from playwright.sync_api import sync_playwright

    print(f"{ranks:,} ranks × {steps:,} steps, {rounds} rounds: median (worst), s")
    with _service(ranks, steps) as (url, ids, forget), sync_playwright() as playwright:
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium)
        visit(browser, url, "main", "main")  # a browser's first page is slow
        for name, (place, told, pictures) in PAGES.items():
            seen = []
            for _ in range(rounds):
                forget()
                seen.append(visit(browser, url + place.format(**ids), told, pictures))
            print(f"{name:9}", "  ".join(_told(one, [found[one] for found in seen]) for one in MEASURES), end="  ")
            told_ms = (f"{who} {statistics.median(found[who] for found in seen) / 1e3:.2f}" for who in ("service", "browser"))
            print("of a processor:", "  ".join(told_ms), end="  ")
            print(f"{max(found['octets'] for found in seen) / 1e6:.2f} MB in {seen[0]['requests']:.0f} requests")
        browser.close()


def _told(name: str, ms: list[float]) -> str:
    return f"{'first paint' if name == 'paint' else name} {statistics.median(ms) / 1e3:.2f} ({max(ms) / 1e3:.2f})"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
