"""`prism open`, and the commands that query a running service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer

from collectors.cli.errors import report_errors
from collectors.cli.file_arguments import named_inputs
from collectors.cli.option_values import MemoryOption
from collectors.memory.limit import MEMORY, memory_limit
from prism.cli import watch_commands

POLL_S = 0.1  # seconds

TopologyOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Host, rail and leaf of each address: JSON, YAML or CSV.")
]

HintsOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Facts about the site and its jobs (JSON or YAML); see docs/context.md.")
]


@contextmanager
def require_packages() -> Iterator[None]:
    """Turn a missing package of the service into a ValueError that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in ("collectors", "prism"):
            raise
        raise ValueError(f"the package {name} is missing; install it: pip install 'llm-prism[service]'") from None


def open_(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Captures or flow records, as for prism replay.")],
    topology: TopologyOption = None,
    hints: HintsOption = None,
    jobs: watch_commands.JobsOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 for any free one.")] = 8080,
    columns: Annotated[
        str | None, typer.Option(metavar="FILE", help="Column mapping for tables of other tools (YAML); see docs/inputs.md.")
    ] = None,
    memory: MemoryOption = MEMORY,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress bar.")] = False,
) -> None:
    """Replay files and show them in a browser, until Ctrl-C."""
    with report_errors("prism") as undo, require_packages():
        from tempfile import TemporaryDirectory

        from collectors.compilation.startup import begin
        from collectors.live.session import signals
        from prism.api.server.web_server import ServerRequest, serve
        from prism.app.recorded_service import opened
        from prism.cli.offline.command_io import progress_bars, read_bookings, read_hints, read_topology

        undo.enter_context(begin("prism", quiet=quiet))
        inputs = named_inputs(files)
        placed = read_topology(topology) if topology else None
        given = read_hints(hints) if hints else None
        with progress_bars(quiet=quiet) as progress, memory_limit(memory, files):
            service = opened(inputs, placed, progress, columns, hints=given, bookings=read_bookings(jobs))
        with (
            signals() as asked,
            TemporaryDirectory(prefix="prism-") as spool,
            serve(service, ServerRequest(str(port), uploads=spool)) as address,
        ):
            typer.echo(f"{address}/")
            while not asked.stop.is_set():
                time.sleep(POLL_S)


UrlOption = Annotated[str, typer.Option("--url", metavar="URL", help="Address of the service.")]
TokenFileOption = Annotated[str | None, typer.Option(metavar="FILE", help="File with the token, if the service needs one.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LimitOption = Annotated[int, typer.Option(min=1, max=100_000, help="Most items to print.")]
AT = "http://127.0.0.1:8080"


def jobs(url: UrlOption = AT, token_file: TokenFileOption = None, json: JsonOption = False, limit: LimitOption = 1000) -> None:
    """List the jobs of a running service."""
    with report_errors("prism"), require_packages():
        from prism.cli import _service_tables as service_tables
        from prism.report import terminal_report
        from prism.service.service_client import ServiceClient

        with ServiceClient(url, token_file) as service:
            found = list(service.all("/jobs", max_items=limit))
        _print_json(found) if json else service_tables.show_jobs(found, terminal_report.console())


def findings(
    url: UrlOption = AT,
    token_file: TokenFileOption = None,
    json: JsonOption = False,
    limit: LimitOption = 20,
    job: Annotated[str | None, typer.Option(metavar="ID", help="Only of this job.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only of this kind, such as slow_rank.")] = None,
    severity: Annotated[str | None, typer.Option(help="Only info, warning or critical.")] = None,
    state: Annotated[str | None, typer.Option(help="Only open or closed.")] = None,
) -> None:
    """List the findings of a running service, the latest first."""
    with report_errors("prism"), require_packages():
        from prism.cli import _service_tables as service_tables
        from prism.report import terminal_report
        from prism.service.service_client import ServiceClient

        with ServiceClient(url, token_file) as service:
            asked = service.all("/findings", max_items=limit, job=job, kind=kind, severity=severity, state=state)
            found = list(asked)
        _print_json(found) if json else service_tables.show_findings(found, terminal_report.console())


def job(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the job.")],  # noqa: A002
    url: UrlOption = AT,
    token_file: TokenFileOption = None,
    json: JsonOption = False,
) -> None:
    """Show one job of a running service."""
    with report_errors("prism"), require_packages():
        from urllib.parse import quote

        from prism.cli import _service_tables as service_tables
        from prism.report import terminal_report
        from prism.service.service_client import ServiceClient

        with ServiceClient(url, token_file) as service:
            found = service.get(f"/jobs/{quote(id, safe='')}")
            cases = list(service.all("/findings", max_items=100, job=id, state="open"))
        _print_json(found) if json else service_tables.show_job(found, cases, terminal_report.console())


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Part of a name: a host, a job, a user, an address, a switch.")],
    url: UrlOption = AT,
    token_file: TokenFileOption = None,
    json: JsonOption = False,
    limit: LimitOption = 20,
) -> None:
    """Find jobs, users, hosts, racks, addresses, switches and findings of a running service by name."""
    with report_errors("prism"), require_packages():
        from prism.cli import _service_tables as service_tables
        from prism.report import terminal_report
        from prism.service.service_client import ServiceClient

        with ServiceClient(url, token_file) as service:
            found = list(service.all("/search", max_items=limit, paged=False, q=text, limit=min(limit, 1000)))
        _print_json(found) if json else service_tables.show_results(found, terminal_report.console())


def _print_json(found: object) -> None:
    from json import dumps

    typer.echo(dumps(found, indent=1))


tokens = typer.Typer(help="Manage bearer tokens of a service; only their hashes are stored.", no_args_is_help=True)
TokensOption = Annotated[str, typer.Option("--tokens", metavar="FILE", help="Token file.")]
TOKENS = "tokens.json"


class Scope(StrEnum):
    """Scope of a token."""

    read = "read"
    admin = "admin"


@tokens.command("create")
def create_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of its user.")],
    scope: Annotated[Scope, typer.Option(help="read, or admin, which also allows uploads.")] = Scope.read,
    where: TokensOption = TOKENS,
) -> None:
    """Create a token and print it; it cannot be printed again."""
    with report_errors("prism"):
        from prism.service.tokens import Tokens

        typer.echo(Tokens(where).create(name, scope.value))


@tokens.command("list")
def list_tokens(where: TokensOption = TOKENS) -> None:
    """List the tokens."""
    with report_errors("prism"):
        from prism.cli._service_tables import show_tokens
        from prism.report.terminal_report import console
        from prism.service.tokens import Tokens

        show_tokens(Tokens(where).all(), console())


@tokens.command("revoke")
def revoke_token(
    which: Annotated[str, typer.Argument(metavar="NAME", help="Name or id of the token.")], where: TokensOption = TOKENS
) -> None:
    """Revoke a token, with effect from the next request."""
    with report_errors("prism"):
        from prism.service.tokens import Tokens

        Tokens(where).revoke(which)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("open")(open_)
    for command in (jobs, job, findings, search):
        app.command()(command)
    app.add_typer(tokens, name="token")
