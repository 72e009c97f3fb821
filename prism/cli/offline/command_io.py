"""Read the input files that several commands share, show progress, and write results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from collectors.files.atomic_files import atomic_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.progress import Progress, TaskID

    from collectors.columns.record import Flows
    from prism.inventory.bookings import Booking
    from prism.inventory.operator_hints import Hints
    from prism.model import Diagnosis
    from prism.topology import Topology
    from prism.tracking.identity import Marks

PROGRESS_AFTER_S = 1.0  # seconds of work before a progress bar appears


def html_page(diagnosis: Diagnosis, topology: Topology | None, flows: Flows, bookings: Sequence[Booking] = ()) -> str:
    """Build the HTML report of a diagnosis, with pictures from its records."""
    from prism.tracking.board import board_of
    from prism.tracking.flow_sources import Memory
    from prism.views import html_report

    return html_report.dumps(board_of(diagnosis, topology, bookings), Memory(flows))


def read_topology(path: str) -> Topology:
    """Read a topology file. Raises OSError, and ValueError with file and position."""
    from prism.topology import parse

    return parse(read_text(path), path)


def read_hints(path: str) -> Hints:
    """Read a file of hints. Raises OSError, and ValueError with file and position."""
    from prism.inventory.operator_hints import parse

    return parse(read_text(path), path)


def read_bookings(paths: Sequence[str] | None) -> tuple[Booking, ...]:
    """Read the jobs of schedulers from files or addresses."""
    from prism.app.booking_sources import once

    return once(paths) if paths else ()


def read_earlier_jobs(path: str) -> Mapping[str, Marks]:
    """Read the jobs of an earlier report by their names."""
    from prism.tracking.identity import reported_jobs

    return reported_jobs(read_text(path), path)


def read_text(path: str) -> str:
    """Read a text file. Raises OSError, and ValueError if it is not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: offset {error.start}: not UTF-8 text") from None


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback (stage, done, total) that draws progress bars on stderr after `PROGRESS_AFTER_S`; total 0 is unknown."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    began = time.monotonic()
    bars: Progress | None = None
    tasks: dict[str, TaskID] = {}

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal bars
        if bars is None and time.monotonic() - began > PROGRESS_AFTER_S:
            bars = _bars()
            bars.start()
        if bars is not None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total or None)
            bars.update(tasks[stage], completed=done, total=total or None)

    try:
        yield tell
    finally:
        if bars is not None:
            bars.stop()


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)


def show_diagnosis(
    diagnosis: Diagnosis,
    topology: Topology | None,
    json: str | None,
    trace: str | None,
    *,
    quiet: bool,
    bookings: Sequence[Booking] = (),
) -> None:
    """Write the files first, then print the tables, so that the files exist when the tables appear."""
    from prism.inventory.job_matching import joined
    from prism.report import json_report, terminal_report, trace_files

    warnings: list[str] = []
    known = joined((found.job for found in diagnosis.jobs), bookings, topology)
    if json and json != "-":
        write_text(json, json_report.dumps(diagnosis, topology, known))
    if trace:
        warnings += trace_files.write(trace, diagnosis, topology)
    if json != "-":
        terminal_report.show(diagnosis, terminal_report.console(), topology)
    else:
        sys.stdout.write(json_report.dumps(diagnosis, topology, known))
        warnings += diagnosis.source.warnings
    for warning in () if quiet else warnings:
        typer.echo(f"prism: {warning}", err=True)


def write_text(path: str, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as name:
        Path(name).write_text(text, encoding="utf-8")
