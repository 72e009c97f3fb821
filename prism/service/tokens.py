"""Manage bearer tokens in a file that holds only hashes.

A token has 256 random bits, so its plain SHA-256 can be stored: it cannot be guessed. The file is JSON, readable by its owner
only, written completely and renamed. A service reads it again after a change.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Scope = Literal["read", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "admin")
PREFIX = "prism_"  # a known prefix for secret scanners
LONGEST = 64  # characters of a name


@dataclass(frozen=True)
class Token:
    """A stored token. `id` identifies it and is no secret; `digest` is SHA-256 of the token, hex."""

    id: str
    name: str
    scope: Scope
    digest: str
    created_ns: int


class Tokens:
    """The tokens of a file. A missing file holds none."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._known: tuple[Token, ...] = ()

    def all(self) -> tuple[Token, ...]:
        """Return all tokens in order of creation. Raises ValueError if the file is invalid, OSError."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._seen, self._known = None, ()
            return ()
        now = (found.st_mtime_ns, found.st_size, found.st_ino)
        if now != self._seen:
            self._known, self._seen = tuple(_parsed(self.path)), now
        return self._known

    def create(self, name: str, scope: Scope) -> str:
        """Create a token; it is shown only once. Raises ValueError if the name is taken or invalid, OSError."""
        if not name or len(name) > LONGEST or not name.isprintable():
            raise ValueError(f"the name of a token must have 1 to {LONGEST} printable characters")
        known = self.all()
        if any(token.name == name for token in known):
            raise ValueError(f"a token named {name!r} exists; revoke it first or choose another name")
        secret = PREFIX + secrets.token_urlsafe(32)
        self._write([*known, Token(secrets.token_hex(4), name, scope, digest(secret), time.time_ns())])
        return secret

    def revoke(self, name_or_id: str) -> None:
        """Remove the token with a name or id. Raises ValueError if there is none, OSError."""
        known = self.all()
        kept = [token for token in known if name_or_id not in (token.name, token.id)]
        if len(kept) == len(known):
            raise ValueError(f"no token has the name or id {name_or_id!r}; see prism token list")
        self._write(kept)

    def scope(self, secret: str) -> Scope | None:
        """Return the scope of a token; None if it is unknown."""
        found = self.token(secret)
        return found.scope if found is not None else None

    def token(self, secret: str) -> Token | None:
        """Return the token of a secret; None if it is unknown. All tokens are compared in constant time."""
        given, found = digest(secret), None
        for token in self.all():
            if hmac.compare_digest(token.digest, given):
                found = token
        return found

    def _write(self, tokens: Iterable[Token]) -> None:
        text = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=1) + "\n"
        folder = self.path.parent.stat()
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")  # mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                if os.geteuid() == 0:  # created by root for a service of another user: the owner of the folder can read it
                    os.fchown(file.fileno(), folder.st_uid, folder.st_gid)
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise


def digest(secret: str) -> str:
    """Hash a token for storage."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _parsed(path: Path) -> Iterable[Token]:
    try:
        listed = json.loads(path.read_text("utf-8"))["tokens"]
        tokens = [Token(**one) for one in listed]
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path}: not a token file") from None
    for token in tokens:
        texts = (token.id, token.name, token.digest)
        if (
            token.scope not in SCOPES
            or not all(isinstance(text, str) for text in texts)
            or not isinstance(token.created_ns, int)
        ):
            raise ValueError(f"{path}: not a token file")
    return tokens
