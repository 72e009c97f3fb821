"""The command `warm` of both programs: compile all loops ahead of use."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer


def command(program: str, packages: Sequence[str]) -> Callable[..., None]:
    """Make the command for the loops of these packages."""

    def warm(
        processes: Annotated[
            int | None, typer.Option(metavar="N", min=1, help="Number of processes. Default: one per core.")
        ] = None,
        quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress.")] = False,
    ) -> None:
        """Compile the analysis for this processor in advance.

        Otherwise the first runs are slower. Compiled code is stored beside the program, or in the folder NUMBA_CACHE_DIR; loops
        that are compiled already are skipped.
        """
        from collectors.cli.errors import report_errors
        from collectors.compilation.warming import compile_all, cores, listed, missing, note_compiled

        with report_errors(program):
            began = time.monotonic()
            every = listed(packages)
            tasks = missing(every)
            many = processes or cores()
            with _progress(len(tasks), quiet=quiet) as tell:
                for _ in compile_all(tasks, many):
                    tell()
            note_compiled(every, packages)
            said = (
                f"compiled {len(tasks)} loops in {time.monotonic() - began:.0f} s"
                if tasks
                else "all loops were compiled already"
            )
            if not quiet:
                typer.echo(f"{program}: {said}", err=True)

    return warm


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call for each compiled loop. It moves a bar on a terminal, else prints a line per tenth."""
    if quiet or not total:
        yield lambda: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("compiling loops"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda: bar.advance(task)
    else:
        done = 0

        def tell() -> None:
            nonlocal done
            done += 1
            if done * 10 // total > (done - 1) * 10 // total:
                typer.echo(f"compiling loops: {done} of {total}", err=True)

        yield tell
