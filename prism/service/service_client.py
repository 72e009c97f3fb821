"""Query a running service, for the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from prism.views.board_views import Json

BASE = "/api/v1"
WAIT_S = 30.0


class ServiceClient:
    """A client of a service at an address, with a token or a token file. A context manager.

    `host` replaces the address as host name; then the service is on this host, and no proxy of the environment is used.
    """

    def __init__(self, url: str, token_file: str | Path | None = None, *, token: str = "", host: str = "") -> None:
        """Raises ValueError if the file holds no token, OSError."""
        token = _token(token_file) if token_file else token
        headers = ({"Authorization": f"Bearer {token}"} if token else {}) | ({"Host": host} if host else {})
        self._url = url.rstrip("/")
        try:
            self._client = httpx.Client(base_url=self._url + BASE, headers=headers, timeout=WAIT_S, trust_env=not host)
        except (httpx.InvalidURL, ValueError) as error:
            raise ValueError(f"{url}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    def get(self, path: str, **parameters: Any) -> Json:
        """Return the JSON of a path. Raises ValueError with the reason."""
        given = {name: value for name, value in parameters.items() if value is not None}
        try:
            answer = self._client.get(path, params=given)
            found = answer.json()
        except httpx.HTTPError as error:
            raise ValueError(f"{self._url}: no answer: {error or type(error).__name__}; is the service running?") from None
        except ValueError:
            raise ValueError(f"{self._url}: the answer is not from a Prism service; check --url") from None
        if not isinstance(found, dict):
            raise ValueError(f"{self._url}: the answer is not from a Prism service; check --url")
        if answer.is_success:
            return found
        raise ValueError(f"{self._url}: {_reason(found, answer)}")

    def text(self, path: str, **parameters: Any) -> str:
        """Return the text of a path. Raises ValueError with the reason."""
        try:
            answer = self._client.get(path, params=parameters)
        except httpx.HTTPError as error:
            raise ValueError(f"{self._url}: no answer: {error or type(error).__name__}; is the service running?") from None
        if not answer.is_success:
            raise ValueError(f"{self._url}: {_reason({}, answer)}")
        return answer.text

    def all(self, path: str, *, max_items: int, paged: bool = True, **parameters: Any) -> Iterator[Json]:
        """Yield the first `max_items` items of a list, page by page, or at once if not `paged`. Raises as `get`."""
        if not paged:
            yield from self.get(path, **parameters)["items"][:max_items]
            return
        cursor = None
        while max_items > 0:
            page = self.get(path, cursor=cursor, limit=min(max_items, 1000), **parameters)
            yield from page["items"]
            max_items, cursor = max_items - len(page["items"]), page["next"]
            if cursor is None:
                return


def _reason(found: Mapping[str, Any], answer: httpx.Response) -> str:
    if answer.status_code == 401:
        return "the service needs a token; give its file with --token-file"
    return str(found.get("detail") or answer.reason_phrase)


def _token(path: str | Path) -> str:
    try:
        text = Path(path).read_text("utf-8").strip()
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"{path}: contains no token")
    return text
