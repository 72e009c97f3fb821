"""Alerts and notifications with their delivery state. Times are int64 ns since the epoch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

State = Literal["waiting", "sent", "dead"]
CHANGING = ("severity",)  # labels that may change while an alert is open
REFRESH = "refresh"  # reason of repeated posts to an Alertmanager; not kept, because the next one replaces it
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")  # a valid name of a label in Prometheus


@dataclass(frozen=True)
class Alert:
    """A case as an alert. Two alerts are the same if all labels but `CHANGING` are equal. `ended_ns` is 0 while it is open."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    started_ns: int
    ended_ns: int = 0
    link: str = ""
    case: str = ""

    @property
    def firing(self) -> bool:
        """Whether the alert is open."""
        return not self.ended_ns

    @property
    def fingerprint(self) -> str:
        """Hash the labels that do not change, as Alertmanager does: 16 hex digits."""
        return fingerprint({name: value for name, value in self.labels.items() if name not in CHANGING})


@dataclass(frozen=True)
class Notification:
    """One message of one group to one receiver. All tries of it have the same id.

    `next_ns`: time of the next try; `tries`: number of tries so far; `error`: why the last try failed.
    """

    id: str
    receiver: str
    group: str  # key of the group in Alertmanager's syntax
    group_labels: Mapping[str, str]
    alerts: tuple[Alert, ...]
    reason: str
    made_ns: int
    number: int = 0  # counts the notifications of a group
    state: State = "waiting"
    tries: int = 0
    next_ns: int = 0
    done_ns: int = 0
    error: str = ""
    truncated: int = 0  # alerts left out
    gone: str = ""  # `Receiver.digest` of a receiver that refused all further notifications

    @property
    def firing(self) -> bool:
        """Whether any alert in it is open."""
        return any(alert.firing for alert in self.alerts)

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values; inverse of `from_json`."""
        fields = dict(vars(self))
        return fields | {"group_labels": dict(self.group_labels), "alerts": [_plain(alert) for alert in self.alerts]}


def from_json(fields: Mapping[str, Any]) -> Notification:
    """Parse a notification from plain values; inverse of `Notification.to_json`. Raises TypeError, ValueError, KeyError."""
    return Notification(**{**fields, "alerts": tuple(Alert(**alert) for alert in fields["alerts"])})


def _plain(alert: Alert) -> dict[str, Any]:
    return dict(vars(alert)) | {"labels": dict(alert.labels), "annotations": dict(alert.annotations)}


def fingerprint(labels: Mapping[str, str]) -> str:
    """Hash sorted labels with FNV-1a (64 bits); each name and value ends with 0xff (prometheus/common, model.LabelSet)."""
    return _hashed(tuple(sorted(labels.items())))


@lru_cache(1 << 16)
def _hashed(labels: tuple[tuple[str, str], ...]) -> str:
    value = 0xCBF29CE484222325
    for octet in b"".join(text.encode() + b"\xff" for pair in labels for text in pair):
        value = (value ^ octet) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"
