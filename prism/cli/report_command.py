"""`prism report`: GPU-hours lost, as a table, as HTML, or by mail."""

from __future__ import annotations

from typing import Annotated

import typer

from collectors.cli.errors import report_errors


def report(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Address of the service.")] = "http://127.0.0.1:8080",
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="File with the token, if the service needs one.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="So many days up to now.")] = 7,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as HTML.")] = None,
    mail: Annotated[
        str | None, typer.Option(metavar="FILE", help="Send it to the receivers of the kind email in these alert settings.")
    ] = None,
) -> None:
    """Report the GPU-hours that faults cost over some days by cause, host, switch, job and user, and the training time ratio.

    For a weekly mail run it by a timer. Exit status 1 if a mail was not delivered.
    """
    with report_errors("prism"):
        import time

        from prism.cli.offline.command_io import write_text
        from prism.lost_time.lost_hours import BYS
        from prism.lost_time.lost_time_mail import text
        from prism.service.service_client import ServiceClient
        from prism.views.board_views import Json

        with ServiceClient(url, token_file) as service:
            tables: dict[str, list[Json]] = {by: service.get("/reports/lost", by=by, days=days)["items"] for by in BYS}
            ratios = service.get("/reports/ettr", days=days)["items"]
            page = service.text("/reports/lost.html", days=days) if html or mail else ""
        now = time.time_ns()
        plain = text(tables, now - days * 86_400 * 10**9, now, ratios=ratios)
        if html:
            write_text(html, page)
        if mail:
            failed = send_report(mail, f"GPU-hours lost in {days} days", plain, page)
            for why in failed:
                typer.echo(f"prism: {why}", err=True)
            raise typer.Exit(int(bool(failed)))
        if not html:
            typer.echo(plain, nl=False)


def send_report(path: str, subject: str, plain: str, page: str) -> list[str]:
    """Send the report to all email receivers; return the reasons of failures. Raises ValueError without such a receiver."""
    from email.message import EmailMessage
    from email.policy import SMTP

    from prism.notify.alert_settings_file import read_alerts
    from prism.notify.smtp import Mail, send

    settings, failed = read_alerts(path), []
    receivers = [one for one in settings.receivers if one.kind == "email"]
    if not receivers:
        raise ValueError(f"{path}: has no receiver of the kind email")
    for one in receivers:
        made = EmailMessage(policy=SMTP)
        made["Subject"], made["From"], made["To"] = f"Prism: {subject}", one.sender, ", ".join(one.to)
        made["Auto-Submitted"] = "auto-generated"
        made.set_content(plain)
        made.add_alternative(page, subtype="html")
        letter = Mail(str(one.url), one.sender, one.to, made.as_bytes(), one.user, str(one.token))
        went = send(letter, allow=one.allow, limits=settings.limits, ca_file=one.ca_file, hidden=one.hidden)
        failed += [] if went.ok else [f"{one.name}: {went.why}"]
    return failed


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)
