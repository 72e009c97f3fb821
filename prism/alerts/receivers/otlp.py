"""Findings as OpenTelemetry events: a request to export logs by OTLP/HTTP in JSON.

https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding (64-bit integers are text), the example is
open-telemetry/opentelemetry-proto, examples/logs.json. An event is a log record with a name (`eventName`, logs.proto).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.alerts.notifications import Alert, Notification

PATH = "/v1/logs"
SEVERITIES = {"critical": (17, "ERROR"), "warning": (13, "WARN"), "info": (9, "INFO")}  # logs.proto, SeverityNumber
Json = dict[str, Any]


def otlp(notification: Notification, external_url: str = "") -> Json:
    """Build the body of an ExportLogsServiceRequest: one record per alert, at its start or end."""
    about = {"service.name": "prism"} | ({"service.dashboard": external_url} if external_url else {})
    records = [_record(alert, notification) for alert in notification.alerts]
    scope = {"scope": {"name": "prism.alerts"}, "logRecords": records}
    return {"resourceLogs": [{"resource": {"attributes": _attributes(about)}, "scopeLogs": [scope]}]}


def _record(alert: Alert, notification: Notification) -> Json:
    number, text = SEVERITIES.get(alert.labels.get("severity", ""), SEVERITIES["info"])
    if not alert.firing:
        number, text = SEVERITIES["info"]
    said = alert.annotations
    more = {
        "finding": alert.case,
        "url": alert.link,
        "notification": notification.id,
        "state": "open" if alert.firing else "closed",
    }
    attributes = {f"prism.{name}": value for name, value in {**alert.labels, **more}.items() if value}
    body = "\n".join(line for line in (said.get("summary", ""), said.get("description", "")) if line)
    return {
        "timeUnixNano": str(alert.started_ns if alert.firing else alert.ended_ns),
        "observedTimeUnixNano": str(notification.made_ns),
        "severityNumber": number,
        "severityText": text,
        "eventName": "prism.finding.opened" if alert.firing else "prism.finding.closed",
        "body": {"stringValue": body},
        "attributes": _attributes(attributes),
    }


def _attributes(named: Mapping[str, str]) -> list[Json]:
    return [{"key": name, "value": {"stringValue": value}} for name, value in named.items()]
