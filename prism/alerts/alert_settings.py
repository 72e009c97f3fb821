"""What can be set of alerts: a frozen dataclass per table of the settings file, with every default.

Reading the file is `prism.notify.alert_settings_file`'s business.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from prism.alerts.matchers import Matcher

Kind = Literal["webhook", "signed", "alertmanager", "pagerduty", "slack", "teams", "opsgenie", "otlp", "email"]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
KINDS: tuple[Kind, ...] = get_args(Kind)
GROUPABLE = ("job", "severity", "alertname", "subject", "ids", "host", "switch", "cluster")


class Secret(str):
    """Text that is not shown: in errors, logs and lists it is ***."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "***"


NONE = Secret("")


@dataclass(frozen=True)
class Telling:
    """What is told: severities, kinds that are told even if they are over before anybody was told, and until when after.

    That something is over is told when it has been over for `over_s`: it may have paused.
    """

    severities: tuple[str, ...] = ("warning", "critical")
    always: tuple[str, ...] = ("crash", "hang")
    always_s: float = 3600.0
    over_s: float = 30.0


@dataclass(frozen=True)
class Grouping:
    """Alerts that agree in the labels `by` go out together, `wait_s` after the first of them.

    Changes are told `interval_s` after the last notification at the earliest; what goes on is told again after `repeat_s`.
    """

    by: tuple[str, ...] = ("job",)
    wait_s: float = 30.0
    interval_s: float = 300.0
    repeat_s: float = 4 * 3600.0


@dataclass(frozen=True)
class Retrying:
    """When a failed delivery is tried again: after each of `after_s`, longer by a random share up to `jitter`; then no more."""

    after_s: tuple[float, ...] = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
    jitter: float = 0.1


@dataclass(frozen=True)
class Limits:
    """A delivery may take so long, s; of an answer so many octets are read."""

    timeout_s: float = 15.0
    answer_octets: int = 4096


@dataclass(frozen=True)
class Receiver:
    """Whom to tell. `url` may hold a secret itself, as Slack's do.

    `match`: which alerts, all by default. `resolved`: whether it hears of ends. `most`: alerts in one notification. `allow`:
    networks that are not public and may be posted to. `secrets` sign (Standard Webhooks), several while one is replaced by
    another; `token` goes into the Authorization header, of email it is the password of `user`; `to` and `sender` are addresses
    of email. `ca_file`: who signs its certificate. `refresh_s`: how often an Alertmanager is told what goes on.
    """

    name: str
    kind: Kind
    url: Secret
    match: tuple[Matcher, ...] = ()
    resolved: bool = True
    most: int = 50
    allow: tuple[Network, ...] = ()
    secrets: tuple[Secret, ...] = ()
    token: Secret = NONE
    routing_key: Secret = NONE
    ca_file: str = ""
    refresh_s: float = 60.0
    to: tuple[str, ...] = ()
    sender: str = ""
    user: str = ""

    @property
    def digest(self) -> str:
        """Tells whether a receiver is still the one that was disabled: 12 hex digits of where it is."""
        told = "\n".join((self.name, self.kind, str(self.url), str(self.routing_key)))
        return hashlib.blake2s(told.encode(), digest_size=6).hexdigest()

    @property
    def hidden(self) -> tuple[str, ...]:
        """What must not be shown of it, longest first."""
        _, _, path = self.url.partition("://")
        _, slash, path = path.partition("/")
        words = {self.url, slash + path if len(path) > 3 else "", self.token, self.routing_key, *self.secrets}
        return tuple(sorted((str(word) for word in words if word), key=len, reverse=True))


@dataclass(frozen=True)
class Hook:
    """Where an action on a finding is posted once a person approved it (`prism.feedback`), signed.

    `title` is what the button says. While `dry_run` is set it is never asked to act. `match`: for which findings it is offered.
    """

    name: str
    url: Secret
    secrets: tuple[Secret, ...]
    title: str = ""
    dry_run: bool = True
    match: tuple[Matcher, ...] = ()
    allow: tuple[Network, ...] = ()
    ca_file: str = ""

    @property
    def hidden(self) -> tuple[str, ...]:
        """What must not be shown of it, longest first."""
        return Receiver(self.name, "signed", self.url, secrets=self.secrets).hidden


@dataclass(frozen=True)
class Settings:
    """All of it. `external_url` is where people find the dashboard; `labels` are added to every alert.

    `actions` are hooks for actions that people approve. In `folder` silences are kept, and a copy of what waits and what could
    not be delivered, for the command line.
    """

    receivers: tuple[Receiver, ...] = ()
    actions: tuple[Hook, ...] = ()
    external_url: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    folder: str = "."
    telling: Telling = Telling()
    grouping: Grouping = Grouping()
    retrying: Retrying = Retrying()
    limits: Limits = Limits()
