"""`prism-collect`: what runs where packets are seen; it needs the light half only. And what both command lines share."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from collectors import cli_files, cli_live
from collectors.cli_given import Commands
from collectors.files import written as written
from collectors.storeerror import StoreError

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

HELP = "Turn captures into flow records, where packets are seen; and other tools' records into dumps."
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
    bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
]


def main() -> None:
    """The console script."""
    app()


@app.callback(help=HELP)
def options(version: VersionOption = False) -> None:
    """Options of the program itself."""


@contextmanager
def complaints(program: str) -> Iterator[None]:
    """What a user can cause ends the program with one line on stderr and 2; Ctrl-C with 130; a reader that left, silently.

    A store that is away ends it with 75 (EX_TEMPFAIL): to be tried again.
    """
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the flush at exit meets no broken pipe again
        raise typer.Exit(1) from None
    except OSError as error:
        message = f"{error.filename}: {(error.strerror or str(error)).lower()}" if error.filename else str(error)
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
            raise ValueError(f"{file}: the switch's name before = is missing")
        if switch in named:
            hint = f"say which switch each is: {switch}={named[switch]} OTHER={path}"
            raise ValueError(f"{named[switch]} and {path} are both switch {switch!r}: {hint}")
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
        raise ValueError(f"{path}: is a folder, not a file")
    if not target.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(f"{path}: may not be written")
    if target.exists() and any(target.samefile(read) for _, read in inputs if read != "-"):
        raise ValueError(f"{path}: is one of the inputs")


cli_files.add_to(app)
cli_live.add_to(app)
