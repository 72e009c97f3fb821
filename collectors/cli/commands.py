"""`prism-collect`: what runs where packets are seen; it needs the light half only. And what both command lines share."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from collectors.cli import file_commands, live_commands, warm_command
from collectors.cli.option_values import Commands
from collectors.clickhouse.store_error import StoreError
from collectors.files.atomic_files import written as written
from collectors.memory.limit import is_lack, outer_limit

ENDINGS = {
    ".gz",
    ".zst",
    ".pcap",
    ".pcapng",
    ".cap",
    ".csv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".parquet",
    ".log",
    ".tsv",
}  # of files, not of switches' names

OUT_OF_MEMORY = "out of memory"
HELP = "Collect flow records: from captures, mirror ports, flow exports, and files of other tools."
app = typer.Typer(
    cls=Commands,
    help=HELP,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(asked: bool) -> None:
    """Print the program's name and version and end, where that was asked."""
    if asked:
        typer.echo(f"{Path(sys.argv[0]).name} {version('llm-prism')}")
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
]


def main() -> None:
    """The console script."""
    with lacking("prism-collect"):
        app()


@app.callback(help=HELP)
def options(version: VersionOption = False) -> None:
    """Options of the program itself."""


@contextmanager
def lacking(program: str) -> Iterator[None]:
    """End the program with one line on stderr and status 2 if memory runs out."""
    try:
        yield
    except MemoryError:
        outer = outer_limit()
        typer.echo(f"{program}: {OUT_OF_MEMORY}{f' ({outer})' if outer else ''}", err=True)
        sys.exit(2)


@contextmanager
def complaints(program: str) -> Iterator[ExitStack]:
    """End the program with one line on stderr and status 2 for errors a user can cause, 130 for Ctrl-C, 1 for a closed pipe.

    A store that cannot be reached gives status 75 (EX_TEMPFAIL): try again. The stack holds contexts that end with the command.
    """
    try:
        with ExitStack() as undo:
            yield undo
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the flush at exit meets no broken pipe again
        raise typer.Exit(1) from None
    except MemoryError:
        outer = outer_limit()
        raise _refusal(program, f"{OUT_OF_MEMORY}{f' ({outer})' if outer else ''}") from None
    except RuntimeError as error:
        if not is_lack(error):
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


def named_inputs(files: Sequence[str]) -> list[tuple[str, str]]:
    """Switch name and path of each FILE or SWITCH=FILE; a path that exists is a path, whatever it contains; - is stdin.

    Raises ValueError where a name is empty or stands for two files, OSError where a file cannot be read.
    """
    named: dict[str, str] = {}
    for file in files:
        switch, equals, path = file.partition("=")
        if not equals or Path(file).exists():
            switch, path = stem(file), file
        if not switch:
            raise ValueError(f"{file}: the switch name before = is missing; write SWITCH=FILE")
        if switch in named:
            hint = f"name the switches: {switch}={named[switch]} OTHER={path}"
            raise ValueError(f"{named[switch]} and {path}: both belong to switch {switch!r}; {hint}")
        _check_readable(path)
        named[switch] = path
    return list(named.items())


def _check_readable(path: str) -> None:
    """What cannot be read is told before a long run begins. Nothing is opened: a pipe opens once."""
    if path == "-":
        return
    if not os.access(path, os.R_OK):
        os.stat(path)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def stem(path: str) -> str:
    """What a file's name says of the switch that saw it: the name without its endings."""
    name = Path("stdin" if path == "-" else path)
    while name.suffix.lower() in ENDINGS and name.stem:
        name = Path(name.stem)
    return name.name


def check_output(path: str, inputs: Sequence[tuple[str, str]]) -> None:
    """Raises ValueError where a file could not be written, or is one of the inputs, before any work is done."""
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not target.parent.is_dir():
        raise ValueError(f"{path}: the folder {target.parent} does not exist; create it first")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(f"{path}: permission denied for writing")
    if target.exists() and any(target.samefile(read) for _, read in inputs if read != "-"):
        raise ValueError(f"{path}: is one of the inputs; choose another output file")


file_commands.add_to(app)
live_commands.add_to(app)
app.command("warm")(warm_command.command("prism-collect", ("collectors",)))
