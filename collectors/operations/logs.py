"""Log events of a running collector: one line per event on standard error, `key=value` (logfmt)."""

from __future__ import annotations

import json
import logging
import sys
import time

_log = logging.getLogger("prism-collect")


def start() -> None:
    """Start logging to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter("time=%(asctime)s.%(msecs)03dZ level=%(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    )
    handler.formatter.converter = time.gmtime  # type: ignore[union-attr]
    _log.handlers[:] = [handler]
    _log.setLevel(logging.INFO)
    _log.propagate = False


def log_event(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log an event and its fields, in the given order."""
    _log.log(level, "%s", " ".join(f"{key}={_value(value)}" for key, value in {"event": event, **fields}.items()))


def _value(value: object) -> str:
    text = str(value)
    plain = text and all(c.isprintable() and c not in ' "=' for c in text)
    return text if plain else json.dumps(text)
