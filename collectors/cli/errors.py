"""End a program with one line on standard error for errors of the user. Both command lines use it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import typer

from collectors.clickhouse.store_error import StoreError
from collectors.memory.limit import is_memory_error, outer_limit

OUT_OF_MEMORY = "out of memory"


@contextmanager
def report_memory_errors(program: str) -> Iterator[None]:
    """End the program with one line on stderr and status 2 if memory runs out."""
    try:
        yield
    except MemoryError:
        outer = outer_limit()
        typer.echo(f"{program}: {OUT_OF_MEMORY}{f' ({outer})' if outer else ''}", err=True)
        sys.exit(2)


@contextmanager
def report_errors(program: str) -> Iterator[ExitStack]:
    """End the program with one line on stderr and status 2 for errors of the user, 130 for Ctrl-C, 1 for a closed pipe.

    A store that cannot be reached gives status 75 (EX_TEMPFAIL): try again. The stack holds contexts that end with the command.
    """
    try:
        with ExitStack() as undo:
            yield undo
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the flush at exit causes no second error
        raise typer.Exit(1) from None
    except MemoryError:
        outer = outer_limit()
        raise _refusal(program, f"{OUT_OF_MEMORY}{f' ({outer})' if outer else ''}") from None
    except RuntimeError as error:
        if not is_memory_error(error):
            raise
        raise _refusal(program, f"{OUT_OF_MEMORY}: {error}") from None
    except OSError as error:
        said = error.strerror or str(error)
        message = f"{error.filename}: {said[:1].lower()}{said[1:]}" if error.filename else str(error)
        raise _refusal(program, message) from None
    except ValueError as error:
        raise _refusal(program, str(error)) from None
    except StoreError as error:
        raise _refusal(program, str(error), status=os.EX_TEMPFAIL if error.transient else 2) from None


def _refusal(program: str, message: str, *, status: int = 2) -> typer.Exit:
    line = " ".join(message.split())
    typer.echo(f"{program}: " + "".join(c if c.isprintable() else "\ufffd" for c in line), err=True)
    return typer.Exit(status)
