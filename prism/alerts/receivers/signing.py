"""Signatures of Standard Webhooks 1.0: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64  # octets of a secret (specification)


def signature(name: str, seconds: int, body: bytes, secrets: Sequence[str]) -> str:
    """Build the signature header: one `v1` signature per secret. Raises ValueError."""
    notification = f"{name}.{seconds}.".encode() + body
    signed = (hmac.digest(key(secret), notification, hashlib.sha256) for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(one).decode()}" for one in signed)


def key(secret: str) -> bytes:
    """Decode a secret such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw` to octets.

    Raises ValueError without the secret in it.
    """
    try:
        octets = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"a secret must be {PREFIX} followed by base64") from None
    if not SHORTEST <= len(octets) <= LONGEST:
        raise ValueError(f"a secret has {SHORTEST} to {LONGEST} octets (behind base64), not {len(octets)}")
    return octets
