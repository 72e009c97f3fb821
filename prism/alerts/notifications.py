"""Alerts and notifications: what is told, to whom, and how far that came. Times are int64 ns since the epoch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

State = Literal["waiting", "sent", "dead"]
CHANGING = ("severity",)  # labels that may change while an alert goes on
REFRESH = "refresh"  # the reason of what an Alertmanager is told again: not kept, as the next one says more
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")  # what Prometheus takes as a name


@dataclass(frozen=True)
class Alert:
    """A case in the words of alerts. Equal labels but `CHANGING` are the same alert. `ended_ns` is 0 while it goes on."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    started_ns: int
    ended_ns: int = 0
    link: str = ""
    case: str = ""

    @property
    def firing(self) -> bool:
        """Whether it goes on."""
        return not self.ended_ns

    @property
    def fingerprint(self) -> str:
        """A name for the labels that stay while it goes on, made as Alertmanager does: 16 hex digits."""
        return fingerprint({name: value for name, value in self.labels.items() if name not in CHANGING})


@dataclass(frozen=True)
class Notification:
    """What one receiver is told of one group at one time. The id stays the same however often it is tried.

    `next_ns` is when it is tried next, `tries` how often it was, `error` why the last try failed.
    """

    id: str
    receiver: str
    group: str  # the group's key, as Alertmanager spells it
    group_labels: Mapping[str, str]
    alerts: tuple[Alert, ...]
    reason: str
    made_ns: int
    number: int = 0  # counts up in a group
    state: State = "waiting"
    tries: int = 0
    next_ns: int = 0
    done_ns: int = 0
    error: str = ""
    truncated: int = 0  # alerts left out
    gone: str = ""  # the receiver that wants no more at all, as `Receiver.digest` names it

    @property
    def firing(self) -> bool:
        """Whether any of it goes on."""
        return any(alert.firing for alert in self.alerts)

    def to_json(self) -> dict[str, Any]:
        """As plain values; `from_json` is its twin."""
        fields = dict(vars(self))
        return fields | {"group_labels": dict(self.group_labels), "alerts": [_plain(alert) for alert in self.alerts]}


def from_json(fields: Mapping[str, Any]) -> Notification:
    """The notification that `to_json` made plain. Raises TypeError, ValueError, KeyError where it is none."""
    return Notification(**{**fields, "alerts": tuple(Alert(**alert) for alert in fields["alerts"])})


def _plain(alert: Alert) -> dict[str, Any]:
    return dict(vars(alert)) | {"labels": dict(alert.labels), "annotations": dict(alert.annotations)}


def fingerprint(labels: Mapping[str, str]) -> str:
    """FNV-1a (64 bits) of the sorted labels, each name and value ended by 0xff (prometheus/common, model.LabelSet)."""
    return _hashed(tuple(sorted(labels.items())))


@lru_cache(1 << 16)
def _hashed(labels: tuple[tuple[str, str], ...]) -> str:
    value = 0xCBF29CE484222325
    for octet in b"".join(text.encode() + b"\xff" for pair in labels for text in pair):
        value = (value ^ octet) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"
