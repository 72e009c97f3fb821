"""Fetch log lines from Grafana Loki: GET /loki/api/v1/query_range, page by page, in order of time."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

from prism.logs.parsing.log_envelopes import of_loki, plain

PAGE = 5000  # lines of an answer: Loki's default max_entries_limit_per_query
PAGES = 10_000
WAIT_S = 60.0
MAX_ANSWER_OCTETS = 256 << 20  # octets of an answer
HOSTS = ("host", "hostname", "node", "node_name", "instance", "nodename")


def fetch(url: str, query: str, start_ns: int, end_ns: int, *, token: str = "", tenant: str = "") -> Iterator[bytes]:
    """Yield blocks of lines as `log_envelopes.plain` writes them.

    Raises ConnectionError if Loki does not answer, ValueError if it refuses.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"{url}: must begin with http:// or https://")
    at = start_ns
    seen: set[tuple[int, str]] = set()
    for _ in range(PAGES):
        rows = _page(url, query, at, end_ns, token, tenant)
        new = [row for row in rows if row[:2] not in seen]
        yield "".join(plain(time, host, program, text) for time, text, host, program in new).encode()
        if len(rows) < PAGE or not new:
            return
        at = rows[-1][0]
        seen = {row[:2] for row in rows if row[0] == at}


def _page(url: str, query: str, start: int, end: int, token: str, tenant: str) -> list[tuple[int, str, str, str]]:
    asked = urllib.parse.urlencode({"query": query, "start": start, "end": end, "limit": PAGE, "direction": "forward"})
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    headers |= {"X-Scope-OrgID": tenant} if tenant else {}
    request = urllib.request.Request(f"{url.rstrip('/')}/loki/api/v1/query_range?{asked}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            body = answer.read(MAX_ANSWER_OCTETS + 1)
    except urllib.error.HTTPError as error:
        raise ValueError(
            f"{url}: Loki refuses the query (status {error.code}): {error.read(200).decode('utf-8', 'replace')}"
        ) from None
    except (urllib.error.URLError, TimeoutError) as error:
        raise ConnectionError(f"{url}: Loki does not answer: {getattr(error, 'reason', error)}") from None
    if len(body) > MAX_ANSWER_OCTETS:
        raise ValueError(f"{url}: an answer of more than {MAX_ANSWER_OCTETS >> 20} MiB; use a shorter time range")
    try:
        streams = of_loki(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{url}: {error}") from None
    rows = []
    for labels, values in streams:
        host = next((labels[name] for name in HOSTS if name in labels), "")
        program = labels.get("pod") or labels.get("container") or labels.get("job") or "loki"
        rows += [(time, text, host, program) for time, text in values]
    return sorted(rows)
