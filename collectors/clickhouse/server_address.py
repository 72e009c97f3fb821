"""Parse a server's address: clickhouse://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE."""

from __future__ import annotations

import ssl
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from collectors.clickhouse.store_error import StoreError

SCHEMES = {"clickhouse": 9000, "clickhouses": 9440}
CONNECT_S, ANSWER_S, MAX_S = 5, 60, 86_400
OPTIONS = ("compression", "ca_certs", "verify", "connect_timeout", "send_receive_timeout", "settings_is_important")
COMPRESSIONS = ("lz4", "lz4hc", "zstd")
WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def parse_url(url: str) -> dict[str, Any]:
    """Parse the address to arguments of the driver's client. Raises StoreError with the invalid option."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise StoreError(f"{mask_password(url)}: must be clickhouse://USER:PASSWORD@HOST:PORT/DATABASE")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := set(options) - set(OPTIONS):
        raise StoreError(
            f"{mask_password(url)}: unknown option {', '.join(sorted(unknown))}; known options: {', '.join(OPTIONS)}"
        )
    try:
        port = SCHEMES[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise StoreError(f"{mask_password(url)}: the port must be from 1 to 65535")
    try:
        given = {name: _value(name, text) for name, text in options.items()}
    except ValueError as error:
        raise StoreError(f"{mask_password(url)}: {error}") from None
    return {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username or "default"),
        "password": unquote(parts.password or ""),
        "database": parts.path.strip("/") or "prism",
        "secure": parts.scheme == "clickhouses",
        "connect_timeout": CONNECT_S,
        "send_receive_timeout": ANSWER_S,
        **given,
    }


def mask_password(url: str) -> str:
    """Remove the password."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = f"{quote(parts.username)}@" if parts.username else ""
    return urlunsplit((parts.scheme, user + host, parts.path, "", ""))


def _value(name: str, text: str) -> Any:
    """Parse the value of an option. Raises ValueError with its name."""
    if name == "compression":
        if text not in COMPRESSIONS:
            raise ValueError(f"{name}={text}: must be one of {', '.join(COMPRESSIONS)}")
        return text
    if name == "ca_certs":
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(text)
        except OSError as error:  # the driver would name no file, and would report an unreachable server
            said = "contains no certificates" if isinstance(error, ssl.SSLError) else (error.strerror or str(error)).lower()
            raise ValueError(f"{name}={text}: {said}") from None
        return text
    if name.endswith("timeout"):
        return _seconds(name, text)
    if text.lower() not in WORDS:
        raise ValueError(f"{name}={text}: must be true or false")
    return WORDS[text.lower()]


def _seconds(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0
    if not 0 < found <= MAX_S:  # excludes nan too
        raise ValueError(f"{name}={text}: must be seconds, more than 0 and at most {MAX_S}")
    return found
