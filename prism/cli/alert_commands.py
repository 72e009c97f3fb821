"""`prism silence` and `prism alert`: silence alerts, test receivers, list undelivered notifications."""

from __future__ import annotations

import getpass
import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from prism.alerts.matchers import Silence

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LISTING_MOST = 1 << 26
SettingsOption = Annotated[
    str,
    typer.Option(
        "--settings",
        metavar="FILE",
        envvar="PRISM_ALERTS",
        help="Alert settings (YAML).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FORM = {"no_args_is_help": True, "rich_markup_mode": None, "context_settings": {"help_option_names": ["-h", "--help"]}}

silences = typer.Typer(help="Silence alerts for some time, by their labels.", **FORM)  # type: ignore[arg-type]
alerts = typer.Typer(help="Test receivers; list notifications that were not delivered.", **FORM)  # type: ignore[arg-type]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(silences, name="silence")
    app.add_typer(alerts, name="alert")


@silences.command("add")
def add(
    matchers: Annotated[
        list[str], typer.Argument(metavar="MATCHER...", help="All must match: job=…, host=~'server1.*', severity!=critical.")
    ],
    lasting: Annotated[str, typer.Option("--for", metavar="TIME", help="Duration: 90m, 2h, 1d12h.")] = "2h",
    begin: Annotated[
        str | None,
        typer.Option("--from", metavar="WHEN", help="Start, UTC: 2026-11-20T22:00. Default: now."),
    ] = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Reason, shown in the list.")] = "",
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Author. Default: your user name.")] = None,
    settings: SettingsOption = "alerts.yaml",
) -> None:
    """Silence alerts whose labels match all MATCHERs. A running service applies it at once.

    Prints the id of the silence, and on stderr how many alerts it matches now. A label that no alert has is an error.
    """
    from collectors.cli.errors import report_errors

    with report_errors("prism"):
        from prism.alerts.alert_labels import LABELS
        from prism.alerts.matchers import check_labels, parse_matcher
        from prism.notify.alert_settings_file import read_alerts
        from prism.notify.pending_notifications import LISTING
        from prism.notify.silence_file import add as run

        start = _parse_time(begin) if begin else time.time_ns()
        parsed = [parse_matcher(text) for text in matchers]
        end = start + round(parse_seconds(lasting) * 1e9)
        read = read_alerts(settings)
        check_labels(parsed, (*LABELS, *read.labels))
        made = run(read.folder, parsed, start, end, by=_name() if by is None else by, why=why)
        typer.echo(made.id)
        typer.echo(f"prism: {_matching_count(made, Path(read.folder) / LISTING, start)}", err=True)


@silences.command("list")
def show(as_json: JsonOption = False, settings: SettingsOption = "alerts.yaml") -> None:
    """List silences: active, future, and ended within 30 days."""
    from collectors.cli.errors import report_errors

    with report_errors("prism"):
        from prism.notify.alert_settings_file import read_alerts
        from prism.notify.silence_file import read

        found = sorted(read(read_alerts(settings).folder), key=lambda one: (-one.end_ns, one.id))
        if as_json:
            typer.echo(json.dumps([one.to_json() for one in found], indent=1))
            return
        for one in found:
            typer.echo(_plain(_silence_line(one, time.time_ns())))


@silences.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of the silence, or its first characters.")],
    settings: SettingsOption = "alerts.yaml",
) -> None:
    """End a silence now."""
    from collectors.cli.errors import report_errors

    with report_errors("prism"):
        from prism.notify.alert_settings_file import read_alerts
        from prism.notify.silence_file import remove as run

        gone = run(read_alerts(settings).folder, name, time.time_ns())
        typer.echo(_plain(f"removed {gone.id}: {' '.join(map(str, gone.matchers))}"))


@alerts.command("test")
def try_out(
    receiver: Annotated[list[str] | None, typer.Option("--receiver", metavar="NAME", help="Only this one; repeatable.")] = None,
    settings: SettingsOption = "alerts.yaml",
) -> None:
    """Send a test alert and its resolution to each receiver, and print the answers. Exit status 1 if any delivery failed."""
    from collectors.cli.errors import report_errors

    with report_errors("prism"):
        from prism.notify.alert_settings_file import read_alerts
        from prism.notify.trial_alert import send_trial

        read = read_alerts(settings)
        asked = [one for one in read.receivers if not receiver or one.name in receiver]
        for name in receiver or ():
            if name not in {one.name for one in asked}:
                raise ValueError(f"{settings}: no receiver is named {name!r}")
        if not asked:
            raise ValueError(f"{settings}: no receivers are defined")
        failed = False
        for one in asked:
            went = send_trial(one, read)
            failed |= not went.ok
            typer.echo(_plain(f"{one.name} ({one.kind}): {'delivered' if went.ok else 'FAILED'}, {went.why}"))
    if failed:
        raise typer.Exit(1)


@alerts.command("list")
def listing(as_json: JsonOption = False, settings: SettingsOption = "alerts.yaml") -> None:
    """List notifications that wait or failed for good, and muted alerts, as the service last wrote them."""
    from collectors.cli.errors import report_errors

    with report_errors("prism"):
        from prism.notify.alert_settings_file import read_alerts
        from prism.notify.pending_notifications import LISTING

        found = _listing(Path(read_alerts(settings).folder) / LISTING)
        if as_json:
            typer.echo(json.dumps(found, indent=1))
            return
        for line in _lines(found):
            typer.echo(_plain(line))


def parse_seconds(text: str) -> float:
    """Parse a duration such as 90m or 1d12h to seconds. Raises ValueError."""
    parts = re.findall(r"(\d{1,9})([smhdw])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration; write for example 90m, 2h or 1d12h")
    return float(sum(int(number) * UNITS[unit] for number, unit in parts))


def _parse_time(text: str) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time; write for example 2026-11-20T22:00") from None
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()) * 10**9


def _silence_line(one: Silence, now_ns: int) -> str:
    from prism.alerts.alert_texts import format_time

    state = "ended" if one.end_ns <= now_ns else "future" if one.start_ns > now_ns else "active"
    said = f": {one.why}" if one.why else ""
    fits = " ".join(map(str, one.matchers))
    return f"{one.id}  {state}  {format_time(one.start_ns)} … {format_time(one.end_ns)}  {fits}  {one.by}{said}"


def _matching_count(made: Silence, path: Path, now_ns: int) -> str:
    """Describe how many alerts a silence matches now, by the service's last listing."""
    try:
        firing = _listing(path).get("firing", [])
    except (ValueError, OSError):
        return f"the alerts that it matches are not known: no service has written {path}"
    fitting = sum(made.covers(labels, now_ns) for labels in firing)
    if fitting:
        return f"it matches {fitting} of {len(firing)} firing alerts"
    return f"it matches none of {len(firing)} firing alerts; it will apply to future alerts"


def _listing(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(LISTING_MOST))
    except FileNotFoundError:
        raise ValueError(f"{path}: does not exist; prism serve --alerts with these settings writes it") from None
    except ValueError as error:
        raise ValueError(f"{path}: not a list of alerts: {error}; prism serve writes it again") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: not a list of alerts; prism serve writes it again")
    return found


def _lines(found: dict[str, Any]) -> list[str]:
    out = [f"DISABLED {one['name']} ({one['host']}): {one['disabled']}" for one in found["receivers"] if one["disabled"]]
    out += [f"WAITING {_notification_line(one)}, next attempt {one['next']}" for one in found["waiting"]]
    out += [f"FAILED {_notification_line(one)}  ({one['id']})" for one in found["dead"]]
    out += [f"MUTED {one['summary']}  {one['why']}" for one in found["muted"]]
    return out or ["No notification waits or failed, and no alert is muted."]


def _notification_line(one: dict[str, Any]) -> str:
    tries = "1 attempt" if one["tries"] == 1 else f"{one['tries']} attempts"
    return f"{one['receiver']}  {one['summary']}  created {one['made']}, {tries}" + (
        f": {one['error']}" if one["error"] else ""
    )


def _name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
