"""Settings of alerts: one frozen dataclass per table of the settings file, with all defaults.

`prism.notify.alert_settings_file` reads the file.
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
    """Text that errors, logs and lists show as `***`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "***"


NONE = Secret("")


@dataclass(frozen=True)
class Selection:
    """Which findings are notified: severities, kinds that are notified even after their end, and for how long after it.

    An end is notified after `over_s` seconds, because the case may reopen.
    """

    severities: tuple[str, ...] = ("warning", "critical")
    always: tuple[str, ...] = ("crash", "hang")
    always_s: float = 3600.0
    over_s: float = 30.0


@dataclass(frozen=True)
class Grouping:
    """Group alerts by the labels `by`; notify a new group `wait_s` after its first alert.

    Changes follow at the earliest `interval_s` after the last notification; open alerts repeat after `repeat_s`. All in s.
    """

    by: tuple[str, ...] = ("job",)
    wait_s: float = 30.0
    interval_s: float = 300.0
    repeat_s: float = 4 * 3600.0


@dataclass(frozen=True)
class Retrying:
    """Pauses before each retry, s, each extended by a random share of up to `jitter`.

    After the last one, delivery is given up.
    """

    after_s: tuple[float, ...] = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
    jitter: float = 0.1


@dataclass(frozen=True)
class Limits:
    """Limits of a delivery: duration in s, and octets read from an answer."""

    timeout_s: float = 15.0
    answer_octets: int = 4096


@dataclass(frozen=True)
class Receiver:
    """A receiver of notifications. `url` may contain a secret, as those of Slack do.

    `match`: matchers that an alert must pass; all alerts by default. `resolved`: whether to send ends. `most`: alerts per
    notification. `allow`: non-public networks that may receive posts. `secrets` sign the body (Standard Webhooks); several are
    valid during a rotation. `token`: Authorization header, or for email the password of `user`. `to`, `sender`: email
    addresses. `ca_file`: certificates to trust. `refresh_s`: interval at which open alerts are sent again to an Alertmanager.
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
        """Hash the target of a receiver to 12 hex digits. A disabled receiver stays disabled while this is unchanged."""
        notification = "\n".join((self.name, self.kind, str(self.url), str(self.routing_key)))
        return hashlib.blake2s(notification.encode(), digest_size=6).hexdigest()

    @property
    def hidden(self) -> tuple[str, ...]:
        """List the secrets of this receiver that no output may show, longest first."""
        _, _, path = self.url.partition("://")
        _, slash, path = path.partition("/")
        words = {self.url, slash + path if len(path) > 3 else "", self.token, self.routing_key, *self.secrets}
        return tuple(sorted((str(word) for word in words if word), key=len, reverse=True))


@dataclass(frozen=True)
class Hook:
    """A signed HTTP hook for an action on a finding, posted after a person approved it (`prism.feedback`).

    `title`: text of the button. `dry_run`: post requests as a dry run only. `match`: findings for which the action is offered.
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
        """List the secrets of this hook that no output may show, longest first."""
        return Receiver(self.name, "signed", self.url, secrets=self.secrets).hidden


@dataclass(frozen=True)
class Settings:
    """All settings of alerts. `external_url`: public address of the pages; `labels`: added to every alert.

    `actions`: hooks for approved actions. `folder`: holds silences, and for the command line a copy of waiting and failed
    notifications.
    """

    receivers: tuple[Receiver, ...] = ()
    actions: tuple[Hook, ...] = ()
    external_url: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    folder: str = "."
    telling: Selection = Selection()
    grouping: Grouping = Grouping()
    retrying: Retrying = Retrying()
    limits: Limits = Limits()
