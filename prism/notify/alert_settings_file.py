"""Read the settings of alerts from a YAML file: strict, with secrets from files or environment, none of them in errors."""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from collectors.files.documents import load_yaml
from prism.alerts.alert_settings import (
    GROUPABLE,
    KINDS,
    Grouping,
    Hook,
    Limits,
    Network,
    Receiver,
    Retrying,
    Secret,
    Selection,
    Settings,
)
from prism.alerts.matchers import Matcher, parse_matcher
from prism.alerts.notifications import LABEL
from prism.alerts.receivers.signing import key
from prism.diagnosis.assessment.root_causes import RANK
from prism.model import Severity

TABLES: Mapping[str, type[Any]] = {"telling": Selection, "grouping": Grouping, "retrying": Retrying, "limits": Limits}
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"
MAX_SECRET_OCTETS = 65536  # octets of a file with a secret
NEEDS = {"signed": ("secrets",), "pagerduty": ("routing_key",), "opsgenie": ("token",), "email": ("to", "sender")}
OPSGENIE = "https://api.opsgenie.com"
WEB = ("http", "https")
ADDRESS = re.compile(r"[!-?A-~]+@[A-Za-z0-9.-]+")  # printable ASCII without blanks
SCHEMES = {"email": ("smtp", "smtps")}


def read_alerts(path: str | Path) -> Settings:
    """Read the settings; file names in it are relative to its folder.

    Raises OSError, and ValueError with the file and the name of the invalid value.
    """
    path = Path(path)
    try:
        document = load_yaml(path.read_text("utf-8-sig"), str(path)) or {}
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: offset {error.start}: not UTF-8 text") from None
    try:
        return _settings(document, path.resolve().parent)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _settings(document: Any, folder: Path) -> Settings:
    found = _known(document, Settings, "")
    made = {name: _table(value, TABLES[name], name) for name, value in found.items() if name in TABLES}
    receivers = found.get("receivers") or []
    if not isinstance(receivers, list):
        raise ValueError("receivers: must be a list")
    made["receivers"] = tuple(_receiver(fields, i, folder) for i, fields in enumerate(receivers))
    made["actions"] = tuple(_hook(fields, i, folder) for i, fields in enumerate(_many(found.get("actions") or [], "actions")))
    hooks = [one.name for one in made["actions"]]
    if again := next((name for name in hooks if hooks.count(name) > 1), None):
        raise ValueError(f"actions: the name {again!r} is given twice")
    names = [one.name for one in made["receivers"]]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"receivers: the name {twice!r} is given twice")
    if url := found.get("external_url"):
        made["external_url"] = _url(_text(url, "external_url"), "external_url").rstrip("/")
    made["labels"] = _labels(found.get("labels") or {})
    made["folder"] = str(folder / _text(found.get("folder", "."), "folder"))
    return _checked(Settings(**made))


def _checked(settings: Settings) -> Settings:
    _among(settings.telling.severities, [*Severity], "telling.severities")
    _among(settings.telling.always, RANK, "telling.always")
    _among(settings.grouping.by, {*GROUPABLE, *settings.labels}, "grouping.by")
    if not settings.limits.timeout_s or not settings.retrying.after_s:
        raise ValueError("limits.timeout_s and retrying.after_s: must not be empty or 0")
    return settings


def _among(given: tuple[str, ...], known: Any, where: str) -> None:
    stray = next((one for one in given if one not in known), None)
    if stray is not None:
        raise ValueError(f"{where}: unknown value {stray!r}; known values: {', '.join(sorted(known))}")


def _known(value: Any, kind: type[Any], where: str, *, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Check that the value is an object with known keys only."""
    place = f"{where}: " if where else ""
    if not isinstance(value, dict):
        raise ValueError(f"{place}must be a table of keys and values")
    names = (*(field.name for field in fields(kind)), *more)
    stray = next((name for name in value if name not in names), None)
    if stray is not None:
        raise ValueError(f"{place}unknown key {stray!r}; known keys: {', '.join(sorted(names))}")
    return value


def _table(value: Any, kind: type[Any], where: str) -> Any:
    given = _known(value or {}, kind, where)
    types = {field.name: str(field.type) for field in fields(kind)}
    return kind(**{name: READ[types[name]](text, f"{where}.{name}") for name, text in given.items()})


def _hook(value: Any, number: int, folder: Path) -> Hook:
    """Read a hook: it is checked as a signed receiver, plus its own fields."""
    where = f"actions[{number}]"
    given = dict(_known(value, Hook, where))
    title = _text(given.pop("title", ""), f"{where}: title")
    dry_run = _bool(given.pop("dry_run", "true"), f"{where}: dry_run")
    read = _receiver({**given, "kind": "signed"}, number, folder, of="actions")
    return Hook(read.name, read.url, read.secrets, title, dry_run, read.match, read.allow, read.ca_file)


def _receiver(value: Any, number: int, folder: Path, *, of: str = "receivers") -> Receiver:
    where = f"{of}[{number}]"
    given = dict(_known(value, Receiver, where))
    where = f"{where} ({given['name']})" if isinstance(given.get("name"), str) else where
    if given.get("kind") == "pagerduty":
        given.setdefault("url", PAGERDUTY)
    if given.get("kind") == "opsgenie":
        given.setdefault("url", OPSGENIE)
    for name in ("name", "kind", "url"):
        if not given.get(name):
            raise ValueError(f"{where}: {name} is missing")
    if given["kind"] not in KINDS:
        raise ValueError(f"{where}: kind must be one of {', '.join(KINDS)}")
    types = {field.name: str(field.type) for field in fields(Receiver)} | {"kind": "str"}
    made: dict[str, Any] = {}
    for name, text in given.items():
        at = f"{where}: {name}"
        if types[name] == "Secret":
            made[name] = _secret(text, at, folder)
        elif name == "secrets":
            made[name] = tuple(_secret(one, at, folder) for one in (text if isinstance(text, list) else [text]))
        else:
            made[name] = READ[types[name]](text, at)
    return _fitting(Receiver(**made), where, folder)


def _fitting(receiver: Receiver, where: str, folder: Path) -> Receiver:
    """Check that a receiver has the fields of its kind."""
    for needed in NEEDS.get(receiver.kind, ()):
        if not getattr(receiver, needed):
            raise ValueError(f"{where}: kind {receiver.kind} needs {needed}")
    for address in (*receiver.to, *([receiver.sender] if receiver.sender else [])):
        if not ADDRESS.fullmatch(address):
            raise ValueError(f"{where}: {address!r} is not an email address")
    for secret in receiver.secrets:
        try:
            key(secret)
        except ValueError as error:
            raise ValueError(f"{where}: secrets: {error}") from None
    if receiver.most < 1 or receiver.refresh_s < 1:
        raise ValueError(f"{where}: most and refresh_s must be at least 1")
    if receiver.ca_file:
        receiver = replace(receiver, ca_file=str(folder / receiver.ca_file))
        with open(receiver.ca_file, "rb"):  # fails at start instead of at the first delivery
            pass
    schemes = SCHEMES.get(receiver.kind, WEB)
    return replace(receiver, url=Secret(_url(receiver.url, f"{where}: url", schemes)))


def _url(text: str, where: str, schemes: tuple[str, ...] = WEB) -> str:
    """Check an address. Raises ValueError without the address in it."""
    try:
        parts = urlsplit(text)
        fit = parts.scheme in schemes and parts.hostname and parts.port != 0
    except ValueError:
        fit = None
    if not fit or not text.isascii() or any(c.isspace() or not c.isprintable() for c in text):
        raise ValueError(f"{where}: must be {' or '.join(f'{scheme}://…' for scheme in schemes)}, in ASCII, without spaces")
    if "@" in parts.netloc:
        raise ValueError(f"{where}: must not contain a user and password; use token")
    return text


def _secret(value: Any, where: str, folder: Path) -> Secret:
    """Read a secret: text, {file: NAME} or {env: NAME}, stripped. Raises ValueError, OSError."""
    if isinstance(value, dict) and set(value) == {"file"}:
        with open(folder / _text(value["file"], where), encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_SECRET_OCTETS)
    elif isinstance(value, dict) and set(value) == {"env"}:
        name = _text(value["env"], where)
        if name not in os.environ:
            raise ValueError(f"{where}: the environment variable {name} is not set")
        text = os.environ[name]
    elif isinstance(value, str):
        text = value
    else:
        raise ValueError(f"{where}: must be text, {{file: NAME}} or {{env: NAME}}")
    text = text.strip()
    if not text or not text.isprintable():
        raise ValueError(f"{where}: is empty or contains control characters")
    return Secret(text)


def _labels(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("labels: must be a table of names and values")
    for name in value:
        if not LABEL.fullmatch(name):
            raise ValueError(f"labels: {name!r} is not a valid label name (letters, digits and _)")
    return {name: _text(text, f"labels.{name}") for name, text in value.items()}


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{where}: must be text without control characters")
    return value


def _number(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 1e9:
        raise ValueError(f"{where}: must be a number from 0 to 1,000,000,000")
    return number


def _integer(value: Any, where: str) -> int:
    number = _number(value, where)
    if number != int(number):
        raise ValueError(f"{where}: must be a whole number")
    return int(number)


def _bool(value: Any, where: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError(f"{where}: must be true or false")
    return bool(value == "true")


def _many(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: must be a list")
    return value


def _matcher(value: Any, where: str) -> Matcher:
    try:
        return parse_matcher(_text(value, where))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _network(value: Any, where: str) -> Network:
    try:
        return ipaddress.ip_network(_text(value, where))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


READ: Mapping[str, Callable[[Any, str], Any]] = {
    "str": _text,
    "float": _number,
    "int": _integer,
    "bool": _bool,
    "tuple[str, ...]": lambda value, where: tuple(_text(one, where) for one in _many(value, where)),
    "tuple[float, ...]": lambda value, where: tuple(_number(one, where) for one in _many(value, where)),
    "tuple[Matcher, ...]": lambda value, where: tuple(_matcher(one, where) for one in _many(value, where)),
    "tuple[Network, ...]": lambda value, where: tuple(_network(one, where) for one in _many(value, where)),
}
